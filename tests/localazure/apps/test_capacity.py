"""Whether there is a machine for a further replica: capacity and quota that faults limit, and the GPUs that a replica takes."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from localazure.apps import capacity
from localazure.fault import Fault
from localazure.lists.deviations import Deviations

T4 = "Consumption-GPU-NC8as-T4"
RECORD = {"profile": T4, "location": "westeurope", "gpus": 1}


@pytest.mark.parametrize(
    ("profile", "requested", "gpus"),
    [("Consumption", {}, 0), (T4, {}, 1), (T4, {"gpu": 1}, 1), ("Consumption", {"gpu": None}, 0)],
)
def test_on_a_profile_with_a_gpu_a_replica_has_it_whether_it_is_requested_or_not(
    profile: str, requested: dict[str, Any], gpus: int
) -> None:
    assert capacity.gpus_of(profile, [{"resources": requested}, {"resources": None}]) == gpus


def shortage(*faults: Fault, used: int = 0, **changed: Any) -> str:
    executions = SimpleNamespace(gpus=lambda profile, region: used if (profile, region) == (T4, "westeurope") else 99)
    services = SimpleNamespace(deviations=Deviations(list(faults)))
    return capacity.shortage({**RECORD, **changed}, cast(Any, executions), cast(Any, services))


def test_without_faults_there_is_room_for_all() -> None:
    assert shortage(used=1000) == ""


def test_a_region_without_capacity_has_none_for_gpus() -> None:
    full = Fault(kind="capacity", location="westeurope")
    assert shortage(full) == f"There is no capacity for the workload profile {T4} in the region westeurope at the moment."
    assert shortage(full, gpus=0) == ""
    assert shortage(full, location="northeurope") == ""


def test_a_quota_counts_what_runs_and_what_others_use() -> None:
    def quota(limit: int, others: int = 0) -> Fault:
        name = "SubscriptionConsumptionT4Gpus"
        return Fault(kind="quota", service="apps", location="westeurope", name=name, limit=limit, used=others)

    assert shortage(quota(2), used=1) == ""
    # microsoft/azure-container-apps issue 1529, up to the parenthesis
    assert shortage(quota(2, 1), used=1) == (
        "Maximum Allowed Cores exceeded for the Managed Environment. Please check "
        "https://learn.microsoft.com/en-us/azure/container-apps/quotas for resource limits "
        "(quota 'SubscriptionConsumptionT4Gpus' in the region westeurope: limit 2, used 2, asked 1)."
    )
    assert shortage(quota(0), profile="Consumption-GPU-NC24-A100") == ""
