"""`az acr build`: a folder of one's own, packed and uploaded by the Azure CLI, built by the registry, its log streamed back."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.azure_cli import AzureCli

pytestmark = pytest.mark.slow


@pytest.fixture
def registry(az: AzureCli) -> Iterator[str]:
    """Its name, which is its group's too."""
    name = f"reg{uuid.uuid4().hex[:12]}"
    az.answer("group", "create", "--name", name, "--location", "westeurope")
    az.answer("acr", "create", "--resource-group", name, "--name", name, "--sku", "Basic")
    yield name
    az.answer("group", "delete", "--name", name, "--yes", "--no-wait")


@pytest.mark.timeout(300)
def test_a_folder_is_built_and_a_bad_one_fails_with_the_lines_of_the_build(az: AzureCli, registry: str, tmp_path: Path) -> None:
    build = ("acr", "build", "--registry", registry, "--resource-group", registry)
    (tmp_path / "hello.txt").write_text("hello\n")
    (tmp_path / "Dockerfile").write_text('FROM debian:stable-slim\nCOPY hello.txt /\nCMD ["cat", "/hello.txt"]\n')
    done = az(*build, "--image", "hello:1", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "COPY hello.txt /" in done.stdout
    (run,) = az.answer("acr", "task", "list-runs", "--registry", registry, "--resource-group", registry)
    assert [(image["repository"], image["tag"]) for image in run["outputImages"]] == [("hello", "1")]

    (tmp_path / "Dockerfile").write_text("FROM debian:stable-slim\nCOPY nothing.txt /\n")
    failed = az(*build, "--image", "hello:2", str(tmp_path))
    assert "the build context has no nothing.txt" in failed.stdout + failed.stderr
    assert failed.returncode != 0
