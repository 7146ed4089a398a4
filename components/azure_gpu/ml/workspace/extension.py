"""The Azure Machine Learning extension on an AKS cluster: its settings and its requirements on the cluster.

The extension's own rules are in `catalog.services.machine_learning.extension`.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.aks import clusters
from azure_gpu.catalog.services.machine_learning import extension
from azure_gpu.catalog.services.machine_learning.extension import REFERENCE, ROUTER_REPLICAS, ExtensionRequest, tolerated
from azure_gpu.ml.workspace.args import ExtensionArgs
from azure_gpu.shared.attachable import ClusterOfWorkspace

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
