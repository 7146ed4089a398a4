"""Clusters and machines that a workspace attaches as computes, and the extension that it installs on a cluster."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

import pulumi

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.aks import clusters
from azure_gpu.catalog.services.aks.device_plugin import GPU_RESOURCE
from azure_gpu.catalog.services.machine_learning import compute, extension
from azure_gpu.catalog.services.machine_learning.compute import MachineRequest
from azure_gpu.catalog.services.machine_learning.extension import (
    REFERENCE,
    ROUTER_REPLICAS,
    ExtensionRequest,
    InstanceTypeRequest,
    tolerated,
)
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.ml.workspace.args import DEFAULT_NAMESPACE, ComputeArgs, ExtensionArgs, InstanceTypeArgs
from azure_gpu.shared import existing
from azure_gpu.shared.attachable import AttachableCluster, AttachableVm, ClusterOfWorkspace, VmOfWorkspace
from azure_gpu.shared.context import Tags, known
from azure_gpu.shared.validation import written
from azure_gpu.shared.wording import give_secret, is_in_program

ROUTERS = {"load_balancer": "loadBalancer", "node_port": "nodePort", "cluster_ip": "clusterIP"}


def reachable_gpus(cluster: ClusterOfWorkspace) -> int | None:
    """The most GPUs that a pod of Azure Machine Learning can get on one node; None: unknown."""
    if cluster["existing"]:
        return None
    open_pools = [name for name, taints in cluster["taints"].items() if all(tolerated(taint) for taint in taints)]
    most = [cluster["gpus"][name] for name in open_pools]
    return None if most and not all(most) else max(most, default=0)


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


def protected(settings: ExtensionArgs) -> frozenset[str]:
    """The names of its protected settings that are set."""
    return frozenset(name for key, name in (("certificate", "sslCertPemFile"), ("key", "sslKeyPemFile")) if key in settings)


# The extension's settings by their keys in a stack file.
_KEYS = {
    "enableTraining": "training",
    "enableInference": "inference",
    "inferenceRouterServiceType": "router",
    "inferenceRouterHA": "high_availability",
    "internalLoadBalancerProvider": "internal",
    "allowInsecureConnections": "insecure",
    "sslCname": "host_name",
    "sslSecret": "tls_secret",
}
_FIXES = (
    ("sslSecret, or both protected settings sslCertPemFile and sslKeyPemFile", "tls_secret, or both certificate and key"),
    ("allowInsecureConnections: True", "insecure: true"),
    ("inferenceRouterHA: False", "high_availability: false"),
    ("enableInference: True", "inference: true"),
    ("enableTraining: True", "training: true"),
    ("enableTraining", "training"),
    ("enableInference", "inference"),
    ("is True", "is true"),
    ("at least one of them True", "at least one of them true"),
    ("False below", "false below"),
)


def extension_problems(settings: ExtensionArgs, cluster: ClusterOfWorkspace, path: str, day: date) -> Iterator[Problem]:
    """All problems of the extension with these settings on this cluster. `path` is the settings' path."""
    if not installed(settings, cluster):
        return
    created = not cluster["existing"]
    request = ExtensionRequest(
        settings=configuration_settings(settings, cluster),
        path=path,
        cluster_path=cluster["path"],
        protected=protected(settings),
        nodes=cluster["nodes"] if created else None,
    )
    for problem in extension.extension_problems(request, day):
        yield _respelt(problem, path)
    if not created:  # its owner is responsible for it; the extension reports what it lacks
        return
    for problem in clusters.extension_problems(
        cluster["path"],
        local_accounts=cluster["local_accounts"],
        open_to_everybody=cluster["open_to_everybody"],
        fewest_nodes=ROUTER_REPLICAS,  # reported above, if the router is highly available
        fewest_vcpus=cluster["vcpus"] or None,
    ):
        yield problem._replace(value=None, fix=problem.fix.replace("leave ml_extension out", f"set {path}.install: false"))


