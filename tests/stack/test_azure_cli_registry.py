"""`az acr build`: a folder of the user's own, built by a registry of the embedded Azure, with its log and its exit code."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.azure_cli import AzureCli

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def registry(az: AzureCli) -> Iterator[str]:
    group, name = f"rg-{uuid.uuid4().hex[:12]}", f"az{uuid.uuid4().hex[:12]}"
    az.answer("group", "create", "--name", group, "--location", "westeurope")
    az.answer("acr", "create", "--resource-group", group, "--name", name, "--sku", "Basic")
    yield name
    az.answer("group", "delete", "--name", group, "--yes", "--no-wait")


def build(az: AzureCli, registry: str, folder: Path, dockerfile: str) -> tuple[int, str, str]:
    (folder / "Dockerfile").write_text(dockerfile)
    (folder / "main.py").write_text('print("hello")\n')
    done = az("acr", "build", "--registry", registry, "--image", "hello:1", str(folder))
    return done.returncode, done.stdout, done.stderr


def test_a_folder_is_built_and_its_log_shown(az: AzureCli, registry: str, tmp_path: Path) -> None:
    code, log, said = build(az, registry, tmp_path, 'FROM scratch\nCOPY main.py .\nENTRYPOINT ["python", "main.py"]\n')
    assert code == 0, said
    assert "COPY main.py ." in log
    (run,) = az.answer("acr", "task", "list-runs", "--registry", registry, "--top", "1")
    assert run["status"] == "Succeeded"
    assert [(image["repository"], image["tag"]) for image in run["outputImages"]] == [("hello", "1")]


def test_a_build_that_fails_is_exit_code_1_with_the_line_in_its_log(az: AzureCli, registry: str, tmp_path: Path) -> None:
    code, log, said = build(az, registry, tmp_path, "FROM scratch\nCOPY nothing.py .\n")
    assert code == 1
    assert "nothing.py" in log
    assert "Run failed" in said
