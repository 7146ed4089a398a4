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
PROTECTED = {"foundation-blob-service", "foundation-storage", "ml-models-container", "ml-vault", "ml-workspace"}
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk6m2Yv6kq1cD1a1cD1a1cD1a1cD1a1cD1a1cD1a1cD x"


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
        assert set(yaml.safe_load(file.read_text())) == {"config"}, f"{file.name} was used by somebody's `pulumi stack init`"


def test_the_documents_stack_is_the_first_documents_two_groups() -> None:
    groups = run(said_by("documents")).of_type("azure-native:containerinstance:ContainerGroup")
    shown = {
        group.inputs["containerGroupName"]: (
            group.inputs["containers"][0]["image"],
            group.inputs["containers"][0]["resources"]["requests"],
            group.inputs["osType"],
            group.inputs["restartPolicy"],
        )
        for group in groups
    }
    assert shown == {
        "gpucontainergroup": (
            "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1",
            {"cpu": 1.0, "memoryInGB": 1.5, "gpu": {"count": 1, "sku": "K80"}},
            "Linux",
            "OnFailure",
        ),
        "gpucontainergrouprm": (
            "microsoft/samples-tf-mnist-demo:gpu",
            {"cpu": 4.0, "memoryInGB": 12.0, "gpu": {"count": 1, "sku": "V100"}},
            "Linux",
            "OnFailure",
        ),
    }
    assert {group.inputs["containers"][0]["name"] for group in groups} == {"gpucontainer"}
    assert {group.inputs["tags"]["as-of"] for group in groups} == {"2019-06-01"}


@pytest.mark.parametrize("stack", ["dev", "documents", "lite", "local", "prod"])
@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_every_stack_of_the_repository_runs(stack: str, preview: bool) -> None:
    recorded = run(said_by(stack), preview=preview)
    assert len({registration.urn for registration in recorded.registrations}) == len(recorded.registrations)
    assert {each.name for each in recorded.registrations if each.protect} == (PROTECTED if stack in LASTING else set())
    if not preview:
        exported = recorded.exports
        groups = recorded.of_type("azure-native:containerinstance:ContainerGroup")
        jobs = recorded.of_type("azure-native:app:Job")
        assert exported["container_groups"] == {group.name.removesuffix("-group"): f"/id-of/{group.name}" for group in groups}
        assert exported["jobs"] == {job.name.removesuffix("-job"): f"/id-of/{job.name}" for job in jobs}
        pools = recorded.of_type("azure-native:batch:Pool")
        assert exported["pools"] == {pool.name.removesuffix("-pool"): f"/id-of/{pool.name}" for pool in pools}
        assert exported["batch_account"] == ("/id-of/batch-account" if pools else None)
        assert exported["storage"] == "/id-of/foundation-storage"
        clusters = recorded.of_type("azure-native:containerservice:ManagedCluster")
        assert exported["clusters"] == {each.name.removesuffix("-cluster"): f"/id-of/{each.name}" for each in clusters}
        workspaces = recorded.of_type("azure-native:machinelearningservices:Workspace")
        assert exported["ml_workspace"] == ("/id-of/ml-workspace" if workspaces else None)
        endpoints = recorded.of_type("azure-native:machinelearningservices:OnlineEndpoint")
        assert exported["endpoints"].keys() == {each.name.removesuffix("-endpoint") for each in endpoints}
        named = {*exported["container_groups"], *exported["jobs"], *exported["pools"], *exported["clusters"]}
        work = named | exported["endpoints"].keys() | exported["ml_computes"].keys()
        assert exported["expires_at"].keys() == exported["hourly_cost"].keys() == work
        assert {exported["hourly_cost"][name] for name in exported["container_groups"]} <= {None}
        registries = recorded.of_type("azure-native:containerregistry:Registry")
        assert exported["registry"] == ("/id-of/foundation-registry" if registries else None)


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


def test_the_local_stack_runs_both_workloads_on_a_t4_and_says_what_an_hour_costs() -> None:
    recorded = run(said_by("local"))
    jobs = {job.name: job.inputs for job in recorded.of_type("azure-native:app:Job")}
    assert jobs.keys() == {"vector-add-job", "mnist-job"}
    assert {job["workloadProfileName"] for job in jobs.values()} == {"gpu-t4"}
    assert {job["configuration"]["triggerType"] for job in jobs.values()} == {"Manual"}
    assert {job["tags"]["as-of"] for job in jobs.values()} == {"2026-11-21"}
    work = ["vector-add", "mnist", "train", "mpi", "shared", "gpu", "digits"]
    assert recorded.exports["expires_at"] == {**dict.fromkeys(work, "2026-12-01T00:00:00Z"), "on-a-cpu": None}
    # East US: (0.000073 + 2 * 0.000024 + 8 * 0.000003) * 3600 and (0.000073 + 4 * 0.000024 + 16 * 0.000003) * 3600; the pool of
    # two nodes with a T4, at the list price of 2026-06-18, the cluster of one such and its system node, one such in the
    # workspace, and one of the endpoint, which stays; the pool of two nodes with InfiniBand, HB120rs_v3.
    costs = {
        "vector-add": 0.522,
        "mnist": 0.7812,
        "train": 2 * 0.526,
        "mpi": 2 * 3.6,
        "shared": 0.192 + 0.526,
        "gpu": 0.526,
        "digits": 0.526,
    }
    told = recorded.exports["hourly_cost"]
    assert told == {**{name: pytest.approx(cost) for name, cost in costs.items()}, "on-a-cpu": None}
    assert recorded.exports["idle_cost"] == {"shared": pytest.approx(0.192), "gpu": 0, "digits": pytest.approx(0.526)}
    assert len(recorded.of_type("azure-native:app:ManagedEnvironment")) == 1


