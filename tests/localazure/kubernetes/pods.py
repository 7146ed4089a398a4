"""Pods as tests write them and look at them, and an agent of the module's own that runs them."""

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import node_agent
from tests.support.embedded import until
from tests.support.kubernetes import ControlPlane
from tests.support.node_agent import IMAGE, NodeAgent, record

FIRST, SECOND = "aks-tests-00000000-vmss000000", "aks-tests-00000000-vmss000001"


@pytest.fixture(scope="module")
def agent(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeAgent]:
    with node_agent.running(control_plane, tmp_path_factory.mktemp("agent")) as running:
        running.nodes(record(FIRST))
        yield running


def pod(name: str, *containers: dict[str, Any], **spec: Any) -> str:
    """A manifest. Containers have the tests' image unless they say another."""
    made = [{"name": "main", "image": IMAGE, **one} for one in containers or ({},)]
    chosen = {"terminationGracePeriodSeconds": 2, "nodeSelector": {"agentpool": "tests"}, **spec, "containers": made}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": chosen})


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def apply(agent: NodeAgent, namespace: str, *manifests: str) -> None:
    agent.kubectl("-n", namespace, "apply", "-f", "-", input="\n---\n".join(manifests))


def status(agent: NodeAgent, namespace: str, name: str) -> dict[str, Any]:
    return agent.pod(namespace, name).get("status", {})


def in_phase(agent: NodeAgent, namespace: str, name: str, phase: str) -> dict[str, Any]:
    return until(lambda: (found := status(agent, namespace, name)).get("phase") == phase and found, f"{name} to be {phase}")


def state(found: dict[str, Any], container: str = "main") -> dict[str, Any]:
    every = [*found.get("containerStatuses", []), *found.get("initContainerStatuses", [])]
    return next((one["state"] for one in every if one["name"] == container), {})


def waiting(agent: NodeAgent, namespace: str, name: str, reason: str) -> dict[str, Any]:
    def looked() -> dict[str, Any] | None:
        told = state(status(agent, namespace, name)).get("waiting", {})
        return told if told.get("reason") == reason else None

    return until(looked, f"{name} to wait with {reason}")


def events(agent: NodeAgent, namespace: str, name: str) -> list[tuple[str, str]]:
    found = agent.get(f"/api/v1/namespaces/{namespace}/events", fieldSelector=f"involvedObject.name={name}")["items"]
    return [(one["reason"], one["message"]) for one in found]


def runs(command: str) -> bool:
    return bool(subprocess.run(["pgrep", "-f", f"^{re.escape(command)}"], capture_output=True, check=False).stdout)
