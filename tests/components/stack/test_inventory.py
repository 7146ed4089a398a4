"""What a stack file would declare, read without the engine and without Azure."""

import json
import re
from datetime import date
from pathlib import Path

from azure_gpu.catalog.problems import Code
from azure_gpu.catalog.size_use import Service
from azure_gpu.formats import stack_file
from azure_gpu.stack import inventory
from azure_gpu.stack.common_file import extended
from azure_gpu.stack.inventory import Inventory

ROOT = Path(__file__).parents[3]
GROUP = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g"


def of_stack(stack: str, **changed: str) -> Inventory:
    configuration = stack_file.configuration((ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))
    return inventory.take({**configuration, **changed}, "azure-gpu", stack, "2026-11-21")


def of_small(**changed: str) -> Inventory:
    """Of the dev stack with its foundation and its container group alone."""
    configuration = stack_file.configuration((ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    configuration = extended(configuration, folder=ROOT).configuration
    kept = ("azure-native:", "azure-gpu:team", "azure-gpu:location", "azure-gpu:foundation", "azure-gpu:container_groups")
    small = {key: text for key, text in configuration.items() if key.startswith(kept)}
    return inventory.take({**small, **changed}, "azure-gpu", "dev", "2026-11-21")


def test_the_dev_stack_has_no_problem_and_takes_nothing_for_what_is_off() -> None:
    taken = of_stack("dev")
    assert taken.problems == ()
    assert [use.path for use in taken.uses] == ["jobs.tonight.gpu", "pools.train.size"]
    assert not [name.path for name in taken.names if name.path.startswith(("clusters", "ml_"))]


def test_the_documents_stack_uses_a_k80_a_v100_and_nc6_nodes_at_its_own_date() -> None:
    taken = of_stack("documents", **{"azure-native:subscriptionId": "00000000-0000-0000-0000-000000000000"})
    assert taken.day == date(2019, 6, 1)
    assert [problem for problem in taken.problems if problem.severity == "error"] == []
    assert [(use.service, use.size, use.nodes, use.region) for use in taken.uses if use.service is not Service.BATCH] == [
        (Service.CONTAINER_INSTANCES, "K80", 1, "eastus"),
        (Service.CONTAINER_INSTANCES, "V100", 1, "eastus"),
        (Service.AKS, "Standard_NC6", 3, "eastus"),
    ]


def test_the_same_stack_today_has_a_problem_for_each_retired_gpu() -> None:
    taken = of_stack("documents", **{"azure-gpu:as_of": "2026-11-21"})
    retired = [problem.path for problem in taken.problems if problem.code is Code.RETIRED and "groups" in problem.path]
    assert retired == ["container_groups.gpucontainergroup.gpu.sku", "container_groups.gpucontainergrouprm.gpu.sku"]


def test_the_cluster_of_the_fifth_document_is_refused_today_with_a_successor_of_its_size() -> None:
    text = (ROOT / "Pulumi.documents.yaml").read_text(encoding="utf-8").replace('"2019-05-02"', '"2026-11-21"')
    configuration = stack_file.configuration(text.replace('"2019-05-31"', '"2026-11-30"'))
    taken = inventory.take(
        {**configuration, "azure-native:subscriptionId": GROUP.split("/")[2]}, "azure-gpu", "documents", "2026-11-21"
    )
    refused = {problem.path: problem for problem in taken.problems if problem.path.startswith("clusters")}
    size = refused["clusters.aks-gpu.gpu_pools.nc6.size"]
    assert (size.code, size.instead[0]) == (Code.RETIRED, "Standard_NC4as_T4_v3")


def test_what_waits_in_the_documents_stack_is_accepted_where_it_has_what_it_waits_for() -> None:
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk6m2Yv6kq1cD1a1cD1a1cD1a1cD1a1cD1a1cD1a1cD x"
    text = (ROOT / "Pulumi.documents.yaml").read_text(encoding="utf-8")
    assert text.count("      enabled: false\n") == 3
    for waits, there in (
        ("enabled: false", "enabled: true"),
        ("ssh-ed25519 AAAA... you@example.com", key),
        ("edge.kubeconfig", "tests/components/cases/files/edge-kubeconfig.yaml"),
    ):
        text = text.replace(waits, there)
    configuration = {**stack_file.configuration(text), "azure-native:subscriptionId": GROUP.split("/")[2]}
    problems = inventory.take(configuration, "azure-gpu", "documents", "2026-11-21").problems
    assert [str(problem) for problem in problems if problem.severity == "error"] == []


def test_a_job_uses_its_profile_once_for_each_replica_and_takes_a_name_as_its_environment_does() -> None:
    jobs = {"a": {"expires_after": "2027-01-31", "parallelism": 3}, "b": {"gpu": "A100", "location": "swedencentral"}}
    taken = of_small(**{"azure-gpu:jobs": json.dumps(jobs)})
    assert [(use.service, use.size, use.nodes, use.region, use.path, use.region_path) for use in taken.uses] == [
        (Service.CONTAINER_APPS, "Consumption-GPU-NC8as-T4", 3, "westeurope", "jobs.a.gpu", "location"),
        (Service.CONTAINER_APPS, "Consumption-GPU-NC24-A100", 1, "swedencentral", "jobs.b.gpu", "jobs.b.location"),
    ]
    named = [(name.arm_type, name.name) for name in taken.names if name.arm_type.startswith("Microsoft.App/")]
    assert named == [
        ("Microsoft.App/managedEnvironments", "azure-gpu-vision-dev-westeurope"),
        ("Microsoft.App/managedEnvironments", "azure-gpu-vision-dev-swedencentral"),
        ("Microsoft.App/jobs", "azure-gpu-vision-dev-a"),
        ("Microsoft.App/jobs", "azure-gpu-vision-dev-b"),
    ]
    assert [problem.path for problem in taken.problems if problem.path.startswith("jobs")] == ["jobs.b.expires_after"]


def test_the_local_stack_leads_with_jobs_pools_a_cluster_and_machines_that_azure_takes_today() -> None:
    connected = {
        "azure-native:subscriptionId": "00000000-0000-0000-0000-000000000000",
        "azure-gpu:image_source": "https://localhost:1/checkout.git#HEAD",
    }
    taken = of_stack("local", **connected)
    assert taken.problems == ()
    assert [(use.path, use.size, use.nodes, use.rdma) for use in taken.uses] == [
        ("jobs.vector-add.gpu", "Consumption-GPU-NC8as-T4", 1, False),
        ("jobs.mnist.gpu", "Consumption-GPU-NC8as-T4", 1, False),
        ("pools.train.size", "Standard_NC4as_T4_v3", 2, False),
        ("pools.mpi.size", "Standard_HB120rs_v3", 2, True),
        ("clusters.shared.gpu_pools.t4.size", "Standard_NC4as_T4_v3", 1, False),
        ("ml_workspace.computes.gpu.size", "Standard_NC4as_T4_v3", 1, False),
        ("ml_endpoints.digits.deployments.blue.instance_type", "Standard_NC4as_T4_v3", 1, False),
    ]
    named = {name.path: name.name for name in taken.names if "MachineLearning" in name.arm_type}
    assert named.keys() == {"ml_workspace.computes.gpu", "ml_endpoints.digits"}  # the workspace's own name comes with it
    assert re.fullmatch(r"gpu-x[0-9a-f]{4}", named["ml_workspace.computes.gpu"])


def test_machines_of_azure_machine_learning_without_a_gpu_are_counted_apart() -> None:
    ml = {
        "workspace_name": "vision",
        "computes": {
            "gpu": {"size": "Standard_NC4as_T4_v3", "max_nodes": 2},
            "cpu": {"size": "Standard_DS3_v2", "max_nodes": 4, "replace": "drain-first"},
        },
        "models": {"digits": {"version": "1", "path": "digits/1"}},
        "environments": {"own": {"version": "1", "image": "python:3.12", "routes": {}}},
    }
    blue = {"model": "digits", "environment": "own", "instance_type": "Standard_DS3_v2", "instances": 2}
    said = {
        "azure-gpu:ml_workspace": json.dumps(ml),
        "azure-gpu:ml_endpoints": json.dumps({"digits": {"deployments": {"blue": blue}}}),
    }
    taken = of_small(**said)
    assert [(use.service, use.path, use.nodes) for use in taken.uses] == [
        (Service.ML_COMPUTE, "ml_workspace.computes.gpu.size", 2)
    ]
    # A fifth more of a deployment's instances, rounded up, is kept for its upgrades.
    assert [(each.size, each.nodes, each.family, each.vcpus) for each in taken.ml_machines] == [
        ("Standard_DS3_v2", 4, "standardDSv2Family", 4),
        ("Standard_DS3_v2", 3, "standardDSv2Family", 4),
    ]
    assert [each.path.split(".")[0] for each in taken.ml_machines] == ["ml_workspace", "ml_endpoints"]
    named = {name.path: name.name for name in taken.names}
    assert (named["ml_workspace.workspace_name"], named["ml_workspace.computes.cpu"]) == ("vision", "cpu")
    assert taken.assigns_roles
    assert taken.ml_machines[0].region == "westeurope"


def test_pools_use_all_nodes_that_there_can_be_and_take_names_as_their_account_does() -> None:
    existing = f"{GROUP}/providers/Microsoft.Batch/batchAccounts/theirs"
    pools = {
        "fixed": {"size": "NC4as_T4_v3", "dedicated_nodes": 2, "spot_nodes": 3, "replace": "drain-first", "pool_name": "Ours"},
        "own": {"size": "NC4as_T4_v3", "autoscale": {"formula": "$TargetDedicatedNodes = 9;"}, "packages": {"tool": "1.2"}},
        "spot": {"size": "NC4as_T4_v3", "os_type": "Windows", "autoscale": {"max_nodes": 4, "spot": True}},
    }
    said = {"azure-gpu:pools": json.dumps(pools), "azure-gpu:batch_account": json.dumps({"location": "eastus"})}
    taken = of_small(**said)
    assert [(use.path, use.size, use.nodes, use.spot, use.operating_system) for use in taken.uses] == [
        ("pools.fixed.size", "Standard_NC4as_T4_v3", 2, False, "Linux"),
        ("pools.fixed.size", "Standard_NC4as_T4_v3", 3, True, "Linux"),
        ("pools.own.size", "Standard_NC4as_T4_v3", 1, False, "Linux"),
        ("pools.spot.size", "Standard_NC4as_T4_v3", 4, True, "Windows"),
    ]
    assert {(use.region, use.region_path) for use in taken.uses} == {("eastus", "batch_account.location")}
    assert [(each.application, each.version, each.path) for each in taken.packages] == [
        ("tool", "1.2", "pools.own.packages.tool")
    ]
    named = {name.path: name.name for name in taken.names if name.arm_type.startswith("Microsoft.Batch/")}
    assert taken.batch_account == named["batch_account"]
    assert taken.batch_account_id == ""
    assert named["pools.fixed"] == "Ours"
    assert re.fullmatch(r"own-[0-9a-f]{8}", named["pools.own"])

    taken = of_small(**{**said, "azure-gpu:batch_account": json.dumps({"existing": existing})})
    assert (taken.batch_account, taken.batch_account_id) == ("theirs", existing)
    named = {name.path: name.name for name in taken.names if name.arm_type.startswith("Microsoft.Batch/")}
    assert named.keys() == {"pools.fixed", "pools.own", "pools.spot"}
    assert re.fullmatch(r"azure-gpu-vision-dev-own-[0-9a-f]{8}", named["pools.own"])


def test_only_what_is_created_takes_a_name() -> None:
    existing = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/shared"
    taken = of_small(**{"azure-gpu:foundation": json.dumps({"resource_group": {"existing": existing}, "storage": "create"})})
    assert [name.arm_type for name in taken.names] == [
        "Microsoft.Storage/storageAccounts",
        "Microsoft.ContainerInstance/containerGroups",
    ]


def test_roles_are_assigned_where_there_is_a_registry_to_pull_from_or_a_storage_account_for_batch() -> None:
    assert of_small().assigns_roles
    assert not of_small(**{"azure-gpu:assign_roles": "false"}).assigns_roles
    without = json.dumps({"identity": "create", "storage": "create"})
    assert not of_small(**{"azure-gpu:foundation": without}).assigns_roles
    assert of_small(**{"azure-gpu:foundation": without, "azure-gpu:batch_account": '"create"'}).assigns_roles


def test_roles_are_assigned_where_an_endpoint_or_a_machine_speaks_for_itself() -> None:
    workspace = f"{GROUP}/providers/Microsoft.MachineLearningServices/workspaces/theirs"
    bare = {
        "azure-gpu:foundation": json.dumps({"identity": "create"}),
        "azure-gpu:ml_workspace": json.dumps({"existing": workspace}),
    }
    assert not of_small(**bare).assigns_roles
    endpoint = {"deployments": {}}
    assert not of_small(**bare, **{"azure-gpu:ml_endpoints": json.dumps({"digits": endpoint})}).assigns_roles
    speaking = {"digits": {**endpoint, "identity": "system"}}
    assert of_small(**bare, **{"azure-gpu:ml_endpoints": json.dumps(speaking)}).assigns_roles
    machine = {"azure-gpu:vms": json.dumps({"box": {"size": "Standard_NC4as_T4_v3"}})}
    assert not of_small(**bare, **machine).assigns_roles
    nobody = {"azure-gpu:foundation": json.dumps({"storage": "create"})}
    assert of_small(**{**bare, **nobody}, **machine).assigns_roles


def test_a_cluster_uses_its_gpu_pools_at_their_most_and_its_system_pool_by_itself() -> None:
    pools = {"t4": {"size": "Standard_NC4as_T4_v3", "max_nodes": 5}, "spot": {"size": "Standard_NC4as_T4_v3", "spot": True}}
    cluster = {"gpu_pools": pools, "system_pool": {"nodes": 1, "max_nodes": 3}, "expires_after": "2027-01-31"}
    theirs = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/a/providers/Microsoft.ContainerService"
    existing = {"existing": f"{theirs}/managedClusters/b", "expires_after": "2027-01-31"}
    clusters = json.dumps({"shared": cluster, "theirs": existing})
    taken = of_small(**{"azure-gpu:clusters": clusters, "azure-native:subscriptionId": theirs.split("/")[2]})
    assert [(use.service, use.size, use.nodes, use.spot, use.path) for use in taken.uses] == [
        (Service.AKS, "Standard_NC4as_T4_v3", 5, False, "clusters.shared.gpu_pools.t4.size"),
        (Service.AKS, "Standard_NC4as_T4_v3", 1, True, "clusters.shared.gpu_pools.spot.size"),
    ]
    [system] = taken.system_pools
    assert (system.size, system.nodes, system.family, system.vcpus) == ("Standard_D4s_v5", 3, "standardDSv5Family", 4)
    assert taken.clusters == (existing["existing"],)
    named = [name.name for name in taken.names if name.arm_type.startswith("Microsoft.ContainerService/")]
    assert named[0] == "azure-gpu-vision-dev-shared"
    assert [name[:-4] for name in named[1:]] == ["t4", "spot"]
