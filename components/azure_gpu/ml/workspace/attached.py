"""Clusters and machines that a workspace attaches as computes, and the extension that it installs on a cluster."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple

import pulumi

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.aks import clusters as catalog_clusters
from azure_gpu.catalog.services.machine_learning import compute
from azure_gpu.catalog.services.machine_learning.extension import ROUTER_REPLICAS, tolerated
from azure_gpu.formats import arm_ids
from azure_gpu.ml.workspace.args import DEFAULT_NAMESPACE, ExtensionArgs, InstanceTypeArgs
from azure_gpu.ml.workspace.spec import ComputeSpec, KubernetesSpec, MlWorkspaceSpec
from azure_gpu.shared import existing
from azure_gpu.shared.attachable import AttachableCluster, AttachableVm, ClusterOfWorkspace, VmOfWorkspace
from azure_gpu.shared.context import known
from azure_gpu.shared.validation import written
from azure_gpu.shared.wording import give_secret, is_in_program

ROUTERS = {"load_balancer": "loadBalancer", "node_port": "nodePort", "cluster_ip": "clusterIP"}


def installed(settings: ExtensionArgs, cluster: ClusterOfWorkspace) -> bool:
    """Whether the stack installs the extension."""
    return settings.get("install", not cluster["existing"])


def highly_available(settings: ExtensionArgs, cluster: ClusterOfWorkspace) -> bool:
    """Whether the router has three instances."""
    enough = not cluster["existing"] and cluster["nodes"] >= ROUTER_REPLICAS
    return settings.get("high_availability", enough)


def configuration_settings(settings: ExtensionArgs, cluster: ClusterOfWorkspace) -> dict[str, str]:
    """The extension's own settings, in its notation. Defaults are included where people may look for them."""
    training, inference = settings.get("training", True), settings.get("inference", True)
    found = {
        "enableTraining": str(training),
        "enableInference": str(inference),
        # The stack's own device plugin and exporter serve the GPUs; a second one would conflict with them.
        "installNvidiaDevicePlugin": "False",
        "installDcgmExporter": "False",
    }
    if not inference:
        return found
    router = settings.get("router", "load_balancer")
    found |= {
        "inferenceRouterServiceType": ROUTERS[router],
        "inferenceRouterHA": str(highly_available(settings, cluster)),
        "allowInsecureConnections": str(settings.get("insecure", False)),
    }
    if router == "load_balancer" and settings.get("internal", True):
        found["internalLoadBalancerProvider"] = "azure"
    if "host_name" in settings:
        found["sslCname"] = settings["host_name"]
    if "tls_secret" in settings:
        found["sslSecret"] = settings["tls_secret"]
    return found


def extension_problems(settings: ExtensionArgs, cluster: ClusterOfWorkspace, path: str, day: date) -> Iterator[Problem]:
    """All problems of the extension with these settings on this cluster. `path` is the settings' path."""
    if not installed(settings, cluster):
        return
    yield from lifecycle.of_part("ml.extension", day, path, None)
    if settings.get("inference", True):
        yield from _router_problems(settings, cluster, path)
    elif not settings.get("training", True):
        yield refused("ml.extension_without_purpose", path)
    if cluster["existing"]:  # its owner is responsible for it; the extension reports what it lacks
        return
    for problem in catalog_clusters.extension_problems(
        cluster["path"],
        local_accounts=cluster["local_accounts"],
        open_to_everybody=cluster["open_to_everybody"],
        fewest_nodes=ROUTER_REPLICAS,  # reported above, if the router is highly available
        fewest_vcpus=cluster["vcpus"] or None,
    ):
        yield problem._replace(value=None, fix=problem.fix.replace("leave ml_extension out", f"set {path}.install: false"))