def _respelt(problem: Problem, path: str) -> Problem:
    """A problem of the extension with the stack file's keys."""
    name = problem.path.removeprefix(f"{path}.")
    texts: dict[str, Any] = {"message": problem.message, "allowed": problem.allowed, "fix": problem.fix}
    for theirs, ours in _FIXES:
        texts = {key: text.replace(theirs, ours) for key, text in texts.items()}
    where = f"{path}.{_KEYS[name]}" if name in _KEYS else problem.path
    return problem._replace(path=where, **texts)


def gpu_problems(gpus: Mapping[str, int], cluster: ClusterOfWorkspace, path: str) -> Iterator[Problem]:
    """Instance types that request more GPUs than a node has for a pod of Azure Machine Learning. `gpus`: by instance type."""
    most = reachable_gpus(cluster)
    requested = {name: count for name, count in gpus.items() if count > 0}
    if most is None or not requested:
        return
    behind = {name: taints for name, taints in cluster["taints"].items() if not all(tolerated(taint) for taint in taints)}
    for name, count in requested.items():
        if count <= most:
            continue
        if behind and not most:
            pool, taints = next(iter(behind.items()))
            foreign = ", ".join(taint for taint in taints if not tolerated(taint))
            yield Problem(
                path=f"{path}.{name}.gpus",
                message=f"pods of Azure Machine Learning can't run on GPU pool {pool}: they tolerate only their own taints,"
                f" and the pool has {foreign}",
                value=count,
                allowed="a GPU pool without taints, or with those of ml.azure.com",
                fix=f'set {cluster["path"]}.gpu_pools.{pool}.taints: ["ml.azure.com/amlarc=true:NoSchedule"]',
                source=str(REFERENCE),
                code=Code.IMPOSSIBLE,
            )
            continue
        yield Problem(
            path=f"{path}.{name}.gpus",
            message=f"a node of {cluster['path']} has at most {most} GPUs for a pod" if most else f"{cluster['path']} has no GPU",
            value=count,
            allowed=f"0 to {most}",
            fix=f"set {most}, or use a GPU pool of larger machines" if most else "add a GPU pool to it, or set `gpus: 0`",
            code=Code.IMPOSSIBLE,
        )


