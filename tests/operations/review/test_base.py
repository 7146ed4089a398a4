"""The engine of a review runs once more where a provider's process died, and only there."""

import subprocess
from pathlib import Path

import pytest

from azure_gpu_operations.review import base


@pytest.mark.parametrize(
    ("codes", "said", "ran"),
    [
        ([1, 0], "pulumi-resource-kubernetes exited prematurely", 2),
        ([1], "error: 409 Conflict", 1),
        ([0], "exited prematurely", 1),
    ],
)
def test_a_provider_that_died_gets_a_second_try(codes: list[int], said: str, ran: int) -> None:
    done = [subprocess.CompletedProcess(["pulumi"], code, stdout=said, stderr="") for code in codes]
    tried = iter(done)
    found = base._twice(lambda: next(tried))
    assert found is done[ran - 1]


def test_an_embedded_azure_whose_start_is_interrupted_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def command(word: str, *_: str) -> None:
        ran.append(word)
        if word == "start":
            raise KeyboardInterrupt

    azure = base.EmbeddedAzure(tmp_path, tmp_path)
    monkeypatch.setattr(azure, "_command", command)
    with pytest.raises(KeyboardInterrupt), azure.running("2026-11-30"):
        pass
    assert ran == ["start", "stop"]
