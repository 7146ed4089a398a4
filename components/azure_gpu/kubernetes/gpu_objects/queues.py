"""Queues of teams, by Kueue: quotas of a pool's GPUs, lending between teams, and all-or-nothing admission of worker groups.

Each pool is a ResourceFlavor, each team a ClusterQueue with a LocalQueue of the same name in the jobs' namespace; teams of one
pool are a cohort. Only GPUs have quotas: Kueue also requires CPU and memory to be covered, so they are, without a limit.
Shapes: kubernetes-sigs/kueue v0.14.0, apis/kueue/v1beta1.
"""

from collections.abc import Iterator, Mapping, Sequence

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.groups import SOURCE
from azure_gpu.formats.tags import NODE_POOL
from azure_gpu.kubernetes import jobs as kubernetes_jobs
from azure_gpu.kubernetes.gpu_objects.args import ClusterObjectsSettings, QueueArgs
from azure_gpu.kubernetes.gpu_objects.spec import GpuPool, QueueSpec, pool_of
from azure_gpu.kubernetes.jobs import JobSpec, too_small
from azure_gpu.kubernetes.manifests import filled
from azure_gpu.kubernetes.objects import Manifest

_UNLIMITED = {"cpu": "1M", "memory": "1000000Ti"}  # in Kubernetes' notation, so that a refresh finds no difference


def resolve(given: Mapping[str, QueueArgs], pools: Sequence[GpuPool], path: str) -> tuple[dict[str, QueueSpec], list[Problem]]:
    """Resolves the queues of the cluster at `path`, with their problems. Pure."""
    found: dict[str, QueueSpec] = {}
    problems: list[Problem] = []
    for name, own in given.items():
        at = f"{path}.queues.{name}"
        problems += [*kubernetes_jobs.name_problems(name, at), *_numbers(own, at)]
        pool = pool_of(own.get("pool"), pools)
        if pool is None:
            problems.append(_no_pool(own, pools, at))
            continue
        found[name] = QueueSpec(
            pool=pool.name,
            resource=pool.nodes.resource,
            gpus=own["gpus"],
            borrow=own.get("borrow"),
            reclaim=own.get("reclaim", True),
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
                yield refused("kubernetes.no_such_queue", f"{at}.queue", queue_name, names=names)
            continue
        if job.placement.node_selector.get(NODE_POOL, queue.pool) != queue.pool:
            fix = f"write {at}.pool: {queue.pool}, or another queue"
            yield refused("kubernetes.queue_of_other_pool", f"{at}.queue", queue_name, pool=queue.pool, fix=fix)
            continue
        requested = int(job.placement.limits.get(queue.resource, 0)) * job.placement.parallelism * job.nodes
        most = most_of(queue, queues)
        if requested > most:
            key, value = ("nodes", job.nodes) if job.nodes > 1 else ("gpus", requested)
            words = {"requested": requested, "most": most, "resource": queue.resource, "queue": f"{path}.queues.{queue_name}"}
            yield refused("kubernetes.more_than_its_queue", f"{at}.{key}", value, source=SOURCE, **words)


def most_of(queue: QueueSpec, queues: Mapping[str, QueueSpec]) -> int:
    """The most GPUs of its pool that a queue can have."""
    others = sum(each.gpus for each in queues.values() if each.pool == queue.pool) - queue.gpus
    return queue.gpus + (others if queue.borrow is None else min(others, queue.borrow))


def manifests(queues: Mapping[str, QueueSpec], namespace: str) -> Iterator[Manifest]:
    """Flavors, then queues."""
    for pool in sorted({queue.pool for queue in queues.values()}):
        yield filled("flavor", pool=pool)
    for name, queue in queues.items():
        own = {"name": queue.resource, "nominalQuota": str(queue.gpus)}
        if queue.borrow is not None:
            own["borrowingLimit"] = str(queue.borrow)
        unlimited = {resource: amount for resource, amount in _UNLIMITED.items() if resource != queue.resource}
        resources = [own, *({"name": resource, "nominalQuota": amount} for resource, amount in unlimited.items())]
        place = {"name": name, "namespace": namespace, "pool": queue.pool, "reclaim": "Any" if queue.reclaim else "Never"}
        yield from filled("queue", **place, covered=[each["name"] for each in resources], resources=resources)


def _numbers(own: QueueArgs, path: str) -> list[Problem]:
    given = (("gpus", own["gpus"]), ("borrow", own.get("borrow", 0)))
    return [too_small(f"{path}.{key}", value, 0) for key, value in given if value < 0]


def _no_pool(own: QueueArgs, pools: Sequence[GpuPool], path: str) -> Problem:
    names = ", ".join(pool.name for pool in pools) or "GPU pools that the stack creates"
    name = "kubernetes.no_such_pool" if "pool" in own else "kubernetes.queue_without_pool"
    return refused(name, f"{path}.pool", own.get("pool"), names=names)


def _together(queues: Mapping[str, QueueSpec], pool: GpuPool, path: str) -> Iterator[Problem]:
    """Quotas larger than the pool's maximum would admit groups of which some pods then wait."""
    each, most_nodes = pool.nodes.amount, pool.max_nodes
    of_pool = {name: queue for name, queue in queues.items() if queue.pool == pool.name}
    requested = sum(queue.gpus for queue in of_pool.values())
    if each is None or requested <= each * most_nodes:
        return
    words = {"queues": ", ".join(of_pool), "pool": pool, "most": each * most_nodes}
    yield refused("kubernetes.queues_too_large", f"{path}.queues", requested, **words)
