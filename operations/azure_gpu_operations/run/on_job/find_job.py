"""The job that a run goes to: one of the stack's, and whether it can take what is to run.

In: the stack's view, the words of the command line, the job as Azure answers it. Out: the job's name in the stack, and
problems. Pure.
"""

from datetime import date

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats import dates, tags
from azure_gpu_operations.jobs import Job
from azure_gpu_operations.one_part import JOB
from azure_gpu_operations.run import expired
from azure_gpu_operations.stack_view import StackView


def check(view: StackView, *, builds: bool) -> list[Problem]:
    """What the stack's outputs say against a run."""
    if view.registry or not builds:
        return []
    return [
        Problem(
            path="--stack",
            message="the stack has no registry, so nothing can be built for the job",
            value=view.name,
            fix="add `registry: create` to the stack's foundation, or name an image that is there already",
            code=Code.NOT_FOUND,
        )
    ]


def check_end(view: StackView, name: str, job: Job, today: date) -> list[Problem]:
    """A warning where the job's end date has passed, by the day at which its stack is judged."""
    day = dates.parse_day((job.body.get("tags") or {}).get(tags.AS_OF, "")) or today
    return expired.problems(JOB, view, name, day)


def check_pull(job: Job, server: str) -> list[Problem]:
    """Whether the job has credentials for the registry that its image comes from."""
    if server.lower() in job.registry_servers:
        return []
    return [
        Problem(
            path="--job",
            message=f"the job {job.name} has no identity to pull from {server} with",
            allowed=", ".join(sorted(job.registry_servers)) or "images that everybody may pull",
            fix="give the stack's foundation an identity beside its registry, and run `pulumi up`",
        )
    ]
