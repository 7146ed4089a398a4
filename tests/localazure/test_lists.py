"""Lists of the subscription with Azure's own clients, and faults that change them. Their content: `answers/subscription.yaml`."""

from typing import Any

import pytest
from azure.mgmt.batch import BatchManagementClient
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.machinelearningservices import MachineLearningServicesMgmtClient
from azure.mgmt.resource.resources import ResourceManagementClient

from tests.localazure.conftest import GROUPS
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.management import client

T4 = "Standard NCASv3_T4 Family"
pytestmark = pytest.mark.usefixtures("no_fault_is_left")


def test_with_azures_own_clients(azure: EmbeddedAzure) -> None:
    compute = client(ComputeManagementClient, azure)
    sizes: dict[Any, Any] = {row.name: row for row in compute.resource_skus.list(filter="location eq 'westeurope'")}
    assert sizes["Standard_NC16as_T4_v3"].location_info[0].zones == ["1", "2", "3"]
    assert {each.name.value: each.limit for each in compute.usage.list("westeurope")}[T4] == 1000
    assert "ubuntu-hpc" in [each.name for each in compute.virtual_machine_images.list_offers("westeurope", "Microsoft-DSVM")]
    batch = client(BatchManagementClient, azure).location
    assert T4 in {each.family_name for each in batch.list_supported_virtual_machine_skus("westeurope")}
    assert client(ResourceManagementClient, azure).providers.get("Microsoft.Batch").registration_state == "Registered"
    learning: Any = client(MachineLearningServicesMgmtClient, azure)  # its models say None of all that Azure sets
    assert (1000, 0) in {(each.limit, each.current_value) for each in learning.usages.list("westeurope")}
    # This client looks for the list under an older name, so it is where a client keeps what it doesn't know.
    known = {each["name"] for each in learning.virtual_machine_sizes.list("westeurope").additional_properties["value"]}
    assert "Standard_NC4as_T4_v3" in known


def test_the_names_by_which_az_knows_images(azure: EmbeddedAzure) -> None:
    cloud = azure.http().get("/metadata/endpoints", params={"api-version": "2022-09-01"}).json()
    aliases = azure.http().get(cloud["vmImageAliasDoc"]).json()["outputs"]["aliases"]["value"]
    assert aliases["Linux"]["Ubuntu2204"]["publisher"] == "Canonical"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("quota", "compute", "west-europe", T4, "48"), "west-europe"),
        (("quota", "compute", "westeurope", T4, "-1"), "0 or more"),
        (("quota", "network", "westeurope", T4, "48"), "invalid choice"),
        (("provider", "Microsoft.Batch", "Gone"), "invalid choice"),
        (("restrict", "Standard_NC4as_T4_v3", "no-where"), "no-where"),
    ],
)
def test_a_fault_that_changes_nothing_known_is_refused(azure: EmbeddedAzure, arguments: tuple[str, ...], words: str) -> None:
    done = azure.command("fault", *arguments)
    assert done.returncode in (1, 2)
    assert words in done.stderr


def test_faults_of_the_subscription_are_listed_with_what_they_say(azure: EmbeddedAzure) -> None:
    azure.command("fault", "quota", "compute", "westeurope", T4, "48")
    said = azure.command("fault", "list").stdout
    assert "kind quota" in said
    assert "location westeurope" in said
    assert "limit 48" in said
    assert azure.get(f"/subscriptions/{SUBSCRIPTION}/resourceGroups/none", GROUPS).status_code == 404
    assert "limit 48" in azure.command("fault", "list").stdout
