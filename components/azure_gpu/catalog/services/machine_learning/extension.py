"""The extension Microsoft.AzureML.Kubernetes: its settings, rules for them, for its cluster and for instance types, and the
taints that its pods tolerate.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

from azure_gpu.catalog import lifecycle, spelling
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.aks.device_plugin import GPU_RESOURCE
from azure_gpu.catalog.sources import observed

EXTENSION_TYPE = "Microsoft.AzureML.Kubernetes"
PAGE = observed("Microsoft Learn, machine-learning/how-to-deploy-kubernetes-extension", 2025, 3, 7)
INSTANCE_TYPES = observed("Azure/AML-Kubernetes, docs/instance-type.md", 2024, 8, 31)

ROUTER_REPLICAS = 3  # of a highly available router, on separate nodes
LEAST_VCPUS = 4
LEAST_MEMORY_GIB = 14
ROUTER_SERVICES = ("loadBalancer", "nodePort", "clusterIP")
_TRUTH = ("True", "False")


class Setting(NamedTuple):
    """One configuration setting. `default` and values are text, as the extension takes them."""

    name: str
    allowed: tuple[str, ...]  # in any letter case, as the page itself mixes them; empty: any text
    default: str  # empty: none
    meaning: str
    protected: bool = False


SETTINGS: tuple[Setting, ...] = (
    Setting("enableTraining", _TRUTH, "False", "training jobs and batch scoring"),
    Setting("enableInference", _TRUTH, "False", "online endpoints"),
    Setting("inferenceRouterServiceType", ROUTER_SERVICES, "", "how the router is reached; needed for inference"),
    Setting("allowInsecureConnections", _TRUTH, "False", "HTTP instead of HTTPS, for development"),
    Setting("sslCname", (), "", "the name in the certificate; needed without allowInsecureConnections"),
    Setting("sslSecret", (), "", "a Kubernetes secret in the namespace azureml with cert.pem and key.pem"),
    Setting("sslCertPemFile", (), "", "the certificate", protected=True),
    Setting("sslKeyPemFile", (), "", "its key, without a pass phrase", protected=True),
    Setting("inferenceRouterHA", _TRUTH, "True", "three replicas of the router, which need three nodes"),
    Setting("internalLoadBalancerProvider", ("azure",), "", "an internal load balancer, on AKS only"),
    Setting("installNvidiaDevicePlugin", _TRUTH, "False", "NVIDIA's device plugin"),
    Setting("installDcgmExporter", _TRUTH, "False", "GPU metrics"),
    Setting("installPromOp", _TRUTH, "True", "its own Prometheus operator"),
    Setting("installVolcano", _TRUTH, "True", "its own Volcano scheduler"),
)
NODE_SELECTOR = "nodeSelector."  # with a label's key behind it
_BY_NAME = {one.name: one for one in SETTINGS}


class ExtensionRequest(NamedTuple):
    """The extension's settings and the cluster it is to run on. `path` is where the settings are; a setting's name follows it."""

    settings: Mapping[str, str]
    path: str
    cluster_path: str
    protected: frozenset[str] = frozenset()  # names of the protected settings that are given
    nodes: int | None = None  # the fewest that the cluster has; None: not known
    vcpus: int | None = None  # of all its nodes
    memory_gib: float | None = None


class InstanceTypeRequest(NamedTuple):
    """One instance type of an attached compute."""

    path: str
    requests: Mapping[str, str] = MappingProxyType({})
    limits: Mapping[str, str] = MappingProxyType({})


def extension_problems(request: ExtensionRequest, as_of: date) -> list[Problem]:
    """All problems of these settings or this cluster on that day."""
    problems = lifecycle.of_part("ml.extension", as_of, request.path, None)
    problems += _values(request)
    problems += _purpose(request)
    if _truth(request, "enableInference"):
        problems += _inference(request)
    problems += _cluster(request)
    return problems


def instance_type_problems(request: InstanceTypeRequest, as_of: date) -> list[Problem]:
    """All reasons why an instance type doesn't work on that day: GPUs belong under limits, as integers."""
    problems = lifecycle.of_part("ml.instance_type", as_of, request.path, None)
    if GPU_RESOURCE in request.requests:
        problems.append(
            refused(
                "ml.gpus_under_requests",
                f"{request.path}.requests.{GPU_RESOURCE}",
                request.requests[GPU_RESOURCE],
                gpu_resource=GPU_RESOURCE,
            )
        )
    count = request.limits.get(GPU_RESOURCE)
    if count is not None and not (count.isascii() and count.isdigit()):
        problems.append(refused("ml.bad_gpu_limit", f"{request.path}.limits.{GPU_RESOURCE}", count))
    return problems


