"""Pods on the nodes of a real control plane, as `kubectl` meets them: run, shown, logged, entered, restarted and deleted."""

import contextlib
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.localazure.kubernetes.pods import FIRST, agent, apply, events, in_phase, pod, runs, shell, state, status, waiting
from tests.support.embedded import until
from tests.support.node_agent import DIGEST, IMAGE, NodeAgent
from tests.support.patience import SECONDS

__all__ = ["agent"]


def test_a_job_runs_to_its_end_and_its_log_is_its_output(agent: NodeAgent, namespace: str) -> None:
    template = json.loads(pod("job", {"args": ["$(NAME)"], "env": [{"name": "NAME", "value": "you"}]}, restartPolicy="Never"))
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": {"template": {"spec": template["spec"]}}}
    apply(agent, namespace, json.dumps(job))
    agent.kubectl("-n", namespace, "wait", "--for=condition=complete", "job/job", f"--timeout={SECONDS}s")
    assert agent.kubectl("-n", namespace, "logs", "job/job") == "hello you\n"
    stamped = agent.kubectl("-n", namespace, "logs", "job/job", "--timestamps")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z hello you\n", stamped)


def test_a_pods_status_and_events_are_the_kubelets(agent: NodeAgent, namespace: str) -> None:
    apply(agent, namespace, pod("one", {"imagePullPolicy": "Always"}, restartPolicy="Never"))
    found = in_phase(agent, namespace, "one", "Succeeded")
    (container,) = found["containerStatuses"]
    assert container["state"]["terminated"]["reason"] == "Completed"
    assert container["state"]["terminated"]["exitCode"] == 0
    assert container["imageID"] == f"tests.azurecr.local/app@{DIGEST}"
    assert (container["ready"], container["restartCount"]) == (False, 0)
    conditions = {one["type"]: (one["status"], one.get("reason")) for one in found["conditions"]}
    assert conditions["Initialized"] == ("True", "PodCompleted")
    assert conditions["Ready"] == conditions["ContainersReady"] == ("False", "PodCompleted")
    assert found["hostIP"] == "127.0.0.1"
    assert found["podIP"].startswith("10.244.")
    told = until(lambda: len(seen := events(agent, namespace, "one")) >= 5 and seen, "the pod's events")
    assert {reason for reason, _ in told} == {"Scheduled", "Pulling", "Pulled", "Created", "Started"}
    assert ("Pulling", f'Pulling image "{IMAGE}"') in told


def test_variables_come_from_all_that_a_pod_may_name(agent: NodeAgent, namespace: str) -> None:
    agent.kubectl("-n", namespace, "create", "configmap", "settings", "--from-literal=COLOR=red", "--from-literal=SIZE=xl")
    agent.kubectl("-n", namespace, "create", "secret", "generic", "secrets", "--from-literal=password=p4ss")
    env = [
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "secrets", "key": "password"}}},
        {"name": "ABSENT", "valueFrom": {"configMapKeyRef": {"name": "no", "key": "no", "optional": True}}},
        {"name": "BOTH", "value": "$(POD)/$(COLOR)/$(NOBODY)/$$(POD)"},
    ]
    script = 'echo "$POD $NODE $CPU $PASSWORD $COLOR $FROM_IMAGE [$ABSENT] $BOTH $NVIDIA_VISIBLE_DEVICES"'
    container = {"command": shell(script), "env": env, "envFrom": [{"configMapRef": {"name": "settings"}}]}
    apply(agent, namespace, pod("env", {**container, "resources": {"limits": {"cpu": "250m"}}}, restartPolicy="Never"))
    in_phase(agent, namespace, "env", "Succeeded")
    said = agent.kubectl("-n", namespace, "logs", "env")
    assert said == f"env {FIRST} 250 p4ss red yes [] env/red/$(NOBODY)/$(POD) void\n"


def test_volumes_are_shared_and_filled(agent: NodeAgent, namespace: str) -> None:
    agent.kubectl("-n", namespace, "create", "configmap", "files", "--from-literal=app.yaml=a: 1")
    volumes = [
        {"name": "work", "emptyDir": {}},
        {"name": "files", "configMap": {"name": "files"}},
        {"name": "host", "hostPath": {"path": "/var/lib/things"}},
        {"name": "about", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
    first = {
        "name": "first",
        "image": IMAGE,
        "command": shell("echo made > /work/file; echo kept > /things/here"),
        "volumeMounts": [{"name": "work", "mountPath": "/work"}, {"name": "host", "mountPath": "/things"}],
    }
    main = {
        "command": shell("cat /work/file /files/app.yaml /one.yaml /things/here /about/name; test -s /token/token"),
        "volumeMounts": [
            {"name": "work", "mountPath": "/work"},
            {"name": "files", "mountPath": "/files"},
            {"name": "files", "mountPath": "/one.yaml", "subPath": "app.yaml"},
            {"name": "host", "mountPath": "/things"},
            {"name": "about", "mountPath": "/about"},
            {"name": "token", "mountPath": "/token"},
        ],
    }
    volumes.append({"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token", "audience": "me"}}]}})
    apply(agent, namespace, pod("volumes", main, initContainers=[first], volumes=volumes, restartPolicy="Never"))
    in_phase(agent, namespace, "volumes", "Succeeded")
    assert agent.kubectl("-n", namespace, "logs", "volumes") == "made\na: 1a: 1kept\nvolumes"
    assert not Path("/var/lib/things").exists()
    assert (agent.folder / "agent" / "nodes" / FIRST / "host" / "var/lib/things/here").read_text() == "kept\n"


