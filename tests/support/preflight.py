"""`preflight` as its command line has it, in the test's thread."""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from azure_gpu_operations.preflight import command, fetching, online, restrictions
from azure_gpu_operations.stack import EngineError, Stack

Run = Callable[..., tuple[int, dict[str, Any]]]
LIMIT_SECONDS = 300.0  # for each list; longer than a test takes, shorter than a fault that throttles for too long


def main(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    options = parser.parse_args(arguments)
    return options.run(options)


def alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run(...)`: exit code and report with `--json`. No engine is there, and lists are read one after the other."""

    def exists(_: Stack) -> bool:
        raise EngineError("pulumi isn't installed")

    def fetch(readers: Mapping[Any, Callable[[], Any]], *, limit_seconds: float) -> dict[Any, fetching.Outcome[Any]]:
        return {key: fetching._read(read, time.monotonic() + LIMIT_SECONDS, time.sleep) for key, read in readers.items()}

    def run(*arguments: str) -> tuple[int, dict[str, Any]]:
        code = main(*arguments, "--json")
        return code, json.loads(capsys.readouterr().out)

    monkeypatch.setattr(Stack, "exists", exists)
    for each in (online, restrictions):
        monkeypatch.setattr(each, "fetch", fetch)
    return run
