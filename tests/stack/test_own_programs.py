"""Components in programs of somebody's own: a folder outside of the checkout, the installed package and the real engine."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.formats.azure_types import RESOURCE_GROUP
from tests.support import warm_python
from tests.support.embedded import CHECKOUT, SECOND_SUBSCRIPTION, SUBSCRIPTION, ServedAzure, until
from tests.support.installed import built_wheel, environment
from tests.support.stack import connected_environment, connection_keys, run_to_its_end

PROGRAMS = Path(__file__).parent / "own_programs"
CONDA = CHECKOUT / "tests" / "support" / "light_scoring" / "conda.yml"
PROJECT = "somebody"

pytestmark = pytest.mark.slow


class Program:
    """A folder with a program, and the engine in it. The default provider is forbidden, so that nothing uses it by mistake."""

    def __init__(
        self, folder: Path, text: str, python: Path, azure: ServedAzure, engine_bin: Path, project: str = PROJECT
    ) -> None:
        self.project = project
        self.folder = folder
        self.azure = azure
        # As in a shell in which the environment is active: the language host that is built here takes the `python` of PATH.
        variables = warm_python.warmed(connected_environment(azure, engine_bin), str(python))
        self.variables = {**variables, "PATH": f"{python.parent}:{variables['PATH']}"}
        (folder / "__main__.py").write_text(text)
        options = {"virtualenv": str(python.parents[1])}
        (folder / "Pulumi.yaml").write_text(yaml.safe_dump({"name": project, "runtime": {"name": "python", "options": options}}))
        keys = connection_keys(azure)
        self._login = {
            "metadata_host": keys["azure-native:metadataHost"],
            "disable_instance_discovery": True,
            "subscription_id": SUBSCRIPTION,
            "tenant_id": azure.tenant_id,
            "client_id": azure.client_id,
        }
        self.configure()

    def configure(self, **said: Any) -> None:
        own = {"login": self._login, "image_source": f"{self.azure.url}/checkout.git#HEAD", **said}
        self.write(own, {"pulumi:disable-default-providers": ["azure-native"]})

    def write(self, own: dict[str, Any], others: dict[str, Any]) -> None:
        """The stack's file: keys of the project, and those of others beside the connection's."""
        keys = {**connection_keys(self.azure), **others}
        config = {**keys, **{f"{self.project}:{key}": value for key, value in own.items()}}
        file = self.folder / "Pulumi.one.yaml"
        earlier = yaml.load(file.read_text(), yaml.CSafeLoader) if file.exists() else {}
        file.write_text(yaml.safe_dump({**(earlier or {}), "config": config}))

    def pulumi(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return run_to_its_end(["pulumi", *words, "--non-interactive"], self.folder, self.variables)

    def well(self, *words: str) -> str:
        done = self.pulumi(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def up(self, *words: str) -> str:
        return self.well("up", "--yes", "--skip-preview", *words)

    def outputs(self) -> dict[str, Any]:
        return json.loads(self.well("stack", "output", "--json"))

    def steps(self, *words: str) -> dict[str, str]:
        """What a preview would do, by the name of the resource; what stays as it is left out."""
        preview = json.loads(self.well("preview", "--json", *words))
        found = {step["urn"].rsplit("::", 1)[-1]: step["op"] for step in preview["steps"]}
        return {name: operation for name, operation in found.items() if operation != "same"}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the package and nothing else."""
    wheel = built_wheel(CHECKOUT, tmp_path_factory.mktemp("wheel"))
    return environment(wheel, tmp_path_factory.mktemp("installed"), extra="kubernetes", pip=True)


@pytest.fixture
def made() -> Iterator[list[Program]]:
    """The programs of a test. What they have brought up is deleted in Azure, which takes no run of the engine."""
    programs: list[Program] = []
    yield programs
    for each in reversed(programs):
        for resource in resources(each):
            if resource["type"] == RESOURCE_GROUP.token and not resource.get("external"):
                assert each.azure.delete(resource["id"], "2024-03-01").status_code in (202, 204)
        each.well("stack", "rm", "--yes", "--force")


@pytest.fixture
def program(python: Path, engine_bin: Path, tmp_path: Path, made: list[Program]) -> Callable[..., Program]:
    """Makes the stack of a program. It goes with the test."""

    def make(name: str, azure: ServedAzure, project: str = PROJECT) -> Program:
        text = (PROGRAMS / f"{name}.py").read_text()
        folder = tmp_path / name
        folder.mkdir()
        made.append(Program(folder, text, python, azure, engine_bin, project))
        made[-1].well("stack", "init", "one")
        return made[-1]

    return make


