"""Pods on the nodes of a real control plane, as `kubectl` meets them: run, shown, logged, entered, restarted and deleted."""

import contextlib
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.localazure.kubernetes.pods import FIRST, agent, apply, events, in_phase, pod, runs, shell, status
from tests.support.embedded import until
from tests.support.node_agent import IMAGE, NodeAgent
from tests.support.patience import SECONDS

__all__ = ["agent"]


CASES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("pods.yaml").read_text(encoding="utf-8"))
DEFAULTS = {"terminationGracePeriodSeconds": 2, "nodeSelector": {"agentpool": "tests"}}


def at(found: Any, path: str) -> Any:
    """What is at a path such as `conditions.Ready.reason`; members of lists are found by their name, type or number."""
    for part in path.split("."):
        if isinstance(found, list):
            named = (each for each in found if part in (each.get("name"), each.get("type")))
            found = found[int(part)] if part.isdigit() and int(part) < len(found) else next(named, None)
        else:
            found = (found or {}).get(part)
    return found


def lacks(agent: NodeAgent, namespace: str, name: str, case: dict[str, Any]) -> list[str]:
    """What isn't as the case says it, yet."""
    found = status(agent, namespace, name)
    wrong = [f"{path}: {at(found, path)!r}" for path, value in case.get("shows", {}).items() if at(found, path) != value]
    wrong += [f"{path}: {at(found, path)!r}" for path, part in case.get("says", {}).items() if part not in str(at(found, path))]
    if "events" in case:
        told = events(agent, namespace, name)
        for reason, part in case["events"].items():
            if not any(one == reason and part in message for one, message in told):
                wrong.append(f"event {reason} in {told}")
    return wrong


def _manifest(name: str, given: dict[str, Any]) -> str:
    containers = {
        key: [{"image": IMAGE, **one} for one in given[key]] for key in ("initContainers", "containers") if key in given
    }
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {**DEFAULTS, **given, **containers}}
    )


def test_pods_are_run_and_shown_as_a_kubelet_does_it(agent: NodeAgent, namespace: str) -> None:
    for made in CASES["there is"]["made"]:
        agent.kubectl("-n", namespace, "create", *made)
    left = {name: case for name, case in CASES.items() if "pod" in case}
    apply(agent, namespace, *(_manifest(name, case["pod"]) for name, case in left.items()))

    def looked() -> bool:
        for name, case in list(left.items()):  # as soon as it may be: what crashes goes on to crash
            if not lacks(agent, namespace, name, case):
                options = ["--previous"] if case.get("previous") else []
                log = agent.kubectl("-n", namespace, "logs", name, "-c", "main", *options) if "log" in case else None
                assert log == case.get("log"), name
                del left[name]
        return not left

    try:
        until(looked, "the pods to be as they are expected")
    except AssertionError as error:
        error.add_note(str({name: lacks(agent, namespace, name, case) for name, case in left.items()}))
        raise
    assert not runs("sleep 4242"), "daemons of a container end with it"
    assert not Path("/var/lib/things").exists(), "a path of the host is the node's own"
    assert (agent.folder / "agent" / "nodes" / FIRST / "host" / "var/lib/things/here").read_text() == "kept\n"
    refused = agent.control_plane.kubectl("-n", namespace, "logs", "no-image")
    reasons = "trying and failing to pull image|image can't be pulled"  # the second while a pull that is tried again fails
    assert re.search(f'container "main" in pod "no-image" is waiting to start: ({reasons})', refused.stderr)
    agent.kubectl("-n", namespace, "create", "configmap", "nobody", "--from-literal=a=1")
    until(lambda: at(status(agent, namespace, "no-config"), "containerStatuses.main.containerID"), "it to run")
    agent.kubectl("-n", namespace, "delete", "pod", "part", "no-path", f"--timeout={SECONDS}s")


def test_a_job_runs_to_its_end_and_its_log_is_its_output(agent: NodeAgent, namespace: str) -> None:
    template = json.loads(pod("job", {"args": ["$(NAME)"], "env": [{"name": "NAME", "value": "you"}]}, restartPolicy="Never"))
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": {"template": {"spec": template["spec"]}}}
    apply(agent, namespace, json.dumps(job))
    agent.kubectl("-n", namespace, "wait", "--for=condition=complete", "job/job", f"--timeout={SECONDS}s")
    assert agent.kubectl("-n", namespace, "logs", "job/job") == "hello you\n"
    stamped = agent.kubectl("-n", namespace, "logs", "job/job", "--timestamps")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z hello you\n", stamped)


def test_a_probe_makes_a_pod_ready_whose_port_is_forwarded(agent: NodeAgent, namespace: str) -> None:
    serving = {
        "command": shell("touch ok; exec python3 -m http.server $PORT --bind 127.0.0.1"),
        "ports": [{"containerPort": 8080, "name": "web"}],
        "readinessProbe": {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 1},
    }
    apply(agent, namespace, pod("serving", serving))
    agent.kubectl("-n", namespace, "wait", "--for=condition=Ready", "pod/serving", f"--timeout={SECONDS}s")
    with _forwarded(agent, namespace, "serving", 8080) as port:
        answer = subprocess.run(["curl", "-s", f"http://127.0.0.1:{port}/"], capture_output=True, text=True, check=True)
    assert "Directory listing" in answer.stdout


