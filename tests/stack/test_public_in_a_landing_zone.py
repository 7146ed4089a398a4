"""Public examples in the weather `landing-zone`: before anything is created, `preflight` lists what would be denied, with
assignment, property and key, and a real `up` gets none of it."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.localazure.weather.test_landing_zone import PUBLIC
from tests.stack.conftest import MakeStack
from tests.stack.test_example_private import settings_of
from tests.support.embedded import SUBSCRIPTION, ServedAzure

pytestmark = pytest.mark.slow
# `languages` is a program; the shipped stacks have all of these resources, and more than a minute's work beside.
EXAMPLES = sorted(name.removeprefix("example.") for name in PUBLIC if name.startswith("example.") and name != "example.languages")
TYPES = {
    "registry": "Microsoft.ContainerRegistry/registries",
    "storage": "Microsoft.Storage/storageAccounts",
    "account": "Microsoft.Batch/batchAccounts",
    "environment": "Microsoft.App/managedEnvironments",
    "vault": "Microsoft.KeyVault/vaults",
    "workspace": "Microsoft.MachineLearningServices/workspaces",
    "cluster": "Microsoft.ContainerService/managedClusters",
}
DENIAL = re.compile(r"the policy assignment 'Deny-Public-Endpoints' denies (\S+) \S+ because of (properties\.\S+):")


@pytest.fixture
def zone(azure: ServedAzure) -> Iterator[ServedAzure]:
    """A subscription below a landing zone."""
    azure.fault("weather", name="landing-zone")
    yield azure
    azure.fault("calm", name="landing-zone")


def groups(azure: ServedAzure) -> set[str]:
    return {each["name"] for each in azure.get(f"/subscriptions/{SUBSCRIPTION}/resourceGroups", "2024-03-01").json()["value"]}


@pytest.mark.parametrize("example", EXAMPLES)
def test_what_up_is_denied_is_listed_before_anything_is_created(example: str, zone: ServedAzure, make_stack: MakeStack) -> None:
    settings = {**settings_of(example, zone.tenant_id), "image_source": f"{zone.url}/checkout.git#HEAD"}
    stack, before = make_stack(zone, settings), groups(zone)
    denied = sorted(TYPES[each.rpartition("-")[2]] for each in PUBLIC[f"example.{example}"])

    asked = stack.operations("preflight", "--json")
    rows = [each for each in json.loads(asked.stdout)["rows"] if each["check"] == "policy"]
    told = [found[1] for each in rows if (found := DENIAL.match(each["message"]))]
    assert (asked.returncode, sorted(told), {each["answer"] for each in rows}) == (1, denied, {"refused"})
    assert [each["fix"] for each in rows if not each["fix"].endswith("foundation.network: private")] == []
    assert groups(zone) <= before  # another test's may still be going

    stack.create()
    up = stack.pulumi("up", "--yes", "--skip-preview", "--continue-on-error")
    assert up.returncode != 0
    assert 'Code="RequestDisallowedByPolicy"' in up.stdout + up.stderr
    made = [str(each.get("id", "")).lower() for each in stack.exported()["resources"]]
    assert [each for each in made for kind in denied if re.search(f"/providers/{kind.lower()}/[^/]+$", each)] == []
