"""`prove` on the local stack as it is shipped: each service that is broken fails by itself.

That every service passes is in `test_promised_commands`: `make up` shows the table.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.embedded import ServedAzure
from tests.support.stack import ProgramStack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


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
