"""Nodes and their agent: killed and followed by another, nodes that go, and the port of each."""

import json
import subprocess
from typing import Any

from tests.localazure.kubernetes.pods import FIRST, SECOND, agent, apply, in_phase, pod, runs, shell, status
from tests.support.embedded import until
from tests.support.node_agent import IMAGE, NodeAgent, record
from tests.support.patience import SECONDS

__all__ = ["agent"]


def test_a_killed_agent_is_followed_by_one_that_takes_its_pods_up(agent: NodeAgent, namespace: str) -> None:
    inits = [{"name": "before", "image": IMAGE, "command": shell("echo once")}]
    apply(agent, namespace, pod("kept", {"command": shell("echo begun; sleep 1000")}, initContainers=inits))
    apply(agent, namespace, pod("ends", {"command": shell("sleep 1; exit 4")}, restartPolicy="Never"))
    until(lambda: _ready(status(agent, namespace, "kept")), "kept to be ready")
    in_phase(agent, namespace, "ends", "Running")
    before = status(agent, namespace, "kept")
    agent.kill()
    until(lambda: not runs("sh -c sleep 1; exit 4"), "the container to end while no agent runs")
    agent.start()
    failed = in_phase(agent, namespace, "ends", "Failed")
    assert failed["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 4
    after = status(agent, namespace, "kept")
    assert after["containerStatuses"] == before["containerStatuses"]
    assert after["initContainerStatuses"] == before["initContainerStatuses"]
    assert agent.kubectl("-n", namespace, "logs", "kept", "-c", "main") == "begun\n"


def test_a_node_that_was_taken_away_while_no_agent_ran_goes_with_its_pods_and_their_processes(
    agent: NodeAgent, namespace: str
) -> None:
    agent.nodes(record(FIRST), record(SECOND, labels={"agentpool": "other"}))
    lost = pod("lost", {"command": shell("sleep 1001")}, nodeSelector={"agentpool": "other"})
    apply(agent, namespace, lost, pod("kept", {"command": shell("sleep 1002")}))
    in_phase(agent, namespace, "lost", "Running")
    in_phase(agent, namespace, "kept", "Running")
    agent.kill()
    agent.nodes(record(FIRST))
    agent.start()
    until(lambda: not agent.get(f"/api/v1/nodes/{SECOND}") and not agent.pod(namespace, "lost"), "node and pod to be gone")
    until(lambda: not runs("sh -c sleep 1001"), "the pod's process to be gone")
    assert runs("sh -c sleep 1002")
    until(lambda: not (agent.folder / "agent" / "nodes" / SECOND).exists(), "nothing of the node to be left")


def test_pods_of_a_node_that_is_gone_go_with_it_and_a_deployments_come_up_elsewhere(agent: NodeAgent, namespace: str) -> None:
    agent.nodes(record(FIRST), record(SECOND, labels={"agentpool": "other"}))
    template = json.loads(pod("any", {"command": ["sleep", "1000"]}))["spec"]
    template["nodeSelector"] = None
    template["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [_prefer("other")]}}
    labels = {"matchLabels": {"app": "any"}}
    spec = {"selector": labels, "template": {"metadata": {"labels": {"app": "any"}}, "spec": template}}
    apply(
        agent, namespace, json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "any"}, "spec": spec})
    )
    agent.kubectl("-n", namespace, "rollout", "status", "deployment/any", f"--timeout={SECONDS}s")
    assert _where(agent, namespace) == [SECOND]
    agent.nodes(record(FIRST))
    until(lambda: _where(agent, namespace) == [FIRST], "the pod to come up on the other node")
    assert SECOND not in agent.kubectl("get", "nodes", "-o", "name")


def _ready(found: dict[str, Any]) -> bool:
    return any(each["ready"] for each in found.get("containerStatuses", []))


def _prefer(pool: str) -> dict[str, Any]:
    return {
        "weight": 100,
        "preference": {"matchExpressions": [{"key": "agentpool", "operator": "In", "values": [pool]}]},
    }


def _where(agent: NodeAgent, namespace: str) -> list[str]:
    found = agent.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return [one["spec"].get("nodeName", "") for one in found if not one["metadata"].get("deletionTimestamp")]


def test_the_port_of_a_node_is_for_the_api_server_alone(agent: NodeAgent, namespace: str) -> None:
    node = json.loads(agent.kubectl("get", "node", FIRST, "-o", "json"))
    port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    asked = subprocess.run(["curl", "-sk", f"https://127.0.0.1:{port}/pods"], capture_output=True, text=True, check=False)
    assert (asked.returncode != 0, asked.stdout) == (True, "")