def test_what_keeps_a_container_from_running_is_said_as_the_kubelet_says_it(agent: NodeAgent, namespace: str) -> None:
    absent = {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "nobody", "key": "a"}}}]}
    volume = {"volumes": [{"name": "v", "secret": {"secretName": "nobody"}}]}
    apply(
        agent,
        namespace,
        pod("no-image", {"image": "docker.io/library/nginx:1"}),
        pod("no-config", absent),
        pod("no-program", {"command": ["nobody-has-this"]}, restartPolicy="Never"),
        pod("bad-name", {"image": "Not A Name"}),
        pod("no-volume", {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, **volume),
    )
    told = waiting(agent, namespace, "no-image", "ImagePullBackOff")
    assert told["message"].startswith('Back-off pulling image "docker.io/library/nginx:1": ErrImagePull: rpc error: code = ')
    assert waiting(agent, namespace, "no-config", "CreateContainerConfigError")["message"] == 'configmap "nobody" not found'
    failed = in_phase(agent, namespace, "no-program", "Failed")["containerStatuses"][0]["state"]["terminated"]
    assert (failed["exitCode"], failed["reason"]) == (128, "StartError")
    assert 'exec: "nobody-has-this": executable file not found in $PATH' in failed["message"]
    assert "invalid reference format" in waiting(agent, namespace, "bad-name", "InvalidImageName")["message"]
    sentence = 'MountVolume.SetUp failed for volume "v" : secret "nobody" not found'
    until(lambda: ("FailedMount", sentence) in events(agent, namespace, "no-volume"), "the event of the volume")
    refused = agent.control_plane.kubectl("-n", namespace, "logs", "no-image")
    reasons = "trying and failing to pull image|image can't be pulled"  # the second while a pull that is tried again fails
    assert re.search(f'container "main" in pod "no-image" is waiting to start: ({reasons})', refused.stderr)
    agent.kubectl("-n", namespace, "create", "configmap", "nobody", "--from-literal=a=1")
    until(
        lambda: "terminated" in state(status(agent, namespace, "no-config")) or _restarts(agent, namespace, "no-config"),
        "it to run",
    )


def _restarts(agent: NodeAgent, namespace: str, name: str) -> int:
    return status(agent, namespace, name)["containerStatuses"][0]["restartCount"]


def test_a_container_that_crashes_backs_off_and_its_log_before_stays(agent: NodeAgent, namespace: str) -> None:
    container = {"command": shell("echo run; exit 3"), "terminationMessagePolicy": "FallbackToLogsOnError"}
    apply(agent, namespace, pod("crash", container))
    told = waiting(agent, namespace, "crash", "CrashLoopBackOff")
    found = status(agent, namespace, "crash")
    assert told["message"].startswith(f"back-off 10s restarting failed container=main pod=crash_{namespace}(")
    (one,) = found["containerStatuses"]
    assert one["restartCount"] == 1
    assert (one["lastState"]["terminated"]["exitCode"], one["lastState"]["terminated"]["message"]) == (3, "run\n")
    assert found["phase"] == "Running"
    assert agent.kubectl("-n", namespace, "logs", "crash", "--previous") == "run\n"


def test_init_containers_and_sidecars_frame_the_others(agent: NodeAgent, namespace: str) -> None:
    inits = [
        {"name": "before", "image": IMAGE, "command": shell("echo before")},
        {"name": "beside", "image": IMAGE, "restartPolicy": "Always", "command": shell("echo beside; sleep 1000")},
    ]
    apply(agent, namespace, pod("framed", {"command": shell("sleep 0.3")}, initContainers=inits, restartPolicy="Never"))
    found = in_phase(agent, namespace, "framed", "Succeeded")
    assert state(found, "before")["terminated"]["exitCode"] == 0
    assert "terminated" in state(found, "beside")
    assert {one["restartCount"] for one in found["initContainerStatuses"]} == {0}
    failing = [{"name": "before", "image": IMAGE, "command": shell("exit 5")}]
    apply(agent, namespace, pod("stopped", initContainers=failing, restartPolicy="Never"))
    found = in_phase(agent, namespace, "stopped", "Failed")
    assert state(found, "before")["terminated"]["exitCode"] == 5
    assert state(found)["waiting"]["reason"] == "PodInitializing", "what never began is no failure of its own"


def test_probes_make_a_pod_ready_and_restart_what_is_dead(agent: NodeAgent, namespace: str) -> None:
    serving = {
        "command": shell("touch ok; exec python3 -m http.server $PORT --bind 127.0.0.1"),
        "ports": [{"containerPort": 8080, "name": "web"}],
        "readinessProbe": {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 1},
    }
    dying = {
        "command": shell("touch alive; sleep 0.5; rm alive; sleep 1000"),
        "livenessProbe": {"exec": {"command": ["ls", "alive"]}, "periodSeconds": 1, "failureThreshold": 1},
    }
    apply(agent, namespace, pod("serving", serving), pod("dying", dying))
    agent.kubectl("-n", namespace, "wait", "--for=condition=Ready", "pod/serving", f"--timeout={SECONDS}s")
    until(lambda: _restarts(agent, namespace, "dying"), "the container to be restarted")
    told = events(agent, namespace, "dying")
    assert ("Killing", "Container main failed liveness probe, will be restarted") in told
    assert any(reason == "Unhealthy" and message.startswith("Liveness probe failed: ") for reason, message in told)
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


def test_daemons_of_a_container_end_with_it(agent: NodeAgent, namespace: str) -> None:
    script = "(setsid sleep 4242 &); sleep 0.2; pgrep -f 'sleep 4242' > /dev/null && echo there"
    apply(agent, namespace, pod("daemon", {"command": shell(script)}, restartPolicy="Never"))
    in_phase(agent, namespace, "daemon", "Succeeded")
    assert not runs("sleep 4242")


def test_a_pod_that_takes_too_long_fails(agent: NodeAgent, namespace: str) -> None:
    apply(agent, namespace, pod("late", {"command": ["sleep", "1000"]}, activeDeadlineSeconds=1, restartPolicy="Never"))
    found = in_phase(agent, namespace, "late", "Failed")
    assert (found["reason"], found["message"]) == (
        "DeadlineExceeded",
        "Pod was active on the node longer than the specified deadline",
    )


def test_a_hook_of_an_image_that_is_acted_out_runs_nothing_of_this_machine(agent: NodeAgent, namespace: str) -> None:
    marker = agent.folder / "marker"
    hook = {"postStart": {"exec": {"command": ["/bin/sh", "-c", f"echo > {marker}"]}}}
    apply(agent, namespace, pod("hooked", {"image": "registry.k8s.io/pause:3.10", "lifecycle": hook}, restartPolicy="Never"))
    until(lambda: "FailedPostStartHook" in dict(events(agent, namespace, "hooked")), "the hook to fail, as it does in the image")
    assert not marker.exists()


def test_an_image_that_is_acted_out_and_answers_nothing_is_ready_and_stays(agent: NodeAgent, namespace: str) -> None:
    """Such as the DCGM exporter, whose probe would restart it again and again."""
    probe = {"httpGet": {"path": "/health", "port": 9400}, "periodSeconds": 1, "failureThreshold": 1}
    apply(
        agent, namespace, pod("quiet", {"image": "registry.k8s.io/pause:3.10", "readinessProbe": probe, "livenessProbe": probe})
    )
    agent.kubectl("-n", namespace, "wait", "--for=condition=Ready", "pod/quiet", f"--timeout={SECONDS}s")
    assert _restarts(agent, namespace, "quiet") == 0


def test_a_path_that_no_machine_can_have_is_told_and_its_pod_can_be_deleted(agent: NodeAgent, namespace: str) -> None:
    """The API server takes both."""
    mount = {"name": "v", "mountPath": "/v"}
    part = {"command": shell("true"), "volumeMounts": [{**mount, "subPath": "a" * 300}]}
    whole = {"command": shell("true"), "volumeMounts": [mount]}
    apply(agent, namespace, pod("part", part, volumes=[{"name": "v", "emptyDir": {}}], restartPolicy="Never"))
    apply(agent, namespace, pod("whole", whole, volumes=[{"name": "v", "hostPath": {"path": "/a\0b"}}], restartPolicy="Never"))
    terminated = state(in_phase(agent, namespace, "part", "Failed"))["terminated"]
    assert (terminated["reason"], terminated["message"]) == ("StartError", "File name too long")
    until(lambda: "FailedMount" in dict(events(agent, namespace, "whole")), "the other to wait for its volume")
    agent.kubectl("-n", namespace, "delete", "pod", "part", "whole", f"--timeout={SECONDS}s")
