"""`python -m localazure fault evict` for clusters: a name that means no Spot pool is refused in one line."""

from tests.support.embedded import EmbeddedAzure


def test_an_eviction_of_nothing_says_so(azure: EmbeddedAzure) -> None:
    name = "no-cluster/pool/aks-pool-12345678-vmss000000"
    refused = azure.command("fault", "evict", name)
    assert refused.returncode != 0
    assert f"no Spot node of a Batch pool is called '{name}', nor of a cluster" in refused.stderr
    assert "Traceback" not in refused.stderr