def _router_problems(settings: ExtensionArgs, cluster: ClusterOfWorkspace, path: str) -> Iterator[Problem]:
    """Problems of how endpoints on the cluster are reached."""
    if not settings.get("insecure", False):
        if "host_name" not in settings:
            yield refused("ml.no_certificate_name", f"{path}.host_name")
        if "tls_secret" not in settings and not {"certificate", "key"} <= settings.keys():
            yield refused("ml.no_certificate", f"{path}.tls_secret")
    nodes = cluster["nodes"]
    if highly_available(settings, cluster) and not cluster["existing"] and nodes < ROUTER_REPLICAS:
        yield refused("ml.router_nodes", f"{path}.high_availability", "True", least=ROUTER_REPLICAS, nodes=nodes)


def gpu_problems(gpus: Mapping[str, int], cluster: ClusterOfWorkspace, path: str) -> Iterator[Problem]:
    """Instance types that request more GPUs than a node has for a pod of Azure Machine Learning. `gpus`: by instance type."""
    foreign = {name: [each for each in taints if not tolerated(each)] for name, taints in cluster["taints"].items()}
    in_open_pools = [cluster["gpus"][name] for name, taints in foreign.items() if not taints]
    if cluster["existing"] or (in_open_pools and not all(in_open_pools)):
        return  # nobody knows how many a node has
    most, where = max(in_open_pools, default=0), cluster["path"]
    pool = next((name for name, taints in foreign.items() if taints), None)
    for name, count in gpus.items():
        key = f"{path}.{name}.gpus"
        if count <= most:
            continue
        if most:
            yield refused("workspace.too_many_gpus", key, count, cluster=where, most=most)
        elif pool is not None:
            yield refused("workspace.pool_not_tolerated", key, count, cluster=where, pool=pool, foreign=", ".join(foreign[pool]))
        else:
            yield refused("workspace.no_gpus", key, count, cluster=where)


_QUANTITY = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:m|[KMGT]i?)?")
_INSTANCE_TYPE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class Attached(NamedTuple):
    """Attached clusters and machines, by the names that stand for them in the arguments."""

    clusters: Mapping[str, ClusterOfWorkspace]
    vms: Mapping[str, VmOfWorkspace]


def extract_attached(computes: Mapping[str, Any], component: str) -> Attached:
    """The clusters and machines that a program passes as components or ids, which are replaced by names in `computes`."""
    clusters: dict[str, ClusterOfWorkspace] = {}
    vms: dict[str, VmOfWorkspace] = {}
    for name, settings in computes.items():
        cluster, vm = settings.get("cluster"), settings.get("vm")
        if isinstance(cluster, AttachableCluster):
            settings["cluster"] = cluster.pulumi_resource_name
            clusters[settings["cluster"]] = cluster.of_workspace
        elif cluster is not None:
            text = known(cluster)
            parsed = arm_ids.parse(text) if text is not None else None
            if text is None or parsed is not None:  # any other text is invalid
                settings["cluster"] = parsed.name if parsed is not None else name
                clusters[settings["cluster"]] = _by_id(cluster, f"{component}.computes.{name}.cluster")
        if isinstance(vm, AttachableVm):
            settings["vm"] = vm.pulumi_resource_name
            vms[settings["vm"]] = vm.of_workspace
    return Attached(clusters, vms)


def _by_id(cluster: pulumi.Input[str], path: str) -> ClusterOfWorkspace:
    """A cluster of which only the id is known."""
    parts = existing.parts(cluster)
    return ClusterOfWorkspace(
        id=cluster,
        name=parts.apply(lambda each: each.name),
        resource_group_name=parts.apply(lambda each: each.resource_group),
        path=path,
        existing=True,
        namespace="",
        local_accounts=True,
        open_to_everybody=True,
        nodes=0,
        vcpus=0,
        gpus={},
        taints={},
    )


