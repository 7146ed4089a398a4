"""A run-command and a job of Azure ML followed to their ends: output line by line, GPUs in words, the exit code, what fails."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest

from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.run import gpu_confirmation
from azure_gpu_operations.run.blob_tail import BlobTail
from azure_gpu_operations.run.on_ml_cluster import follow as ml_follow, plan as ml_plan
from azure_gpu_operations.run.on_vm import follow as vm_follow

SMI = "Tesla K80, 3.7, 823.5, 000006C3:00:00.0, 11438, 11377, 470.82.01"
DOCUMENT = [
    "name: Tesla K80",
    "major: 3 minor: 7 memoryClockRate (GHz) 0.8235",
    "pciBusID 06c3:00:00.0",
    "Total memory: 11.17GiB",
    "Free memory: 11.11GiB",
]


class Arm:
    """Answers one body after the other, the last again and again; an exception is raised."""

    def __init__(self, *bodies: Mapping[str, Any] | Exception | None) -> None:
        self._bodies = list(bodies)

    def get(self, resource_id: str, api_version: str, **query: str) -> dict[str, Any] | None:
        body = self._bodies.pop(0) if len(self._bodies) > 1 else self._bodies[0]
        if isinstance(body, Exception):
            raise body
        return None if body is None else dict(body)


class Heard:
    """What was shown and said, and a clock that sleeping moves."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.err: list[str] = []
        self.said: list[str] = []
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def growing(parts: Iterable[bytes]) -> Callable[[int], bytes | None]:
    """A blob that grows by one part each time that it is read; there is none before the first."""
    rest: Iterator[bytes] = iter(parts)
    content: list[bytes] = []

    def read(start: int) -> bytes | None:
        part = next(rest, None)
        if part is not None:
            content.append(part)
        whole = b"".join(content)
        return whole[start:] if content else None

    return read


def command(state: str, **view: Any) -> dict[str, Any]:
    return {"properties": {"instanceView": {"executionState": state, **view}}}


def followed(arm: Arm, stdout: Iterable[bytes] = (), stderr: Iterable[bytes] = ()) -> tuple[vm_follow.End, Heard]:
    heard = Heard()
    streams = {"stdout": growing(stdout), "stderr": growing(stderr)}
    follower = vm_follow.Follower(
        arm,
        "/c",
        lambda stream, start: streams[stream](start),
        show=heard.out.append,
        show_error=heard.err.append,
        say=heard.said.append,
        sleep=heard.sleep,
        clock=lambda: heard.now,
    )
    return follower.follow(), heard


def test_a_blob_is_shown_by_whole_lines_and_each_once_however_it_comes() -> None:
    shown: list[str] = []
    tail = BlobTail(growing([b"", b"one\ntw", b"o\r\n\xc3", b"\xa9 three"]), shown.append)
    assert [tail.more() for _ in range(5)] == [False, True, True, True, False]
    assert shown == ["one", "two"]
    tail.finish()
    assert shown == ["one", "two", "é three"]
    assert tail.ends_with("two\r\né three\n")
    assert not tail.ends_with("more")


def test_output_comes_as_it_is_written_and_the_gpu_in_the_documents_lines() -> None:
    over = command(
        "Failed", exitCode=3, output="one\ntwo", error="oops", startTime="2026-11-22T10:00:00Z", endTime="2026-11-22T10:01:00Z"
    )
    arm = Arm(command("Running"), command("Running"), over)
    end, heard = followed(arm, [b"on", b"e\n", b"two"], [f"azure-gpu: gpu {SMI}\n".encode(), b"", b"oops\n"])
    assert (end.state, end.exit_code, end.seconds, end.streamed) == ("Failed", 3, 60.0, True)
    assert heard.out == ["one", "two"]
    assert heard.err == ["oops"]
    assert heard.said == DOCUMENT


