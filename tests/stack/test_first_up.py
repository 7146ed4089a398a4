"""A first `up` in the weather that every subscription has: it comes up at the first try, and then nothing is left to change."""

from pathlib import Path
from typing import Any

import pytest

from tests.stack.conftest import MakeStack
from tests.support.embedded import ServedAzure, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

WEATHER = (
    "docker-hub-limit",
    "registry-error",
    "new-principals",
    "pool-conflicts",
    "pool-count",
    "role-delay",
    "slow-operations",
    "task-run-address",
    "wildcard-reviews",
)
GPU = "Standard_NC4as_T4_v3"
_GROUP = {"image": "mcr.microsoft.com/mirror/docker/library/python:3.11-slim"}  # as the group of the stack dev has
CONFIG: dict[str, Any] = {
    "team": "tests",
    "location": "eastus",
    "foundation": dict.fromkeys(["resource_group", "identity", "registry", "log_workspace"], "create"),
    # Its image is pulled by a role of seconds ago.
    "container_groups": {
        "adder": {"workload": "vector_add", "cpu": 1, "memory_in_gb": 1.5, "restart_policy": "Never"},
        "python": {**_GROUP, "command": ["python3", "-c", "print('up')"], "cpu": 1, "memory_in_gb": 1, "restart_policy": "Never"},
    },
    # Two pools, which AKS changes one at a time; what is put onto the cluster needs a role of seconds ago.
    "clusters": {
        "gpu": {
            "system_pool": {"nodes": 2, "max_nodes": 3},
            "gpu_pools": {"t4": {"size": GPU, "max_nodes": 1}, "cheap": {"size": GPU, "max_nodes": 2, "spot": {}}},
            "namespace": {"name": "gpu-jobs"},
            "expires_after": "2999-01-01",
        }
    },
}


def test_groups_and_clusters_come_up_at_the_first_try(
    own_served_azure: ServedAzure, make_stack: MakeStack, kubernetes_bin: Path
) -> None:
    assert kubernetes_bin.is_dir()
    for part in WEATHER:
        assert own_served_azure.command("fault", "weather", part).returncode == 0
    stack = make_stack(own_served_azure, {**CONFIG, "image_source": f"{own_served_azure.url}/checkout.git#HEAD"})
    stack.create()
    done = stack.pulumi("up", "--yes", "--skip-preview")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "adder-group: the role assignment for pulling its image isn't effective yet; retrying for up to 15 minutes" in done.stdout
    )
    assert "waiting until the new role assignment takes effect, up to 15 minutes" in done.stdout

    outputs = stack.outputs()
    pools = own_served_azure.get(f"{outputs['clusters']['gpu']}/agentPools", "2025-09-01").json()["value"]
    of_mode = {each["properties"]["mode"]: each["properties"]["count"] for each in pools}
    assert of_mode == {"System": 2, "User": 0}, "no node of a GPU starts by itself"
    for name, group in outputs["container_groups"].items():
        until(lambda group=group: _state(own_served_azure, group) == "Succeeded", f"{name} has run")

    again = stack.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "15 minutes" not in again.stdout, "waiting is paid once"


def _state(azure: ServedAzure, group: str) -> str:
    return azure.get(group, "2023-05-01").json()["properties"]["instanceView"]["state"]