def test_a_group_a_pool_a_cluster_and_an_endpoint_come_up_twice_in_one_stack(
    program: Callable[..., Program], python: Path, still_azure: ServedAzure
) -> None:
    mine = program("everything", still_azure)
    shutil.copy(CONDA, mine.folder)
    mine.up()
    assert mine.steps() == {}
    outputs = mine.outputs()
    assert outputs["python"] == str(python.parents[1])  # so that the package is the installed one
    assert outputs["one"]["uri"] != outputs["two"]["uri"]
    in_azure = [each for each in resources(mine) if each["type"].startswith("azure-native:")]
    assert {each["provider"].split("::")[-2] for each in in_azure} == {"azure"}
    tagged = [each for each in in_azure if "tags" in each["inputs"]]
    assert len(tagged) > 30
    assert [each["urn"] for each in tagged if each["inputs"]["tags"].get("cost-center") != "42"] == []
    for name in ("one", "two"):
        assert still_azure.get(outputs[name]["pool"], "2024-07-01").json()["tags"]["cost-center"] == "42"
        assert still_azure.get(outputs[name]["cluster"], "2025-05-01").json()["tags"]["cost-center"] == "42"


def state_of(azure: ServedAzure, group: str) -> str:
    return azure.get(group, "2023-05-01").json()["properties"]["instanceView"]["state"]


def test_the_mechanics_of_pulumi_work_on_components(program: Callable[..., Program], still_azure: ServedAzure) -> None:
    mine = program("mechanics", still_azure)
    mine.up()

    # An alias keeps what a renamed component has, with its names in Azure: those that are set, and those built of its own.
    mine.configure(group="added", base="main")
    assert mine.steps() == {}

    # What no property shows makes a new one, also where a transform hands options back.
    mine.configure(transformed=True, containers=True)
    assert {"t4-pool-renewal", "t4-pool"} <= mine.steps().keys()
    mine.configure(transformed=True)
    assert mine.steps() == {}
    mine.configure(transformed=True, containers_in_group=2)
    assert {"add-group-renewal", "add-group"} <= mine.steps().keys()
    mine.up()

    # Of a target nothing else is touched, and one resource is made anew by its name.
    mine.configure(transformed=True, containers=True)
    pool = next(each for each in urns(mine) if each.endswith("::t4-pool"))
    group = next(each for each in urns(mine) if each.endswith("::add-group"))
    assert "t4-pool" not in mine.steps("--target", group)
    mine.configure(transformed=True, containers_in_group=2)
    assert set(mine.steps("--replace", pool)) == {"t4-pool"}
    mine.up("--target-replace", pool)
    assert mine.steps() == {}


def test_the_program_runs_in_a_project_of_another_name_with_overrides_and_options(
    program: Callable[..., Program], still_azure: ServedAzure
) -> None:
    mine = program("everything", still_azure)
    (mine.folder / "__main__.py").write_text((CHECKOUT / "__main__.py").read_text())
    group = {
        "image": "k8s.gcr.io/cuda-vector-add:v0.1",
        "overrides": {"restartPolicy": "OnFailure", "tags": {"cost-center": "42"}},
        "opts": {"protect": True, "ignore_changes": ["tags"], "custom_timeouts": {"create": "10m"}},
    }
    mine.write({"team": "vision", "location": "eastus", "protect_data": False, "container_groups": {"web": group}}, {})
    told = mine.well("preview")
    assert "overrides set restartPolicy, tags of web-group" in told
    mine.well("up", "--yes", "--skip-preview")
    found = still_azure.get(mine.outputs()["container_groups"]["web"], "2023-05-01").json()
    assert found["tags"]["cost-center"] == "42"
    assert found["tags"]["project"] == PROJECT
    assert found["properties"]["restartPolicy"] == "OnFailure"

    group["overrides"]["tags"] = {"cost-center": "43"}
    mine.write({"team": "vision", "location": "eastus", "protect_data": False, "container_groups": {"web": group}}, {})
    assert mine.steps() == {}  # they are ignored
    refused = mine.pulumi("destroy", "--yes", "--skip-preview")
    assert "protected" in refused.stdout + refused.stderr

    # Keys as the examples of this project spell them, in a project of another name.
    file = mine.folder / "Pulumi.one.yaml"
    file.write_text(file.read_text().replace(f"{PROJECT}:container_groups", "azure-gpu:container_groups"))
    said = mine.pulumi("preview")
    assert said.returncode != 0
    assert f"fix: write {PROJECT}:container_groups" in said.stdout + said.stderr


