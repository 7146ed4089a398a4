"""Waiting for container groups, with a clock and an ARM client of the test's own."""

from typing import Any

import pytest

from azure_gpu_operations import groups
from azure_gpu_operations.azure import AzureError


class ScriptedArm:
    """Answers each GET of a group with the next state of its script, and stays at the last. Anything unknown raises."""

    def __init__(self, scripts: dict[str, list[str | None]], logs: dict[str, str]) -> None:
        self.scripts = scripts
        self.logs = logs

    def get(self, resource_id: str, api_version: str) -> dict[str, Any] | None:
        assert api_version == "2023-05-01"
        if resource_id.endswith("/logs"):
            if resource_id not in self.logs:
                raise AzureError("ContainerNotReady: not yet")
            return {"content": self.logs[resource_id]}
        script = self.scripts[resource_id]
        state = script.pop(0) if len(script) > 1 else script[0]
        return None if state is None else group(state)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def group(state: str) -> dict[str, Any]:
    ended = state in ("Succeeded", "Failed")
    current = {"state": "Terminated", "exitCode": 0 if state == "Succeeded" else 3} if ended else {"state": "Running"}
    container = {"name": "c", "properties": {"instanceView": {"currentState": current}}}
    return {"properties": {"provisioningState": "Succeeded", "instanceView": {"state": state}, "containers": [container]}}


def wait(scripts: dict[str, list[str | None]], logs: dict[str, str] | None = None, limit: float = 60) -> tuple[Any, list[str]]:
    clock, said = Clock(), list[str]()
    arm: Any = ScriptedArm(scripts, logs or {})
    ends = groups.wait(arm, {key: key for key in scripts}, limit_seconds=limit, say=said.append, clock=clock, sleep=clock.sleep)
    return ends, said


def test_what_a_container_wrote_to_a_terminal_is_shown_without_its_escapes() -> None:
    ends, _ = wait({"/a": ["Failed"]}, {"/a/containers/c/logs": "\x1b]0;TITLE\x07\x1b[31mred\x1b[0m\x1b[2J\n"})
    assert groups.render(ends).splitlines()[-1] == "    \x1b[31mred\x1b[0m"


def test_waiting_ends_when_every_group_has_ended_and_says_each_change_once() -> None:
    ends, said = wait({"/a": ["Pending", "Running", "Running", "Succeeded"], "/b": ["Running", "Failed"]})
    assert said == ["/a: Pending", "/b: Running", "/a: Running", "/b: Failed", "/a: Succeeded"]
    assert [(end.state, end.succeeded, end.containers[0].exit_code) for end in ends] == [
        ("Succeeded", True, 0),
        ("Failed", False, 3),
    ]


def test_waiting_gives_up_after_the_limit_and_reports_the_group_as_it_is() -> None:
    ends, _ = wait({"/a": ["Running"]}, limit=5)
    assert (ends[0].state, ends[0].succeeded, ends[0].containers[0].exit_code) == ("Running", False, None)


def test_a_group_that_disappears_is_missing_and_not_a_success() -> None:
    ends, said = wait({"/a": ["Running", None]})
    assert ends == [groups.GroupEnd("/a", "Missing")]
    assert said == ["/a: Running", "/a: Missing"]
    assert not ends[0].succeeded


def test_the_last_lines_of_a_log_are_shown_with_state_and_exit_code() -> None:
    log = "\n".join(f"line {number}" for number in range(100))
    ends, _ = wait({"/a": ["Succeeded"]}, {"/a/containers/c/logs": log})
    text = groups.render(ends)
    assert "/a: Succeeded" in text
    assert "c: Terminated, exit code 0" in text
    assert "line 99" in text
    assert "line 88" in text
    assert "line 87" not in text


def test_a_log_that_cannot_be_had_says_why() -> None:
    ends, _ = wait({"/a": ["Succeeded"]})
    assert "no log: ContainerNotReady" in groups.render(ends)


@pytest.mark.parametrize(("policy", "ends"), [("Never", True), ("OnFailure", True), ("Always", False), (None, False)])
def test_only_a_group_that_does_not_always_restart_runs_to_an_end(policy: str | None, ends: bool) -> None:
    """The service restarts always when nothing is set."""
    assert groups.runs_to_an_end({"properties": {"restartPolicy": policy} if policy else {}}) is ends
