"""What a container group registers with the engine, beyond the inputs that the cases show."""

import pytest

from azure_gpu.container_instances.args import ContainerGroupSettings, ContainerGroupWiring
from azure_gpu.container_instances.group import ContainerGroup
from azure_gpu.container_instances.resolve import resolve
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from tests.components.recording import PROJECT, STACK, declare
from tests.components.settings_of import STACK_ARGS

GROUP = "azure-native:containerinstance:ContainerGroup"
WITHOUT_IMAGE: ContainerGroupWiring = {"stack": STACK_ARGS, "resource_group_name": "group"}
ARGS: ContainerGroupWiring = {**WITHOUT_IMAGE, "image": "python:3.11"}


def test_a_workload_that_no_registry_has_built_is_refused() -> None:
    args: ContainerGroupWiring = {"stack": STACK_ARGS, "resource_group_name": "group", "workload": "mnist"}
    with pytest.raises(Refused, match=r"container_groups\.one\.workload: no registry builds this workload; given: 'mnist'"):
        declare(lambda: ContainerGroup("one", Wired(args)))


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
    assert spec.gpu == {"count": 2, "sku": "K80"}
    alone, _ = resolve("train", {"image": "python:3.11", "gpu": {"count": 4, "sku": "V100"}}, context)
    assert alone.gpu == {"count": 4, "sku": "V100"}
