"""What a container group registers with the engine, beyond the inputs that the cases show."""

import pytest

from components.container_group import ContainerGroup
from components.container_group_args import ContainerGroupArgs
from components.foundation import Foundation
from components.refusal import Refused
from tests.components.recording import KEYS, WORKSPACE_KEY, declare, readable
from tests.components.settings_of import STACK_ARGS

GROUP = "azure-native:containerinstance:ContainerGroup"
ARGS: ContainerGroupArgs = {"stack": STACK_ARGS, "resource_group_name": "group", "image": "python:3.11"}


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_two_groups_in_one_program_share_no_urn_and_no_name(preview: bool) -> None:
    def build() -> None:
        ContainerGroup("one", ARGS)
        ContainerGroup("two", ARGS)

    recorded = declare(build, preview=preview)
    urns = [registration.urn for registration in recorded.registrations]
    assert len(urns) == len(set(urns)) == 4
    assert len({registration.inputs["containerGroupName"] for registration in recorded.of_type(GROUP)}) == 2


def test_the_engine_is_told_what_the_service_cannot_change_in_place() -> None:
    # Microsoft Learn, container-instances-update: OS type, restart policy, CPU, memory and GPU, network need a new group.
    registration = declare(lambda: ContainerGroup("one", ARGS)).one(GROUP)
    assert {"containers[*].resources", "osType", "restartPolicy", "subnetIds"} <= set(registration.replace_on_changes)
    assert registration.delete_before_replace
    assert not [path for path in registration.replace_on_changes if "image" in path or "tags" in path or "environment" in path]


def test_a_secret_variable_and_the_workspace_key_are_secret_all_the_way() -> None:
    args: ContainerGroupArgs = {
        **ARGS,
        "secret_environment": {"TOKEN": "hunter2"},
        "logs": {"workspace_id": "customer", "workspace_key": "in the clear"},
    }

    def build() -> None:
        foundation = Foundation("foundation", {"stack": STACK_ARGS, "log_workspace": {"create": True}})
        ContainerGroup("one", {**args, **foundation.surroundings})

    recorded = declare(build)
    wire = [recorded.one(GROUP).wire, *recorded.outputs.values()]
    assert recorded.one(GROUP).inputs["containers"][0]["environmentVariables"] == [{"name": "TOKEN", "secureValue": "hunter2"}]
    assert recorded.one(GROUP).inputs["diagnostics"]["logAnalytics"]["workspaceKey"] == WORKSPACE_KEY
    assert "hunter2" not in readable(wire)
    assert WORKSPACE_KEY not in readable(wire)


def test_variables_have_one_order_however_they_are_written() -> None:
    def variables(environment: dict[str, str]) -> list[dict[str, str]]:
        registration = declare(lambda: ContainerGroup("one", {**ARGS, "environment": environment})).one(GROUP)
        return registration.inputs["containers"][0]["environmentVariables"]

    assert variables({"B": "2", "A": "1"}) == variables({"A": "1", "B": "2"})


def test_an_unknown_cost_is_none_and_never_zero_and_an_end_is_an_instant() -> None:
    groups: list[ContainerGroup] = []
    with_end: ContainerGroupArgs = {**ARGS, "expires_after": "2026-12-31"}
    recorded = declare(lambda: groups.extend([ContainerGroup("one", ARGS), ContainerGroup("two", with_end)]))
    assert [group.hourly_cost for group in groups] == [None, None]
    registered = {urn.rsplit("::", 1)[1]: outputs for urn, outputs in recorded.outputs.items()}
    assert registered["one"] == {"resource_id": "/id-of/one-group"}
    assert registered["two"] == {"resource_id": "/id-of/two-group", "expires_at": "2027-01-01T00:00:00Z"}


def test_a_group_that_cannot_be_had_registers_nothing_in_azure_and_says_why_in_one_message() -> None:
    args: ContainerGroupArgs = {**ARGS, "cpu": 99, "memory_in_gb": 999}
    with pytest.raises(Refused) as refused:
        declare(lambda: ContainerGroup("one", args))
    assert str(refused.value).startswith("2 problems in the configuration, nothing was created:")
    assert "container_groups.one.cpu" in str(refused.value)
    assert "container_groups.one.memory_in_gb" in str(refused.value)


def test_a_workload_that_no_registry_has_built_is_refused() -> None:
    args: ContainerGroupArgs = {"stack": STACK_ARGS, "resource_group_name": "group", "workload": "mnist"}
    with pytest.raises(Refused, match=r"container_groups\.one\.workload: no registry has built this workload; given: 'mnist'"):
        declare(lambda: ContainerGroup("one", args))


def test_a_workload_waits_for_its_build_and_for_the_right_to_pull() -> None:
    def build() -> None:
        foundation = Foundation(
            "foundation",
            {
                "stack": STACK_ARGS,
                "identity": {"create": True},
                "registry": {"create": True},
                "workloads": ["mnist"],
                "image_source": "https://github.com/someone/fork.git#0123abc",
            },
        )
        ContainerGroup("train", {"stack": STACK_ARGS, **foundation.surroundings, "workload": "mnist"})

    recorded = declare(build, lookups=KEYS)
    run = recorded.one("azure-native:containerregistry:TaskRun")
    group = recorded.one(GROUP)
    assert run.urn in group.dependencies
    assert recorded.one("azure-native:authorization:RoleAssignment").urn in group.dependencies
    assert recorded.one("azure-native:containerregistry:Registry").urn in run.dependencies
    [image] = run.inputs["runRequest"]["imageNames"]
    assert group.inputs["containers"][0]["image"].endswith(f".azurecr.io/{image}")
    assert image == f"mnist:{run.inputs['forceUpdateTag']}"
    assert run.inputs["runRequest"]["arguments"][0]["value"] == run.inputs["forceUpdateTag"]
