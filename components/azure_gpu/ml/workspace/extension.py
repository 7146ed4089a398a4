"""An AKS cluster of the stack as an Azure Machine Learning workspace sees it, and what the extension needs of it.

In: a resolved cluster; and the settings of the extension that is to be put onto it. Out: `ClusterOfWorkspace` with what is plain,
and problems. What the extension itself takes is known to `catalog.services.machine_learning.extension`.
"""

from collections.abc import Iterator, Mapping
from datetime import date

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.aks import azure_ml
from azure_gpu.catalog.services.machine_learning import extension
from azure_gpu.catalog.services.machine_learning.extension import ROUTER_REPLICAS, ExtensionRequest
from azure_gpu.catalog.services.machine_learning.kubernetes import REFERENCE, tolerated
from azure_gpu.ml.workspace.args import ExtensionArgs, Router
from azure_gpu.shared.attachable import ClusterOfWorkspace

ROUTERS = {Router.LOAD_BALANCER: "loadBalancer", Router.NODE_PORT: "nodePort", Router.CLUSTER_IP: "clusterIP"}


def reachable_gpus(cluster: ClusterOfWorkspace) -> int | None:
    """How many GPUs a pod of Azure Machine Learning can get on one node; None: not known."""
    if cluster["existing"]:
        return None
    open_pools = [name for name, taints in cluster["taints"].items() if all(tolerated(taint) for taint in taints)]
    most = [cluster["gpus"][name] for name in open_pools]
    return None if most and not all(most) else max(most, default=0)


def installed(said: ExtensionArgs, cluster: ClusterOfWorkspace) -> bool:
    """Whether the stack puts the extension on."""
    return said.get("install", not cluster["existing"])


def highly_available(said: ExtensionArgs, cluster: ClusterOfWorkspace) -> bool:
    """Whether the router runs three times."""
    enough = not cluster["existing"] and cluster["nodes"] >= ROUTER_REPLICAS
    return said.get("high_availability", enough)


def settings(said: ExtensionArgs, cluster: ClusterOfWorkspace) -> dict[str, str]:
    """The extension's own settings, as it spells them. What it has by itself is said where a person may look for it."""
    training, inference = said.get("training", True), said.get("inference", True)
    told = {
        "enableTraining": str(training),
        "enableInference": str(inference),
        # The stack's own device plugin and exporter serve the GPUs; a second one of either would fight with it.
        "installNvidiaDevicePlugin": "False",
        "installDcgmExporter": "False",
    }
    if not inference:
        return told
    router = Router(said.get("router", Router.LOAD_BALANCER))
    told |= {
        "inferenceRouterServiceType": ROUTERS[router],
        "inferenceRouterHA": str(highly_available(said, cluster)),
        "allowInsecureConnections": str(said.get("insecure", False)),
    }
    if router is Router.LOAD_BALANCER and said.get("internal", True):
        told["internalLoadBalancerProvider"] = "azure"
    if "host_name" in said:
        told["sslCname"] = said["host_name"]
    if "tls_secret" in said:
        told["sslSecret"] = said["tls_secret"]
    return told


def protected(said: ExtensionArgs) -> frozenset[str]:
    """The names of its protected settings that are given."""
    return frozenset(name for key, name in (("certificate", "sslCertPemFile"), ("key", "sslKeyPemFile")) if key in said)


# The extension's settings, as a stack file says them.
_SAID_AS = {
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
    ("at least one of the two True", "at least one of the two true"),
    ("False below", "false below"),
)


def extension_problems(said: ExtensionArgs, cluster: ClusterOfWorkspace, path: str, day: date) -> Iterator[Problem]:
    """Everything against the extension with these settings on this cluster. `path` is where its settings are written."""
    if not installed(said, cluster):
        return
    mine = not cluster["existing"]
    request = ExtensionRequest(
        settings=settings(said, cluster),
        path=path,
        cluster_path=cluster["path"],
        protected=protected(said),
        nodes=cluster["nodes"] if mine else None,
    )
    for problem in extension.extension_problems(request, day):
        yield _respelt(problem, path)
    if not mine:  # its owner's to see to; what it lacks is the extension's to say
        return
    for problem in azure_ml.extension_problems(
        cluster["path"],
        local_accounts=cluster["local_accounts"],
        open_to_everybody=cluster["open_to_everybody"],
        fewest_nodes=ROUTER_REPLICAS,  # said above, where the router is to be highly available
        fewest_vcpus=cluster["vcpus"] or None,
    ):
        yield problem._replace(value=None, fix=problem.fix.replace("leave ml_extension out", f"set {path}.install: false"))


def _respelt(problem: Problem, path: str) -> Problem:
    """A problem of the extension in a stack file's words."""
    name = problem.path.removeprefix(f"{path}.")
    texts = {"message": problem.message, "allowed": problem.allowed, "fix": problem.fix}
    for theirs, ours in _FIXES:
        texts = {key: text.replace(theirs, ours) for key, text in texts.items()}
    where = f"{path}.{_SAID_AS[name]}" if name in _SAID_AS else problem.path
    return problem._replace(path=where, **texts)


def gpu_problems(gpus: Mapping[str, int], cluster: ClusterOfWorkspace, path: str) -> Iterator[Problem]:
    """Instance types that ask for more GPUs than a node can give to a pod of Azure Machine Learning. `gpus`: by instance type."""
    most = reachable_gpus(cluster)
    wanting = {name: count for name, count in gpus.items() if count > 0}
    if most is None or not wanting:
        return
    behind = {name: taints for name, taints in cluster["taints"].items() if not all(tolerated(taint) for taint in taints)}
    for name, count in wanting.items():
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
