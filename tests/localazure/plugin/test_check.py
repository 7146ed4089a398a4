"""Names, locations and refusals before anything is planned, as the engine gets them."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.formats.azure_types import ALL, BY_TOKEN, AzureType
from localazure.plugin.naming import Autonaming, with_name
from tests.localazure.plugin.conftest import AzureEngine, Engine
from tests.support.tables import of_table, rows_of

STORAGE = "azure-native:storage:StorageAccount"
TASKS = "azure-native:containerregistry:TaskRun"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
ACCOUNT: dict[str, Any] = {
    "resourceGroupName": "rg",
    "kind": "StorageV2",
    "sku": {"name": "Standard_LRS"},
    "location": "westeurope",
}


AUTONAMINGS = [None, *(Autonaming(mode=mode, proposed_name="proposed") for mode in Autonaming.Mode.values())]


@given(st.sampled_from(ALL), st.sampled_from(AUTONAMINGS), st.sampled_from([{}, {"__createBeforeDelete": True}]))
def test_a_name_that_the_program_gives_is_kept_and_one_that_was_given_stays(
    azure_type: AzureType, autonaming: Autonaming | None, flag: dict[str, bool]
) -> None:
    mine, old = {azure_type.name_parameter: "mine"}, {azure_type.name_parameter: "older", **flag}
    assert with_name(azure_type, "logical", mine, old, b"seed", autonaming) == mine
    assert with_name(azure_type, "logical", {}, old, b"seed", autonaming) == old


# The table of pulumi-azure-native's AutoNamer for the declared types. `name`: what follows from the logical name and the seed.
@of_table("token", "name")
def test_the_name_is_made_as_the_real_provider_makes_it(token: str, name: str) -> None:
    made = with_name(BY_TOKEN[token], "thing", {}, {}, b"seed", None)
    assert made == {BY_TOKEN[token].name_parameter: name} | ({} if name == "thing" else {"__createBeforeDelete": True})


@pytest.mark.parametrize(
    ("token", "mode", "name"),
    [
        (STORAGE, Autonaming.PROPOSE, "proposed"),
        (STORAGE, Autonaming.ENFORCE, "proposed"),
        (TASKS, Autonaming.PROPOSE, "proposed"),
        ("azure-native:authorization:RoleAssignment", Autonaming.ENFORCE, "proposed"),
    ],
)
def test_a_project_may_propose_and_enforce_names(offline: Engine, token: str, mode: Any, name: str) -> None:
    inputs, _ = offline.check(token, ACCOUNT, autonaming=Autonaming(mode=mode, proposed_name="proposed"))
    assert inputs[BY_TOKEN[token].name_parameter] == name
    assert inputs["__createBeforeDelete"] is True


def test_a_project_without_autonaming_has_to_name_everything(offline: Engine) -> None:
    _, failures = offline.check(STORAGE, ACCOUNT, autonaming=Autonaming(mode=Autonaming.DISABLE))
    assert failures == ["missing required property 'accountName'"]


def test_the_location_is_the_old_one_before_the_resource_groups(engine: AzureEngine, group: str) -> None:
    account = {**ACCOUNT, "resourceGroupName": group.rsplit("/", 1)[1]}
    del account["location"]
    assert engine.check(STORAGE, account)[0]["location"] == "westeurope"
    assert engine.check(STORAGE, account, olds={"location": "eastus"})[0]["location"] == "eastus"
    asked = len(engine.requests)
    engine.check(STORAGE, account)
    assert len(engine.requests) == asked, "a group's location is asked for once"


def test_the_location_is_unknown_while_the_resource_group_is(offline: Engine) -> None:
    account = {**ACCOUNT, "resourceGroupName": UNKNOWN}
    del account["location"]
    assert offline.check(STORAGE, account) == (
        {
            **account,
            "location": UNKNOWN,
            "accountName": "thing19b25856",
            "__createBeforeDelete": True,
            "azureApiVersion": "2024-01-01",
        },
        [],
    )


@pytest.mark.parametrize(
    ("token", "news", "failures"), rows_of(__file__, "all_that_is_missing_or_of_a_wrong_type_is_told_with_its_path")
)
def test_all_that_is_missing_or_of_a_wrong_type_is_told_with_its_path(
    offline: Engine, token: str, news: dict[str, Any], failures: list[str]
) -> None:
    inputs, found = offline.check(token, json.loads(json.dumps(news).replace('"?"', f'"{UNKNOWN}"')))
    assert sorted(found) == failures
    assert set(news) <= set(inputs)
