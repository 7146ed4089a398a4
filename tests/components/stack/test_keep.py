"""Parts that outlive their stack: which they are, when the stack takes them in, and what the engine is told of them."""

from collections.abc import Mapping
from typing import Any

import pytest

from azure_gpu.shared.refusal import Refused
from tests.components.recorded_bodies import run_program
from tests.components.recording import KEYS, SUBSCRIPTION, Recorded
from tests.components.settings_of import configuration

GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/azure-gpu-vision-test"
SAID: Mapping[str, Any] = {
    "foundation": dict.fromkeys(["resource_group", "identity", "storage"], "create"),
    "job_environment": {"keep": True},
    "jobs": {"adder": {"expires_after": "2099-11-30"}},
    "batch_account": {"keep": True, "applications": {"tool": {}}},
}
OF_ENVIRONMENT = {"foundation-resource-group", "westeurope-environment"}
OF_ACCOUNT = {
    "foundation-resource-group",
    "foundation-identity",
    "foundation-storage",
    "foundation-blob-service",
    "batch-account",
    "batch-application-tool",
}
TAGS = {"project": "azure-gpu", "stack": "test", "team": "vision"}
THERE: dict[str, dict[str, Any]] = {  # by function, what an earlier end of the stack has left
    "azure-native:resources:getResourceGroup": {"id": GROUP, "location": "westeurope", "tags": TAGS},
    "azure-native:managedidentity:getUserAssignedIdentity": {"id": "/kept/identity", "location": "westeurope", "tags": TAGS},
    "azure-native:storage:getStorageAccount": {"id": "/kept/storage", "location": "westeurope", "tags": TAGS},
    "azure-native:app:getManagedEnvironment": {"id": "/kept/environment", "location": "West Europe", "tags": TAGS},
    "azure-native:batch:getBatchAccount": {"id": "/kept/account", "location": "westeurope", "tags": TAGS},
    "azure-native:batch:getApplication": {"id": "/kept/tool"},
}
NOT_THERE = dict.fromkeys(THERE, "Status=404 Code=ResourceNotFound")
OUTPUTS = "pulumi:pulumi:readStackOutputs"


def run(said: Mapping[str, Any], answers: Mapping[str, Any], outputs: Mapping[str, Any] | str = {}) -> Recorded:
    """The whole program. `outputs`: of its own stack, after the last update."""
    told = outputs if isinstance(outputs, str) else {"outputs": outputs}
    return run_program(configuration(said), {**KEYS, **answers, OUTPUTS: told})


def kept(recorded: Recorded) -> set[str]:
    return {each.name for each in recorded.registrations if each.retain_on_delete}


def taken_in(recorded: Recorded) -> dict[str, str]:
    return {each.name: each.import_id for each in recorded.registrations if each.import_id}


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({}, OF_ENVIRONMENT | OF_ACCOUNT),
        ({"batch_account": {"applications": {"tool": {}}}}, OF_ENVIRONMENT),
        ({"job_environment": {"keep": False}}, OF_ACCOUNT),
        ({"job_environment": {"gpus": ["T4"]}, "batch_account": "create"}, set()),
    ],
)
def test_what_is_kept_stays_with_what_it_cannot_be_used_without(changed: dict[str, Any], names: set[str]) -> None:
    recorded = run({**SAID, **changed}, NOT_THERE)
    assert kept(recorded) == names
    assert taken_in(recorded) == {}


def test_what_the_stack_left_is_taken_in_by_its_id() -> None:
    assert taken_in(run(SAID, THERE)) == {
        "foundation-resource-group": GROUP,
        "foundation-identity": "/kept/identity",
        "foundation-storage": "/kept/storage",
        "westeurope-environment": "/kept/environment",
        "batch-account": "/kept/account",
        "batch-application-tool": "/kept/tool",
    }


def test_what_the_stack_has_is_not_taken_in_again_and_not_read() -> None:
    outputs = {
        "resource_group": "azure-gpu-vision-test",
        "identity": "/kept/identity",
        "storage": "/kept/storage",
        "batch_account": "/kept/account",
        "job_environments": {"westeurope": "/kept/environment"},
    }
    recorded = run(SAID, {"azure-native:app:getManagedEnvironment": THERE["azure-native:app:getManagedEnvironment"]}, outputs)
    assert taken_in(recorded) == {}
    assert kept(recorded) == OF_ENVIRONMENT | OF_ACCOUNT
    left = {**outputs, "batch_account": None}  # it was removed from the file, and is there again
    assert taken_in(run(SAID, THERE, left)) == {"batch-account": "/kept/account", "batch-application-tool": "/kept/tool"}


def test_a_stack_of_an_earlier_program_has_the_environment_that_it_told_nothing_of() -> None:
    outputs = {"resource_group": "azure-gpu-vision-test", "storage": "/kept/storage", "batch_account": "/kept/account"}
    assert taken_in(run(SAID, THERE, outputs)) == {}


def test_a_stack_whose_outputs_cannot_be_read_takes_in_what_is_there() -> None:
    assert "batch-account" in taken_in(run(SAID, THERE, "unknown stack"))


def test_what_was_kept_in_another_region_is_refused() -> None:
    elsewhere = {"id": "/kept/account", "location": "eastus", "tags": TAGS}
    with pytest.raises(Refused) as refused:
        run(SAID, {**THERE, "azure-native:batch:getBatchAccount": elsewhere})
    assert "batch_account: " in str(refused.value)
    assert "was kept when the stack was destroyed, and is in eastus" in str(refused.value)
    assert "az group delete --name azure-gpu-vision-test" in str(refused.value)


@pytest.mark.parametrize("theirs", [{}, {**TAGS, "stack": "other"}])
def test_what_others_have_under_its_name_is_refused(theirs: dict[str, str]) -> None:
    with pytest.raises(Refused, match="azure-gpu-vision-test already exists without this stack's tags"):
        run(SAID, {**THERE, "azure-native:resources:getResourceGroup": {"id": GROUP, "location": "westeurope", "tags": theirs}})


@pytest.mark.parametrize("protects", [None, True])
def test_kept_data_is_protected_only_where_the_file_says_so(protects: bool | None) -> None:
    opts = {"opts": {"protect": True}} if protects else {}
    said = {**SAID, **{section: {**SAID[section], **opts} for section in ("foundation", "batch_account")}}
    recorded = run(said, NOT_THERE)
    for name in ("foundation-storage", "foundation-blob-service", "batch-account"):
        kept_part = recorded.named(name)
        assert kept_part.retain_on_delete
        assert kept_part.protect is bool(protects)
