"""Which cause the rules name for which facts. The sentences are Azure's, from the sources in `operations/explain/phrases.py`."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from azure_gpu_operations.explain.facts import Cause, Container, Event, Facts, Finding, Kind, Refusal
from azure_gpu_operations.explain.report import exit_code, lines
from azure_gpu_operations.explain.rules import explain

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
GROUP_ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerInstance/containerGroups/train"
JOB_ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.App/jobs/train"
IMAGE = "azuregpu1.azurecr.io/train:1"


def group(*containers: Container, state: str = "Failed", **more: Any) -> Facts:
    return Facts("train", Kind.GROUP, GROUP_ID, state=state, provisioning="Succeeded", containers=containers, **more)


def refused(code: str, message: str, at: datetime = NOW, **more: Any) -> Facts:
    return Facts("train", Kind.GROUP, GROUP_ID, exists=False, refusals=(Refusal(code, message, at, "write"),), **more)


def job(*containers: Container, state: str = "Failed", **more: Any) -> Facts:
    return Facts("train", Kind.JOB, JOB_ID, state=state, containers=containers, execution="train-1", **more)


def ended(code: int, **more: Any) -> Container:
    return Container(**{"name": "main", "image": IMAGE, "state": "Terminated", "exit_code": code, "began": NOW, **more})


def waiting(*events: Event, **more: Any) -> Container:
    return Container(**{"name": "main", "image": IMAGE, "state": "Waiting", "events": events, **more})


PULL_EVENTS = (
    Event("Pulling", 'pulling image "mcr.microsoft.com/azuredocs/aci-hellowrld"'),
    Event(
        "Failed",
        'Failed to pull image "mcr.microsoft.com/azuredocs/aci-hellowrld": rpc error: code 2 desc Error: image '
        "t/aci-hellowrld:latest not found",
        True,
    ),
    Event("BackOff", 'Back-off pulling image "mcr.microsoft.com/azuredocs/aci-hellowrld"'),
)
NO_CAPACITY = (
    "The requested resource with '4' CPU and '16.0' GB memory is not available in the location 'westeurope' at this moment. "
    "Please retry with a different resource request or in another location."
)
NO_GPU = (
    "The requested resource with '4' CPU '12' GB memory '1' 'V100' GPU 'Linux' OS is not available in the location 'eastus' at "
    "this moment. Please retry with a different resource request or in another location."
)
QUOTA = (
    "Resource type 'Microsoft.ContainerInstance/containerGroups' container group quota 'StandardCores' exceeded in region "
    "'westus2'. Limit: '10', Usage: '10' Requested: '4'."
)
INACCESSIBLE = (
    f"The image '{IMAGE}' in container group 'train' is not accessible. Please check the image and registry credential."
)
UNAUTHORIZED = Event("Failed", f'Failed to pull image "{IMAGE}": unauthorized: authentication required', True)

PLANTED: list[tuple[str, Facts, Cause]] = [
    ("an image that isn't in its registry", group(waiting(*PULL_EVENTS), state="Pending"), Cause.IMAGE_NOT_FOUND),
    ("a registry without a right", group(waiting(UNAUTHORIZED), state="Pending"), Cause.NO_RIGHT_TO_PULL),
    ("more memory than there is", group(ended(137, detail="OOMKilled", memory="1.5 GB")), Cause.OUT_OF_MEMORY),
    (
        "a program that ends again and again",
        group(
            waiting(
                Event("BackOff", "Back-off restarting failed container", True),
                detail="CrashLoopBackOff: Back-off restarting failed",
                previous_exit_code=1,
                restarts=4,
                began=NOW,
                log=("ValueError: no data",),
            ),
            state="Running",
        ),
        Cause.CRASH_LOOP,
    ),
    ("a region without a free machine", refused("ServiceUnavailable", NO_CAPACITY), Cause.NO_CAPACITY),
    ("a quota that is used up", refused("ContainerGroupQuotaReached", QUOTA), Cause.QUOTA),
    ("a command that isn't there", group(ended(127, log=("exec trian: No such file or directory",))), Cause.COMMAND_NOT_FOUND),
    ("a program's own error", group(ended(3, log=("no GPU, though one is required",))), Cause.PROGRAM_ERROR),
    (
        "a probe that fails",
        group(
            Container(
                name="main",
                state="Running",
                previous_exit_code=143,
                restarts=2,
                began=NOW,
                events=(
                    Event("Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500", True),
                    Event("Killing", "Container main failed liveness probe, will be restarted"),
                ),
            ),
            state="Running",
        ),
        Cause.PROBE,
    ),
    (
        "a share that can't be mounted",
        group(waiting(Event("Failed", "Failed to mount Azure File Volume.", True)), state="Pending"),
        Cause.VOLUME,
    ),
    ("a GPU of the past", refused("ServiceUnavailable", NO_GPU), Cause.RETIRED_GPU),
    (
        "a job that takes too long",
        job(Container(name="main", exit_code=137, began=NOW), timeout_seconds=600, ran_seconds=601.0),
        Cause.TIMEOUT,
    ),
    ("a job's own error", job(ended(5)), Cause.PROGRAM_ERROR),
    ("a job out of memory", job(ended(137), timeout_seconds=600, ran_seconds=20.0), Cause.OUT_OF_MEMORY),
    ("a job without an image", job(waiting(detail="Waiting ImagePullBackOff: manifest unknown")), Cause.IMAGE_NOT_FOUND),
    ("a job without a machine", job(message="AssigningReplicaFailed: no node"), Cause.NO_CAPACITY),
    (
        "a job beyond its environment's cores",
        job(message="Maximum Allowed Cores exceeded for the Managed Environment"),
        Cause.QUOTA,
    ),
    (
        "a job that waits for its quota",
        job(waiting(detail="Waiting Maximum Allowed Cores exceeded for the Managed Environment."), state="Running"),
        Cause.QUOTA,
    ),
    ("a GPU whose memory is full", job(ended(1, log=("torch.OutOfMemoryError: CUDA out of memory.",))), Cause.OUT_OF_GPU_MEMORY),
    ("any other refusal", refused("AuthorizationFailed", "The client 'x' does not have authorization to ..."), Cause.REFUSED),
    ("nothing at all", Facts("train", Kind.GROUP, GROUP_ID, exists=False), Cause.NOT_THERE),
    ("somebody who stopped it", group(ended(137), state="Stopped"), Cause.STOPPED),
    ("a job that was never started", job()._replace(execution="", state=""), Cause.NEVER_STARTED),
    ("a group that just begins", group(waiting(Event("Pulling", "pulling image")), state="Pending"), Cause.STARTING),
    ("a group that ended well", group(ended(0), state="Succeeded"), Cause.HEALTHY),
    ("a group that runs", group(Container(name="main", state="Running", began=NOW), state="Running"), Cause.HEALTHY),
    ("a failure without a word", job(), Cause.UNKNOWN),
]


@pytest.mark.parametrize(("facts", "cause"), [row[1:] for row in PLANTED], ids=[row[0].replace(" ", "_") for row in PLANTED])
def test_the_cause_is_named(facts: Facts, cause: Cause) -> None:
    finding = explain(facts)
    assert finding.cause is cause, finding
    assert finding.fix
    assert not finding.fix.endswith(".")
    assert "train" in lines(facts, finding)[0]


def test_the_quota_of_an_environment_is_told_apart_from_the_subscriptions() -> None:
    found = explain(job(message="Maximum Allowed Cores exceeded for the Managed Environment"))
    assert "the quota of its environment" in found.what
    assert "preflight" in found.fix


def test_each_cause_has_an_exit_code_that_tells_failure_from_health() -> None:
    codes = {row[2]: exit_code(explain(row[1])) for row in PLANTED}
    assert {cause for cause, code in codes.items() if code == 0} == {Cause.HEALTHY, Cause.STARTING, Cause.NEVER_STARTED}
    assert {cause for cause, code in codes.items() if code == 3} == {Cause.UNKNOWN}


def finding(facts: Facts) -> Finding:
    return explain(facts)


def test_the_containers_last_lines_are_shown_with_the_cause() -> None:
    facts = group(ended(3, log=("loading", "no GPU, though one is required")))
    text = "\n".join(lines(facts, explain(facts)))
    assert "exit code 3" in text
    assert "last lines of container main:\n    loading\n    no GPU, though one is required" in text


def test_of_a_retired_gpu_the_day_and_what_replaces_it_are_told() -> None:
    found = finding(refused("ServiceUnavailable", NO_GPU))
    assert "2025-07-14" in found.what
    assert "Consumption-GPU-NC8as-T4" in found.fix


def test_before_its_last_day_the_same_sentence_means_no_capacity() -> None:
    at = datetime(2019, 6, 1, tzinfo=UTC)
    assert finding(refused("ServiceUnavailable", NO_GPU, at)).cause is Cause.NO_CAPACITY


@pytest.mark.parametrize(
    ("built", "cause"),
    [(frozenset({IMAGE}), Cause.NO_RIGHT_TO_PULL), (frozenset[str](), Cause.IMAGE_NOT_FOUND), (None, Cause.IMAGE_NOT_FOUND)],
)
def test_the_sentence_that_azure_has_for_both_is_told_apart_by_what_the_registry_has_built(
    built: frozenset[str] | None, cause: Cause
) -> None:
    facts = refused("InaccessibleImage", INACCESSIBLE, built=built, server="azuregpu1.azurecr.io")
    assert finding(facts).cause is cause
    assert IMAGE in finding(facts).what


def test_what_was_refused_before_the_present_run_is_no_cause_any_more() -> None:
    old = Refusal("ContainerGroupQuotaReached", QUOTA, NOW - timedelta(hours=1))
    facts = group(ended(3), refusals=(old,))
    assert finding(facts).cause is Cause.PROGRAM_ERROR
    assert finding(facts._replace(refusals=(old._replace(at=NOW + timedelta(hours=1)),))).cause is Cause.QUOTA


def test_what_was_refused_before_a_later_change_is_no_cause_of_a_job_that_was_never_started() -> None:
    old = Refusal("InvalidParameterValueInContainerTemplate", "the image can't be pulled", NOW - timedelta(hours=1))
    never_started = job()._replace(execution="", state="", refusals=(old,))
    assert finding(never_started).cause is Cause.REFUSED
    assert finding(never_started._replace(changed=NOW)).cause is Cause.NEVER_STARTED
    assert finding(never_started._replace(changed=NOW - timedelta(hours=2))).cause is Cause.REFUSED
    assert finding(never_started._replace(changed=NOW, provisioning="Failed")).cause is Cause.REFUSED


def test_the_container_that_failed_is_named_and_not_the_one_that_runs() -> None:
    fine = Container(name="side", state="Running", began=NOW)
    found = finding(group(fine, ended(4), state="Running"))
    assert (found.cause, found.container) == (Cause.PROGRAM_ERROR, "main")


def test_an_init_container_that_fails_is_named_first() -> None:
    found = finding(group(waiting(), ended(2, name="prepare", is_init=True), state="Pending"))
    assert (found.cause, found.container) == (Cause.PROGRAM_ERROR, "prepare")


def test_a_program_that_is_done_and_started_again_is_told_to_end() -> None:
    again = waiting(detail="CrashLoopBackOff: Back-off restarting failed", previous_exit_code=0, restarts=3, began=NOW)
    found = finding(group(again, state="Running"))
    assert found.cause is Cause.CRASH_LOOP
    assert "restart_policy to OnFailure or Never" in found.fix


def test_a_loop_of_a_missing_command_is_the_missing_command() -> None:
    again = waiting(detail="CrashLoopBackOff: Back-off restarting failed", previous_exit_code=127, restarts=3, began=NOW)
    assert finding(group(again, state="Running")).cause is Cause.COMMAND_NOT_FOUND


def test_the_memory_that_it_had_is_told() -> None:
    assert "It had 1.5 GB" in finding(group(ended(137, detail="OOMKilled", memory="1.5 GB"))).what


def test_a_timeout_tells_how_long_the_job_allows() -> None:
    facts = job(Container(name="main", exit_code=None), timeout_seconds=600, ran_seconds=600.4)
    assert "the job's limit is 10 minutes" in finding(facts).what


def test_a_report_wraps_sentences_at_the_width_and_leaves_lines_of_a_log_alone() -> None:
    log = ("loss " * 30,)
    facts = group(ended(3, log=log))
    wrapped = lines(facts, explain(facts), 60)
    assert [line for line in wrapped if len(line) > 60] == [f"    {log[0]}"]
    assert " ".join(wrapped).split() == " ".join(lines(facts, explain(facts))).split()
