"""What a container group registers with the engine, beyond the inputs that the cases show."""

import pytest

from azure_gpu.container_instances.args import ContainerGroupSettings, ContainerGroupWiring
from azure_gpu.container_instances.container import MountArgs
from azure_gpu.container_instances.group import ContainerGroup
from azure_gpu.container_instances.resolve import resolve, workloads
from azure_gpu.container_instances.spec import gpus
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from azure_gpu.shared.workloads import Workload
from tests.components.recording import KEYS, PROJECT, STACK, declare, readable
from tests.components.settings_of import STACK_ARGS

GROUP = "azure-native:containerinstance:ContainerGroup"
SETTING = "azure-native:monitor:DiagnosticSetting"
WITHOUT_IMAGE: ContainerGroupWiring = {"stack": STACK_ARGS, "resource_group_name": "group"}
ARGS: ContainerGroupWiring = {**WITHOUT_IMAGE, "image": "python:3.11"}
MOUNTS: dict[str, MountArgs] = {"files": {"path": "/files"}, "share": {"path": "/share"}}


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_two_groups_in_one_program_share_no_urn_and_no_name(preview: bool) -> None:
    def build() -> None:
        ContainerGroup("one", Wired(ARGS))
        ContainerGroup("two", Wired(ARGS))

    recorded = declare(build, preview=preview)
    urns = [registration.urn for registration in recorded.registrations]
    assert len(urns) == len(set(urns)) == 4
    assert len({registration.inputs["containerGroupName"] for registration in recorded.of_type(GROUP)}) == 2


def test_the_engine_is_told_what_the_service_cannot_change_in_place() -> None:
    # Microsoft Learn, container-instances-update: OS type, restart policy, CPU, memory and GPU, network need a new group.
    registration = declare(lambda: ContainerGroup("one", Wired(ARGS))).one(GROUP)
    assert {"containers[*].resources", "osType", "restartPolicy", "subnetIds"} <= set(registration.replace_on_changes)
    assert registration.delete_before_replace
    assert not [path for path in registration.replace_on_changes if "image" in path or "tags" in path or "environment" in path]


def test_a_secret_variable_is_secret_all_the_way() -> None:
    recorded = declare(lambda: ContainerGroup("one", Wired({**ARGS, "secret_environment": {"TOKEN": "hunter2"}})))
    wire = [recorded.one(GROUP).wire, *recorded.outputs.values()]
    assert recorded.one(GROUP).inputs["containers"][0]["environmentVariables"] == [{"name": "TOKEN", "secureValue": "hunter2"}]
    assert "hunter2" not in readable(wire)


def test_logs_go_to_the_workspace_by_a_diagnostic_setting_and_without_a_key() -> None:
    def build(args: ContainerGroupWiring) -> None:
        foundation = Foundation("foundation", Wired({"stack": STACK_ARGS, "log_workspace": {"create": True}}))
        ContainerGroup("one", Wired({**args, **foundation.dependencies}))

    recorded = declare(lambda: build(ARGS))
    assert recorded.lookups == []
    assert "diagnostics" not in recorded.one(GROUP).inputs
    setting = recorded.one(SETTING).inputs
    assert (setting["resourceUri"], setting["workspaceId"]) == ("/id-of/one-group", "/id-of/foundation-logs")
    assert [each["category"] for each in setting["logs"]] == ["ContainerInstanceLog", "ContainerEvent"]
    assert declare(lambda: build({**ARGS, "send_logs": False})).of_type(SETTING) == []
    assert declare(lambda: ContainerGroup("one", Wired(ARGS))).of_type(SETTING) == []


def test_variables_have_one_order_however_they_are_written() -> None:
    def variables(environment: dict[str, str]) -> list[dict[str, str]]:
        registration = declare(lambda: ContainerGroup("one", Wired({**ARGS, "environment": environment}))).one(GROUP)
        return registration.inputs["containers"][0]["environmentVariables"]

    assert variables({"B": "2", "A": "1"}) == variables({"A": "1", "B": "2"})