def _truth(request: ExtensionRequest, name: str) -> bool:
    return request.settings.get(name, _BY_NAME[name].default).lower() == "true"


def _values(request: ExtensionRequest) -> Iterator[Problem]:
    for name, value in request.settings.items():
        path = f"{request.path}.{name}"
        setting = _BY_NAME.get(name)
        if setting is None:
            if not name.startswith(NODE_SELECTOR) or name == NODE_SELECTOR:
                yield _unknown(name, path)
        elif setting.protected:
            yield refused("ml.protected_setting", path, setting=name)
        elif setting.allowed and value.lower() not in {one.lower() for one in setting.allowed}:
            allowed = ", ".join(setting.allowed)
            yield refused("ml.bad_setting", path, value, allowed=allowed, setting=name)


def _unknown(name: str, path: str) -> Problem:
    close = spelling.nearest(name, _BY_NAME, 2)
    return refused("ml.unknown_setting", path, name, close=close, allowed=", ".join((*_BY_NAME, f"{NODE_SELECTOR}KEY")))


def _purpose(request: ExtensionRequest) -> Iterator[Problem]:
    if not _truth(request, "enableTraining") and not _truth(request, "enableInference"):
        yield refused("ml.extension_without_purpose", request.path)


def _inference(request: ExtensionRequest) -> Iterator[Problem]:
    services = ", ".join(ROUTER_SERVICES)
    if "inferenceRouterServiceType" not in request.settings:
        path = f"{request.path}.inferenceRouterServiceType"
        yield refused("ml.no_router_service", path, allowed=services)
    if not _truth(request, "allowInsecureConnections"):
        yield from _tls(request)
    if _truth(request, "inferenceRouterHA") and request.nodes is not None and request.nodes < ROUTER_REPLICAS:
        yield refused(
            "ml.router_nodes",
            f"{request.path}.inferenceRouterHA",
            request.settings.get("inferenceRouterHA"),
            router_replicas=ROUTER_REPLICAS,
            request=request,
        )


def _tls(request: ExtensionRequest) -> Iterator[Problem]:
    if "sslCname" not in request.settings:
        path = f"{request.path}.sslCname"
        yield refused("ml.no_certificate_name", path)
    if "sslSecret" not in request.settings and not {"sslCertPemFile", "sslKeyPemFile"} <= request.protected:
        yield refused("ml.no_certificate", f"{request.path}.sslSecret")


def _cluster(request: ExtensionRequest) -> Iterator[Problem]:
    for amount, least, unit in ((request.vcpus, LEAST_VCPUS, "vCPU"), (request.memory_gib, LEAST_MEMORY_GIB, "GB of memory")):
        if amount is not None and amount < least:
            yield refused(
                "ml.cluster_too_small",
                request.cluster_path,
                amount,
                unit=unit,
                least=least,
                least_vcpus=LEAST_VCPUS,
                least_memory_gib=LEAST_MEMORY_GIB,
            )


REFERENCE = observed("Microsoft Learn, machine-learning/reference-kubernetes", 2022, 6, 6)
TOLERATED = ("ml.azure.com/amlarc", "ml.azure.com/amlarc-workload")  # with the value true and any effect
OF_SCOPES = ("ml.azure.com/resource-group", "ml.azure.com/workspace", "ml.azure.com/compute")  # with the scope's name as value


def tolerated(taint: str) -> bool:
    """Whether jobs and deployments tolerate it. A name as value is assumed to be that of their scope."""
    key, _, value = taint.rpartition(":")[0].partition("=")
    return (key in TOLERATED and value == "true") or key in OF_SCOPES or taint.endswith(":PreferNoSchedule")
