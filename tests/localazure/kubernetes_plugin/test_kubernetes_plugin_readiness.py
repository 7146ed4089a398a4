"""When an object is what it was asked to be. Statuses as Kubernetes' controllers write them."""

from typing import Any

import pytest

from localazure.kubernetes_plugin.waiting import conditions, readiness
from localazure.kubernetes_plugin.waiting.reasons import pod_problems


def thing(spec: dict | None = None, generation: int = 1, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", "namespace": "team", "generation": generation}, "spec": spec or {}, "status": status}


def condition(kind: str, status: str = "True", **more: str) -> dict[str, str]:
    return {"type": kind, "status": status, **more}


COMPLETE = condition("Progressing", reason="NewReplicaSetAvailable")
AVAILABLE = condition("Available")


@pytest.mark.parametrize(
    ("check", "live", "waiting"),
    [
        (readiness.pod, thing(phase="Succeeded"), ""),
        (readiness.pod, thing(phase="Running", conditions=[condition("PodScheduled"), condition("Ready")]), ""),
        (readiness.pod, thing(phase="Pending"), 'Waiting for Pod "team/x" to be scheduled'),
        (readiness.pod, thing(conditions=[condition("PodScheduled")]), 'Waiting for Pod "team/x" to be initialized'),
        (readiness.job, thing(conditions=[condition("Complete")]), ""),
        (readiness.job, thing(), 'Waiting for Job "team/x" to start'),
        (
            readiness.job,
            thing(startTime="2026-01-01T00:00:00Z", active=1, failed=2),
            'Waiting for Job "team/x" to succeed (Active: 1 | Succeeded: 0 | Failed: 2)',
        ),
        (
            readiness.deployment,
            thing(
                {"replicas": 1},
                observedGeneration=1,
                replicas=1,
                updatedReplicas=1,
                availableReplicas=1,
                conditions=[COMPLETE, AVAILABLE],
            ),
            "",
        ),
        (readiness.deployment, thing({"replicas": 0}, observedGeneration=1), ""),
        (
            readiness.deployment,
            thing({"replicas": 1}, generation=2, observedGeneration=1),
            "Waiting for the controller to see Deployment",
        ),
        (
            readiness.deployment,
            thing(
                {"replicas": 1}, observedGeneration=1, replicas=2, updatedReplicas=1, availableReplicas=1, conditions=[AVAILABLE]
            ),
            "to be available (1/1 Pods available)",
        ),
        (
            readiness.stateful_set,
            thing({"replicas": 2}, observedGeneration=1, replicas=2, readyReplicas=2, currentRevision="a", updateRevision="a"),
            "",
        ),
        (
            readiness.stateful_set,
            thing({"replicas": 2}, observedGeneration=1, replicas=2, readyReplicas=2, currentRevision="a", updateRevision="b"),
            "(2/2 Pods ready)",
        ),
        (readiness.daemon_set, thing(observedGeneration=1, desiredNumberScheduled=0), ""),
        (readiness.daemon_set, thing(), "Waiting for the controller to see DaemonSet"),
        (
            readiness.daemon_set,
            thing(
                observedGeneration=1,
                desiredNumberScheduled=2,
                currentNumberScheduled=2,
                numberAvailable=1,
                numberReady=2,
                updatedNumberScheduled=2,
            ),
            "(1/2 Pods ready)",
        ),
        (readiness.claim, thing(phase="Bound"), ""),
        (readiness.claim, thing(phase="Pending"), "to be bound (Pending)"),
        (readiness.quota, thing({"hard": {"cpu": "1000m"}}, hard={"cpu": "1"}), ""),
        (readiness.quota, thing({"hard": {"cpu": "1"}}), "to be counted"),
        (readiness.definition, thing(conditions=[condition("Established")]), ""),
        (readiness.service, thing({"type": "ExternalName"}), ""),
        (readiness.service, thing({"clusterIP": "None", "selector": {"a": "b"}}), ""),
        (readiness.service, thing({"selector": {"a": "b"}}), "no ready Pod matches its selector"),
        (readiness.service, thing({"type": "LoadBalancer"}), "to get an address of a load balancer"),
        (readiness.token, {"type": "Opaque"}, ""),
    ],
)
def test_an_object_is_ready_or_says_what_is_missing(check: readiness.Check, live: dict[str, Any], waiting: str) -> None:
    found = check(live)
    assert found.ready is (waiting == "")
    assert waiting in found.waiting


@pytest.mark.parametrize(
    ("check", "live", "why"),
    [
        (
            readiness.job,
            thing(
                conditions=[
                    condition("Failed", reason="BackoffLimitExceeded", message="Job has reached the specified backoff limit")
                ]
            ),
            "[BackoffLimitExceeded] Job has reached the specified backoff limit",
        ),
        (readiness.pod, thing(phase="Failed", message="Pod was rejected"), "the pod failed: Pod was rejected"),
        (
            readiness.definition,
            thing(conditions=[condition("NamesAccepted", "False", reason="Conflict", message="taken")]),
            "[Conflict] taken",
        ),
    ],
    ids=["job", "pod", "definition"],
)
def test_what_will_never_be_ready_fails_at_once(check: readiness.Check, live: dict[str, Any], why: str) -> None:
    assert check(live).failed == why


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


@pytest.mark.parametrize(
    ("text", "ready"),
    [
        ("condition=Ready", True),
        ("condition=Other", False),
        ("condition=Other=False", True),
        ("jsonpath={.status.phase}=Running", True),
        ("jsonpath={.status.phase}=Failed", False),
        ("jsonpath={.status.missing}", False),
        ("jsonpath={.status.conditions[1].type}=Other", True),
        ("jsonpath={.status['dotted.name']}=1", True),
        ('["condition=Ready", "jsonpath={.status.flag}=true"]', True),
        ('["condition=Ready", "condition=Other"]', False),
    ],
)
def test_a_program_may_say_what_is_waited_for(text: str, ready: bool) -> None:
    dotted: dict[str, Any] = {"dotted.name": 1}
    live = thing(phase="Running", flag=True, **dotted, conditions=[condition("Ready"), condition("Other", "False")])
    assert conditions.parsed(text)(live).ready is ready


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ready", 'takes "jsonpath=" or "condition="'),
        ("[]", "at least one condition"),
        ("jsonpath={.status.conditions[?(@.type=='Ready')]}", "understands plain paths"),
    ],
)
def test_a_condition_that_is_not_understood_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("[", r"\[")):
        conditions.parsed(text)
