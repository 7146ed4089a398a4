"""`az aks` on a cluster as the fifth source document provisions one: at its own date, on Standard_NC6, and deleted in the end.

One cluster for all of it, which Azure's own client for Python meets, too. Nothing runs on it: that nodes come and go with their
pools, what is on them, and that a kubeconfig lets its user in, is in tests/localazure/kubernetes.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from azure.core.exceptions import HttpResponseError
from azure.mgmt.containerservice import ContainerServiceClient

from tests.support.azure_cli import AzureCli
from tests.support.embedded import ServedAzure
from tests.support.management import client

pytestmark = pytest.mark.slow
DATE = "as-of=2019-05-02"  # of the document
NAME = "gpu"


@pytest.fixture(scope="module")
def az(still_azure: ServedAzure) -> Iterator[AzureCli]:
    signed_in = AzureCli(still_azure)
    yield signed_in
    signed_in.close()


@pytest.fixture(scope="module")
def group(az: AzureCli) -> Iterator[str]:
    with az.group("eastus", DATE) as name:
        yield name


@pytest.fixture(scope="module")
def cluster(az: AzureCli, group: str) -> dict[str, Any]:
    """What `AksCompute.provisioning_configuration(vm_size="Standard_NC6")` asks for, with one node in place of three."""
    here = ("--resource-group", group, "--name", NAME)
    return az.answer("aks", "create", *here, "--node-vm-size", "Standard_NC6", "--node-count", "1", "--no-ssh-key")


@pytest.fixture(scope="module")
def of_cluster(group: str, cluster: dict[str, Any]) -> tuple[str, ...]:
    return ("--resource-group", group, "--cluster-name", cluster["name"])


@pytest.fixture(scope="module")
def kubeconfig(az: AzureCli, group: str, cluster: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("kube") / "config"
    az.answer("aks", "get-credentials", "--resource-group", group, "--name", cluster["name"], "--admin", "--file", str(file))
    return file


def test_the_documents_cluster_stands_at_its_date(az: AzureCli, group: str, cluster: dict[str, Any]) -> None:
    assert (cluster["provisioningState"], cluster["powerState"]["code"]) == ("Succeeded", "Running")
    assert cluster["currentKubernetesVersion"] == "1.12.7"
    assert cluster["nodeResourceGroup"] == f"MC_{group}_{NAME}_eastus"
    assert [(each["vmSize"], each["count"], each["mode"]) for each in cluster["agentPoolProfiles"]] == [
        ("Standard_NC6", 1, "System")
    ]
    assert [each["name"] for each in az.answer("aks", "list", "--resource-group", group)] == [NAME]
    assert az.answer("aks", "show", "--resource-group", group, "--name", NAME)["fqdn"] == cluster["fqdn"]
    assert az.answer("group", "exists", "--name", cluster["nodeResourceGroup"]) is True


def test_the_administrators_kubeconfig_is_for_the_cluster(group: str, kubeconfig: Path) -> None:
    written = yaml.safe_load(kubeconfig.read_text())
    assert written["current-context"] == f"{NAME}-admin"
    assert [(each["context"]["cluster"], each["context"]["user"]) for each in written["contexts"]] == [
        (NAME, f"clusterAdmin_{group}_{NAME}")
    ]
    assert [each["cluster"]["server"].partition("://")[0] for each in written["clusters"]] == ["https"]


def test_a_pool_is_added_scaled_changed_and_taken_away(az: AzureCli, of_cluster: tuple[str, ...]) -> None:
    here = (*of_cluster, "--name", "more")
    one = ("--node-vm-size", "Standard_NC6", "--node-count", "1")
    assert az.answer("aks", "nodepool", "add", *here, *one, "--labels", "team=vision")["nodeLabels"] == {"team": "vision"}
    assert [each["name"] for each in az.answer("aks", "nodepool", "list", *of_cluster)] == ["more", "nodepool1"]
    assert az.answer("aks", "nodepool", "scale", *here, "--node-count", "2")["count"] == 2
    az.answer("aks", "nodepool", "update", *here, "--node-taints", "sku=gpu:NoSchedule")
    assert az.answer("aks", "nodepool", "show", *here)["nodeTaints"] == ["sku=gpu:NoSchedule"]
    assert az.refusal("aks", "nodepool", "add", *of_cluster, "--name", "thirteenchars")[0] != 0
    az.answer("aks", "nodepool", "delete", *here)
    assert [each["name"] for each in az.answer("aks", "nodepool", "list", *of_cluster)] == ["nodepool1"]


def test_a_pool_scales_from_zero_to_a_limit_and_is_stopped_and_started(az: AzureCli, of_cluster: tuple[str, ...]) -> None:
    here = (*of_cluster, "--name", "spot")
    scaling = ("--enable-cluster-autoscaler", "--min-count", "0", "--max-count", "2", "--node-count", "0")
    spot = ("--priority", "Spot", "--eviction-policy", "Delete", "--spot-max-price", "-1")
    made = az.answer("aks", "nodepool", "add", *here, "--node-vm-size", "Standard_NC6", *scaling, *spot)
    assert (made["count"], made["minCount"], made["maxCount"]) == (0, 0, 2)
    assert made["nodeTaints"] == ["kubernetes.azure.com/scalesetpriority=spot:NoSchedule"]
    changed = az.answer("aks", "nodepool", "update", *here, "--update-cluster-autoscaler", "--min-count", "1", "--max-count", "1")
    assert changed["count"] == 1
    pool = (*of_cluster, "--nodepool-name", "spot")
    assert az.answer("aks", "nodepool", "stop", *pool)["powerState"]["code"] == "Stopped"
    assert az.answer("aks", "nodepool", "start", *pool)["powerState"]["code"] == "Running"
    az.answer("aks", "nodepool", "delete", *here, "--no-wait")
    az.answer("aks", "nodepool", "wait", *here, "--deleted", "--interval", "1")


def test_versions_are_told_and_taken_one_after_the_other(az: AzureCli, group: str, of_cluster: tuple[str, ...]) -> None:
    here = ("--resource-group", group, "--name", NAME)
    profile = az.answer("aks", "get-upgrades", *here)["controlPlaneProfile"]
    assert "1.13.5" in [each["kubernetesVersion"] for each in profile["upgrades"]]
    upgraded = az.answer("aks", "upgrade", *here, "--kubernetes-version", "1.13.5", "--yes")
    assert upgraded["currentKubernetesVersion"] == "1.13.5"
    assert upgraded["agentPoolProfiles"][0]["currentOrchestratorVersion"] == "1.13.5"
    told = az.answer("aks", "nodepool", "get-upgrades", *of_cluster, "--nodepool-name", "nodepool1")
    assert told["kubernetesVersion"] == "1.13.5"
    az.answer("aks", "nodepool", "upgrade", *of_cluster, "--name", "nodepool1", "--node-image-only")
    assert "was not found" not in az("aks", "get-versions", "--location", "eastus", "--output", "table").stdout


def test_the_cluster_is_changed_stopped_and_started(az: AzureCli, group: str, of_cluster: tuple[str, ...]) -> None:
    here = ("--resource-group", group, "--name", NAME)
    assert az.answer("aks", "update", *here, "--tier", "standard")["sku"]["tier"] == "Standard"
    assert az.answer("aks", "scale", *here, "--node-count", "2")["agentPoolProfiles"][0]["count"] == 2
    window = ("--schedule-type", "Weekly", "--day-of-week", "Sunday", "--interval-weeks", "1", "--duration", "4")
    name = "aksManagedNodeOSUpgradeSchedule"
    az.answer("aks", "maintenanceconfiguration", "add", *of_cluster, "--name", name, *window, "--start-time", "02:00")
    assert [one["name"] for one in az.answer("aks", "maintenanceconfiguration", "list", *of_cluster)] == [name]
    az.answer("aks", "stop", *here)
    assert az.answer("aks", "show", *here, "--query", "powerState.code") == "Stopped"
    assert "Power State(Stopped), stopping cannot be performed" in az.refusal("aks", "stop", *here)[1]
    az.answer("aks", "start", *here)


def test_azures_own_client_reads_and_changes_the_same_cluster(az: AzureCli, group: str, cluster: dict[str, Any]) -> None:
    with client(ContainerServiceClient, az.azure) as clusters:
        found = clusters.managed_clusters.get(group, cluster["name"])
        assert (found.provisioning_state, found.node_resource_group) == ("Succeeded", cluster["nodeResourceGroup"])
        answered = clusters.managed_clusters.list_cluster_user_credentials(group, NAME).kubeconfigs or []
        assert b"server: https://" in bytes(answered[0].value or b"")
        pool = clusters.agent_pools.get(group, NAME, "nodepool1")
        pool.node_labels = {"seen": "yes"}
        changed = clusters.agent_pools.begin_create_or_update(group, NAME, "nodepool1", pool).result()
        assert changed.node_labels == {"seen": "yes"}
        with pytest.raises(HttpResponseError) as refused:
            clusters.agent_pools.begin_delete(group, NAME, "nodepool1").result()
        assert refused.value.error is not None
        assert refused.value.error.code == "OperationNotAllowed"


def test_deleting_the_cluster_leaves_nothing(az: AzureCli, group: str, cluster: dict[str, Any], kubeconfig: Path) -> None:
    az.answer("aks", "delete", "--resource-group", group, "--name", cluster["name"], "--yes")
    assert az.answer("aks", "list", "--resource-group", group) == []
    assert az.answer("group", "exists", "--name", cluster["nodeResourceGroup"]) is False
    assert kubeconfig.exists()  # of no use any more, and the user's own