def test_the_local_stack_has_a_cluster_whose_t4_four_pods_share_and_the_lite_one_has_none() -> None:
    recorded = run(said_by("local"))
    [pool] = recorded.of_type("azure-native:containerservice:AgentPool")
    assert (pool.inputs["vmSize"], pool.inputs["minCount"], pool.inputs["maxCount"]) == ("Standard_NC4as_T4_v3", 0, 1)
    assert pool.inputs["nodeLabels"]["nvidia.com/device-plugin.config"] == "time-slicing-4"
    [job] = recorded.of_type("kubernetes:batch/v1:Job")
    [container] = job.inputs["spec"]["template"]["spec"]["containers"]
    assert container["image"].split("/")[-1].startswith("vector_add:")
    assert recorded.exports["namespaces"] == {"shared": "gpu-jobs"}

    lite = run(said_by("lite"))
    types = {registration.type for registration in lite.registrations}
    assert not [each for each in types if "containerservice" in each or each.startswith(("kubernetes:", "pulumi:providers"))]
    assert {"azure-native:app:Job", "azure-native:batch:Pool"} < types


def test_the_local_stack_has_a_pool_of_t4s_and_one_for_mpi_that_cost_nothing_while_nothing_waits() -> None:
    pools = {pool.name: pool.inputs for pool in run(said_by("local")).of_type("azure-native:batch:Pool")}
    assert pools.keys() == {"train-pool", "mpi-pool"}
    for pool in pools.values():
        assert "$TargetDedicatedNodes" in pool["scaleSettings"]["autoScale"]["formula"]
        machines = pool["deploymentConfiguration"]["virtualMachineConfiguration"]
        assert machines["imageReference"]["offer"] == "ubuntu-hpc"
    assert pools["train-pool"]["vmSize"] == "Standard_NC4as_T4_v3"
    assert pools["mpi-pool"]["interNodeCommunication"] == "Enabled"


def test_a_stack_of_machine_learning_exports_what_is_in_it_by_name() -> None:
    end = {"expires_after": "2099-12-31"}
    computes = {"gpu": {"size": "Standard_NC4as_T4_v3", **end}, "bench": {"vm": "workshop", "private_key": "key"}}
    models = {
        name: {"model_name": "digits", "version": name[-1], "path": f"digits/{name[-1]}"} for name in ("digits-1", "digits-2")
    }
    blue, green = (
        {"model": name, "environment": "own", "instance_type": "Standard_NC4as_T4_v3"} for name in ("digits:1", "digits-2")
    )
    environments = {"own": {"version": "1", "image": "python:3.12", "routes": {}}}
    exported = run(
        {
            "foundation": dict.fromkeys(["resource_group", "identity", "log_workspace", "storage"], "create"),
            "vms": {"workshop": {"size": "Standard_NC4as_T4_v3", "admin": {"ssh_public_key": SSH_KEY}, **end}},
            "ml_workspace": {"computes": computes, "models": models, "environments": environments},
            "ml_endpoints": {
                "digits": {"deployments": {"blue": blue, "green": green}, "traffic": {"blue": 90, "green": 10}, **end}
            },
        }
    ).exports
    assert exported["ml_workspace"] == "/id-of/ml-workspace"
    assert exported["ml_computes"] == {"gpu": "/id-of/ml-compute-gpu", "bench": "/id-of/ml-compute-bench"}
    assert exported["ml_models"] == {name: f"/id-of/ml-model-{name}" for name in models}
    assert exported["ml_environments"] == {"own": "/id-of/ml-environment-own"}
    assert exported["endpoints"].keys() == exported["scoring_uris"].keys() == {"digits"}
    assert exported["vms"].keys() == {"workshop"}
    assert exported["expires_at"] == dict.fromkeys(["workshop", "digits", "gpu"], "2100-01-01T00:00:00Z")
    assert exported["hourly_cost"].keys() == exported["idle_cost"].keys() == {"workshop", "digits", "gpu"}


@pytest.mark.parametrize("work", ["jobs", "container_groups"])
def test_logs_go_to_the_workspace_by_settings_and_nobody_reads_its_key(work: str) -> None:
    part = {"image": "python:3.11", "expires_after": "2099-12-31"}
    recorded = run({"foundation": {"log_workspace": "create"}, work: {"one": part}})
    [setting] = recorded.of_type("azure-native:monitor:DiagnosticSetting")
    assert setting.inputs["workspaceId"] == "/id-of/foundation-logs"
    assert not [token for token, _ in recorded.lookups if token == "azure-native:operationalinsights:getSharedKeys"]


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
