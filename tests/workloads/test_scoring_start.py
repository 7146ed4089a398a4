"""How the image's entry point sizes the server to a machine, and what the service's variables may say instead."""

import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from workloads.scoring import serve
from workloads.scoring.image_scoring import options, slow_clients

GIB = 1024**3


def settings(gpus: list[str], cores: float, memory: int, **given: str) -> dict[str, str]:
    environment = dict(given)
    serve.settings(environment, gpus, cores, memory)
    return environment


def test_there_is_a_worker_for_each_core_and_the_cores_are_shared_out() -> None:
    chosen = settings([], 4.0, 16 * GIB)
    assert (chosen["WORKER_COUNT"], chosen["TF_NUM_INTRAOP_THREADS"], chosen["TF_NUM_INTEROP_THREADS"]) == ("4", "2", "1")


def test_memory_limits_the_workers_which_then_have_more_cores_each() -> None:
    chosen = settings([], 8.0, 3 * GIB)
    assert (chosen["WORKER_COUNT"], chosen["TF_NUM_INTRAOP_THREADS"]) == ("3", "3")
    assert settings([], 0.5, GIB // 2)["WORKER_COUNT"] == "1"


def test_a_gpu_has_two_workers_and_tensorflow_its_own_threads() -> None:
    chosen = settings(["0", "1"], 24.0, 200 * GIB)
    assert (chosen["WORKER_COUNT"], chosen["SCORING_GPUS"]) == ("4", "0,1")
    assert "TF_NUM_INTRAOP_THREADS" not in chosen
    assert chosen["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"


def test_what_the_service_sets_wins() -> None:
    given = {"WORKER_COUNT": "1", "GUNICORN_CMD_ARGS": "--threads 2", "AML_APP_ROOT": "/var/azureml-app", "PYTHONPATH": "/mine"}
    chosen = settings([], 4.0, 16 * GIB, **given)
    assert {name: chosen[name] for name in ("WORKER_COUNT", "GUNICORN_CMD_ARGS", "AML_APP_ROOT")} == {
        name: value for name, value in given.items() if name != "PYTHONPATH"
    }
    assert chosen["TF_NUM_INTRAOP_THREADS"] == "4"
    assert chosen["PYTHONPATH"].endswith(":/mine")


def test_the_container_has_what_its_limits_leave_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:       16384000 kB\nMemFree: 1 kB\n")
    assert serve.memory(tmp_path, tmp_path / "meminfo") == 16384000 * 1024
    (tmp_path / "memory.max").write_text("max\n")
    assert serve.memory(tmp_path, tmp_path / "meminfo") == 16384000 * 1024
    (tmp_path / "memory.max").write_text(f"{2 * GIB}\n")
    assert serve.memory(tmp_path, tmp_path / "meminfo") == 2 * GIB
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    assert serve.cores(tmp_path) == 0.5


def test_gpus_are_the_device_files_or_those_that_are_left_visible(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert serve.gpus(tmp_path, {}) == ["0", "1"]
    assert serve.gpus(tmp_path, {"CUDA_VISIBLE_DEVICES": "1"}) == ["1"]
    assert serve.gpus(tmp_path, {"CUDA_VISIBLE_DEVICES": "-1"}) == []
    assert serve.gpus(tmp_path / "none", {}) == []


def test_limits_are_read_from_variables() -> None:
    assert options.limits({}) == options.Limits()
    read = options.limits(
        {"SCORING_MAX_BODY_MIB": "2", "SCORING_MAX_MEGAPIXELS": "1", "SCORING_SCALE": "-1..1", "SCORING_INPUT": "text"}
    )
    assert (read.body_bytes, read.image_pixels, read.request_pixels, read.text) == (2 * 1024**2, 1_000_000, 4_000_000, True)
    factor, added = read.scale
    assert (0 * factor + added, 255 * factor + added) == (-1.0, 1.0)


def test_a_limit_that_is_no_whole_number_in_its_range_is_refused() -> None:
    for text in ("0", "-1", "1.5", "", "²", "1025"):
        with pytest.raises(ValueError, match=r"SCORING_MAX_BODY_MIB=.*: expected a whole number from 1 to 1024"):
            options.limits({"SCORING_MAX_BODY_MIB": text})


def test_of_too_many_threads_that_wait_the_oldest_is_given_up_and_who_has_just_come_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = slow_clients.Watch()
    monkeypatch.setattr(slow_clients, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    monkeypatch.setattr(watch, "_start", lambda: None)  # the thread that looks by itself
    pairs = [socket.socketpair() for _ in range(slow_clients.MOST_WAITING + 2)]
    for ours, _ in pairs:
        watch.begin_body(ours, 60)
    try:
        watch.look(1001)
        assert not any(is_closed(ours) for ours, _ in pairs), "none has had its second"
        watch.look(1002)
        assert [number for number, (ours, _) in enumerate(pairs) if is_closed(ours)] == [0, 1]
    finally:
        for pair in pairs:
            for each in pair:
                each.close()


def is_closed(reader: socket.socket) -> bool:
    """Whether its reading side is, so that whoever reads goes on."""
    reader.setblocking(False)
    try:
        return reader.recv(1) == b""
    except BlockingIOError:
        return False
