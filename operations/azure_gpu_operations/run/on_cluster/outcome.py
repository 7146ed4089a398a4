"""The result of a run on a cluster: exit code, messages, run time and cost; for both kinds of object of a run. Pure.

The kinds are a Job of one pod, and a JobSet of a group of workers. The cost is that of its nodes for the time of the run, even if
other pods share them.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.kubernetes import worker_group
from azure_gpu_operations.clusters.objects import JOB_LABEL, ContainerSeen, JobSeen, PodSeen, by_age, job_of
from azure_gpu_operations.exit_codes import FAILED_RUN, TIMED_OUT
from azure_gpu_operations.job_cost import minutes, paid
from azure_gpu_operations.run.on_cluster.plan import CONTAINER

DEADLINE = "DeadlineExceeded"


class Outcome(NamedTuple):
    code: int
    words: str  # how it ended
    why: str = ""  # reason other than an exit code


def of_job(job: JobSeen, pods: Sequence[PodSeen], timeout_minutes: float | None) -> Outcome:
    """By the newest pod: earlier ones were evicted."""
    if job.failure == DEADLINE:
        limit = "" if timeout_minutes is None else f" ({timeout_minutes:g} minutes)"
        return Outcome(TIMED_OUT, f"stopped after its timeout{limit}")
    pod = by_age(pods)[-1] if pods else None
    container = main(pod) if pod is not None else None
    code = container.exit_code if container is not None else None
    if container is not None and code is not None:
        words = f"{'succeeded' if code == 0 else 'failed'}, exit code {code}"
        return Outcome(code, words, _beside_the_code(container))
    if job.is_complete:
        return Outcome(0, "succeeded, exit code 0")
    if pod is not None and (pod.reason or pod.message):
        return Outcome(FAILED_RUN, "failed", ": ".join(part for part in (pod.reason, pod.message) if part))
    return Outcome(FAILED_RUN, "failed", job.failure_message or job.failure or "the cluster gives no reason")


def of_group(job: JobSeen, pods: Sequence[PodSeen], timeout_minutes: float | None) -> Outcome:
    """By the worker that failed first in the last attempt, which ended the others."""
    attempts = {pod.name: int(pod.labels.get(worker_group.ATTEMPT_LABEL) or 0) for pod in pods}
    last = [pod for pod in pods if attempts[pod.name] == max(attempts.values(), default=0)]
    failed = [
        (each.ended or datetime.max.replace(tzinfo=UTC), pod.name, pod)
        for pod in last
        if (each := main(pod)) is not None and each.exit_code
    ]
    if not failed or job.failure == DEADLINE or job.is_complete:
        return of_job(job, last, timeout_minutes)
    _, _, first = min(failed)
    found = of_job(job, [first], timeout_minutes)
    return found._replace(words=f"worker {first.labels.get(worker_group.INDEX_LABEL, '?')} {found.words}")


def main(pod: PodSeen) -> ContainerSeen | None:
    return next((each for each in pod.containers if each.name == CONTAINER), None)


class Use(NamedTuple):
    """The cluster's nodes that a run used."""

    seconds: float | None
    usd: Decimal | None  # None: a price isn't known
    price: Price | None  # of its last node


def use_of(pods: Sequence[PodSeen], prices: Mapping[str, Price | None], now: datetime) -> Use:
    """Counts each pod from its container's start to its end. `prices`: hourly, by node name."""
    seconds, usd, shown = 0.0, Decimal(0), None
    known, ran = True, False
    for pod in by_age(pods):
        container = main(pod)
        if container is None or container.began is None:
            continue
        ran = True
        took = max(0.0, ((container.ended or now) - container.began).total_seconds())
        seconds += took
        price = prices.get(pod.node)
        shown = price or shown
        known = known and price is not None
        if price is not None:
            usd += price.usd_hour * Decimal(str(took)) / 3600
    return Use(seconds if ran else None, usd if known and ran else None, shown)


def summary(use: Use, today: date) -> str:
    """`2.3 minutes, 0.04 USD for its node at 0.53 USD/hour (list price of 2026-08-01)`."""
    if use.seconds is None:
        return "nothing ran"
    return f"{minutes(use.seconds)}, {paid(use.usd, use.price, today, whose=' for its node')}"


def _beside_the_code(container: ContainerSeen) -> str:
    if container.reason == "OOMKilled":
        return "it exceeded its memory limit (OOMKilled)"
    if container.reason in ("", "Error", "Completed"):
        return ""
    return container.sentence


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


JOB = Kind("batch/v1", "jobs", JOB_LABEL, job_of, of_job, lambda name: name)
GROUP = Kind(
    worker_group.API_VERSION,
    "jobsets",
    worker_group.NAME_LABEL,
    _group,
    of_group,
    worker_group.job_name,
    is_group=True,
)
KINDS = (JOB, GROUP)
