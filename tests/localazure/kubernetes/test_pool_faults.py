"""Evicting nodes of clusters on purpose."""

from localazure.fault import PATH
from tests.support.in_process import InProcessAzure


def test_an_eviction_of_nothing_says_so(azure: InProcessAzure) -> None:
    fault = {"kind": "evict", "name": "no-cluster/pool/aks-pool-12345678-vmss000000"}
    refused = azure.client.put(PATH, json=fault, headers={"Authorization": f"Bearer {azure.admin_token}"})
    assert refused.status_code == 400
    assert f"no Spot node of a Batch pool is called '{fault['name']}', nor of a cluster" in refused.json()["error"]["message"]
