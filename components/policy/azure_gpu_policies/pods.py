"""Checks the permissions of pods on their node, and how they request GPUs."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.aks import device_plugin
from azure_gpu_policies.known import UNKNOWN, at, entries, is_open, mapping, text
from azure_gpu_policies.model import PolicySettings, policy, texts
from azure_gpu_policies.resources import Resource
from azure_gpu_policies.rules import problem

# Path of the pod's spec, by kind.
_SPECS: dict[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    **dict.fromkeys(
        ("DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"), ("spec", "template", "spec")
    ),
}
_HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
_VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_NO_DEVICES = ("void", "none", "")


class Container(NamedTuple):
    """A container of a pod, with its path."""

    properties: Any
    path: str


class Pod(NamedTuple):
    """A pod, or the pod template of a controller."""

    properties: Any
    path: str

    @property
    def containers(self) -> Iterator[Container]:
        for key in ("initContainers", "containers", "ephemeralContainers"):
            for index, each in entries(self.properties, key):
                yield Container(each, f"{self.path}.{key}[{index}]")


def pod_of(resource: Resource) -> Pod | None:
    """Returns the pod of a resource; None where it has none."""
    keys = _SPECS.get(resource.kind) if resource.is_kubernetes else None
    if keys is None:
        return None
    return Pod(at(resource.properties, *keys), resource.path(".".join(keys)))


def _privileged(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    pod = pod_of(resource)
    if pod is None or _is_of_the_nodes(resource, settings):
        return
    for key in _HOST_NAMESPACES:
        if at(pod.properties, key) is True:
            yield problem("kubernetes-privileged/host", f"{pod.path}.{key}", True)
    for container in pod.containers:
        if at(container.properties, "securityContext", "privileged") is True:
            yield problem("kubernetes-privileged/container", f"{container.path}.securityContext.privileged", True)


def _host_paths(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    pod = pod_of(resource)
    if pod is None or _is_of_the_nodes(resource, settings):
        return
    allowed = [str(each).rstrip("/") for each in settings["paths"]]
    for index, each in entries(pod.properties, "volumes"):
        host = at(each, "hostPath", "path")
        if not isinstance(host, str) or any(host.rstrip("/") == one or host.startswith(f"{one}/") for one in allowed):
            continue
        path = f"{pod.path}.volumes[{index}].hostPath.path"
        yield problem("kubernetes-host-path", path, host, paths=", ".join(allowed) or "no host path")


def _gpu_limits(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    pod = pod_of(resource)
    if pod is None or _is_of_the_nodes(resource, settings):
        return
    for container in pod.containers:
        resources = at(container.properties, "resources")
        requests, limits = mapping(resources, "requests") or {}, mapping(resources, "limits") or {}
        if is_open(resources):
            continue
        requested = [key for key in requests if _is_gpu(key)]
        limited = [key for key in limits if _is_gpu(key)]
        for key in requested:
            if str(limits.get(key)) != str(requests[key]):
                path = f"{container.path}.resources.limits.{key}"
                yield problem("kubernetes-gpu-limits/limit", path, limits.get(key), key=key, requested=requests[key])
        if not requested and not limited:
            yield from _unasked(container)


def _unasked(container: Container) -> Iterator[Problem]:
    """Finds containers with the variable by which NVIDIA's runtime exposes the node's GPUs without a request."""
    for index, each in entries(container.properties, "env"):
        value = at(each, "value")
        if text(each, "name") == _VISIBLE and isinstance(value, str) and value not in _NO_DEVICES:
            yield problem("kubernetes-gpu-limits/visible", f"{container.path}.env[{index}].value", value)


def _is_gpu(resource: str) -> bool:
    """Whether a resource is a GPU: NVIDIA's, also shared or partitioned, or AMD's."""
    vendor, _, name = resource.partition("/")
    return (vendor == "nvidia.com" and name.startswith(("gpu", "mig-"))) or (vendor == "amd.com" and name == "gpu")


def _is_of_the_nodes(resource: Resource, settings: PolicySettings) -> bool:
    """Whether it serves the nodes, such as a device plugin: in one of their namespaces, or in an unknown one."""
    namespace = at(resource.properties, "metadata", "namespace")
    return namespace is UNKNOWN or (isinstance(namespace, str) and namespace.lower() in settings.words("node_namespaces"))


_NAMESPACES = texts(
    "node_namespaces",
    "Namespaces of pods that serve the nodes, such as drivers and device plugins, to which these policies don't apply",
    ("kube-system", "gpu-resources", "gpu-operator"),
)

POLICIES = (
    policy("kubernetes-privileged", of_resource=_privileged, own_settings=(_NAMESPACES,)),
    policy(
        "kubernetes-host-path",
        of_resource=_host_paths,
        own_settings=(
            texts(
                "paths",
                "Folders of a node that pods may mount, with everything below them: clients of the Multi-Process "
                "Service need its pipes",
                (device_plugin.MPS_ROOT,),
            ),
            _NAMESPACES,
        ),
    ),
    policy("kubernetes-gpu-limits", of_resource=_gpu_limits, own_settings=(_NAMESPACES,)),
)
