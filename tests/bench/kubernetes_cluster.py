"""A cluster of the embedded Azure: how soon it is there, how soon a Job speaks, how soon many GPU pods have nodes, what it holds.

The pods wait before there is a node for them: the pool grows from zero, and its GPUs show when the device plugin runs there.
"""

import json
import ssl
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx

from tests.bench.results import Bench, Limit, resident_mib, succeeded
from tests.support.embedded import SUBSCRIPTION, ServedAzure, until

READY_SECONDS, FIRST_LINE_SECONDS, SCHEDULED_SECONDS = (Limit("at most", seconds) for seconds in (20, 3, 30))
MIB = Limit("at most", 1536)  # control plane and node agent
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/bench-aks"
CLUSTER = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/bench"
GROUPS, VERSION = "2024-03-01", "2025-09-01"
LOCATION = "westeurope"
SIZE, FAMILY, GPUS = "Standard_NC64as_T4_v3", "Standard NCASv3_T4 Family", 4
PLUGIN = "nvcr.io/nvidia/k8s-device-plugin:v0.18.0"
SPEAKS = "mcr.microsoft.com/k8se/quickstart-jobs:latest"
PAUSE = "registry.k8s.io/pause:3.10"
SOCKETS = "/var/lib/kubelet/device-plugins"
TOLERATIONS = [{"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}]
LIMIT_SECONDS = 300
POLL_SECONDS = 0.2


def measure(bench: Bench, azure: ServedAzure, programs: Path, rounds: int, nodes: int) -> None:
    azure.put(GROUP, {"location": LOCATION}, GROUPS).raise_for_status()
    for name in (FAMILY, "cores"):
        succeeded(azure.command("fault", "quota", "compute", LOCATION, name, "100000"))
    began = time.perf_counter()
    azure.made(CLUSTER, _cluster(), VERSION)
    ready = time.perf_counter() - began
    folder = next((azure.state / "clusters").glob("bench-*"))
    kubectl = Kubectl(programs, folder)
    lines = [_first_line(kubectl, number) for number in range(rounds)]
    azure.made(f"{CLUSTER}/agentPools/gpu", _pool(nodes), VERSION)
    kubectl.apply([_plugin()])
    pods = nodes * GPUS
    scheduled = _scheduled(kubectl, pods)
    states = (json.loads(state.read_text()) for state in (folder / "control-plane").glob("*/*/state.json"))
    resident = resident_mib(*(pid for state in states for pid in (state["pid"], state["shim"])))
    began = time.perf_counter()
    if azure.finished(azure.delete(CLUSTER, VERSION))["status"] != "Succeeded":
        raise RuntimeError("the cluster wasn't deleted")
    deleted = time.perf_counter() - began
    azure.finished(azure.delete(GROUP, GROUPS))
    azure.command("fault", "clear")
    found = {"ready": ready, "first_lines": lines, "pods": pods, "nodes": nodes, "scheduled": scheduled}
    bench.figures["kubernetes_cluster"] = found | {"resident_mib": resident, "deleted": deleted}
    bench.say(f"deletion of a cluster: {deleted:.1f} s")
    bench.hold("a cluster with a node that is ready, in s", READY_SECONDS, ready)
    bench.hold("`kubectl apply` of a Job to its first line, in s", FIRST_LINE_SECONDS, *lines)
    bench.hold(f"{pods} waiting GPU pods on {nodes} nodes from zero, in s", SCHEDULED_SECONDS, scheduled)
    bench.hold("control plane and node agent, MiB resident", MIB, resident)


class Kubectl:
    """kubectl as the cluster's administrator; and what is asked often, without a process for each question."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._command = [str(programs / "kubectl"), "--kubeconfig", str(folder / "admin.kubeconfig")]
        trust = ssl.create_default_context(cafile=folder / "pki" / "ca.crt")
        trust.load_cert_chain(folder / "pki" / "admin.crt", folder / "pki" / "admin.key")
        server = json.loads((folder / "agent.json").read_text())["server"]
        self._client = httpx.Client(base_url=f"{server}/api/v1/namespaces/default/", verify=trust, trust_env=False, timeout=30)

    def apply(self, objects: Iterable[dict[str, Any]]) -> None:
        items = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        apply: list[str] = [*self._command, "apply", "-f", "-"]
        succeeded(subprocess.run(apply, input=items, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False))

    def pods(self, name: str) -> list[dict[str, Any]]:
        return self._client.get("pods", params={"labelSelector": f"app={name}"}).raise_for_status().json()["items"]

    def logs(self, name: str) -> str:
        """Of the first pod with this label; nothing where there is none yet, or it hasn't begun."""
        answers = (self._client.get(f"pods/{pod['metadata']['name']}/log") for pod in self.pods(name))
        return next((answer.text for answer in answers if answer.status_code == 200), "")


def _cluster() -> dict[str, Any]:
    system = {"name": "system", "mode": "System", "count": 1, "vmSize": "Standard_D4s_v5", "osType": "Linux"}
    properties = {"dnsPrefix": "bench", "agentPoolProfiles": [{**system, "type": "VirtualMachineScaleSets"}]}
    # The clock of a real autoscaler, but for how often it looks.
    scaler = {"scan-interval": "1s"}
    identity = {"type": "SystemAssigned"}
    return {"location": LOCATION, "identity": identity, "properties": {**properties, "autoScalerProfile": scaler}}


def _pool(most: int) -> dict[str, Any]:
    grows = {"enableAutoScaling": True, "minCount": 0, "maxCount": most, "count": 0}
    given = {"mode": "User", "vmSize": SIZE, "osType": "Linux", "type": "VirtualMachineScaleSets"}
    return {"properties": {**given, **grows, "nodeTaints": ["sku=gpu:NoSchedule"]}}


def _first_line(kubectl: Kubectl, number: int) -> float:
    name = f"speaks-{number}"
    job = _pods_of("batch/v1", "Job", name, {"containers": [{"name": "main", "image": SPEAKS}], "restartPolicy": "Never"})
    began = time.perf_counter()
    kubectl.apply([job])
    until(lambda: kubectl.logs(name), f"the first line of {name}")
    return time.perf_counter() - began


def _scheduled(kubectl: Kubectl, count: int) -> float:
    limits = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    spec = {"containers": [{"name": "main", "image": PAUSE, **limits}], "tolerations": TOLERATIONS}
    pods = _pods_of("apps/v1", "Deployment", "many", spec)
    pods["spec"]["replicas"] = count
    began = time.perf_counter()
    kubectl.apply([pods])
    deadline = began + LIMIT_SECONDS
    while (have := sum("nodeName" in pod["spec"] for pod in kubectl.pods("many"))) < count:
        if time.perf_counter() > deadline:
            raise RuntimeError(f"{have} of {count} pods have nodes after {LIMIT_SECONDS} s")
        time.sleep(POLL_SECONDS)
    return time.perf_counter() - began


def _plugin() -> dict[str, Any]:
    container = {
        "name": "plugin",
        "image": PLUGIN,
        "command": ["nvidia-device-plugin"],
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": "sockets", "mountPath": SOCKETS}],
    }
    volumes = [{"name": "sockets", "hostPath": {"path": SOCKETS}}]
    where = {"nodeSelector": {"kubernetes.azure.com/agentpool": "gpu"}, "tolerations": TOLERATIONS}
    return _pods_of("apps/v1", "DaemonSet", "plugin", {"containers": [container], "volumes": volumes, **where})


def _pods_of(version: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    labels = {"app": name}
    chosen = {} if kind == "Job" else {"selector": {"matchLabels": labels}}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**chosen, "template": template},
    }
