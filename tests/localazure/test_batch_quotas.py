"""Whether more nodes fit into a Batch account: its pools together count, by family and in all."""

from typing import Any, cast

from azure_gpu.formats.arm_ids import ArmId, parse
from localazure.arm.store import Resource
from localazure.fault import Fault
from localazure.kinds import batch_quotas
from localazure.lists.deviations import Deviations
from localazure.services import Services
from localazure.weather.state import Weather
from tests.support.tables import of_table

T4 = "Standard_NC16as_T4_v3"  # 16 vCPUs
FAMILY = "Standard NCASv3_T4 Family"


class OnlyDeviations:
    """As much of the services as quotas ask."""

    def __init__(self, *faults: Fault) -> None:
        self.deviations, self.weather = Deviations(list(faults)), Weather()


def shortage(limit: Fault | None, dedicated: int, spot: int, *others: tuple[str, int, int], size: str = T4) -> Any:
    path = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Batch/batchAccounts/a"
    account = Resource(id=cast(ArmId, parse(path)), body={"location": "westeurope"})
    services = cast(Services, OnlyDeviations(*([limit] if limit else [])))
    return batch_quotas.shortage(account, size, dedicated, spot, list(others), services)


def quota(name: str, limit: int, used: int = 0) -> Fault:
    return Fault(kind="quota", service="batch", location="westeurope", name=name, limit=limit, used=used)


def test_without_a_fault_there_is_much_room() -> None:
    assert shortage(None, 62, 0) is None
    assert shortage(None, 63, 0)["code"] == "AccountVMSeriesCoreQuotaReached"  # 1008 of 1000
    assert shortage(None, 0, 63)["code"] == "AccountLowPriorityCoreQuotaReached"


@of_table("limit", "nodes", "others", "code")
def test_a_quota_holds_for_all_pools_together(limit: list[Any], nodes: list[int], others: list[Any], code: str | None) -> None:
    found = shortage(quota(*limit), *nodes, *others)
    assert (found and found["code"]) == code


def test_a_size_that_nobody_knows_fits() -> None:
    assert shortage(quota("cores", 0), 100, 100, size="Standard_D2s_v3") is None


def test_the_sentence_names_the_family() -> None:
    assert shortage(quota(FAMILY, 0), 1, 0)["message"] == f"The specified account has reached VM series core quota for {FAMILY}"
