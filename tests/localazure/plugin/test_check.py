"""Names, locations and refusals before anything is planned, as the engine gets them."""

import re
import uuid
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pulumi.runtime.proto import provider_pb2

from azure_gpu.formats.azure_types import ALL, BY_TOKEN, ML_ONLINE_ENDPOINT, ROLE_ASSIGNMENT, AzureType
from localazure.plugin.naming import Autonaming, Mode, Strategy, strategy_of, with_name
from tests.localazure.plugin.conftest import AzureEngine, Engine
from tests.support.tables import of_table

GROUP = "azure-native:resources:ResourceGroup"
STORAGE = "azure-native:storage:StorageAccount"
CONTAINERS = "azure-native:containerinstance:ContainerGroup"
TASKS = "azure-native:containerregistry:TaskRun"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
AutonamingOptions = provider_pb2.CheckRequest.AutonamingOptions
ACCOUNT: dict[str, Any] = {
    "resourceGroupName": "rg",
    "kind": "StorageV2",
    "sku": {"name": "Standard_LRS"},
    "location": "westeurope",
}


@given(st.sampled_from(ALL), st.text("abc", min_size=1, max_size=9), st.binary(min_size=1, max_size=40))
def test_a_name_follows_from_type_logical_name_and_seed(azure_type: AzureType, logical: str, seed: bytes) -> None:
    parameter = azure_type.name_parameter
    inputs = with_name(azure_type, logical, {}, {}, seed, Autonaming())
    assert inputs == with_name(azure_type, logical, {}, {}, seed, Autonaming())
    if azure_type == ROLE_ASSIGNMENT:
        assert str(uuid.UUID(inputs[parameter])) == inputs[parameter]
    elif azure_type.arm_type.count("/") > 1 and azure_type != ML_ONLINE_ENDPOINT:  # what lies below another
        assert inputs == {parameter: logical}
    else:
        assert re.fullmatch(re.escape(logical) + "[0-9a-f]{8}", inputs[parameter])
        assert inputs["__createBeforeDelete"] is True


@given(st.sampled_from(ALL), st.sampled_from(Mode), st.binary(max_size=4))
def test_a_name_that_the_program_gives_is_kept_and_is_not_ours(azure_type: AzureType, mode: Mode, seed: bytes) -> None:
    given_inputs = {azure_type.name_parameter: "mine"}
    old = {azure_type.name_parameter: "older", "__createBeforeDelete": True}
    assert with_name(azure_type, "logical", given_inputs, old, seed, Autonaming(mode, "proposed")) == given_inputs


@given(st.sampled_from(ALL), st.sampled_from(Mode), st.sampled_from([{}, {"__createBeforeDelete": True}]))
def test_a_name_once_given_stays(azure_type: AzureType, mode: Mode, flag: dict[str, bool]) -> None:
    old = {azure_type.name_parameter: "older", **flag}
    assert with_name(azure_type, "logical", {}, old, b"seed", Autonaming(mode, "proposed")) == old


# The table of pulumi-azure-native's AutoNamer for the declared types.
@of_table("token", "strategy")
def test_the_strategy_is_the_real_providers(token: str, strategy: str) -> None:
    assert strategy_of(BY_TOKEN[token]) is Strategy[strategy.upper()]


@pytest.mark.parametrize(
    ("token", "mode", "name"),
    [
        (STORAGE, AutonamingOptions.PROPOSE, "proposed"),
        (STORAGE, AutonamingOptions.ENFORCE, "proposed"),
        (TASKS, AutonamingOptions.PROPOSE, "proposed"),
        ("azure-native:authorization:RoleAssignment", AutonamingOptions.ENFORCE, "proposed"),
    ],
)
def test_a_project_may_propose_and_enforce_names(offline: Engine, token: str, mode: Any, name: str) -> None:
    inputs, _ = offline.check(token, ACCOUNT, autonaming=AutonamingOptions(mode=mode, proposed_name="proposed"))
    assert inputs[BY_TOKEN[token].name_parameter] == name
    assert inputs["__createBeforeDelete"] is True


def test_a_project_without_autonaming_has_to_name_everything(offline: Engine) -> None:
    _, failures = offline.check(STORAGE, ACCOUNT, autonaming=AutonamingOptions(mode=AutonamingOptions.DISABLE))
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


def test_without_any_location_the_user_is_told_how_to_give_one(offline: Engine) -> None:
    _, failures = offline.check(GROUP, {})
    assert failures == [
        "missing required property 'location'. Either set it explicitly or configure it with "
        "'pulumi config set azure-native:location <value>'."
    ]


def test_all_that_is_missing_or_of_a_wrong_type_is_told_with_its_path(offline: Engine) -> None:
    containers = [{"image": 7, "resources": {"requests": {"cpu": "1", "memoryInGB": 1.5, "gpu": {"count": 1.5, "sku": "K80"}}}}]
    _, failures = offline.check(CONTAINERS, {"location": "x", "containers": containers, "zones": "1", "tags": ["a"]})
    assert sorted(failures) == [
        "'containers[0].image' should be of type 'string' but got a number",
        "'containers[0].resources.requests.cpu' should be of type 'number' but got a string",
        "'containers[0].resources.requests.gpu.count' must be an integer but got 1.5",
        "'tags' should be of type 'object' but got an array",
        "'zones' should be of type 'array' but got a string",
        "missing required property 'containers[0].name'",
        "missing required property 'resourceGroupName'",
    ]


def test_values_that_are_not_known_yet_pass_at_any_depth(offline: Engine) -> None:
    containers = [{"name": UNKNOWN, "resources": UNKNOWN, "environmentVariables": [UNKNOWN]}]
    news = {"resourceGroupName": UNKNOWN, "location": "x", "containers": containers, "identity": UNKNOWN}
    assert offline.check(CONTAINERS, news)[1] == []


def test_a_property_that_nobody_knows_is_left_for_azure_to_refuse(offline: Engine) -> None:
    inputs, failures = offline.check(STORAGE, {**ACCOUNT, "bogus": 1})
    assert (inputs["bogus"], failures) == (1, [])


def test_a_union_has_to_say_what_it_is(offline: Engine) -> None:
    news = {"resourceGroupName": "rg", "registryName": "r", "location": "x"}
    assert offline.check(TASKS, {**news, "runRequest": {"type": "DockerBuildRequest", "platform": {"os": "Linux"}}})[1] == [
        "missing required property 'runRequest.dockerFilePath'"
    ]
    (failure,) = offline.check(TASKS, {**news, "runRequest": {"type": "Other"}})[1]
    assert failure.startswith("'runRequest.type' takes 'DockerBuildRequest'")
    assert failure.endswith("but got 'Other'")