@contextlib.contextmanager
def _forwarded(agent: NodeAgent, namespace: str, name: str, port: int) -> Iterator[int]:
    plane = agent.control_plane
    command = [str(plane.programs / "kubectl"), "--kubeconfig", str(plane.kubeconfig), "-n", namespace, "port-forward"]
    with subprocess.Popen([*command, f"pod/{name}", f":{port}"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert found
            yield int(found[1])
        finally:
            process.kill()


def test_kubectl_enters_and_follows_a_running_container(agent: NodeAgent, namespace: str) -> None:
    apply(agent, namespace, pod("long", {"command": shell("for i in $(seq 1000); do echo line $i; sleep 0.1; done")}))
    in_phase(agent, namespace, "long", "Running")
    plane = agent.control_plane
    done = plane.kubectl("-n", namespace, "exec", "long", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.stdout, done.returncode) == ("out\n", 7)
    assert done.stderr.splitlines()[0] == "err"
    echoed = plane.kubectl("-n", namespace, "exec", "-i", "long", "--", "cat", input="typed\n")
    assert echoed.stdout == "typed\n"
    absent = plane.kubectl("-n", namespace, "exec", "long", "--", "nobody-has-this")
    assert 'exec: "nobody-has-this": executable file not found in $PATH' in absent.stderr
    following = ["-n", namespace, "logs", "-f", "--tail=1", "long"]
    command = [str(plane.programs / "kubectl"), "--kubeconfig", str(plane.kubeconfig), *following]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        first, second = (process.stdout.readline().split() for _ in range(2))
        process.kill()
    assert int(second[1]) == int(first[1]) + 1
    tail = agent.kubectl("-n", namespace, "logs", "long", "--tail=2", "--limit-bytes=6")
    assert re.fullmatch(r"line \d", tail)


def test_what_exec_has_started_ends_with_its_client_and_with_the_agent(agent: NodeAgent, namespace: str) -> None:
    apply(agent, namespace, pod("entered", {"command": ["sleep", "1000"]}))
    in_phase(agent, namespace, "entered", "Running")
    plane = agent.control_plane
    command = [str(plane.programs / "kubectl"), "--kubeconfig", str(plane.kubeconfig), "-n", namespace, "exec", "entered", "--"]
    # Over a websocket the API server itself doesn't tell the node that the client has gone.
    spdy = {**os.environ, "KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false"}
    for end in (subprocess.Popen.kill, lambda _: agent.stop()):
        with subprocess.Popen(
            [*command, "sh", "-c", "echo up; sleep 5151"], stdout=subprocess.PIPE, text=True, env=spdy
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            end(process)
            until(lambda: not runs("sleep 5151"), "the program to end")
            process.kill()
    agent.start()


def test_a_deleted_pod_gets_its_time_and_no_more(agent: NodeAgent, namespace: str) -> None:
    volumes = {"volumes": [{"name": "host", "hostPath": {"path": "/endings"}}], "terminationGracePeriodSeconds": 3600}
    mounts = [{"name": "host", "mountPath": "/endings"}]
    polite = {
        "command": shell("trap 'echo end >> /endings/told; exit 0' TERM; touch /endings/up; while true; do sleep 0.05; done"),
        "lifecycle": {"preStop": {"exec": {"command": shell("echo hook >> /endings/told")}}},
        "volumeMounts": mounts,
    }
    stubborn = {"command": shell("trap '' TERM; touch /endings/up; while true; do sleep 0.05; done"), "volumeMounts": mounts}
    host = agent.folder / "agent" / "nodes" / FIRST / "host" / "endings"
    apply(agent, namespace, pod("polite", polite, **volumes))
    until((host / "up").exists, "the container to listen to signals")
    agent.kubectl("-n", namespace, "delete", "pod", "polite")
    assert (host / "told").read_text() == "hook\nend\n"
    (host / "up").unlink()
    apply(agent, namespace, pod("stubborn", stubborn, **volumes))
    until((host / "up").exists, "the container to have its trap")
    began = time.monotonic()
    agent.kubectl("-n", namespace, "delete", "pod", "stubborn", "--grace-period=1")
    assert time.monotonic() - began >= 1


def test_a_hook_of_an_image_that_is_acted_out_runs_nothing_of_this_machine(agent: NodeAgent, namespace: str) -> None:
    marker = agent.folder / "marker"
    hook = {"postStart": {"exec": {"command": ["/bin/sh", "-c", f"echo > {marker}"]}}}
    apply(agent, namespace, pod("hooked", {"image": "registry.k8s.io/pause:3.10", "lifecycle": hook}, restartPolicy="Never"))
    until(lambda: "FailedPostStartHook" in dict(events(agent, namespace, "hooked")), "the hook to fail, as it does in the image")
    assert not marker.exists()
