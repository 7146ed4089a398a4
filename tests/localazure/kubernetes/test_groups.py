"""Groups of workers on the real controllers: by JobSet they meet by TF_CONFIG and start again together; by Kueue they are
admitted as a whole, and teams lend each other what they don't use. How a group fails is in `tests/stack`."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.formats.tags import NODE_POOL
from azure_gpu.kubernetes import worker_group
from azure_gpu.kubernetes.gpu_objects import queues
from azure_gpu.kubernetes.gpu_objects.spec import QueueSpec
from tests.localazure.kubernetes import groups
from tests.localazure.kubernetes.pods import FIRST, SECOND
from tests.support import kubernetes, node_agent
from tests.support.embedded import until
from tests.support.node_agent import IMAGE, NodeAgent, record

pytestmark = pytest.mark.slow

# Every worker listens where TF_CONFIG says, and hears from each of the others who it is.
_MEET = """
import json, os, socket, sys, threading, time
config = json.loads(os.environ["TF_CONFIG"])
own, workers = config["task"]["index"], config["cluster"]["worker"]
listening = socket.create_server(("0.0.0.0", int(workers[own].rpartition(":")[2])))
def tell():
    while True:
        connection, _ = listening.accept()
        connection.sendall(str(own).encode())
        connection.close()
threading.Thread(target=tell, daemon=True).start()
heard = set()
while len(heard) < len(workers):
    for each in workers:
        host, port = each.rsplit(":", 1)
        try:
            with socket.create_connection((host, int(port)), 5) as there:
                heard.add(int(there.recv(9)))
        except (OSError, ValueError):
            time.sleep(0.05)
print(config["task"]["type"], own, "met", *sorted(heard), flush=True)
"""
# Others may still ask. The file is this machine's: a path as it stands would be led into the container.
_STAY = _MEET + "while not os.path.exists(bytes.fromhex(sys.argv[1]).decode()): time.sleep(0.05)\n"


_LABELS = {"agentpool": "tests", NODE_POOL: "tests"}
_NODES = [record(name, labels=_LABELS) for name in (FIRST, SECOND)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeAgent]:
    """Two nodes and JobSet, on a control plane of their own: the controllers' webhooks stay when their pods are gone, and a
    control plane whose webhooks don't answer accepts no job."""
    file = groups.told()
    clusters = kubernetes.clusters_in(tmp_path_factory.mktemp("kubernetes"))
    with (
        kubernetes.running(clusters, kubernetes.shape()) as control_plane,
        node_agent.running(control_plane, tmp_path_factory.mktemp("agent"), groups=file) as running,
    ):
        running.nodes(*_NODES)
        groups.jobset(running, file)
        yield running


@pytest.fixture
def namespace(cluster: NodeAgent) -> Iterator[str]:
    """A namespace of this cluster."""
    with kubernetes.new_namespace(cluster.control_plane) as name:
        yield name


@pytest.fixture(scope="module")
def queued(cluster: NodeAgent) -> NodeAgent:
    """And Kueue."""
    groups.kueue(cluster, groups.told())
    return cluster


def _group(name: str, nodes: int, *command: str, restarts: int = 0, queue: str = "", cpu: str = "") -> str:
    variables = worker_group.variables(name, nodes)
    main = {"name": "main", "image": IMAGE, "command": list(command), "env": variables, **_asks(cpu)}
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [main],
        "affinity": worker_group.apart(name),
    }
    metadata = {"name": name, "labels": {worker_group.QUEUE_LABEL: queue} if queue else {}}
    return json.dumps(worker_group.manifest(metadata, {"spec": pod}, nodes, restarts))


def _asks(cpu: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}} if cpu else {}


def _ended(cluster: NodeAgent, namespace: str, name: str, condition: str) -> dict[str, Any]:
    path = f"/apis/{worker_group.API_VERSION}/namespaces/{namespace}/jobsets/{name}"

    def looked() -> dict[str, Any] | None:
        status = cluster.get(path).get("status") or {}
        told = {one["type"] for one in status.get("conditions") or () if one["status"] == "True"}
        assert not (told & {worker_group.COMPLETED, worker_group.FAILED}) - {condition}, status
        return status if condition in told else None

    return until(looked, f"{name} to be {condition}")


def _pods(cluster: NodeAgent, namespace: str, name: str) -> list[dict[str, Any]]:
    return cluster.get(f"/api/v1/namespaces/{namespace}/pods", labelSelector=f"{worker_group.NAME_LABEL}={name}").get("items", [])


def _log(cluster: NodeAgent, namespace: str, pod: dict[str, Any]) -> str:
    return cluster.kubectl("-n", namespace, "logs", pod["metadata"]["name"])


