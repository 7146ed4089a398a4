"""A run-command and a job of Azure ML followed to their ends: output line by line, GPUs in words, the exit code, what fails.
Each row of `followed/services.yaml`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.machine_learning import job_log
from azure_gpu_operations.run import gpu_confirmation
from azure_gpu_operations.run.log_lines import BlobTail
from azure_gpu_operations.run.on_ml_cluster import plan as ml_plan
from azure_gpu_operations.run.on_ml_cluster.run import Follower as MlFollower
from azure_gpu_operations.run.on_vm.run import Follower as VmFollower
from azure_gpu_operations.run.protocol import Output

SMI = "Tesla K80, 3.7, 823.5, 000006C3:00:00.0, 11438, 11377, 470.82.01"
ROWS = yaml.load((Path(__file__).parent / "followed" / "services.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


class Arm:
    """Answers one look of a row after the other, the last again and again."""

    def __init__(self, looks: Sequence[Mapping[str, Any] | None], service: str) -> None:
        self._looks, self._service = list(looks), service

    def get(self, resource_id: str, api_version: str, **query: str) -> dict[str, Any] | None:
        look = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        if look is not None and "status" in look and "error" in look:
            raise AzureError(look["error"], look["status"])
        return None if look is None else {"properties": {"instanceView": look} if self._service == "vm" else look}


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


@pytest.mark.parametrize(("service", "name"), [(service, name) for service in ("vm", "ml") for name in ROWS[service]])
def test_a_run_is_followed_as_its_row_says(service: str, name: str) -> None:
    row = ROWS[service][name]
    arm, out, err, said, now = Arm(row["looks"], service), list[str](), list[str](), list[str](), [0.0]
    blobs = {stream: growing(part.encode() for part in row.get(stream, ())) for stream in ("stdout", "stderr", "log")}

    def sleep(seconds: float) -> None:
        now[0] += seconds

    told: Any = {"output": Output(out.append, err.append, said.append), "sleep": sleep, "clock": lambda: now[0]}
    if service == "vm":
        follower: Any = VmFollower(arm, "/c", lambda stream, at: blobs[stream](at), **told)
    else:
        follower = MlFollower(arm, "/j", blobs["log"], **told)
    if "raises" in row:
        with pytest.raises(AzureError, match=row["raises"]):
            follower.follow()
        return
    end = follower.follow()
    assert {field: getattr(end, field) for field in row["end"]} == row["end"]
    assert (out, err, said) == (row.get("out", out), row.get("err", []), row.get("said", said))
    assert now[0] == row.get("now", now[0])


def test_an_error_within_errors_is_told() -> None:
    assert job_log.error_of({"error": {"error": {"code": "A", "message": "b"}}}) == "A: b"


def test_a_blob_is_shown_by_whole_lines_and_each_once_however_it_comes() -> None:
    shown: list[str] = []
    tail = BlobTail(growing([b"", b"one\ntw", b"o\r\n\xc3", b"\xa9 three"]), shown.append)
    assert [tail.more() for _ in range(5)] == [False, True, True, True, False]
    assert shown == ["one", "two"]
    tail.finish()
    assert shown == ["one", "two", "é three"]
    assert tail.ends_with("two\r\né three\n")
    assert not tail.ends_with("more")


def test_lines_of_the_program_are_its_own_and_ours_are_taken_out() -> None:
    assert gpu_confirmation.messages_in("hello") is None
    assert (gpu_confirmation.messages_in(f"azure-gpu: gpu {SMI}") or [])[0] == "name: Tesla K80"
    assert gpu_confirmation.messages_in("azure-gpu: something else") == []
    assert ml_plan.exit_code("azure-gpu: exit 137") == 137
    assert ml_plan.exit_code("azure-gpu: exit") is None
