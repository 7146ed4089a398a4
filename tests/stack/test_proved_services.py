"""`prove` on the local stack as it is shipped: every service in one table, and each one that is broken fails by itself."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.embedded import ServedAzure
from tests.support.stack import ProgramStack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SERVICES = ("container-group", "job", "batch", "aks", "cluster", "endpoint")


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, engine_bin: Path, kubernetes_bin: Path) -> Iterator[ProgramStack]:
    """The local stack from nothing, by one `up`."""
    done = azure.command("connect", "local")
    assert done.returncode == 0, done.stderr
    made = ProgramStack(azure, "local", None, engine_bin=engine_bin)
    made.environment["PATH"] = f"{kubernetes_bin}:{made.environment['PATH']}"
    made.create()
    done = made.pulumi("up", "--yes", "--skip-preview")
    assert done.returncode == 0, done.stdout + done.stderr
    yield made
    made.end()


def proved(stack: ProgramStack, *words: str, code: int) -> dict[str, dict[str, Any]]:
    """The rows by service."""
    done = stack.operations("prove", "--json", *words)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return {row["service"]: row for row in json.loads(done.stdout)["proofs"]}


def test_every_service_passes_and_the_endpoint_names_ten_digits_that_training_never_saw(
    stack: ProgramStack, tmp_path: Path
) -> None:
    record = tmp_path / "proof.json"
    rows = proved(stack, "--record", str(record), code=0)
    assert tuple(rows) == SERVICES
    assert all(row["passed"] for row in rows.values())
    assert rows["endpoint"]["measured"][0] == "10 of 10 digits"
    for service in ("job", "batch", "aks", "cluster"):
        addition, training = rows[service]["measured"]
        assert addition.endswith(" GB/s")
        assert training.endswith(" images/s")
        assert rows[service]["usd"] > 0
        assert rows[service]["first_line_seconds"] > 0
    assert {row["device"].partition(",")[0] for row in rows.values()} == {"CPU"}
    assert json.loads(record.read_text())["passed"] is True
    assert stack.operations("running").stdout.count("execution") == 0, "nothing of it still runs"


def test_where_a_gpu_is_required_a_cpu_is_no_proof(stack: ProgramStack) -> None:
    rows = proved(stack, "--require-gpu", code=3)
    assert {name: (row["passed"], row["on_gpu"]) for name, row in rows.items()} == dict.fromkeys(SERVICES, (False, False)), rows
    for row in rows.values():
        assert "--require-gpu" in " ".join(row["why"])


@pytest.mark.parametrize(
    ("service", "output", "version", "intact"),
    [
        ("container-group", "container_groups", "2023-05-01", "endpoint"),
        ("job", "jobs", "2025-01-01", "endpoint"),
        ("batch", "pools", "2024-07-01", "endpoint"),
        ("cluster", "ml_computes", "2024-04-01", "endpoint"),
        ("endpoint", "endpoints", "2024-04-01", "aks"),
        ("aks", "clusters", "2025-09-01", ""),
    ],
)
def test_a_service_that_is_broken_fails_and_no_other_does(
    stack: ProgramStack, service: str, output: str, version: str, intact: str
) -> None:
    """Broken as by somebody who deletes it by hand. `intact`: one that is asked beside it."""
    for resource_id in stack.outputs()[output].values():
        answer = stack.azure.delete(resource_id, version)
        assert answer.status_code in (200, 202, 204), answer.text
        if answer.status_code == 202:
            stack.azure.finished(answer)
    rows = proved(stack, "--only", service, *(["--only", intact] if intact else []), code=1)
    assert {name: row["passed"] for name, row in rows.items()} == {name: name != service for name in rows}
    assert rows[service]["why"], "it says why"
