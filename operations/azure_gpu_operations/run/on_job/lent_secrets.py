"""Adds secrets to a job for one execution, and removes them afterwards.

Readers of the job can see the variables of an execution, but not a job's secrets. Other secrets of the job are kept.
"""

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from azure_gpu_operations.job_client import Jobs
from azure_gpu_operations.jobs import Job


@contextmanager
def lent(jobs: Jobs, job: Job, values: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yields the names of the secrets by variable; the job has them while the block runs."""
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
    """A name of lowercase letters, digits and hyphens, with a random suffix for parallel runs."""
    word = re.sub(r"[^a-z0-9]+", "-", variable.lower()).strip("-")
    return f"run-{word}-{secrets.token_hex(3)}".replace("--", "-")
