"""When an object is what it was asked to be. Statuses as Kubernetes' controllers write them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from localazure.kubernetes_plugin import readiness
from localazure.kubernetes_plugin.waiter import pod_problems
from tests.support.rows import each_row
from tests.support.tables import of_table

ROWS: list[dict[str, Any]] = yaml.load(Path(__file__).with_name("readiness.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


def thing(spec: dict | None = None, generation: int = 1, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", "namespace": "team", "generation": generation}, "spec": spec or {}, "status": status}


def condition(kind: str, status: str = "True", **more: str) -> dict[str, str]:
    return {"type": kind, "status": status, **more}


def asking(text: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {"pulumi.com/waitFor": text}}}


# `ready`, or a part of what it `waits` for, or why it has `failed`.
@each_row("row", ROWS, ids=lambda row: row["kind"])
def test_an_object_is_ready_or_says_what_is_missing_or_why_it_never_will_be(row: dict[str, Any]) -> None:
    live = row.get("live") or thing(row.get("spec"), row.get("generation", 1), **row.get("status", {}))
    found = readiness.CHECKS[row["kind"]]({"kind": row["kind"].split("/")[1], **live})
    assert found.ready is row.get("ready", False)
    assert row.get("waits", "") in found.waiting
    assert found.failed == row.get("failed", "")


def test_a_pod_says_what_is_wrong_with_it() -> None:
    unscheduled = condition("PodScheduled", "False", reason="Unschedulable", message="0/1 nodes are available")
    pulling = {"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "x"'}}}
    crashed = {
        "name": "d",
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 3, "message": "no GPU"}},
    }
    fine = [{"name": "e", "ready": True}, {"name": "f", "state": {"waiting": {"reason": "ContainerCreating"}}}]
    assert list(pod_problems(thing(conditions=[unscheduled], containerStatuses=[pulling, crashed, *fine]))) == [
        "[Pod team/x]: 0/1 nodes are available",
        '[Pod team/x]: [ImagePullBackOff] Back-off pulling image "x"',
        "[Pod team/x]: [CrashLoopBackOff]",
        '[Pod team/x]: container "d" ended with exit code 3: no GPU',
    ]


@of_table("text", "ready")
def test_a_program_may_say_what_is_waited_for(text: str, ready: bool) -> None:
    live = thing(phase="Running", flag=True, conditions=[condition("Ready"), condition("Other", "False")])
    check = readiness.requested(asking(text))
    assert check is not None
    assert check(live).ready is ready


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ready", 'takes "jsonpath=" or "condition="'),
        ('["condition=Ready"]', 'takes "jsonpath=" or "condition="'),
        ("jsonpath={.status.conditions[?(@.type=='Ready')]}", "understands plain paths"),
    ],
)
def test_a_condition_that_is_not_understood_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("[", r"\[")):
        readiness.requested(asking(text))
