"""What the subscription is told about itself, read with Azure's own clients, and how faults change it."""

from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError
from azure.mgmt.authorization import AuthorizationManagementClient
from azure.mgmt.batch import BatchManagementClient
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.containerregistry import ContainerRegistryManagementClient
from azure.mgmt.machinelearningservices import MachineLearningServicesMgmtClient
from azure.mgmt.resource.resources import ResourceManagementClient
from azure.mgmt.storage import StorageManagementClient
from azure.mgmt.storage.types import StorageAccountCheckNameAvailabilityParameters

from tests.localazure.conftest import GROUPS
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.management import client

SUBSCRIPTION_ID = f"/subscriptions/{SUBSCRIPTION}"
T4 = "Standard NCASv3_T4 Family"
pytestmark = pytest.mark.usefixtures("no_fault_is_left")


def fault(azure: EmbeddedAzure, *arguments: str) -> None:
    done = azure.command("fault", *arguments)
    assert done.returncode == 0, done.stderr


def skus(azure: EmbeddedAzure, region: str = "westeurope") -> dict[str, Any]:
    rows = client(ComputeManagementClient, azure).resource_skus.list(filter=f"location eq '{region}'")
    return {row.name: row for row in rows if row.name}


def test_sizes_that_are_sold_come_with_family_zones_and_capabilities(azure: EmbeddedAzure) -> None:
    sold = skus(azure)
    sku = sold["Standard_NC16as_T4_v3"]
    assert (sku.resource_type, sku.family, sku.locations) == ("virtualMachines", T4, ["westeurope"])
    assert sku.location_info[0].zones == ["1", "2", "3"]
    assert sku.restrictions == []
    capabilities = {each.name: each.value for each in sku.capabilities}
    assert capabilities.items() >= {
        ("vCPUs", "16"),
        ("MemoryGB", "110"),
        ("GPUs", "1"),
        ("RdmaEnabled", "False"),
        ("LowPriorityCapable", "True"),
    }
    (shares,) = [each.value for each in sold["Standard_NV6ads_A10_v5"].capabilities if each.name == "GPUs"]
    assert shares == "1", "a share of a GPU counts as a whole one"
    retired, dear = {"Standard_NC6", "Standard_NC24rs_v3"}, "Standard_ND96isr_H100_v5"
    assert sold.keys() & {*retired, dear} == {dear}
    t4 = "Standard_NC4as_T4_v3"
    assert [t4 in skus(azure, region) for region in ("swedencentral", "norwayeast")] == [True, False], "by the price list"
    assert skus(azure, "moon-base") == {}


@pytest.mark.slow
def test_the_clock_decides_what_is_sold(azure: EmbeddedAzure) -> None:
    fault(azure, "clock", "2023-09-06")
    assert "Standard_NC6" in skus(azure)
    fault(azure, "clock", "2023-09-07")
    assert "Standard_NC6" not in skus(azure)


def test_a_size_can_be_withheld_from_a_region_or_a_zone(azure: EmbeddedAzure) -> None:
    fault(azure, "restrict", "nc4as_t4_v3", "West Europe", "--zone", "2")
    fault(azure, "restrict", "Standard_NC8as_T4_v3", "westeurope", "--reason", "QuotaId")
    sold = skus(azure)
    (zonal,) = sold["Standard_NC4as_T4_v3"].restrictions
    assert (zonal.type, zonal.restriction_info.zones, zonal.reason_code) == ("Zone", ["2"], "NotAvailableForSubscription")
    (whole,) = sold["Standard_NC8as_T4_v3"].restrictions
    assert (whole.type, whole.restriction_info.locations, whole.reason_code) == ("Location", ["westeurope"], "QuotaId")
    assert skus(azure, "northeurope")["Standard_NC4as_T4_v3"].restrictions == []


def test_quotas_of_virtual_machines_are_generous_until_a_fault_says_otherwise(azure: EmbeddedAzure) -> None:
    compute = client(ComputeManagementClient, azure)

    def quotas(region: str) -> dict[str | None, tuple[int, int]]:
        return {each.name.value: (each.limit, each.current_value) for each in compute.usage.list(region)}

    assert quotas("westeurope").items() >= {
        ("cores", (10_000, 0)),
        ("lowPriorityCores", (1000, 0)),
        (T4, (1000, 0)),
        ("standardNDSH100v5Family", (1000, 0)),
    }
    fault(azure, "quota", "compute", "westeurope", "standardncasv3_t4family", "48", "--used", "16")
    fault(azure, "quota", "compute", "westeurope", "cores", "100")
    assert quotas("westeurope").items() >= {("cores", (100, 0)), (T4, (48, 16))}
    assert quotas("northeurope")[T4] == (1000, 0)