def test_a_workload_is_built_from_the_files_here_once_for_each_content(
    program: Callable[..., Program], azure: ServedAzure, tmp_path: Path
) -> None:
    folder = tmp_path / "checkout" / "workloads" / "vector_add"
    folder.mkdir(parents=True)
    (folder / "Dockerfile").write_text('FROM python:3.11\nCOPY . .\nRUN python main.py\nENTRYPOINT ["python", "main.py"]\n')
    mine = program("mechanics", azure)
    mine.configure(image_source="upload", checkout=str(tmp_path / "checkout"))

    def runs() -> list[str]:
        found = azure.get(f"{mine.outputs()['registry']}/runs", "2019-06-01-preview").json()["value"]
        return [each["properties"]["status"] for each in found]

    (folder / "main.py").write_text("print('first')\n")
    assert "base-build-vector_add" in mine.steps(), "a preview builds nothing, and the registry isn't there"
    mine.up()
    first = mine.outputs()["image"]
    assert (runs(), mine.steps()) == (["Succeeded"], {})

    (folder / "main.py").write_text("print('broken') or exit(3)\n")
    assert mine.steps().keys() == {"base-build-vector_add", "base-purge", "add-group"}
    failed = mine.pulumi("up", "--yes", "--skip-preview")
    told = failed.stdout + failed.stderr
    assert failed.returncode != 0
    assert "the workload vector_add can't be built: run " in told
    assert "last lines of its log:" in told
    assert "broken" in told.partition("last lines of its log:")[2]

    (folder / "main.py").write_text("print('second')\n")
    mine.up()
    second = mine.outputs()["image"]
    assert (second != first, sorted(runs()), mine.steps()) == (True, ["Failed", "Succeeded", "Succeeded"], {})

    (folder / "main.py").write_text("print('first')\n")
    assert "already built" in mine.up()
    assert (mine.outputs()["image"], len(runs())) == (first, 3)


def test_existing_parts_lie_in_another_subscription(
    program: Callable[..., Program], azure: ServedAzure, kubernetes_bin: Path
) -> None:
    assert kubernetes_bin.is_dir()
    hub = program("hub", azure, "hub")
    hub.configure(subscription=SECOND_SUBSCRIPTION)
    hub.up()
    there = hub.outputs()
    assert all(SECOND_SUBSCRIPTION in each for name, each in there.items() if name != "image")

    mine = program("everything", azure)
    (mine.folder / "__main__.py").write_text((CHECKOUT / "__main__.py").read_text())
    pool = {"size": "Standard_NC4as_T4_v3", "expires_after": "2099-03-31"}
    parts = ("identity", "registry", "log_workspace", "storage")
    image = {"version": "1", "image": "mcr.microsoft.com/azureml/minimal-py312-inference:latest"}
    mine.write(
        {
            "team": "vision",
            "location": "eastus",
            "protect_data": False,
            "assign_roles": False,  # the hub has assigned them
            "foundation": {part: {"existing": there[part]} for part in parts},
            "container_groups": {"adder": {"image": there["image"]}},
            "batch_account": {"existing": there["batch_account"]},
            "pools": {"t4": pool},
            "clusters": {
                "gpu": {
                    "existing": there["cluster"],
                    "expires_after": "2099-03-31",
                    "namespace": {"name": "vision-jobs"},  # the hub has put its own onto the cluster, and the device plugin
                    "device_plugin": False,
                    "gpu_pools": {"t4": {"size": "Standard_NC4as_T4_v3", "max_nodes": 1}},
                }
            },
            "ml_workspace": {"existing": there["workspace"], "environments": {"light": image}},
        },
        {},
    )
    mine.up()
    assert mine.steps() == {}
    outputs = mine.outputs()
    group = outputs["container_groups"]["adder"]
    assert f"/subscriptions/{SUBSCRIPTION}/" in group
    until(lambda: state_of(azure, group) == "Succeeded", "the group has pulled its image there and added its vectors")
    assert outputs["pools"]["t4"].startswith(there["batch_account"])
    assert azure.get(outputs["pools"]["t4"], "2024-07-01").json()["properties"]["vmSize"] == pool["size"]
    assert outputs["ml_environments"]["light"].startswith(there["workspace"])
    pools = azure.get(f"{there['cluster']}/agentPools", "2025-05-01").json()["value"]
    assert [each["name"] for each in pools if each["properties"]["mode"] == "User"] == [outputs["gpu_pools"]["gpu"]["t4"]["name"]]


def resources(mine: Program) -> list[dict[str, Any]]:
    return json.loads(mine.well("stack", "export"))["deployment"].get("resources") or []


def urns(mine: Program) -> list[str]:
    return [each["urn"] for each in resources(mine)]
