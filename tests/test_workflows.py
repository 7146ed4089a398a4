"""The workflows of GitHub Actions: what they run is named by its commit, and they may read alone."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.embedded import CHECKOUT

FOLDER = CHECKOUT / ".github" / "workflows"
MAKEFILE = (CHECKOUT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", sorted(FOLDER.iterdir()), ids=lambda file: file.stem)
def test_a_workflow_runs_what_is_named_by_its_commit_and_may_read_alone(file: Path) -> None:
    workflow: dict[Any, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in workflow[True]  # YAML 1.1 reads `on` as a truth value
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 90
        assert "permissions" not in job
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w./-]+@[0-9a-f]{40}", step["uses"]), step
            for made in re.findall(r"\bmake ([a-z]+)", step.get("run", "")):
                assert re.search(rf"^{made}:", MAKEFILE, re.MULTILINE), made