def test_batch_says_how_many_accounts_and_which_sizes(azure: EmbeddedAzure) -> None:
    batch = client(BatchManagementClient, azure)
    assert batch.location.get_quotas("westeurope").account_quota == 1000
    fault(azure, "quota", "batch", "westeurope", "accounts", "1")
    assert batch.location.get_quotas("westeurope").account_quota == 1
    sizes = {each.name: each for each in batch.location.list_supported_virtual_machine_skus("westeurope")}
    assert sizes["Standard_NC4as_T4_v3"].family_name == T4
    end = sizes["Standard_HB120rs_v2"].batch_support_end_of_life
    assert end is not None
    assert end.date().isoformat() == "2027-05-31"
    assert "Standard_NC6" not in sizes


@pytest.mark.parametrize(("name", "free"), [("mnistbatch", True), ("Mnist-Batch", False), ("ab", False)])
def test_batch_says_whether_a_name_is_free(azure: EmbeddedAzure, name: str, free: bool) -> None:
    asked = {"name": name, "type": "Microsoft.Batch/batchAccounts"}
    answer = client(BatchManagementClient, azure).location.check_name_availability("westeurope", asked)
    assert answer.name_available is free
    assert answer.reason == (None if free else "Invalid")


def test_machine_learning_has_quotas_of_its_own(azure: EmbeddedAzure) -> None:
    learning: Any = client(MachineLearningServicesMgmtClient, azure)  # its models say None of all that Azure sets

    def usages() -> dict[tuple[str, str], tuple[int, int]]:
        rows = learning.usages.list("westeurope")
        return {(each.name.value, each.type.split("/")[-2]): (each.limit, each.current_value) for each in rows}

    family = "StandardNCASv3_T4Family"
    assert usages().items() >= {
        (("TotalDedicatedCores", "totalDedicatedCores"), (10_000, 0)),
        (("TotalLowPriorityCores", "totalLowPriorityCores"), (1000, 0)),
        ((family, "dedicatedCores"), (1000, 0)),
        ((family, "lowPriorityCores"), (-1, 0)),
    }
    fault(azure, "quota", "compute", "westeurope", T4, "1")
    fault(azure, "quota", "ml", "westeurope", T4, "24", "--used", "8")
    assert usages()[family, "dedicatedCores"] == (24, 8)
    limits = {each.name.value: each.limit for each in learning.quotas.list("westeurope") if "dedicated" in each.type}
    assert limits[family] == 24
    # This client looks for the list under an older name, so it is where a client keeps what it doesn't know.
    sizes = {each["name"]: each for each in learning.virtual_machine_sizes.list("westeurope").additional_properties["value"]}
    assert (sizes["Standard_NC4as_T4_v3"]["vCPUs"], sizes["Standard_NC4as_T4_v3"]["gpus"]) == (4, 1)


def test_providers_are_registered_until_a_fault_says_otherwise(azure: EmbeddedAzure, group: str) -> None:
    providers = client(ResourceManagementClient, azure).providers
    states = {each.namespace: each.registration_state for each in providers.list()}
    assert states.items() >= {
        (f"Microsoft.{name}", "Registered")
        for name in ("App", "Batch", "Compute", "ContainerInstance", "ContainerService", "MachineLearningServices", "Storage")
    }
    fault(azure, "provider", "Microsoft.Batch", "NotRegistered")
    fault(azure, "provider", "microsoft.managedidentity", "Unregistered")
    assert providers.get("Microsoft.Batch").registration_state == "NotRegistered"
    with pytest.raises(ResourceExistsError, match="not registered to use namespace 'Microsoft\\.Batch'"):
        # With the client's own policy it would register the provider.
        client(BatchManagementClient, azure, policies=registers_nothing(azure)).location.get_quotas("westeurope")
    identity = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/trainer"
    answer = azure.put(identity, {"location": "westeurope"}, "2023-01-31")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "MissingSubscriptionRegistration")
    fault(azure, "clear")
    assert azure.put(identity, {"location": "westeurope"}, "2023-01-31").status_code == 201


def registers_nothing(azure: EmbeddedAzure) -> list[Any]:
    from azure.core.pipeline.policies import ContentDecodePolicy, HeadersPolicy

    return [HeadersPolicy({"Authorization": f"Bearer {azure.token()}"}), ContentDecodePolicy()]


