"""What a command says outside of the network of a stack's accounts and clusters: the rows of from_inside.yaml."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from azure.core.exceptions import ServiceRequestError
from azure.core.pipeline.transport import RequestsTransport

from azure_gpu_operations import closed, from_inside
from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.batch.drain import nodes_shown
from azure_gpu_operations.clusters.arm_facts import cluster_of
from azure_gpu_operations.clusters.errors import ClusterError

ROWS = yaml.safe_load(Path(__file__).with_name("from_inside.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", ROWS["accounts"].values(), ids=ROWS["accounts"])
def test_an_account_that_is_closed_says_its_network(row: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"id": row["id"], "properties": {"publicNetworkAccess": row.get("access"), **row.get("rules", {})}}

    def listed(path: str, version: str) -> Any:
        assert path == "/subscriptions/s/resourcegroups/g/providers/Microsoft.Network/privateEndpoints"
        for to, subnet in row.get("endpoints", {}).items():
            link = {"properties": {"privateLinkServiceId": row["id"] if to == "DATA" else to}}
            yield {"properties": {"privateLinkServiceConnections": [link], "subnet": {"id": subnet}}}

    def send(*_: Any, **__: Any) -> Any:
        if "raises" in row:
            raise ServiceRequestError(row["raises"])
        return SimpleNamespace(status_code=row["status"], headers={"x-ms-error-code": row.get("code")})

    monkeypatch.setattr(RequestsTransport, "send", send)
    reader: Any = SimpleNamespace(values=listed)
    transport = closed.Transport(reader, body, row["what"], row.get("role", ""))
    if "says" not in row:
        assert transport.send(None).status_code == row["status"]
        return
    with pytest.raises(ServiceRequestError if "raises" in row else AzureError) as told:
        transport.send(None)
    assert str(told.value) == row["says"]


@pytest.mark.parametrize("row", ROWS["clusters"].values(), ids=ROWS["clusters"])
def test_a_private_cluster_says_its_network_and_the_command_that_needs_none(row: dict[str, Any]) -> None:
    body = {"id": "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/aks", **row}
    fix = from_inside.of_cluster(cluster_of(body))
    assert fix == row["says"]
    error = ClusterError("the cluster at https://a doesn't answer", fix=fix)
    assert str(error) == f"the cluster at https://a doesn't answer; fix: {fix}".removesuffix("; fix: ")


def test_nodes_of_a_pool_are_billed_where_its_account_answers_nobody() -> None:
    machine = {"virtualMachineConfiguration": {"nodeAgentSkuId": "batch.node.ubuntu 22.04"}}
    shown = {"vmSize": "STANDARD_NC4AS_T4_V3", "currentDedicatedNodes": 2, "deploymentConfiguration": machine}
    now = nodes_shown({"properties": shown}, "eastus")
    assert (now.words, now.usd_hour) == ("2 nodes, tasks not read", nodes_shown({"properties": shown}, "East US").usd_hour)
    assert now.usd_hour is not None
