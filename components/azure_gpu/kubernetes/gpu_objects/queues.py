"""Queues of teams, by Kueue: quotas of a pool's GPUs, lending between teams, and all-or-nothing admission of worker groups.

Each pool is a ResourceFlavor, each team a ClusterQueue with a LocalQueue of the same name in the jobs' namespace; teams of one
pool are a cohort. Only GPUs have quotas: Kueue also requires CPU and memory to be covered, so they are, without a limit.
Shapes: kubernetes-sigs/kueue v0.14.0, apis/kueue/v1beta1.
"""

from collections.abc import Iterator, Mapping, Sequence

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.groups import SOURCE
from azure_gpu.formats.tags import NODE_POOL
from azure_gpu.kubernetes import jobs as kubernetes_jobs
from azure_gpu.kubernetes.gpu_objects.args import DEFAULT_RECLAIM, ClusterObjectsSettings, QueueArgs
from azure_gpu.kubernetes.gpu_objects.spec import GpuPool, QueueSpec
from azure_gpu.kubernetes.jobs import MANAGED_BY, JobSpec, too_small
from azure_gpu.kubernetes.objects import Manifest

API_VERSION = "kueue.x-k8s.io/v1beta1"
_UNLIMITED = {"cpu": "1M", "memory": "1000000Ti"}  # in Kubernetes' notation, so that a refresh finds no difference


def resolve(given: Mapping[str, QueueArgs], pools: Sequence[GpuPool], path: str) -> tuple[dict[str, QueueSpec], list[Problem]]:
    """Resolves the queues of the cluster at `path`, with their problems. Pure."""
    found: dict[str, QueueSpec] = {}
    problems: list[Problem] = []
    for name, own in given.items():
        at = f"{path}.queues.{name}"
        problems += [*kubernetes_jobs.name_problems(name, at), *_numbers(own, at)]
        pool = next((each for each in pools if each.name == own["pool"]), None) if "pool" in own else None
        if "pool" not in own and len(pools) == 1:
            pool = pools[0]
        if pool is None:
            problems.append(_no_pool(own, pools, at))
            continue
        found[name] = QueueSpec(
            pool=pool.name,
            resource=pool.nodes.resource,
            gpus=int(own["gpus"]),
            borrow=int(own["borrow"]) if "borrow" in own else None,
            reclaim=own.get("reclaim", DEFAULT_RECLAIM),
        )
    for pool in pools:
        problems += _together(found, pool, path)
    return found, problems


def job_problems(
    jobs: Mapping[str, JobSpec], queues: Mapping[str, QueueSpec], settings: ClusterObjectsSettings, path: str
) -> Iterator[Problem]:
    """Jobs whose queue is missing, has another pool, or can never admit them."""
    for name, job in jobs.items():
        queue_name = job.placement.queue
        if not queue_name:
            continue
        at = f"{path}.jobs.{name}"
        queue = queues.get(queue_name)
        if queue is None:
            if queue_name not in settings.get("queues", {}):
                names = ", ".join(settings.get("queues", {})) or "none: the cluster has no queues"
                fix = "use one of those allowed, or add it to `queues`"
                yield Problem(f"{at}.queue", "the cluster has no queue of this name", queue_name, names, fix, code=Code.NOT_FOUND)
            continue
        if job.placement.node_selector.get(NODE_POOL, queue.pool) != queue.pool:
            fix = f"write {at}.pool: {queue.pool}, or another queue"
            yield Problem(
                f"{at}.queue", f"the queue has GPUs of pool {queue.pool}, but the job runs on another pool", queue_name, fix=fix
            )
            continue
        requested = int(job.placement.limits.get(queue.resource, 0)) * job.placement.parallelism * job.nodes
        most = most_of(queue, queues)
        if requested > most:
            yield Problem(
                path=f"{at}.nodes" if job.nodes > 1 else f"{at}.gpus",
                message=f"the job requests {requested} of {queue.resource}, but its queue has {most}, borrowing included",
                value=job.nodes if job.nodes > 1 else requested,
                allowed=f"at most {most} in total",
                fix=f"request less, or raise {path}.queues.{queue_name}.gpus",
                source=str(SOURCE),
                code=Code.IMPOSSIBLE,
            )


def most_of(queue: QueueSpec, queues: Mapping[str, QueueSpec]) -> int:
    """The most GPUs of its pool that a queue can have."""
    others = sum(each.gpus for each in queues.values() if each.pool == queue.pool) - queue.gpus
    return queue.gpus + (others if queue.borrow is None else min(others, queue.borrow))


def manifests(queues: Mapping[str, QueueSpec], namespace: str) -> Iterator[Manifest]:
    """Flavors, then queues."""
    for pool in sorted({queue.pool for queue in queues.values()}):
        yield _object("ResourceFlavor", pool, {"nodeLabels": {NODE_POOL: pool}})
    for name, queue in queues.items():
        own = {"name": queue.resource, "nominalQuota": str(queue.gpus)}
        if queue.borrow is not None:
            own["borrowingLimit"] = str(queue.borrow)
        unlimited = {resource: amount for resource, amount in _UNLIMITED.items() if resource != queue.resource}
        resources = [own, *({"name": resource, "nominalQuota": amount} for resource, amount in unlimited.items())]
        yield _object(
            "ClusterQueue",
            name,
            {
                "cohort": queue.pool,
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "queueingStrategy": "BestEffortFIFO",
                "preemption": {
                    "reclaimWithinCohort": "Any" if queue.reclaim else "Never",
                    "withinClusterQueue": "LowerPriority",
                },
                "resourceGroups": [
                    {
                        "coveredResources": [each["name"] for each in resources],
                        "flavors": [{"name": queue.pool, "resources": resources}],
                    }
                ],
            },
        )
        yield _object("LocalQueue", name, {"clusterQueue": name}, namespace)


def _object(kind: str, name: str, spec: Mapping[str, object], namespace: str = "") -> Manifest:
    metadata = {"name": name, "labels": MANAGED_BY, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def _numbers(own: QueueArgs, path: str) -> list[Problem]:
    given = (("gpus", own["gpus"]), ("borrow", own.get("borrow", 0)))
    return [too_small(f"{path}.{key}", value, 0) for key, value in given if value < 0]


def _no_pool(own: QueueArgs, pools: Sequence[GpuPool], path: str) -> Problem:
    names = ", ".join(pool.name for pool in pools)
    if "pool" in own:
        message, fix = "the cluster has no GPU pool of this name", "write one of those allowed"
    else:
        message, fix = "the queue's `pool` is not set", "set `pool: <name>`"
    allowed = names or "GPU pools that the stack creates"
    return Problem(f"{path}.pool", message, own.get("pool"), allowed, fix, code=Code.NOT_FOUND)


def _together(queues: Mapping[str, QueueSpec], pool: GpuPool, path: str) -> Iterator[Problem]:
    """Quotas larger than the pool's maximum would admit groups of which some pods then wait."""
    each, most_nodes = pool.nodes.amount, pool.max_nodes
    of_pool = {name: queue for name, queue in queues.items() if queue.pool == pool.name}
    requested = sum(queue.gpus for queue in of_pool.values())
    if each is None or requested <= each * most_nodes:
        return
    yield Problem(
        path=f"{path}.queues",
        message=f"queues {', '.join(of_pool)} have {requested} GPUs in total, more than pool {pool.name} can have",
        value=requested,
        allowed=f"at most {each * most_nodes} in total",
        fix=f"lower them, or raise {pool.path}.max_nodes",
        code=Code.IMPOSSIBLE,
    )