def _met(cluster: NodeAgent, namespace: str, name: str, nodes: int) -> list[dict[str, Any]]:
    """The group's pods, once every worker has met all."""

    def looked() -> list[dict[str, Any]] | None:
        pods = [one for one in _pods(cluster, namespace, name) if not one["metadata"].get("deletionTimestamp")]
        if len(pods) < nodes or any(one["status"].get("phase") != "Running" for one in pods):
            return None
        return pods if all(" met " in _log(cluster, namespace, one) for one in pods) else None

    return until(looked, f"the workers of {name} to meet")


def _flag(cluster: NodeAgent, name: str) -> tuple[Path, str]:
    """A file that workers wait for, and the word that names it to them."""
    file = cluster.folder / name
    return file, str(file).encode().hex()


def _kill(cluster: NodeAgent, pod: dict[str, Any]) -> None:
    state = json.loads((cluster.folder / "pods" / pod["metadata"]["uid"] / "main.0" / "state.json").read_text(encoding="utf-8"))
    os.kill(state["pid"], signal.SIGKILL)


def test_workers_meet_by_tf_config_and_a_lost_one_starts_all_of_them_again(cluster: NodeAgent, namespace: str) -> None:
    file, flag = _flag(cluster, "again")
    cluster.kubectl("-n", namespace, "apply", "-f", "-", input=_group("team", 2, "python3", "-c", _STAY, flag, restarts=1))
    first = _met(cluster, namespace, "team", 2)
    assert sorted(_log(cluster, namespace, one) for one in first) == ["worker 0 met 0 1\n", "worker 1 met 0 1\n"]
    assert {one["spec"]["nodeName"] for one in first} == {FIRST, SECOND}
    _kill(cluster, first[0])
    before = {one["metadata"]["uid"] for one in first}
    second = until(lambda: _others(cluster, namespace, "team", before), "the workers that come after them")
    assert {one["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] for one in second} == {"1"}
    _met(cluster, namespace, "team", 2)
    file.touch()
    assert _ended(cluster, namespace, "team", worker_group.COMPLETED)["restarts"] == 1


def _others(cluster: NodeAgent, namespace: str, name: str, before: set[str]) -> list[dict[str, Any]] | None:
    """The group's pods, once none of those is there any more."""
    pods = _pods(cluster, namespace, name)
    return pods if pods and not before & {one["metadata"]["uid"] for one in pods} else None


def _team(cpus: int) -> QueueSpec:
    """Processors stand where a team has GPUs."""
    return QueueSpec(pool="tests", resource="cpu", gpus=cpus, borrow=None, reclaim=True)


def _waits(cluster: NodeAgent, namespace: str, name: str) -> str:
    """Why Kueue doesn't admit the group; "" where it has."""
    found = cluster.get(f"/apis/kueue.x-k8s.io/v1beta1/namespaces/{namespace}/workloads").get("items", [])
    own = next((one for one in found if one["metadata"]["ownerReferences"][0]["name"] == name), {})
    conditions = {one["type"]: one for one in (own.get("status") or {}).get("conditions") or ()}
    reserved = conditions.get("QuotaReserved") or {}
    return str(reserved.get("message") or "") if reserved.get("status") == "False" else ""


def test_two_teams_share_a_pool_and_one_borrows_until_the_other_wants_its_own(queued: NodeAgent, namespace: str) -> None:
    teams = {"vision": _team(2), "speech": _team(2)}
    for each in queues.manifests(teams, namespace):
        queued.kubectl("apply", "-f", "-", input=json.dumps(each))
    (large, large_flag), (small, small_flag) = _flag(queued, "large-ends"), _flag(queued, "small-ends")
    borrowing = _group("borrowing", 4, "python3", "-c", _STAY, large_flag, queue="vision", cpu="1")
    queued.kubectl("-n", namespace, "apply", "-f", "-", input=borrowing)
    _met(queued, namespace, "borrowing", 4)  # two of them on what is the other team's
    own = _group("own", 2, "python3", "-c", _STAY, small_flag, queue="speech", cpu="1")
    queued.kubectl("-n", namespace, "apply", "-f", "-", input=own)
    _met(queued, namespace, "own", 2)
    # The group that had borrowed waits whole, with a reason in Kueue's own words, and without a pod.
    until(lambda: _waits(queued, namespace, "borrowing"), "the group to wait for its quota")
    until(lambda: not _pods(queued, namespace, "borrowing"), "all of its workers to be gone")
    small.touch()
    _ended(queued, namespace, "own", worker_group.COMPLETED)
    _met(queued, namespace, "borrowing", 4)
    large.touch()
    _ended(queued, namespace, "borrowing", worker_group.COMPLETED)
