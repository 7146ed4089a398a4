"""`pulumi new` with templates/stack, by its address in a git repository and by its folder: the project checked and previewed."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from engine import pulumi_tools
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.git_server import serving
from tests.support.installed import built_wheel, environment
from tests.support.patience import SECONDS
from tests.support.stack import connected_environment, connection_keys
from tests.test_workflows import tool

TEMPLATE = CHECKOUT / "templates" / "stack"
WORKFLOWS = sorted((TEMPLATE / ".github" / "workflows").glob("*.yml"))
NAME = "gpu-team"


def well(command: Sequence[str | Path], folder: Path, variables: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def new(source: str, folder: Path, variables: dict[str, str]) -> Path:
    """The project that `pulumi new` makes; its packages are installed apart."""
    folder.mkdir()
    well(["pulumi", "new", source, "--yes", "--generate-only", "--name", NAME, "--description", "GPU work"], folder, variables)
    return folder


def test_the_package_is_of_this_version() -> None:
    package = tomllib.loads((CHECKOUT / "components" / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [line for line in (TEMPLATE / "requirements.txt").read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    at = f"git+https://github.com/OWNER/azure-gpu.git@v{package['project']['version']}#subdirectory"
    assert wanted == [f"azure-gpu @ {at}=components", f"azure-gpu-operations @ {at}=operations"]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_runs_pinned_actions_and_the_pinned_engine(file: Path) -> None:
    workflow = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            assert re.fullmatch(r"[\w-]+/[\w./-]+@[0-9a-f]{40}", step.get("uses", f"run/it@{'0' * 40}"))
            if step.get("uses", "").startswith("pulumi/actions@"):
                assert f"v{step['with']['pulumi-version']}" == pulumi_tools.VERSION


@pytest.mark.slow
def test_the_workflows_are_clean() -> None:
    if zizmor := tool("zizmor"):
        well([zizmor, "--offline", "--format", "plain", TEMPLATE], CHECKOUT)
    built = subprocess.run(
        [sys.executable, "engine/build.py", "actionlint"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    if built.returncode == 2:
        pytest.skip(f"actionlint is built by Go: {built.stderr.strip()}")
    well(
        [Path(built.stdout.strip(), "actionlint"), "-shellcheck", str(tool("shellcheck")), "-pyflakes", "", *WORKFLOWS], CHECKOUT
    )


@pytest.mark.slow
def test_a_project_is_made_from_the_repository_and_previewed(still_azure: ServedAzure, engine_bin: Path, tmp_path: Path) -> None:
    variables = connected_environment(still_azure, engine_bin, reaches_others=True)
    work = tmp_path / "work"
    (work / "templates").mkdir(parents=True)
    well(["cp", "-r", TEMPLATE, work / "templates"], tmp_path)
    well(["cp", CHECKOUT / "Pulumi.yaml", CHECKOUT / "__main__.py", work], tmp_path)  # the root is a project, and no template
    served = tmp_path / "served" / "octo" / "azure-gpu.git"
    who = ["-c", "user.name=octo", "-c", "user.email=octo@example.com"]
    for command in (
        ["git", "init", "-q", "-b", "main"],
        ["git", "add", "-A"],
        ["git", *who, "commit", "-qm", "x"],
        ["git", "clone", "-q", "--bare", ".", str(served)],
    ):
        well(command, work)
    with serving(tmp_path / "served") as git:
        trusted = tmp_path / "trusted.pem"
        trusted.write_bytes(git.certificate + Path(variables["SSL_CERT_FILE"]).read_bytes())
        reached = {**variables, "SSL_CERT_FILE": str(trusted), "HTTPS_PROXY": git.proxy}
        project = new(f"{git.url}/octo/azure-gpu/tree/main/templates/stack", tmp_path / "project", reached)
    beside = new(str(TEMPLATE), tmp_path / "beside", variables)
    made = {file.relative_to(project) for file in project.rglob("*") if file.is_file()}
    assert made == {file.relative_to(beside) for file in beside.rglob("*") if file.is_file()}
    assert made == {file.relative_to(TEMPLATE) for file in TEMPLATE.rglob("*") if file.is_file()}
    assert "${" not in "".join(file.read_text(encoding="utf-8") for file in (project / "README.md", project / "Pulumi.yaml"))
    wheel, verbs = (built_wheel(CHECKOUT, tmp_path / "wheels", each) for each in ("components", "operations"))
    environment(wheel, project / ".venv", verbs=verbs, pip=True)
    command = project / ".venv" / "bin" / "azure-gpu"
    own = {name: value for name, value in variables.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    well(["pulumi", "stack", "init", "dev"], project, own)
    keys = {**connection_keys(still_azure), "team": "vision", "location": "eastus"}
    for key, value in keys.items():
        well(["pulumi", "config", "set", "--stack", "dev", key, value], project, own)
    assert "no problems found" in well([command, "preflight", "--stack", "dev", "--offline"], project, own)
    shown = well([command, "preview", "--stack", "dev"], project, own)
    assert f"{NAME}-dev" in shown
    assert "azure-native:app:Job" in shown
