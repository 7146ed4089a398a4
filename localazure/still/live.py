"""What only something that runs could answer: refused by name where nothing runs.

In: a resource's type and what is asked below it, or an operation of Batch's data plane. Out: nothing, or ArmError 501.
"""

from collections.abc import Mapping

from azure_gpu.formats import azure_types
from localazure.arm.errors import nothing_runs
from localazure.services import Services

# By type and pattern, as the kinds have them: what there isn't.
_ASKED: Mapping[str, Mapping[str, str]] = {
    azure_types.CONTAINER_GROUP.arm_type: {
        "start": "container to start",
        "restart": "container to restart",
        "containers/{container}/attach": "container to attach to",
        "containers/{container}/exec": "container to run a command in",
        "containers/{container}/logs": "log of a container",
    },
    azure_types.JOB.arm_type: {"start": "execution of a job"},
    azure_types.ML_ONLINE_DEPLOYMENT.arm_type: {"getLogs": "log of a deployment"},
    azure_types.VIRTUAL_MACHINE.arm_type: {"runCommand": "machine to run a script on"},
}
_BATCH = frozenset({("POST", "jobs"), ("POST", "jobs/*/tasks"), ("POST", "jobs/*/addtaskcollection")})


def check(arm_type: str, pattern: str, services: Services) -> None:
    """Of an action or a reading that a kind offers."""
    what = _ASKED.get(arm_type, {}).get(pattern) if services.settings.nothing_runs else None
    if what is not None:
        raise nothing_runs(what)


def check_batch(method: str, pattern: str, services: Services) -> None:
    """Of an operation of the data plane, by its path with `*` for each name."""
    if services.settings.nothing_runs and (method, pattern) in _BATCH:
        raise nothing_runs("node that runs tasks")
