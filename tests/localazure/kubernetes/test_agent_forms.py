"""What the node agent makes of pods and nodes without a cluster: amounts, variables, statuses, logs, nodes."""

import asyncio
import base64
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localazure.kubernetes.agent import environment, images, logs, node_forms, pod_status, probes, process_spec
from localazure.kubernetes.agent.pod_status import ContainerState
from tests.localazure.coroutines import in_a_loop
from tests.support.tables import of_table

POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"app": "x"}, "annotations": {"a/b": 'say "it"'}},
    "spec": {"restartPolicy": "Always", "containers": [{"name": "main", "image": "i"}], "nodeName": "node"},
}


def pod(policy: str, *mains: str, inits: Iterable[str] = ()) -> dict[str, Any]:
    """Of containers by their names; `beside` is a sidecar."""
    sidecar = {"beside": {"restartPolicy": "Always"}}
    spec = {
        "restartPolicy": policy,
        "containers": [{"name": one, "image": "i"} for one in mains],
        "initContainers": [{"name": one, "image": "i", **sidecar.get(one, {})} for one in inits],
    }
    return {"metadata": {"name": "p", "generation": 1}, "spec": spec}


def state(name: str, told: str) -> ContainerState:
    """As a table says it: `waits`, `runs`, `ended 3`, `backs off 3`."""
    found = ContainerState(name)
    words = told.split()
    if words[0] in ("ended", "backs"):
        found.end({"exitCode": int(words[-1])})
    if words[0] == "backs":
        found.wait("CrashLoopBackOff", "back-off 10s")
    if words[0] == "runs":
        found.run("2026-11-22T00:00:00Z", "processes://1")
        found.ready = found.started = "unready" not in words
    return found


WHOLE: Any = SimpleNamespace(body=POD, ip="10.244.1.4", node=SimpleNamespace(allocatable={"memory": "2Gi"}))


def test_the_downward_api_divides_and_rounds_up() -> None:
    container = {"name": "main", "resources": {"limits": {"cpu": "250m"}, "requests": {"memory": "1Mi"}}}
    assert environment.resource(WHOLE, {"resource": "limits.cpu", "divisor": "1m"}, container) == "250"
    assert environment.resource(WHOLE, {"resource": "limits.cpu", "divisor": "0"}, container) == "1"
    assert environment.resource(WHOLE, {"resource": "limits.memory", "divisor": "1Mi"}, container) == "2048"
    assert environment.resource(WHOLE, {"resource": "requests.memory"}, container) == "1048576"


def test_the_downward_api_knows_labels_and_annotations_one_and_all() -> None:
    assert environment.field(WHOLE, "metadata.labels['app']") == "x"
    assert environment.field(WHOLE, "metadata.annotations") == 'a/b="say \\"it\\""'
    assert environment.field(WHOLE, "status.podIP") == "10.244.1.4"
    with pytest.raises(environment.MissingError, match=r"spec\.hostname"):
        environment.field(WHOLE, "spec.hostname")


# Variables


@of_table("text", "filled")
def test_references_to_variables_are_filled_in(text: str, filled: str) -> None:
    assert environment.expanded(text, {"A": "1"}) == filled


def test_command_and_arguments_are_kept_apart_because_each_replaces_a_part_of_the_images() -> None:
    assert environment.program({"args": ["$(A)"]}, {"A": "1"}) == ([], ["1"])
    assert environment.program({"command": ["run"]}, {}) == (["run"], [])


def test_pull_secrets_are_read_in_both_of_their_forms() -> None:
    auth = base64.b64encode(b"me:word:with:colons").decode()
    new = {".dockerconfigjson": json.dumps({"auths": {"https://a.azurecr.local/v1/": {"auth": auth}}}).encode()}
    assert images.credentials_of(new) == [images.Credential("a.azurecr.local", "me", "word:with:colons")]
    old = {".dockercfg": json.dumps({"b.azurecr.local": {"username": "u", "password": "p"}}).encode()}
    assert images.credentials_of(old) == [images.Credential("b.azurecr.local", "u", "p")]
    assert images.credentials_of({"else": b"x"}) == []


# Statuses


@of_table("phase", "policy", "mains", "inits", "over")
def test_the_phase_of_a_pod_follows_from_its_containers(
    phase: str, policy: str, mains: dict[str, str], inits: dict[str, str], over: bool
) -> None:
    states = {name: state(name, told) for name, told in {**inits, **mains}.items()}
    assert pod_status.phase(pod(policy, *mains, inits=inits), states, over=over) == phase, (mains, inits)


