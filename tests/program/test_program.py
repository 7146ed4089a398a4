"""The program as a whole, run as the engine runs it, on a mock of the engine."""

import gc
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from azure_gpu.shared.refusal import Refused
from azure_gpu.stack import own_source
from azure_gpu.stack.common_file import merge
from tests.components.recording import KEYS, Recorded, declare
from tests.components.settings_of import configuration

ROOT = Path(__file__).parents[2]
LASTING = ("dev", "prod")  # the others are there for a day
PROTECTED = {
    *("foundation-blob-service", "foundation-storage", "foundation-registry", "foundation-logs", "batch-account"),
    *("ml-models-container", "ml-vault", "ml-workspace"),
}


def run(said: dict[str, Any], *, preview: bool = False) -> Recorded:
    def program() -> None:
        pulumi.runtime.set_all_config(configuration(said))
        runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__")

    threshold = gc.get_threshold()  # which the program sets for itself
    try:
        return declare(program, preview=preview, lookups=KEYS)
    finally:
        gc.set_threshold(*threshold)


def config_of(file: str, *, moved: bool) -> dict[str, Any]:
    text = (ROOT / file).read_text()
    return yaml.safe_load(re.sub('expires_after: "[0-9-]+"', 'expires_after: "2099-12-31"', text) if moved else text)["config"]


def said_by(stack: str) -> dict[str, Any]:
    """What a shipped stack file says, with what it extends. The last days of those that are judged today are moved, so that they
    never pass."""
    config = config_of(f"Pulumi.{stack}.yaml", moved=stack in LASTING)
    if common := config.pop("azure-gpu:extends", ""):
        config = merge(config_of(common, moved=True), config)
    return {"team": None, "location": None, "azure-gpu:image_source": "https://localhost:1/checkout.git#HEAD", **config}


def test_the_shipped_stack_files_hold_nobodys_secrets() -> None:
    for file in ROOT.glob("Pulumi.*.yaml"):
        assert set(yaml.load(file.read_text(), yaml.CSafeLoader)) == {"config"}, (
            f"{file.name} was used by somebody's `pulumi stack init`"
        )


@pytest.mark.parametrize("stack", ["dev", "documents", "lite", "local", "prod"])
@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_every_stack_of_the_repository_runs(stack: str, preview: bool) -> None:
    recorded = run(said_by(stack), preview=preview)
    assert len({registration.urn for registration in recorded.registrations}) == len(recorded.registrations)
    assert {each.name for each in recorded.registrations if each.protect} == (PROTECTED if stack in LASTING else set())


def every_part_on(said: Any) -> Any:
    """What a stack file says, with every switch at true."""
    if isinstance(said, dict):
        return {key: True if key == "enabled" else every_part_on(value) for key, value in said.items()}
    return said


# By each service, the resource that there is one of for each of its parts.
SERVICES = {
    "container_groups": "azure-native:containerinstance:ContainerGroup",
    "jobs": "azure-native:app:Job",
    "pools": "azure-native:batch:Pool",
    "clusters": "azure-native:containerservice:ManagedCluster",
    "ml_endpoints": "azure-native:machinelearningservices:OnlineEndpoint",
}


@pytest.mark.parametrize("stack", ["dev", "local"])
def test_all_five_services_of_a_stack_file_come_up_where_every_part_is_on(stack: str) -> None:
    recorded = run(every_part_on(said_by(stack)), preview=True)
    declared = {section: len(recorded.of_type(token)) for section, token in SERVICES.items()}
    assert declared == dict.fromkeys(SERVICES, 1) | {"jobs": 1 if stack == "dev" else 2, "pools": 1 if stack == "dev" else 2}
    assert len(recorded.of_type("azure-native:containerservice:AgentPool")) == 1
    assert len(recorded.of_type("azure-native:machinelearningservices:OnlineDeployment")) == 1
    assert not [line for line in recorded.log if "switched off" in line]