_QUANTITY = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:m|[KMGT]i?)?")
_INSTANCE_TYPE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class WorkspaceContext(NamedTuple):
    """The workspace's properties that its computes depend on."""

    path: str
    location: str
    location_path: str
    managed_network: bool
    reached_privately: bool
    tags: Tags
    clusters: Mapping[str, ClusterOfWorkspace]
    vms: Mapping[str, VmOfWorkspace]
    extension_owner: Mapping[str, str]  # by cluster, the compute that has the extension's settings


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesSpec:
    """An attached cluster of the stack."""

    name: str
    path: str
    settings: ComputeArgs
    namespace: str
    default_instance_type: str  # empty: none
    extension: ExtensionArgs | None  # None: another compute of the cluster has it
    tags: Tags

    @property
    def cluster(self) -> str:
        """Its name in the stack file."""
        return str(self.settings.get("cluster", ""))

    @property
    def gpus(self) -> dict[str, int]:
        """Of a pod, by instance type."""
        return {name: int(each.get("gpus", 0)) for name, each in self.settings.get("instance_types", {}).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSpec:
    """An attached virtual machine of the stack."""

    name: str
    path: str
    settings: ComputeArgs
    tags: Tags

    @property
    def vm(self) -> str:
        """Its name in the stack file."""
        return str(self.settings.get("vm", ""))


class Attached(NamedTuple):
    """Attached clusters and machines, by the names that stand for them in the arguments."""

    clusters: dict[str, ClusterOfWorkspace]
    vms: dict[str, VmOfWorkspace]


def extract_attached(computes: Mapping[str, Any], component: str) -> Attached:
    """The clusters and machines that a program passes as components or ids, which are replaced by names in `computes`."""
    found = Attached({}, {})
    for name, settings in computes.items():
        cluster, vm = settings.get("cluster"), settings.get("vm")
        if isinstance(cluster, AttachableCluster):
            settings["cluster"] = cluster.pulumi_resource_name
            found.clusters[settings["cluster"]] = cluster.of_workspace
        elif cluster is not None:
            text = known(cluster)
            parsed = arm_ids.parse(text) if text is not None else None
            if text is None or parsed is not None:  # any other text is invalid
                settings["cluster"] = parsed.name if parsed is not None else name
                found.clusters[settings["cluster"]] = _by_id(cluster, f"{component}.computes.{name}.cluster")
        if isinstance(vm, AttachableVm):
            settings["vm"] = vm.pulumi_resource_name
            found.vms[settings["vm"]] = vm.of_workspace
    return found


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
    name: str, settings: ComputeArgs, workspace: WorkspaceContext, path: str, day: date
) -> tuple[KubernetesSpec, list[Problem]]:
    cluster = workspace.clusters.get(str(settings.get("cluster", "")))
    types = settings.get("instance_types", {})
    only = next(iter(types)) if len(types) == 1 else ""
    usual_namespace = cluster["namespace"] if cluster is not None else ""
    owner = workspace.extension_owner.get(str(settings.get("cluster", "")), name)
    extension_settings = written(settings.get("extension", ExtensionArgs()))
    spec = KubernetesSpec(
        name=name,
        path=path,
        settings=settings,
        namespace=settings.get("namespace", usual_namespace or DEFAULT_NAMESPACE),
        default_instance_type=settings.get("default_instance_type", only),
        extension=extension_settings if owner == name else None,
        tags={**workspace.tags, **settings.get("tags", {})},
    )
    problems = names.check(azure_types.ML_COMPUTE.arm_type, name, path)
    if cluster is None:
        problems.append(_unknown_target(f"{path}.cluster", "cluster", spec.cluster, workspace.clusters))
    else:
        if owner == name:
            problems += extension_problems(extension_settings, cluster, f"{path}.extension", day)
        elif "extension" in settings:
            problems.append(_already_configured(f"{path}.extension", f"{workspace.path}.computes.{owner}.extension"))
        problems += gpu_problems(spec.gpus, cluster, f"{path}.instance_types")
    for key, each in types.items():
        problems += _instance_type_problems(key, each, f"{path}.instance_types.{key}", day)
    if spec.default_instance_type and spec.default_instance_type not in types:
        problems.append(
            Problem(
                path=f"{path}.default_instance_type",
                message="not one of `instance_types`",
                value=spec.default_instance_type,
                allowed=", ".join(types) or "none",
                fix="name one of instance_types, or remove it",
            )
        )
    return spec, problems


def _already_configured(path: str, other: str) -> Problem:
    return Problem(
        path=path,
        message=f"the extension is set once for a cluster, and {other} already does so",
        allowed="for one compute of the cluster only",
        fix="remove one of the two",
    )


def _instance_type_problems(name: str, settings: InstanceTypeArgs, path: str, day: date) -> Iterator[Problem]:
    if _INSTANCE_TYPE.fullmatch(name) is None:
        allowed = "at most 63 lower-case letters, digits and hyphens, no hyphen at either end"
        yield Problem(path=path, message="not a valid Kubernetes name", value=name, allowed=allowed, fix="choose another name")
    for key in ("cpu", "memory"):
        value = settings.get(key)
        if isinstance(value, str) and _QUANTITY.fullmatch(value) is None:
            yield Problem(
                path=f"{path}.{key}",
                message="not a valid Kubernetes quantity",
                value=value,
                allowed='such as "2" or "500m"' if key == "cpu" else "such as 4Gi",
                fix='write "1"' if key == "cpu" else "write 2Gi",
            )
    request = InstanceTypeRequest(path=path, limits={GPU_RESOURCE: str(settings.get("gpus", 0))})
    for problem in extension.instance_type_problems(request, day):
        yield problem._replace(path=f"{path}.gpus", value=settings.get("gpus"), fix="write 1")