def test_conditions_name_what_isnt_ready_and_keep_the_time_of_their_last_change() -> None:
    body = pod("Always", "a", "b")
    told = {"type": "Initialized", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    body["status"] = {"conditions": [told, {"type": "DisruptionTarget", "status": "True"}]}
    states = {"a": state("a", "runs"), "b": state("b", "runs unready")}
    found = {one["type"]: one for one in pod_status.conditions(body, states, "Running", "2026-11-22T00:00:00Z", sandbox=True)}
    assert found["Ready"]["reason"] == "ContainersNotReady"
    assert found["Ready"]["message"] == "containers with unready status: [b]"
    assert found["Initialized"]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert found["DisruptionTarget"]["status"] == "True"


# Logs

LINES = [f"2026-11-22T00:00:0{second}.000000Z line {second}\n" for second in range(5)]


@of_table("asked", "answer")
@in_a_loop
async def test_a_log_is_told_as_it_is_asked_for(asked: dict[str, Any], answer: str) -> None:
    with tempfile.NamedTemporaryFile("w") as log:
        log.write("".join(LINES))
        log.flush()
        told = [piece async for piece in logs.told(Path(log.name), logs.LogOptions(**asked), lambda: True)]
    assert b"".join(told).decode() == answer


@in_a_loop
async def test_a_followed_log_goes_on_over_the_moment_in_which_its_older_half_is_dropped(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(LINES[:3]))
    over: list[bool] = []

    found: list[bytes] = []
    async for piece in logs.told(log, logs.LogOptions(follow=True), lambda: bool(over)):
        found.append(piece)
        if len(found) == 1:
            new = tmp_path / "log.new"
            new.write_text("".join(LINES[2:4]))
            new.replace(log)
        else:
            over.append(True)
    assert b"".join(found) == b"line 0\nline 1\nline 2\nline 3\n"


# Nodes


def test_another_record_of_a_node_changes_what_differs_and_leaves_what_others_wrote() -> None:
    gpu, bare = {"key": "sku", "value": "gpu", "effect": "NoSchedule"}, {"key": "CriticalAddonsOnly", "effect": "NoExecute"}
    node = {"spec": {"taints": [gpu, {"key": "others", "effect": "NoExecute"}]}}
    before = {"labels": {"agentpool": "t4"}, "taints": [gpu]}
    after = {"labels": {"new": "1"}, "taints": [{**gpu, "value": "cpu"}, {**bare, "value": ""}]}
    assert node_forms.changes(after, before, node) == {
        "metadata": {"labels": {"new": "1", "agentpool": None}},
        "spec": {"taints": [{**gpu, "value": "cpu"}, bare, {"key": "others", "effect": "NoExecute"}]},
    }
    assert node_forms.changes(before, before, node) is None


# Programs


def test_a_program_that_isnt_there_is_told_before_it_is_started(tmp_path: Path) -> None:
    image = tmp_path / "image"
    (image / "app").mkdir(parents=True)
    (image / "app" / "run").touch(mode=0o755)
    (image / "app" / "text").touch(mode=0o644)
    own = tmp_path / "run"

    def why(*argv: str) -> str:
        spec = {"argv": list(argv), "mounts": [["/data", "v"]], "image_root": str(image), "workdir": f"{own}/root/app"}
        return process_spec.missing({**spec, "env": {"PATH": "/usr/bin:/bin"}}, own)

    assert why("sh") == ""
    assert why(f"{own}/root/app/run") == ""
    assert why("./run") == ""
    assert why(f"{own}/root/data/tool") == ""  # in a volume, which isn't mounted yet
    assert why("nobody-has-this").endswith('exec: "nobody-has-this": executable file not found in $PATH')
    assert why(f"{own}/root/app/no").endswith('exec: "/app/no": stat /app/no: no such file or directory')
    assert why(f"{own}/root/app/text").endswith('exec: "/app/text": permission denied')
    assert why().endswith("no command specified")


# Probes


def test_a_startup_probe_comes_before_the_others_and_a_dead_container_is_restarted() -> None:
    answers = iter(["not yet", "", "", "dead"])
    heard: list[str] = []

    async def once(probe: dict[str, Any], seconds: float) -> str:
        return next(answers)

    async def restart(probe: str) -> None:
        heard.append(f"restart by {probe}")

    container = {
        "startupProbe": {"periodSeconds": 0, "failureThreshold": 2},
        "livenessProbe": {"periodSeconds": 0, "failureThreshold": 1},
    }
    told = probes.ProbeListener(
        lambda: heard.append("started"),
        lambda ready: heard.append(f"ready {ready}"),
        lambda probe, why: heard.append(f"{probe}: {why}"),
        restart,
    )
    asyncio.run(probes.run(container, once, told))
    assert heard == ["Startup: not yet", "started", "ready True", "Liveness: dead", "restart by liveness"]