def test_what_comes_after_the_end_is_waited_for_as_long_as_it_may_take_and_no_longer() -> None:
    late = command("Succeeded", exitCode=0, output="late")
    end, heard = followed(Arm(late), [b"", b"", b"", b"late\n"])
    assert heard.out == ["late"]
    assert end.streamed
    never, waited = followed(Arm(late))
    assert not never.streamed
    assert waited.now == vm_follow.DRAIN_SECONDS
    silent, soon = followed(Arm(command("Succeeded", exitCode=0)))
    assert (silent.exit_code, soon.now) == (0, 0.0)


def test_a_run_command_that_somebody_deletes_is_gone_and_an_outage_is_waited_out() -> None:
    assert followed(Arm(command("Running"), None))[0].state == ""
    end, heard = followed(Arm(AzureError("down", 503), command("Running"), command("Succeeded", exitCode=0)))
    assert end.exit_code == 0
    assert heard.said == ["Azure can't be reached at the moment, retrying: down"]
    with pytest.raises(AzureError):
        followed(Arm(AzureError("no right", 403)))
    with pytest.raises(AzureError):
        followed(Arm(AzureError("down", 503)))


def job(status: str, **properties: Any) -> dict[str, Any]:
    return {"properties": {"status": status, **properties}}


def job_followed(arm: Arm, log: Iterable[bytes] = ()) -> tuple[ml_follow.End, Heard]:
    heard = Heard()
    follower = ml_follow.Follower(
        arm, "/j", growing(log), show=heard.out.append, say=heard.said.append, sleep=heard.sleep, clock=lambda: heard.now
    )
    return follower.follow(), heard


def test_a_job_says_what_it_waits_for_shows_its_log_and_has_the_programs_own_code() -> None:
    arm = Arm(job("Queued"), job("Queued"), job("Starting"), job("Running"), job("Failed"))
    none = b"azure-gpu: none bash: nvidia-smi: command not found\n"
    end, heard = job_followed(arm, [b"", b"", none, b"hello\n", b"azure-gpu: exit 4\n"])
    assert (end.status, end.exit_code) == ("Failed", 4)
    assert heard.out == ["hello"]
    assert heard.said == [
        "waiting for a node; an empty cluster gets one within minutes",
        "starting on a node",
        "no GPU found (nvidia-smi not found): running on the CPU",
    ]
    assert end.seconds == 2 * ml_follow.POLL_SECONDS  # from when a node took it


def test_a_job_over_several_nodes_waits_for_all_of_them_and_costs_all_of_them() -> None:
    two = {"resources": {"instanceCount": 2}}
    end, heard = job_followed(
        Arm(job("Queued", **two), job("Running", **two), job("Completed", **two)), [b"", b"azure-gpu: exit 0\n"]
    )
    assert heard.said == ["waiting for 2 free nodes at once; an empty cluster gets them within minutes"]
    assert (end.exit_code, end.nodes) == (0, 2)


def test_a_job_that_never_ran_has_the_services_reason_and_no_code() -> None:
    told = {"azureml.error.code": "UserError", "azureml.error.message": "no such image"}
    end, heard = job_followed(Arm(job("Queued"), job("Failed", properties=told)))
    assert (end.exit_code, end.message, end.seconds) == (None, "UserError: no such image", None)
    assert heard.now == ml_follow.POLL_SECONDS  # nothing to wait for
    assert ml_follow.message_of({"error": {"error": {"code": "A", "message": "b"}}}) == "A: b"


def test_the_services_own_times_count_more_than_ours() -> None:
    told = {"StartTimeUtc": "2026-11-22T10:00:00Z", "EndTimeUtc": "2026-11-22T10:02:00Z"}
    end, _ = job_followed(Arm(job("Running"), job("Completed", properties=told)), [b"azure-gpu: exit 0\n"])
    assert (end.exit_code, end.seconds) == (0, 120.0)


def test_lines_of_the_program_are_its_own_and_ours_are_taken_out() -> None:
    assert gpu_confirmation.messages_in("hello") is None
    assert gpu_confirmation.messages_in(f"azure-gpu: gpu {SMI}") == DOCUMENT
    assert gpu_confirmation.messages_in("azure-gpu: something else") == []
    assert ml_plan.exit_code("azure-gpu: exit 137") == 137
    assert ml_plan.exit_code("azure-gpu: exit") is None
