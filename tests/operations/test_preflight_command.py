"""What `preflight --need` is given. What the command line takes and refuses without asking Azure is in `calls/preflight.yaml`."""

import pytest

from azure_gpu.catalog.size_use import Service
from azure_gpu_operations.preflight import needs


@pytest.mark.parametrize(
    ("text", "service", "size", "nodes", "region", "spot"),
    [
        ("batch=Standard_NC4as_T4_v3*4@westeurope", Service.BATCH, "Standard_NC4as_T4_v3", 4, "westeurope", False),
        ("vm=nc6@West Europe:spot", Service.VIRTUAL_MACHINES, "nc6", 1, "westeurope", True),
        ("AKS=NC6 Standard*2", Service.AKS, "NC6 Standard", 2, "swedencentral", False),
        ("ml-endpoint=x:SPOT", Service.ML_ENDPOINT, "x", 1, "swedencentral", True),
    ],
)
def test_a_need_is_read(text: str, service: Service, size: str, nodes: int, region: str, spot: bool) -> None:
    use = needs.parse(text, "swedencentral")
    assert (use.service, use.size, use.nodes, use.region, use.spot) == (service, size, nodes, region, spot)
    assert use.path == f"--need {text}"
