"""What outlives its stack, on the real engine: left by `pulumi destroy` and by `down`, taken in by the next `up`."""

from typing import Any

import pytest

from tests.stack.conftest import MakeStack
from tests.support.embedded import ServedAzure
from tests.support.stack import ProgramStack

pytestmark = pytest.mark.slow
VERSIONS = {  # of what stays
    "azure-native:resources:ResourceGroup": "2024-03-01",
    "azure-native:managedidentity:UserAssignedIdentity": "2023-01-31",
    "azure-native:storage:StorageAccount": "2024-01-01",
    "azure-native:storage:BlobServiceProperties": "2024-01-01",
    "azure-native:app:ManagedEnvironment": "2025-02-02-preview",
    "azure-native:batch:BatchAccount": "2024-07-01",
    "azure-native:batch:Application": "2024-07-01",
}
BY_CREATION = {  # what an environment, an account and an identity have from their creation on, and no other one of their name
    "azure-native:app:ManagedEnvironment": "defaultDomain",
    "azure-native:managedidentity:UserAssignedIdentity": "principalId",
    "azure-native:storage:StorageAccount": "creationTime",
}


def configuration(**changed: Any) -> dict[str, Any]:
    return {
        "team": "tests",
        "location": "eastus",
        "as_of": "2026-11-21",
        "protect_data": True,
        "foundation": dict.fromkeys(["resource_group", "identity", "storage"], "create"),
        "job_environment": {"keep": True},
        "jobs": {"adder": {"expires_after": "2026-11-30"}},
        "batch_account": {"keep": True, "applications": {"tool": {}}},
        "pools": {"gpus": {"size": "Standard_NC4as_T4_v3", "expires_after": "2026-11-30", "dedicated_nodes": 0}},
        **changed,
    }


def test_what_is_kept_is_left_in_azure_and_taken_in_again(azure: ServedAzure, make_stack: MakeStack) -> None:
    stack = make_stack(azure, configuration())
    stack.create()
    stack.update()
    before = own(azure, stack)
    kept = {id_: body for id_, (token, body) in before.items() if token in VERSIONS}
    assert len(kept) == len(VERSIONS)

    done = stack.pulumi("destroy", "--yes", "--skip-preview")
    assert done.returncode == 0, done.stdout + done.stderr
    assert stack.exported().get("resources") in (None, [])
    assert left(azure, before) == kept
    stack.configure(configuration(tags={"cost-center": "42"}))  # what is taken in is brought to what the file says by now
    imports = {step.name for step in stack.steps() if step.operation.startswith("import")}
    assert imports == {
        "foundation-resource-group",
        "foundation-identity",
        "foundation-storage",
        "eastus-environment",
        "batch-account",
        "batch-application-tool",
    }
    stack.update()
    refreshed = stack.pulumi("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    assert refreshed.returncode == 0, refreshed.stdout + refreshed.stderr
    assert of_creation(own(azure, stack)) == of_creation(before)
    group = own(azure, stack)[stack_id(stack, "azure-native:resources:ResourceGroup")][1]
    assert group["tags"]["cost-center"] == "42"

    done = stack.down()
    assert done.returncode == 0, done.stdout + done.stderr
    name = group["name"]
    assert f"az group delete --name {name}" in done.stdout
    assert stack.name not in stack.names()
    assert left(azure, before).keys() == kept.keys()
    done = stack.up()
    assert done.returncode == 0, done.stdout + done.stderr
    assert of_creation(own(azure, stack)) == of_creation(before)

    stack.configure(configuration(protect_data=False, job_environment={}, batch_account={"applications": {"tool": {}}}))
    stack.update()  # without `keep`, nothing is replaced, and all of it goes
    assert of_creation(own(azure, stack)) == of_creation(before)
    assert stack.down().returncode == 0
    assert left(azure, before) == {}


def own(azure: ServedAzure, stack: ProgramStack) -> dict[str, tuple[str, Any]]:
    """What the stack has of Azure, by id: Pulumi's token, and the body of what may stay."""
    found = {each["id"]: each["type"] for each in stack.exported()["resources"] if each["type"].startswith("azure-native:")}
    return {id_: (token, azure.get(id_, VERSIONS[token]).json() if token in VERSIONS else None) for id_, token in found.items()}


def stack_id(stack: ProgramStack, token: str) -> str:
    return next(each["id"] for each in stack.exported()["resources"] if each["type"] == token)


def left(azure: ServedAzure, before: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    """What of it is there, whether it was to stay or not."""
    versions = {**VERSIONS, "azure-native:app:Job": "2025-02-02-preview", "azure-native:batch:Pool": "2024-07-01"}
    asked = {id_: azure.get(id_, versions[token]) for id_, (token, _) in before.items() if token in versions}
    return {id_: answer.json() for id_, answer in asked.items() if answer.status_code == 200}


def of_creation(found: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    return {id_: body["properties"][BY_CREATION[token]] for id_, (token, body) in found.items() if token in BY_CREATION}
