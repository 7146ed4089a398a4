"""The two kinds of object of a run: a Job of one pod, and a JobSet of a group of workers. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from azure_gpu.kubernetes import worker_group
from azure_gpu_operations.clusters.objects import JOB_LABEL, JobSeen, PodSeen, job_of
from azure_gpu_operations.run.on_cluster import outcome
from azure_gpu_operations.run.on_cluster.outcome import Outcome


class Kind(NamedTuple):
    """One kind of object: its API path, its pods and its result."""

    api: str
    plural: str
    pod_label: str  # whose value is its name
    seen: Callable[[Mapping[str, Any]], JobSeen]
    outcome: Callable[[JobSeen, Sequence[PodSeen], float | None], Outcome]
    job_name: Callable[[str], str]  # of the Job that `explain` knows
    is_group: bool = False

    def path(self, namespace: str) -> str:
        return f"/apis/{self.api}/namespaces/{namespace}/{self.plural}"


def _group(body: Mapping[str, Any]) -> JobSeen:
    """A JobSet as a Job: its conditions have other names."""
    status = body.get("status") or {}
    names = {"Complete": worker_group.COMPLETED, "Failed": worker_group.FAILED}
    conditions = [
        {**one, "type": ours}
        for one in status.get("conditions") or []
        for ours, theirs in names.items()
        if one.get("type") == theirs
    ]
    return job_of({**body, "status": {"conditions": conditions}})


JOB = Kind("batch/v1", "jobs", JOB_LABEL, job_of, outcome.of_job, lambda name: name)
GROUP = Kind(
    worker_group.API_VERSION,
    "jobsets",
    worker_group.NAME_LABEL,
    _group,
    outcome.of_group,
    worker_group.job_name,
    is_group=True,
)
KINDS = (JOB, GROUP)
