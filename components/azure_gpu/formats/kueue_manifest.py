"""Queues of Kueue in a manifest, as `queues` of a cluster: a ClusterQueue with GPUs, of the pool of its ResourceFlavor."""

from collections.abc import Mapping
from typing import Any

from azure_gpu.catalog.services.aks.device_plugin import GPU_RESOURCE
from azure_gpu.formats.body_keys import take
from azure_gpu.formats.body_reader import BodyReader, given
from azure_gpu.formats.gpu_mentions import is_gpu_resource
from azure_gpu.formats.kubernetes_manifest import POOL_LABELS, Manifest, leave_each, mappings, metadata_of

QUEUE, LOCAL_QUEUE, FLAVOR = "ClusterQueue", "LocalQueue", "ResourceFlavor"
KINDS = (QUEUE, LOCAL_QUEUE, FLAVOR)


def read(found: list[tuple[str, BodyReader]], manifest: Manifest) -> None:
    """A queue for each ClusterQueue with GPUs. Jobs name a LocalQueue, and so get the ClusterQueue that it is of."""
    pools: dict[str, str] = {}
    local: dict[str, str] = {}
    for kind, of in found:
        name, _ = metadata_of(of, kind)
        spec = of.inside("spec")
        if kind == FLAVOR:
            labels = spec.inside("nodeLabels")
            pools[name] = next((pool for label in POOL_LABELS if (pool := labels.text(label))), "")
            leave_each(labels, "a queue's GPUs are those of a pool", POOL_LABELS)
            spec.leave_given("tolerations", "pods tolerate the taints of their pool")
        elif kind == LOCAL_QUEUE:
            local[name] = spec.text("clusterQueue") or name
            if local[name] != name:
                spec.change("clusterQueue", f"jobs of {name} are in the queue {local[name]}")
    for kind, of in found:
        if kind == QUEUE:
            _queue(of.inside("metadata").text("name") or "queue", of.inside("spec"), manifest, pools)
        of.rest()
    for job in manifest.jobs.values():
        if "queue" in job:
            job["queue"] = manifest.fitting(local.get(job["queue"]) or str(job["queue"]))


def _queue(name: str, spec: BodyReader, manifest: Manifest, pools: Mapping[str, str]) -> None:
    take("manifest queue", spec)
    preemption = spec.inside("preemption")
    reclaim = preemption.choice("reclaimWithinCohort", {"Any": True, "LowerPriority": True, "Never": False})
    settings: dict[str, Any] = {}
    for group in spec.items("resourceGroups"):
        resources = [one for flavor in mappings(group.peek("flavors")) for one in mappings(flavor.get("resources"))]
        group.default("coveredResources", [one.get("name") for one in resources], message="a queue here counts GPUs alone")
        for flavor in group.items("flavors"):
            flavor_name = flavor.text("name") or ""
            for resource in flavor.items("resources"):
                if not is_gpu_resource(resource.text("name") or ""):
                    resource.leave("nominalQuota", f"{resource.peek('name')}: a queue here counts GPUs alone")
                elif settings:
                    of_flavor = f"{resource.peek('nominalQuota')} {resource.peek('name')} of {flavor_name}"
                    resource.leave("nominalQuota", f"{of_flavor}: a queue here has GPUs of one pool", "add a queue")
                else:
                    pool = pools.get(flavor_name) or None
                    resource.default("name", GPU_RESOURCE, message="a queue here counts GPUs", fix="see sharing of the pool")
                    settings = given(gpus=resource.whole("nominalQuota"), pool=pool, borrow=resource.whole("borrowingLimit"))
    if reclaim is False and settings:
        settings["reclaim"] = False
    if "gpus" in settings:
        manifest.queues[manifest.fitting(name)] = settings
    else:
        spec.leave("resourceGroups", f"{name} has no GPUs", "set gpus of a queue")
