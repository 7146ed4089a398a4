"""The command `azure-gpu` in a company's folder: stack files and the installed package, no checkout."""

import json
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.stack.configurations import with_gpu_group
from tests.support.embedded import CHECKOUT, SUBSCRIPTION, ServedAzure
from tests.support.installed import built_wheel, environment
from tests.support.patience import SECONDS
from tests.support.stack import connected_environment, connection_keys

Command = Callable[..., "subprocess.CompletedProcess[str]"]

# A kubeconfig that stack files name by a relative path: it is read in the company's folder.
KUBECONFIG = """apiVersion: v1
kind: Config
current-context: box
clusters: [{name: box, cluster: {server: "https://192.0.2.1:6443"}}]
users: [{name: box, user: {token: no-secret}}]
contexts: [{name: box, context: {cluster: box, user: box}}]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `azure-gpu` of an environment with the packages and what the verbs need."""
    folder = tmp_path_factory.mktemp("wheels")
    wheel, verbs = built_wheel(CHECKOUT, folder), built_wheel(CHECKOUT, folder, "operations")
    return environment(wheel, tmp_path_factory.mktemp("installed"), verbs=verbs).with_name("azure-gpu")


@pytest.fixture
def company(tmp_path: Path) -> Path:
    """A company's folder, with nothing in it."""
    folder = tmp_path / "company"
    folder.mkdir()
    return folder


@pytest.fixture
def azure_gpu(installed: Path, company: Path, azure: ServedAzure, engine_bin: Path, tmp_path: Path) -> Command:
    """`azure_gpu("up", "--stack", "dev")`: the command by its path, in the company's folder, connected to the embedded Azure.

    Its stacks are in a folder of their own: "existing stacks" are the company's, whatever other tests left behind.
    """
    stacks = tmp_path / "stacks"
    stacks.mkdir()
    variables = {**connected_environment(azure, engine_bin, reaches_others=True), "PULUMI_BACKEND_URL": f"file://{stacks}"}

    def run(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [installed, *words],
            cwd=company,
            env={**variables, **more},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    return run


@pytest.fixture
def stack(company: Path, azure: ServedAzure, azure_gpu: Command) -> Iterator[str]:
    """A stack's name, with its file in the company's folder: a group that adds vectors in the image of a workload. What a test
    brings up, it takes down."""
    name = f"t{uuid.uuid4().hex[:8]}"
    said = {f"azure-gpu:{key}": value for key, value in {**with_gpu_group(azure), "protect_data": False}.items()}
    config = {**connection_keys(azure), **said}
    (company / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump({"config": config}))
    yield name
    done = azure_gpu("pulumi", "stack", "rm", "--yes", "--force", "--stack", name)
    assert done.returncode == 0 or "no stack named" in done.stderr, done.stdout + done.stderr


def well(done: "subprocess.CompletedProcess[str]") -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_folder_with_a_stack_file_is_previewed_brought_up_explained_and_taken_down(
    azure_gpu: Command, stack: str, company: Path, azure: ServedAzure
) -> None:
    text = well(azure_gpu("preview", "--stack", stack))
    assert "azure-native:containerinstance:ContainerGroup" in text

    # The registry built the workload under the tag that the installed sources have.
    text = well(azure_gpu("up", "--stack", stack))
    assert "adder: Succeeded" in text
    assert "Test PASSED" in text
    done = azure_gpu("explain", "adder", "--stack", stack)
    assert done.returncode == 0, done.stdout + done.stderr  # it found no failure
    assert "Succeeded" in done.stdout

    before = yaml.safe_load((company / f"Pulumi.{stack}.yaml").read_text())
    assert set(before) == {"config", "encryptionsalt"}  # the engine's salt is in the company's own file
    well(azure_gpu("down", "--yes", "--stack", stack))
    groups = azure.get(f"/subscriptions/{SUBSCRIPTION}/resources", "2024-11-01").json()["value"]
    assert [each["id"] for each in groups if stack in each["id"]] == []
    assert [each.name for each in company.iterdir()] == [f"Pulumi.{stack}.yaml"]


@pytest.mark.slow
def test_a_secret_gets_into_the_folders_stack_file_encrypted(azure_gpu: Command, stack: str, company: Path) -> None:
    key = "container_groups.adder.secret_environment.TOKEN"
    well(azure_gpu("pulumi", "config", "set", "--secret", "--path", key, "a value", "--stack", stack))
    said = yaml.safe_load((company / f"Pulumi.{stack}.yaml").read_text())
    assert list(said["config"]["azure-gpu:container_groups"]["adder"]["secret_environment"]["TOKEN"]) == ["secure"]
    assert well(azure_gpu("pulumi", "config", "get", "--path", key, "--stack", stack)).strip() == "a value"
    assert stack in well(azure_gpu("pulumi", "stack", "ls"))


@pytest.mark.slow
def test_paths_in_a_stack_file_start_in_its_folder(azure_gpu: Command, stack: str, company: Path) -> None:
    file = company / f"Pulumi.{stack}.yaml"
    said = yaml.load(file.read_text(), yaml.CSafeLoader)
    del said["config"]["azure-gpu:container_groups"]
    said["config"]["azure-gpu:edges"] = {"box": {"kubeconfig_file": "boxes/one.yaml", "namespace": "jobs"}}
    file.write_text(yaml.safe_dump(said))

    message = "edges.box.kubeconfig_file: this file can't be read: No such file or directory"
    done = azure_gpu("preview", "--stack", stack)
    assert done.returncode == 1
    assert message in done.stdout + done.stderr
    (company / "boxes").mkdir()
    (company / "boxes" / "one.yaml").write_text(KUBECONFIG)
    done = azure_gpu("preview", "--stack", stack)
    assert message not in done.stdout + done.stderr
    assert "192.0.2.1" in done.stdout + done.stderr


@pytest.mark.slow
def test_a_folder_with_a_project_of_its_own_runs_that_one(azure_gpu: Command, stack: str, company: Path) -> None:
    (company / "Pulumi.yaml").write_text("name: azure-gpu\nruntime: python\n")
    (company / "__main__.py").write_text("import azure_gpu, pulumi\npulumi.export('made_by', azure_gpu.__version__)\n")
    assert "made_by" in well(azure_gpu("preview", "--stack", stack))


@pytest.mark.slow
def test_verbs_without_an_engine_work_in_the_folder_and_name_the_command(azure_gpu: Command, company: Path) -> None:
    written = well(azure_gpu("new", "tonight", "--example", "t4-tonight", "--team", "vision"))
    assert written.endswith("next: azure-gpu up --stack tonight\n")
    assert (company / "Pulumi.tonight.yaml").is_file()
    assert json.loads(well(azure_gpu("preflight", "--stack", "tonight", "--offline", "--json")))["rows"] is not None
    assert well(azure_gpu("--help")).startswith("usage: azure-gpu ")
    assert "python -m operations" not in well(azure_gpu("explain", "--help"))

    done = azure_gpu("preview", "--stack", "missing")
    assert done.returncode == 1
    assert done.stderr == (
        f"error: {company}/Pulumi.missing.yaml doesn't exist, and neither does stack missing; existing stacks: none;"
        " create the file with `azure-gpu new missing --example NAME`\n"
    )