def resolve_machine(
    name: str, settings: ComputeArgs, workspace: WorkspaceContext, path: str, day: date
) -> tuple[MachineSpec, list[Problem]]:
    vm = workspace.vms.get(str(settings.get("vm", "")))
    spec = MachineSpec(
        name=name,
        path=path,
        settings=settings,
        tags={**workspace.tags, **settings.get("tags", {})},
    )
    problems = names.check(azure_types.ML_COMPUTE.arm_type, name, path)
    if vm is None:
        return spec, [*problems, _unknown_target(f"{path}.vm", "vm", spec.vm, workspace.vms)]
    request = MachineRequest(
        address=spec.vm,  # its address is known after its creation
        user_name=vm["admin_user"],
        has_password=False,
        has_private_key="private_key" in settings,
        path=f"{path}.vm",
        address_path=f"{path}.vm",
        user_path=f"{path}.private_key",
        system_path=f"{path}.vm",
        windows=vm["os_type"] == "Windows",
    )
    problems += [_without_password(each, f"{path}.private_key") for each in compute.machine_problems(request, day)]
    if not vm["open_to_service"]:
        problems.append(_service_not_allowed(f"{path}.vm", spec.vm))
    if vm["os_type"] != "Windows" and not vm["ubuntu"]:
        problems.append(_not_known_as_ubuntu(f"{path}.vm", spec.vm))
    return spec, problems


def _without_password(problem: Problem, path: str) -> Problem:
    """The service also accepts a password, but the stack's machines have none."""
    if problem.path != path:
        return problem
    message = "`private_key` is required: the service logs in by SSH, with the private key of the machine's ssh_public_key"
    fix = give_secret(path)
    return problem._replace(message=message, value=None, allowed="a private key without a pass phrase", fix=fix)


def _service_not_allowed(path: str, vm: str) -> Problem:
    machine = f'GpuVm("{vm}")' if is_in_program(path) else f"vms.{vm}"
    return Problem(
        path=path,
        message="the service logs in by SSH from its own addresses, which this machine doesn't allow",
        value=vm,
        allowed=f"a machine with a public address whose allowed_ranges have {compute.SERVICE_TAG}",
        fix=f"set `public_address: true` and `allowed_ranges: [{compute.SERVICE_TAG}]` for {machine}, or remove the compute:"
        " `run --on vm` needs neither",
        source=str(compute.IN_A_NETWORK),
        code=Code.UNKNOWN,
        severity=Severity.WARNING,
    )


def _not_known_as_ubuntu(path: str, vm: str) -> Problem:
    return Problem(
        path=path,
        message="only Ubuntu machines can be attached, and this one's image isn't known to be Ubuntu",
        value=vm,
        allowed="Ubuntu",
        fix="choose an Ubuntu image, or ignore this if it is one",
        source=str(compute.PROVIDER),
        code=Code.UNKNOWN,
        severity=Severity.WARNING,
    )


def _unknown_target(path: str, key: str, name: str, there: Mapping[str, object]) -> Problem:
    what = {"cluster": "cluster", "vm": "virtual machine"}[key]
    if is_in_program(path):
        message = f"not a valid {what}"
        allowed = {"cluster": "a GpuCluster, or the ARM id of a cluster", "vm": "a GpuVm"}[key]
        fix = "give the component"
    else:
        message = f"the stack has no {what} of this name"
        allowed = ", ".join(there) or f"none: add it under {key}s"
        fix = f"name one of {key}s, or add it there"
    return Problem(path=path, message=message, value=name, allowed=allowed, fix=fix, code=Code.NOT_FOUND)
