"""The stack files that the project ships, through the same commands that the Makefile uses."""

import json
from pathlib import Path

import pytest

from tests.stack.conftest import Shipped
from tests.support.embedded import ServedAzure

SHIPPED = [pytest.param("dev", marks=pytest.mark.slow), pytest.param("documents", marks=pytest.mark.slow), "local"]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_stack_previews_clean_with_its_connection_replaced(azure: ServedAzure, shipped: Shipped, name: str) -> None:
    stack = shipped(azure, name)
    done = stack.pulumi("preview", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    preview = json.loads(done.stdout)
    assert {step["op"] for step in preview["steps"]} == {"create"}
    shown = [line["message"] for line in preview.get("diagnostics") or [] if line["severity"] in ("warning", "error")]
    # The document's sample was built for CUDA 8.0 and runs on a V100, which CUDA knows from 9.0 on.
    assert [message.removeprefix("warning: ").split(":")[0] for message in shown] == (
        ["container_groups.gpucontainergrouprm.image"] if name == "documents" else []
    )


@pytest.mark.slow
def test_the_dev_stack_names_what_is_off_and_creates_all_five_services_where_nothing_is(
    azure: ServedAzure, shipped: Shipped
) -> None:
    stack = shipped(azure, "dev")
    done = stack.pulumi("preview")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "not declared: clusters.shared, ml_workspace.computes.gpu, ml_workspace.environments.digits, ml_endpoints.digits"
        in done.stdout
    )
    for of_service in (":ManagedCluster", ":OnlineEndpoint"):
        assert of_service not in done.stdout

    text = stack.config_file.read_text()
    assert text.count("enabled: false") == 4
    stack.config_file.write_text(text.replace("enabled: false", "enabled: true"))
    done = stack.pulumi("preview", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    steps = json.loads(done.stdout)["steps"]
    assert {step["op"] for step in steps} == {"create"}
    created = {step["newState"]["type"].removeprefix("azure-native:") for step in steps}
    assert created > {
        "containerinstance:ContainerGroup",
        "app:Job",
        "batch:Pool",
        "containerservice:ManagedCluster",
        "containerservice:AgentPool",
        "machinelearningservices:Compute",
        "machinelearningservices:OnlineEndpoint",
        "machinelearningservices:OnlineDeployment",
    }


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_documents_stack_runs_the_groups_of_the_first_source_document_and_the_cluster_of_the_fifth(
    azure: ServedAzure, shipped: Shipped
) -> None:
    stack = shipped(azure, "documents")
    done = stack.up()
    assert done.returncode == 0, done.stdout + done.stderr
    # The lines are the source document's own, but for what only a GPU can print.
    for line in ("[Vector addition of 50000 elements]", "Test PASSED", "Done", "Accuracy at step 990: 0.9"):
        assert line in done.stdout
    groups = {name: azure.get(group_id, "2018-10-01").json() for name, group_id in stack.outputs()["container_groups"].items()}
    assert sorted(groups) == ["gpucontainergroup", "gpucontainergrouprm"]
    for name, (sku, image) in {
        "gpucontainergroup": ("K80", "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1"),
        "gpucontainergrouprm": ("V100", "microsoft/samples-tf-mnist-demo:gpu"),
    }.items():
        group = groups[name]
        container = group["properties"]["containers"][0]["properties"]
        assert group["name"] == name
        assert (container["image"], container["resources"]["requests"]["gpu"]) == (image, {"count": 1, "sku": sku})
        assert container["instanceView"]["currentState"]["exitCode"] == 0
        assert group["tags"]["as-of"] == "2019-06-01"
    logs = azure.get(groups["gpucontainergrouprm"]["id"] + "/containers/gpucontainer/logs", "2018-10-01").json()["content"]
    assert logs.count("Extracting ") == 4
    assert "Accuracy at step 0: " in logs
    result = json.loads(logs.splitlines()[-1])
    assert result["accuracy"] > 0.95
    assert result["dataset"] == "scikit-learn digits"
    cluster = azure.get(stack.outputs()["clusters"]["aks-gpu"], "2025-09-01").json()
    assert cluster["tags"]["as-of"] == "2019-05-02"
    pools = {pool["vmSize"]: pool["count"] for pool in cluster["properties"]["agentPoolProfiles"] if pool["mode"] == "User"}
    assert pools == {"Standard_NC6": 3}
    assert stack.pulumi("preview", "--expect-no-changes").returncode == 0
    refreshed = stack.pulumi("refresh", "--yes")
    assert refreshed.returncode == 0, refreshed.stdout + refreshed.stderr
    assert stack.steps() == []
    done = stack.pulumi("destroy", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_checkout_stays_as_git_has_it(azure: ServedAzure, shipped: Shipped) -> None:
    before = {path.name: path.read_bytes() for path in Path(azure.checkout).glob("Pulumi*.yaml")}
    shipped(azure, "dev").operations("preview")
    assert {path.name: path.read_bytes() for path in Path(azure.checkout).glob("Pulumi*.yaml")} == before
