"""What a foundation registers with the engine, beyond the inputs that the cases show."""

import pytest

from azure_gpu.foundation.args import FoundationWiring
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.foundation.role_commands import role_commands
from azure_gpu.foundation.spec import resolve
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.wired import Wired
from azure_gpu.shared.workloads import Workload
from tests.components.recording import PROJECT, STACK, SUBSCRIPTION, declare
from tests.components.settings_of import STACK_ARGS

EVERYTHING: FoundationWiring = {
    "stack": STACK_ARGS,
    "resource_group": {"create": True},
    "identity": {"create": True},
    "registry": {"create": True},
    "log_workspace": {"create": True},
    "storage": {"create": True},
    "workloads": [Workload.MNIST, Workload.SCORING, Workload.VECTOR_ADD],
    "image_source": "https://github.com/someone/fork.git#0123abc",
}


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_two_foundations_in_one_program_share_no_urn(preview: bool) -> None:
    def build() -> None:
        Foundation("one", Wired(EVERYTHING))
        Foundation("two", Wired(EVERYTHING))

    urns = [registration.urn for registration in declare(build, preview=preview).registrations]
    assert len(urns) == len(set(urns)) == 22


def test_nobody_reads_a_key_of_the_log_workspace() -> None:
    made: list[Foundation] = []
    assert declare(lambda: made.append(Foundation("one", Wired(EVERYTHING)))).lookups == []
    assert made[0].dependencies.get("logs", {}).keys() == {"workspace_arm_id"}


def test_outputs_are_what_the_class_says() -> None:
    args: FoundationWiring = {**EVERYTHING, "serving_identity": {"create": True}}
    recorded = declare(lambda: Foundation("one", Wired(args)))
    [outputs] = [outputs for urn, outputs in recorded.outputs.items() if "Foundation" in urn]
    assert outputs.keys() == Foundation.__annotations__.keys() - {"dependencies", "around"}


def test_without_the_right_to_assign_roles_the_commands_are_printed_instead() -> None:
    args: FoundationWiring = {**EVERYTHING, "assign_roles": False}
    recorded = declare(lambda: Foundation("one", Wired(args)), preview=True)
    assert recorded.of_type("azure-native:authorization:RoleAssignment") == []
    [said] = [line for line in recorded.log if "az role assignment create" in line]
    assert said.startswith("an administrator has to run:")


def test_the_commands_name_everything_before_anything_exists() -> None:
    context, _ = resolve_stack(STACK_ARGS, PROJECT, STACK)
    spec, problems = resolve(EVERYTHING, context)
    assert problems == []
    [command] = role_commands(spec)
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/azure-gpu-vision-test/providers"
    assert f"--ids {group}/Microsoft.ManagedIdentity/userAssignedIdentities/azure-gpu-vision-test-identity " in command
    assert f"--role AcrPull --scope {group}/Microsoft.ContainerRegistry/registries/azuregpuvisiontest" in command


def test_where_batch_needs_it_the_identity_gets_a_role_on_the_storage_or_a_command_says_how() -> None:
    args: FoundationWiring = {**EVERYTHING, "write_blobs": True}
    pulls = ("one-identity", "AcrPull", "one-registry", "Foundation::one")
    writes = ("one-identity", "Storage Blob Data Contributor", "one-storage", "Foundation::one")
    assert declare(lambda: Foundation("one", Wired(args))).roles == [pulls, writes]
    assert declare(lambda: Foundation("one", Wired(EVERYTHING))).roles == [pulls]
    context, _ = resolve_stack(STACK_ARGS, PROJECT, STACK)
    pull, blobs = role_commands(resolve(args, context)[0])
    assert "--role AcrPull " in pull
    assert "--role 'Storage Blob Data Contributor' --scope /subscriptions/" in blobs
    assert "/Microsoft.Storage/storageAccounts/" in blobs
    [said] = [
        line for line in declare(lambda: Foundation("one", Wired({**args, "assign_roles": False}))).log if "az role" in line
    ]
    assert said.splitlines()[1:] == [pull, blobs]


def test_components_on_a_foundation_learn_whether_the_program_assigns_roles() -> None:
    made: list[Foundation] = []
    declare(lambda: made.append(Foundation("one", Wired(EVERYTHING))))
    declare(lambda: made.append(Foundation("two", Wired({**EVERYTHING, "assign_roles": False}))))
    assert [each.dependencies.get("assign_roles") for each in made] == [True, False]