def test_the_caller_may_do_everything_until_a_fault_takes_a_right_away(azure: EmbeddedAzure, group: str) -> None:
    authorization = client(AuthorizationManagementClient, azure)
    name = group.rsplit("/", 1)[1]

    def rights() -> list[tuple[list[str] | None, list[str] | None]]:
        return [(each.actions, each.not_actions) for each in authorization.permissions.list_for_resource_group(name)]

    assert rights() == [(["*"], [])]
    action = "Microsoft.Authorization/roleAssignments/write"
    fault(azure, "forbid", action)
    assert rights() == [(["*"], [action])]
    whole = azure.get(f"{SUBSCRIPTION_ID}/providers/Microsoft.Authorization/permissions", "2022-04-01")
    assert whole.json()["value"][0]["notActions"] == [action]
    reader = f"{SUBSCRIPTION_ID}/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7"
    path = f"{group}/providers/Microsoft.Authorization/roleAssignments/0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3"
    body = {"properties": {"principalId": azure.principal_id, "roleDefinitionId": reader}}
    answer = azure.put(path, body, "2022-04-01")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "AuthorizationFailed")
    assert action in answer.json()["error"]["message"]
    fault(azure, "clear")
    assert azure.put(path, body, "2022-04-01").status_code == 201


def test_names_of_storage_accounts_and_registries_are_free_until_they_are_taken(azure: EmbeddedAzure, group: str) -> None:
    storage = client(StorageManagementClient, azure).storage_accounts
    registries = client(ContainerRegistryManagementClient, azure).registries
    name = f"sdk{group[-8:]}"
    account: StorageAccountCheckNameAvailabilityParameters = {"name": name, "type": "Microsoft.Storage/storageAccounts"}
    registry = {"name": name, "type": "Microsoft.ContainerRegistry/registries"}
    assert storage.check_name_availability(account).name_available
    assert registries.check_name_availability(registry).name_available
    body = {"location": "westeurope", "sku": {"name": "Standard_LRS"}, "kind": "StorageV2"}
    azure.put(f"{group}/providers/Microsoft.Storage/storageAccounts/{name}", body, "2024-01-01")
    answer = storage.check_name_availability(account)
    assert (answer.name_available, answer.reason) == (False, "AlreadyExists")
    assert registries.check_name_availability(registry).name_available
    assert storage.check_name_availability({**account, "name": "Not-Valid"}).reason == "AccountNameInvalid"


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
    fault(azure, "quota", "compute", "westeurope", T4, "48")
    said = azure.command("fault", "list").stdout
    assert "kind quota" in said
    assert "location westeurope" in said
    assert "limit 48" in said
    assert azure.get(f"{SUBSCRIPTION_ID}/resourceGroups/none", GROUPS).status_code == 404
    assert "limit 48" in azure.command("fault", "list").stdout


def test_images_are_listed_as_az_vm_image_list_asks_for_them(azure: EmbeddedAzure) -> None:
    images = client(ComputeManagementClient, azure).virtual_machine_images
    assert "microsoft-dsvm" in [each.name for each in images.list_publishers("westeurope")]
    assert "ubuntu-hpc" in [each.name for each in images.list_offers("westeurope", "Microsoft-DSVM")]
    skus_ = [each.name for each in images.list_skus("westeurope", "microsoft-dsvm", "ubuntu-hpc")]
    assert {"2204", "2404"} <= set(skus_)
    (version,) = images.list("westeurope", "microsoft-dsvm", "ubuntu-hpc", "2204")
    assert version.id is not None
    assert version.id.endswith(f"/Skus/2204/Versions/{version.name}")
    with pytest.raises(HttpResponseError) as refused:
        images.list_offers("westeurope", "nobody")
    assert refused.value.status_code == 404
    cloud = azure.http().get("/metadata/endpoints", params={"api-version": "2022-09-01"}).json()
    aliases = azure.http().get(cloud["vmImageAliasDoc"]).json()["outputs"]["aliases"]["value"]
    assert aliases["Linux"]["Ubuntu2204"]["publisher"] == "Canonical"


def test_features_are_registered_as_az_feature_register_asks_for_it(azure: EmbeddedAzure) -> None:
    feature = f"{SUBSCRIPTION_ID}/providers/Microsoft.Features/providers/Microsoft.ContainerService/features/AKSInfinibandSupport"
    fault(azure, "provider", "Microsoft.ContainerService/AKSInfinibandSupport", "NotRegistered")
    assert azure.get(feature, "2021-07-01").json()["properties"]["state"] == "NotRegistered"
    assert azure.post(f"{feature}/register", "2021-07-01").json()["properties"]["state"] == "Registered"
    assert azure.get(feature, "2021-07-01").json()["properties"]["state"] == "Registered"
    fault(azure, "provider", "Microsoft.ContainerService/AKSInfinibandSupport", "NotRegistered")
    assert azure.get(feature, "2021-07-01").json()["properties"]["state"] == "NotRegistered"
