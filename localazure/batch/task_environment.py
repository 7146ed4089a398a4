"""The environment variables of a task as Batch documents them, followed by the user's.

The variables are made from scratch: of this server's environment, which holds secrets, they have only PATH. Sources: Microsoft
Learn, batch/batch-compute-node-environment-variables (2024-06-13) and batch/files-and-directories (2024-06-13).
"""

import functools
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from localazure.arm.store import Body

MASTER_PORT = 6000  # the documented example; the service keeps it for itself
_SERVICES_OWN = "AZ_BATCH_"
DISK_BYTES = "1000000"
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@functools.cache
def machines_path() -> str:
    """Where this machine has its programs, without those of the environment that this server itself runs in."""
    found = os.environ.get("PATH") or _SYSTEM_PATH
    own = str(Path(sys.prefix) / "bin")
    others = os.pathsep.join(part for part in found.split(os.pathsep) if part and part != own)
    return others if shutil.which("python3", path=others) else found


def of_folder(folder: Path) -> dict[str, str]:
    """The folders of one task."""
    working = str(folder / "wd")
    return {
        "AZ_BATCH_CERTIFICATES_DIR": str(folder / "certs"),
        "AZ_BATCH_TASK_DIR": str(folder),
        "AZ_BATCH_TASK_WORKING_DIR": working,
        "HOME": working,
    }


def of_job(job: Body, root: Path) -> dict[str, str]:
    """What a job's tasks know of it; its preparation task's folders only where it has one."""
    found = {"AZ_BATCH_JOB_ID": str(job["id"])}
    preparation = job.get("jobPreparationTask")
    if preparation:
        folder = job_folder(root, job) / preparation_id(job)
        found |= {"AZ_BATCH_JOB_PREP_DIR": str(folder), "AZ_BATCH_JOB_PREP_WORKING_DIR": str(folder / "wd")}
    return found


def of_task(node: dict[str, str], root: Path, job: Body, task_id: str, *settings: Iterable[Body] | None) -> dict[str, str]:
    """Those of a task of a job. `node`: what everything on its node has."""
    folder = job_folder(root, job) / task_id
    return with_users({**node, **of_job(job, root), "AZ_BATCH_TASK_ID": task_id, **of_folder(folder)}, *settings)


def of_instances(addresses: Sequence[str], cores: int, shared: Path, *, master: bool) -> dict[str, str]:
    """What a multi-instance task knows of its nodes, the primary's first. `shared`: the same path on every node."""
    nodes = " ".join(f"{address} {cores}" for address in addresses)
    return {
        "AZ_BATCH_HOST_LIST": ",".join(addresses),
        "AZ_BATCH_IS_CURRENT_NODE_MASTER": str(master).lower(),
        "AZ_BATCH_MASTER_NODE": f"{addresses[0]}:{MASTER_PORT}",
        "AZ_BATCH_NODE_LIST": ";".join(addresses),
        "AZ_BATCH_TASK_SHARED_DIR": str(shared),
        "CCP_NODES": f"{len(addresses)} {nodes}",
    }


def with_users(own: dict[str, str], *settings: Iterable[Body] | None) -> dict[str, str]:
    """The service's variables with environment settings: later ones go before earlier ones of the same name, and before PATH,
    HOME and LANG; where a task runs and what it is remains the service's to say."""
    given = {str(one["name"]): str(one.get("value") or "") for each in settings for one in each or ()}
    return own | given | {name: value for name, value in own.items() if name.startswith(_SERVICES_OWN)}


def job_folder(root: Path, job: Body) -> Path:
    return root / "workitems" / str(job["id"]) / "job-1"


def preparation_id(job: Body) -> str:
    return str((job.get("jobPreparationTask") or {}).get("id") or "jobpreparation")
