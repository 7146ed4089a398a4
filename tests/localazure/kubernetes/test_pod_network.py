"""The network of pods: names that workers of a group know each other by, addresses of their own, Services that lead to them."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localazure.kubernetes.agent import network
from tests.localazure.kubernetes.pods import agent, apply, in_phase, pod, shell
from tests.support.embedded import until
from tests.support.node_agent import NodeAgent

__all__ = ["agent"]

pytestmark = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("cc", "gcc", "clang", "g++")), reason="pods have a network where there is a compiler"
)

_PORT = 2222
_SERVE = f"""
import socket, sys
listening = socket.create_server(("0.0.0.0", {_PORT}))
while True:
    connection, _ = listening.accept()
    connection.sendall(sys.argv[1].encode())
    connection.close()
"""
_ASK = """
import socket, sys, time
for asked in sys.argv[1:]:
    host, port = asked.rsplit(":", 1)
    for _ in range(600):
        try:
            with socket.create_connection((host, int(port)), 5) as there:
                print(asked, there.recv(100).decode())
            break
        except OSError as error:
            last = error
            time.sleep(0.05)
    else:
        sys.exit(f"{asked}: {last}")
"""


def _service(name: str, **spec: Any) -> str:
    ports = [{"name": "work", "port": 8080, "targetPort": _PORT}]
    body = {"selector": {"app": name}, "ports": ports, **spec}
    return json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": body})


def _labelled(manifest: str, app: str) -> str:
    body = json.loads(manifest)
    body["metadata"]["labels"] = {"app": app}
    return json.dumps(body)


def _serving(name: str, app: str, **spec: Any) -> str:
    return _labelled(pod(name, {"command": ["python3", "-c", _SERVE, name]}, **spec), app)


@pytest.fixture(scope="module")
def group(agent: NodeAgent) -> Iterator[str]:
    """Two pods that listen at the same port, in a namespace of their own, behind a headless Service and a plain one."""
    agent.kubectl("create", "namespace", "group")
    apply(
        agent,
        "group",
        _service("team", clusterIP="None", publishNotReadyAddresses=True),
        _service("front", selector={"app": "team"}),
        _serving("first", "team", hostname="w-0", subdomain="team"),
        _serving("second", "team", hostname="w-1", subdomain="team"),
    )
    yield "group"
    agent.kubectl("delete", "namespace", "group", "--wait=false")


def _answers(agent: NodeAgent, namespace: str, name: str, *asked: str) -> list[str]:
    apply(agent, namespace, pod(name, {"command": ["python3", "-c", _ASK, *asked]}, restartPolicy="Never"))
    in_phase(agent, namespace, name, "Succeeded")
    return agent.kubectl("-n", namespace, "logs", name).splitlines()


def test_pods_at_the_same_port_meet_by_their_stable_names(agent: NodeAgent, group: str, namespace: str) -> None:
    near = [f"w-0.team:{_PORT}", f"w-1.team:{_PORT}", f"w-1.team.group.svc.cluster.local.:{_PORT}"]
    assert _answers(agent, group, "near", *near) == [f"{near[0]} first", f"{near[1]} second", f"{near[2]} second"]
    far = [f"w-0.team.group:{_PORT}", f"w-1.team.group.svc:{_PORT}"]
    assert _answers(agent, namespace, "far", *far) == [f"{far[0]} first", f"{far[1]} second"]


def test_a_pods_shown_address_leads_to_it(agent: NodeAgent, group: str, namespace: str) -> None:
    until(lambda: agent.pod(group, "second").get("status", {}).get("podIP"), "the pod's address")
    shown = f"{agent.pod(group, 'second')['status']['podIP']}:{_PORT}"
    assert _answers(agent, namespace, "by-address", shown) == [f"{shown} second"]


def test_a_service_leads_to_its_pods_from_pods_and_from_this_machine(agent: NodeAgent, group: str, namespace: str) -> None:
    (answer,) = _answers(agent, namespace, "client", "front.group:8080")
    assert answer in ("front.group:8080 first", "front.group:8080 second")
    address = agent.get(f"/api/v1/namespaces/{group}/services/front")["spec"]["clusterIP"]
    assert address.startswith("127.")


def test_a_name_of_another_namespace_needs_it(agent: NodeAgent, group: str, namespace: str) -> None:
    script = "import socket\ntry:\n    print(socket.gethostbyname('w-0.team'))\nexcept OSError as error:\n    print('no')\n"
    apply(agent, namespace, pod("stranger", {"command": ["python3", "-c", script]}, restartPolicy="Never"))
    in_phase(agent, namespace, "stranger", "Succeeded")
    assert agent.kubectl("-n", namespace, "logs", "stranger") == "no\n"


def test_what_is_bound_to_loopback_stays_there(agent: NodeAgent, namespace: str) -> None:
    script = "import socket\ns = socket.create_server(('127.0.0.1', 0))\nprint(s.getsockname()[0])\n"
    apply(agent, namespace, pod("own", {"command": ["python3", "-c", script]}, restartPolicy="Never"))
    in_phase(agent, namespace, "own", "Succeeded")
    assert agent.kubectl("-n", namespace, "logs", "own") == "127.0.0.1\n"


def test_a_program_of_its_own_library_keeps_it(agent: NodeAgent, namespace: str) -> None:
    container = {"command": shell("echo $LD_PRELOAD"), "env": [{"name": "LD_PRELOAD", "value": "libc.so.6"}]}
    apply(agent, namespace, pod("preloads", container, restartPolicy="Never"))
    in_phase(agent, namespace, "preloads", "Succeeded")
    assert agent.kubectl("-n", namespace, "logs", "preloads").rstrip().endswith(".so libc.so.6")


_BOUND = """
import socket, sys
from contextlib import ExitStack
with ExitStack() as kept:
    for family, asked, port, alone in [
        (socket.AF_INET, "0.0.0.0", int(sys.argv[1]), 0),
        (socket.AF_INET6, "::", int(sys.argv[2]), 0),
        (socket.AF_INET6, "::", 0, 1),
        (socket.AF_INET, "0.0.0.0", 0, 0),
        (socket.AF_INET, "10.1.2.3", 0, 0),
        (socket.AF_INET, "10.1.2.3", int(sys.argv[3]), 0),
    ]:
        bound = kept.enter_context(socket.socket(family, socket.SOCK_STREAM))
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, alone)
        bound.bind((asked, port))
        print(bound.getsockname()[0])
"""


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


@pytest.mark.slow
@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_a_program_on_all_addresses_is_reached_from_this_machine_alone(tmp_path: Path) -> None:
    library = tmp_path / "pod_network.so"
    compiler = next(found for name in ("cc", "gcc", "clang", "g++") if (found := shutil.which(name)))
    source = Path(network.__file__).with_name("pod_network.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", str(source), "-o", str(library), "-ldl"], check=True)
    ports = [str(_free_port()) for _ in range(3)]
    hosts = tmp_path / "hosts"
    hosts.write_text("127.128.3.4 10.1.2.3\n")
    told = {
        "LD_PRELOAD": str(library),
        "AZURE_GPU_POD_LOOPBACK": "127.128.3.4",
        "AZURE_GPU_POD_HOSTS": str(hosts),
        "AZURE_GPU_POD_PORTS": ",".join(ports),
    }
    done = subprocess.run(
        [sys.executable, "-c", _BOUND, *ports], env={**os.environ, **told}, capture_output=True, text=True, check=False
    )
    own, here = "127.128.3.4", "127.0.0.1"
    assert done.stdout.splitlines() == [here, f"::ffff:{here}", "::1", own, own, here], done.stderr