def test_an_unknown_cost_is_none_and_never_zero_and_an_end_is_an_instant() -> None:
    groups: list[ContainerGroup] = []
    with_end: ContainerGroupWiring = {**ARGS, "expires_after": "2026-12-31"}
    recorded = declare(lambda: groups.extend([ContainerGroup("one", Wired(ARGS)), ContainerGroup("two", Wired(with_end))]))
    assert [group.hourly_cost for group in groups] == [None, None]
    registered = {urn.rsplit("::", 1)[1]: outputs for urn, outputs in recorded.outputs.items()}
    assert registered["one"] == {"group_id": "/id-of/one-group", "group_name": "azure-gpu-vision-test-one"}
    assert registered["two"]["expires_at"] == "2027-01-01T00:00:00Z"


def test_a_group_that_cannot_be_had_registers_nothing_in_azure_and_says_why_in_one_message() -> None:
    args: ContainerGroupWiring = {**ARGS, "cpu": 99, "memory_in_gb": 999}
    with pytest.raises(Refused) as refused:
        declare(lambda: ContainerGroup("one", Wired(args)))
    assert str(refused.value).startswith("2 problems in the configuration, nothing was created:")
    assert "container_groups.one.cpu" in str(refused.value)
    assert "container_groups.one.memory_in_gb" in str(refused.value)


def test_a_workload_that_no_registry_has_built_is_refused() -> None:
    args: ContainerGroupWiring = {"stack": STACK_ARGS, "resource_group_name": "group", "workload": Workload.MNIST}
    with pytest.raises(Refused, match=r"container_groups\.one\.workload: no registry builds this workload; given: 'mnist'"):
        declare(lambda: ContainerGroup("one", Wired(args)))


def test_a_workload_waits_for_its_build_and_for_the_right_to_pull() -> None:
    def build() -> None:
        foundation = Foundation(
            "foundation",
            Wired(
                {
                    "stack": STACK_ARGS,
                    "identity": {"create": True},
                    "registry": {"create": True},
                    "workloads": [Workload.MNIST],
                    "image_source": "https://github.com/someone/fork.git#0123abc",
                }
            ),
        )
        ContainerGroup("train", Wired({"stack": STACK_ARGS, **foundation.dependencies, "workload": Workload.MNIST}))

    recorded = declare(build, lookups=KEYS)
    deployment = recorded.one("azure-native:resources:Deployment")
    [task_run] = deployment.inputs["properties"]["template"]["resources"]
    group = recorded.one(GROUP)
    assert deployment.urn in group.dependencies
    assert recorded.one("azure-native:authorization:RoleAssignment").urn in group.dependencies
    assert recorded.one("azure-native:containerregistry:Registry").urn in deployment.dependencies
    request, tag = task_run["properties"]["runRequest"], task_run["properties"]["forceUpdateTag"]
    [image] = request["imageNames"]
    assert group.inputs["containers"][0]["image"].endswith(f".azurecr.io/{image}")
    assert image == f"mnist:{tag}"
    assert request["arguments"][0]["value"] == tag


def test_a_change_of_zone_or_of_the_number_of_containers_needs_a_new_group() -> None:
    # Microsoft Learn, container-instances-update: availability zone; CPU and memory, which another container adds to.
    one = declare(lambda: ContainerGroup("one", Wired(ARGS))).one(GROUP)
    containers: ContainerGroupWiring = {
        **WITHOUT_IMAGE,
        "containers": {"a": {"image": "python:3.11"}, "b": {"image": "python:3.11"}},
    }
    two = declare(lambda: ContainerGroup("one", Wired(containers))).one(GROUP)
    assert "zones" in one.replace_on_changes
    assert one.replacement_trigger != two.replacement_trigger
    assert not [path for path in one.replace_on_changes if path in ("ipAddress", "volumes", "initContainers", "tags")]


