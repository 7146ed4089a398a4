"""Secrets that a job holds for one execution: put into it before, taken out after.

The variables of an execution can be read by everybody who may read the job; a job's secrets can't. In: a `Jobs` client, a job,
values by variable. Out: the job's secrets by variable. A job keeps its other secrets.
"""

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from azure_gpu_operations.job_client import Jobs
from azure_gpu_operations.jobs import Job


@contextmanager
def lent(jobs: Jobs, job: Job, values: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Within the block the job holds the values; the names of its secrets by variable."""
    if not values:
        yield {}
        return
    names = {variable: _name(variable) for variable in values}
    jobs.set_secrets(job, [*jobs.secrets(job), *({"name": names[key], "value": value} for key, value in values.items())])
    try:
        yield names
    finally:
        ours = set(names.values())
        jobs.set_secrets(job, [each for each in jobs.secrets(job) if each.get("name") not in ours])


def _name(variable: str) -> str:
    """Lowercase letters, digits and hyphens. Its end keeps two runs at the same time apart."""
    word = re.sub(r"[^a-z0-9]+", "-", variable.lower()).strip("-")
    return f"run-{word}-{secrets.token_hex(3)}".replace("--", "-")
