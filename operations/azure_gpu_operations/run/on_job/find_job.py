"""Checks whether a stack's job can run a request. Pure."""

from datetime import date

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import dates, tags
from azure_gpu_operations.jobs import Job
from azure_gpu_operations.one_part import JOB
from azure_gpu_operations.run import expired
from azure_gpu_operations.stack_view import StackView


def check_end(view: StackView, name: str, job: Job, today: date) -> list[Problem]:
    """A warning if the job has expired, by the day of its stack."""
    day = dates.parse_day((job.body.get("tags") or {}).get(tags.AS_OF, "")) or today
    return expired.problems(JOB, view, name, day)


def check_pull(job: Job, server: str) -> list[Problem]:
    """Whether the job has credentials for the registry that its image comes from."""
    if server.lower() in job.registry_servers:
        return []
    return [
        Problem(
            path="--job",
            message=f"the job {job.name} has no identity to pull from {server}",
            allowed=", ".join(sorted(job.registry_servers)) or "public images",
            fix="add `identity: create` to the stack's foundation and run `pulumi up`",
        )
    ]