def resolve_cluster(
    of: ComputeSpec, clusters: Mapping[str, ClusterOfWorkspace], workspace: MlWorkspaceSpec, day: date
) -> tuple[KubernetesSpec, list[Problem]]:
    """Resolves an attached cluster. `of`: what all computes have."""
    settings, path, key = of.settings, of.path, of.cluster
    cluster, types = clusters.get(key), settings.get("instance_types", {})
    # The first compute with settings of the extension has them; any other is rejected.
    on_cluster = ((name, each) for name, each in workspace.settings.get("computes", {}).items() if each.get("cluster") == key)
    owner = next((name for name, each in on_cluster if "extension" in each), of.name)
    extension = written(settings.get("extension", ExtensionArgs()))
    spec = KubernetesSpec(
        name=of.name,
        path=path,
        settings=settings,
        tags=of.tags,
        namespace=settings.get("namespace", (cluster["namespace"] if cluster is not None else "") or DEFAULT_NAMESPACE),
        default_instance_type=settings.get("default_instance_type", next(iter(types)) if len(types) == 1 else ""),
        extension=extension if owner == of.name else None,
    )
    problems: list[Problem] = []
    if cluster is None:
        problems.append(_unknown_target(f"{path}.cluster", "cluster", key, clusters))
    else:
        if spec.extension is not None:
            problems += extension_problems(extension, cluster, f"{path}.extension", day)
        elif "extension" in settings:
            other = f"{workspace.path}.computes.{owner}.extension"
            problems.append(refused("workspace.extension_twice", f"{path}.extension", other=other))
        problems += gpu_problems(spec.gpus, cluster, f"{path}.instance_types")
    for name, each in types.items():
        problems += _instance_type_problems(name, each, f"{path}.instance_types.{name}", day)
    usual = spec.default_instance_type
    if usual and usual not in types:
        allowed = ", ".join(types) or "none"
        problems.append(refused("workspace.no_default_type", f"{path}.default_instance_type", usual, allowed=allowed))
    return spec, problems


def _instance_type_problems(name: str, settings: InstanceTypeArgs, path: str, day: date) -> Iterator[Problem]:
    if _INSTANCE_TYPE.fullmatch(name) is None:
        yield refused("workspace.bad_instance_type", path, name)
    for key, amount in (("cpu", settings.get("cpu")), ("memory", settings.get("memory"))):
        if amount is not None and _QUANTITY.fullmatch(amount) is None:
            yield refused(f"workspace.bad_{key}", f"{path}.{key}", amount)
    gpus, path = settings.get("gpus"), f"{path}.gpus"
    for problem in lifecycle.of_part("ml.instance_type", day, path, gpus):
        yield problem._replace(fix="write 1")
    if gpus is not None and gpus < 0:
        yield refused("ml.bad_gpu_limit", path, gpus)


def machine_problems(spec: ComputeSpec, vms: Mapping[str, VmOfWorkspace], day: date) -> Iterator[Problem]:
    """All problems of an attached virtual machine."""
    path, vm = f"{spec.path}.vm", vms.get(spec.vm)
    if vm is None:
        yield _unknown_target(path, "vm", spec.vm, vms)
        return
    yield from compute.machine_problems(spec.vm, day, path=path)
    if "private_key" not in spec.settings:
        key = f"{spec.path}.private_key"
        yield refused("workspace.no_private_key", key, fix=give_secret(key))
    if vm["os_type"] == "Windows":
        yield refused("ml.windows_machine", path, "Windows")
    if not vm["open_to_service"]:
        machine = f'GpuVm("{spec.vm}")' if is_in_program(path) else f"vms.{spec.vm}"
        yield refused("workspace.closed_machine", path, spec.vm, machine=machine, tag=compute.SERVICE_TAG)
    if vm["os_type"] != "Windows" and not vm["ubuntu"]:
        yield refused("workspace.not_ubuntu", path, spec.vm)


def _unknown_target(path: str, key: str, name: str, there: Mapping[str, object]) -> Problem:
    if is_in_program(path):
        return refused(f"workspace.not_a_{key}", path, name)
    return refused(f"workspace.no_such_{key}", path, name, allowed=", ".join(there) or f"none: add it under {key}s")