def test_every_secret_of_a_group_is_secret_all_the_way() -> None:
    args: ContainerGroupWiring = {
        **WITHOUT_IMAGE,
        "containers": {"web": {"image": "python:3.11", "secret_environment": {"TOKEN": "hunter2"}, "mounts": MOUNTS}},
        "init_containers": {"set-up": {"image": "python:3.11", "secret_environment": {"TOKEN": "hunter3"}}},
        "volumes": {
            "files": {"secret": {"key": "hunter4"}},
            "share": {"azure_file": {"share": "data", "account": "someonesdata", "key": "hunter5"}},
        },
        "registries": [{"server": "ghcr.io", "username": "someone", "password": "hunter6"}],
    }
    recorded = declare(lambda: ContainerGroup("one", Wired(args)))
    group = recorded.one(GROUP)
    in_base64 = "aHVudGVyNA=="  # hunter4
    assert group.inputs["volumes"][0]["secret"] == {"key": in_base64}
    assert group.inputs["volumes"][1]["azureFile"]["storageAccountKey"] == "hunter5"
    assert group.inputs["imageRegistryCredentials"][0]["password"] == "hunter6"
    wire = readable([group.wire, *recorded.outputs.values()])
    assert "someonesdata" in wire
    assert "hunter" not in wire
    assert in_base64 not in wire


def test_a_group_with_a_gpu_says_in_a_preview_how_long_it_takes_and_from_when_on_it_costs() -> None:
    args: ContainerGroupWiring = {
        **ARGS,
        "gpu": {"count": 1, "sku": "K80"},
        "as_of": "2019-06-01",
        "expires_after": "2019-06-30",
        "location": "eastus",
    }
    [line] = declare(lambda: ContainerGroup("one", Wired(args)), preview=True).log
    assert "8 to 10 minutes" in line
    assert "from the first image pull until the group ends" in line
    assert "Microsoft Learn, container-instances/container-instances-gpu (observed on 2019-04-17)" in line
    assert declare(lambda: ContainerGroup("one", Wired(args)), preview=False).log == []
    assert declare(lambda: ContainerGroup("one", Wired(ARGS)), preview=True).log == []


def test_a_workload_of_any_container_comes_from_the_stacks_registry_as_its_identity() -> None:
    args: ContainerGroupWiring = {
        **WITHOUT_IMAGE,
        "containers": {"web": {"image": "python:3.11"}},
        "init_containers": {"set-up": {"workload": Workload.MNIST}},
        "identity_id": "/the/identity",
        "registry": {
            "name": "stacks",
            "id": "/the/registry",
            "server": "stacks.azurecr.io",
            "workload_images": {"mnist": "stacks.azurecr.io/mnist:1"},
        },
        "registries": [{"server": "ghcr.io", "username": "someone", "password": "hunter2"}],
    }
    inputs = declare(lambda: ContainerGroup("one", Wired(args))).one(GROUP).inputs
    assert inputs["initContainers"][0]["image"] == "stacks.azurecr.io/mnist:1"
    assert [login["server"] for login in inputs["imageRegistryCredentials"]] == ["stacks.azurecr.io", "ghcr.io"]
    assert inputs["imageRegistryCredentials"][0]["identity"] == "/the/identity"
    assert workloads(args) == {"mnist"}


def test_the_gpus_of_a_group_are_those_of_its_containers() -> None:
    context, _ = resolve_stack({**STACK_ARGS, "location": "eastus"}, PROJECT, STACK)
    both: ContainerGroupSettings = {
        "containers": {
            "cpu": {"image": "python:3.11"},
            "left": {"image": "python:3.11", "gpu": {"count": 1, "sku": "K80"}},
            "right": {"image": "python:3.11", "gpu": {"count": 1, "sku": "K80"}},
        }
    }
    spec, _ = resolve("train", both, context)
    assert [(one.path, one.count, one.sku) for one in gpus(spec)] == [
        ("container_groups.train.containers.left.gpu", 1, "K80"),
        ("container_groups.train.containers.right.gpu", 1, "K80"),
    ]
    assert spec.gpu is not None
    assert (spec.gpu.count, spec.gpu.sku) == (2, "K80")
    alone, _ = resolve("train", {"image": "python:3.11", "gpu": {"count": 4, "sku": "V100"}}, context)
    assert [one.path for one in gpus(alone)] == ["container_groups.train.gpu"]