def test_the_dev_stack_needs_no_fork_and_declares_nothing_that_costs_while_nothing_runs() -> None:
    said = {key: value for key, value in said_by("dev").items() if "image_source" not in key}
    recorded = run(said, preview=True)
    declared = {section for section, token in SERVICES.items() if recorded.of_type(token)}
    assert declared == {"container_groups", "jobs", "pools"}
    assert len(recorded.of_type("azure-native:machinelearningservices:Workspace")) == 1
    [line] = [line for line in recorded.log if "switched off" in line]
    assert line.endswith(
        "not declared: clusters.shared, ml_workspace.computes.gpu, ml_workspace.environments.digits, ml_endpoints.digits"
    )
    assert not [line for line in run(said).log if "switched off" in line]  # an update says nothing of it
    assert run(said).exports["idle_cost"] == {}


def test_a_preview_names_where_workloads_are_built_from_that_the_file_sets_no_source_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_source, "find", lambda: "https://github.com/acme/azure-gpu.git#ab12")
    said = {key: value for key, value in every_part_on(said_by("dev")).items() if "image_source" not in key}
    recorded = run(said, preview=True)
    [line] = [line for line in recorded.log if "image_source" in line]
    assert line.endswith("image_source isn't set: digits is built from https://github.com/acme/azure-gpu.git#ab12")
    [build] = [each for each in recorded.of_type("azure-native:resources:Deployment") if "build" in each.name]
    [task_run] = build.inputs["properties"]["template"]["resources"]
    assert task_run["properties"]["runRequest"]["sourceLocation"] == "https://github.com/acme/azure-gpu.git#ab12:workloads"


def test_the_prod_stack_has_what_the_dev_stack_has_in_zones_and_two_deployments() -> None:
    recorded = run(said_by("prod"), preview=True)
    (cluster,) = recorded.of_type("azure-native:containerservice:ManagedCluster")
    assert cluster.inputs["sku"]["tier"] == "Standard"
    assert cluster.inputs["apiServerAccessProfile"]["authorizedIPRanges"] == ["203.0.113.0/24"]
    (system,) = cluster.inputs["agentPoolProfiles"]
    assert (system["count"], system["availabilityZones"]) == (3, ["1", "2", "3"])
    deployments = recorded.of_type("azure-native:machinelearningservices:OnlineDeployment")
    assert sorted(each.inputs["deploymentName"] for each in deployments) == ["blue", "green"]
    assert not recorded.of_type("azure-native:containerinstance:ContainerGroup"), "taken away by null"


def test_the_program_reads_the_file_that_a_stack_extends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    said = config_of("Pulumi.dev.yaml", moved=False) | {"azure-gpu:as_of": "2026-11-23"}
    assert len(run(said, preview=True).of_type("azure-native:batch:Pool")) == 1


def test_a_tag_says_the_date_only_where_the_settings_do() -> None:
    assert not [one for one in run(said_by("dev")).registrations if "as-of" in one.inputs.get("tags", {})]


def test_all_problems_of_all_components_are_raised_once_before_anything_is_declared() -> None:
    said = {
        "locaton": "eastus",
        "foundation": {"storage": "creat"},
        "container_groups": {
            "one": {"image": "Bad", "cpu": 99},
            "two": {"image": "python:3.11", "gpu": {"count": 3, "sku": "T4"}, "expires_after": "2027-01-01"},
        },
    }
    recorded: list[Recorded] = []
    with pytest.raises(Refused) as refused:
        recorded.append(run(said))
    message = str(refused.value)
    paths = ("locaton", "foundation.storage", "container_groups.one.image", "container_groups.one.cpu")
    for path in (*paths, "container_groups.two.gpu.count", "container_groups.two.gpu.sku"):
        assert f"  - {path}: " in message
    assert isinstance(refused.value, pulumi.RunError)  # which the engine shows without a traceback
    assert "nothing was created" in message


def test_the_configuration_may_also_come_from_the_environment_as_the_engine_sends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps(configuration({"tags": {"from": "environment"}})))

    def program() -> None:
        pulumi.runtime.set_all_config({})
        runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__")

    group = declare(program).one("azure-native:resources:ResourceGroup")
    assert group.inputs["tags"]["from"] == "environment"
