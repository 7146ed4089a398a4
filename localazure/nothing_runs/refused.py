"""Actions, reads and operations of Batch that require something running: refused with 501 where nothing runs."""

from collections.abc import Mapping

from azure_gpu.formats import azure_types
from localazure.arm.errors import nothing_runs
from localazure.services import Services

# What is missing, by type and pattern of the action or read.
_REFUSED: Mapping[str, Mapping[str, str]] = {
    azure_types.CONTAINER_GROUP.arm_type: {
        "start": "container to start",
        "restart": "container to restart",
        "containers/{container}/attach": "container to attach to",
        "containers/{container}/exec": "container to run a command in",
        "containers/{container}/logs": "log of a container",
    },
    azure_types.JOB.arm_type: {"start": "execution of a job"},
    azure_types.ML_ONLINE_DEPLOYMENT.arm_type: {"getLogs": "log of a deployment"},
    azure_types.MANAGED_CLUSTER.arm_type: {"runCommand": "cluster to run a command in"},
    azure_types.VIRTUAL_MACHINE.arm_type: {"runCommand": "machine to run a script on"},
}
_BATCH = frozenset({("POST", "jobs"), ("POST", "jobs/*/tasks"), ("POST", "jobs/*/addtaskcollection")})


def check(arm_type: str, pattern: str, services: Services) -> None:
    """ArmError 501 for an action or a read of a kind that requires something running."""
    what = _REFUSED.get(arm_type, {}).get(pattern) if services.settings.nothing_runs else None
    if what is not None:
        raise nothing_runs(what)


def check_batch(method: str, pattern: str, services: Services) -> None:
    """ArmError 501 for such an operation of Batch's data plane, by its path with `*` for each name."""
    if services.settings.nothing_runs and (method, pattern) in _BATCH:
        raise nothing_runs("node that runs tasks")
