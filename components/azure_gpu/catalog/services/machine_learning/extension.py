"""The extension Microsoft.AzureML.Kubernetes: its settings, rules for them, for its cluster and for instance types, and the
taints that its pods tolerate.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

from azure_gpu.catalog import lifecycle, spelling
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Code, Problem, Severity, impossible
from azure_gpu.catalog.services.aks.device_plugin import GPU_RESOURCE
from azure_gpu.catalog.sources import Dated, Source

EXTENSION_TYPE = "Microsoft.AzureML.Kubernetes"
PAGE = Source("Microsoft Learn, machine-learning/how-to-deploy-kubernetes-extension", Dated.OBSERVED, date(2025, 3, 7))
INSTANCE_TYPES = Source("Azure/AML-Kubernetes, docs/instance-type.md", Dated.OBSERVED, date(2024, 8, 31))
EXTENSION = Lifecycle(seen=PAGE)

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
    problems = lifecycle.check(EXTENSION, f"the extension {EXTENSION_TYPE}", as_of, path=request.path, value=None)
    problems += _values(request)
    problems += _purpose(request)
    if _truth(request, "enableInference"):
        problems += _inference(request)
    problems += _cluster(request)
    return problems


def instance_type_problems(request: InstanceTypeRequest, as_of: date) -> list[Problem]:
    """All reasons why an instance type doesn't work on that day: GPUs belong under limits, as integers."""
    problems = lifecycle.check(
        Lifecycle(seen=INSTANCE_TYPES), "an instance type of attached compute", as_of, path=request.path, value=None
    )
    if GPU_RESOURCE in request.requests:
        problems.append(
            _refused(
                f"{request.path}.requests.{GPU_RESOURCE}",
                "an instance type has its GPUs under limits only",
                request.requests[GPU_RESOURCE],
                f"{GPU_RESOURCE} under limits",
                "move it to limits",
                INSTANCE_TYPES,
            )
        )
    count = request.limits.get(GPU_RESOURCE)
    if count is not None and not (count.isascii() and count.isdigit()):
        problems.append(
            _refused(
                f"{request.path}.limits.{GPU_RESOURCE}",
                "not a valid number of GPUs",
                count,
                "an integer as text, 0 or more",
                'write "1"',
                INSTANCE_TYPES,
            )
        )
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
            yield _refused(path, f"{name} is a protected setting", None, "among the protected settings", "move it there")
        elif setting.allowed and value.lower() not in {one.lower() for one in setting.allowed}:
            allowed = ", ".join(setting.allowed)
            yield _refused(path, f"{name} doesn't take this value", value, allowed, f"write one of {allowed}")


def _unknown(name: str, path: str) -> Problem:
    close = spelling.nearest(name, _BY_NAME, 2)
    return Problem(
        path=path,
        message="unknown setting of the extension",
        value=name,
        allowed=", ".join((*_BY_NAME, f"{NODE_SELECTOR}KEY")),
        fix=f"if it is misspelt, write {' or '.join(close)}" if close else "look it up on the extension's page",
        instead=close,
        source=str(PAGE),
        code=Code.UNKNOWN,
        severity=Severity.WARNING,
    )


def _purpose(request: ExtensionRequest) -> Iterator[Problem]:
    if not _truth(request, "enableTraining") and not _truth(request, "enableInference"):
        yield _refused(
            request.path,
            "neither enableTraining nor enableInference is True",
            None,
            "at least one of them True",
            "write enableInference: True for endpoints, enableTraining: True for jobs",
        )


def _inference(request: ExtensionRequest) -> Iterator[Problem]:
    services = ", ".join(ROUTER_SERVICES)
    if "inferenceRouterServiceType" not in request.settings:
        path = f"{request.path}.inferenceRouterServiceType"
        yield _refused(path, "inference requires inferenceRouterServiceType", None, services, "write loadBalancer")
    if not _truth(request, "allowInsecureConnections"):
        yield from _tls(request)
    if _truth(request, "inferenceRouterHA") and request.nodes is not None and request.nodes < ROUTER_REPLICAS:
        yield _refused(
            f"{request.path}.inferenceRouterHA",
            f"a highly available router needs {ROUTER_REPLICAS} nodes, and the cluster has {request.nodes}",
            request.settings.get("inferenceRouterHA"),
            f"False below {ROUTER_REPLICAS} nodes",
            f"write inferenceRouterHA: False, or use {ROUTER_REPLICAS} nodes",
        )


def _tls(request: ExtensionRequest) -> Iterator[Problem]:
    if "sslCname" not in request.settings:
        path = f"{request.path}.sslCname"
        fix = "add it, or write allowInsecureConnections: True for development"
        yield _refused(path, "HTTPS requires the name in the certificate", None, "a host name", fix)
    if "sslSecret" not in request.settings and not {"sslCertPemFile", "sslKeyPemFile"} <= request.protected:
        yield _refused(
            f"{request.path}.sslSecret",
            "HTTPS requires a certificate and its key",
            None,
            "sslSecret, or both protected settings sslCertPemFile and sslKeyPemFile",
            "add one of the two",
        )


def _cluster(request: ExtensionRequest) -> Iterator[Problem]:
    for amount, least, unit in ((request.vcpus, LEAST_VCPUS, "vCPU"), (request.memory_gib, LEAST_MEMORY_GIB, "GB of memory")):
        if amount is not None and amount < least:
            yield Problem(
                path=request.cluster_path,
                message=f"the cluster has {amount} {unit}, and the extension requires {least} in production",
                value=amount,
                allowed=f"at least {LEAST_VCPUS} vCPU and {LEAST_MEMORY_GIB} GB",
                fix="add nodes, or choose larger ones",
                source=str(PAGE),
                code=Code.UNKNOWN,
                severity=Severity.WARNING,
            )


def _refused(path: str, message: str, value: object, allowed: str, fix: str, source: Source = PAGE) -> Problem:
    return impossible(path, message, value, allowed, fix, source)


REFERENCE = Source("Microsoft Learn, machine-learning/reference-kubernetes", Dated.OBSERVED, date(2022, 6, 6))
TOLERATED = ("ml.azure.com/amlarc", "ml.azure.com/amlarc-workload")  # with the value true and any effect
OF_SCOPES = ("ml.azure.com/resource-group", "ml.azure.com/workspace", "ml.azure.com/compute")  # with the scope's name as value


def tolerated(taint: str) -> bool:
    """Whether jobs and deployments tolerate it. A name as value is assumed to be that of their scope."""
    key, _, value = taint.rpartition(":")[0].partition("=")
    return (key in TOLERATED and value == "true") or key in OF_SCOPES or taint.endswith(":PreferNoSchedule")
