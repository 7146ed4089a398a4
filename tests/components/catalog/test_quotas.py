"""Quotas: what fits, what doesn't, and the exact increase to ask for."""

from typing import Any

from hypothesis import given, strategies as st

from azure_gpu.catalog import quotas
from azure_gpu.catalog.problems import Code, Severity
from azure_gpu.catalog.quotas import BatchAccountLimits, Limit, PoolUse, RegionLimits
from azure_gpu.catalog.size_use import Service, SizeUse

T4 = "Standard NCASv3_T4 Family"
A100 = "StandardNCADSA100v4Family"


def use(size: str = "Standard_NC4as_T4_v3", nodes: int = 1, **changed: Any) -> SizeUse:
    given = {"service": Service.VIRTUAL_MACHINES, "region": "westeurope", "path": "pools.train.size", "region_path": "location"}
    return SizeUse(**{**given, "size": size, "nodes": nodes, **changed})


def region(*families: Limit, total: int = 10_000, spot: int = 10_000, used: int = 0, name: str = "westeurope") -> RegionLimits:
    return RegionLimits(region=name, families=families, total=Limit("cores", total, used), spot=Limit("lowPriorityCores", spot))


def test_one_machine_too_many_says_which_limit_to_ask_for() -> None:
    [problem] = quotas.compute_problems([use(nodes=24)], [region(Limit(T4, 48))])
    assert (problem.code, problem.severity) == (Code.NO_QUOTA, Severity.ERROR)
    assert problem.path == "pools.train.size"
    assert problem.message == f"96 vCPU of {T4} in westeurope are requested, and 0 of 48 are in use"
    assert problem.fix == f"request a limit of 96 vCPU of {T4} in westeurope, 48 more than today's 48"
    assert "2026-01-16" in problem.source


def test_what_is_used_already_counts() -> None:
    assert quotas.compute_problems([use(nodes=8)], [region(Limit(T4, 48, 16))]) == []
    [problem] = quotas.compute_problems([use(nodes=9)], [region(Limit(T4, 48, 16))])
    assert problem.fix == f"request a limit of 52 vCPU of {T4} in westeurope, 4 more than today's 48"
    assert problem.allowed == "32 more"


def test_uses_of_one_family_are_summed_over_sizes_and_services() -> None:
    uses = [
        use("Standard_NC4as_T4_v3", 4),
        use("nc16as_t4_v3", 1, service=Service.AKS, path="cluster.gpu.size", region="West Europe"),
    ]
    assert quotas.compute_problems(uses, [region(Limit(T4, 32))]) == []
    [problem] = quotas.compute_problems(uses, [region(Limit(T4, 31))])
    assert "32 vCPU" in problem.message
    assert "together with cluster.gpu.size" in problem.message
    assert problem.fix == f"request a limit of 32 vCPU of {T4} in westeurope, 1 more than today's 31"


def test_families_count_apart_and_the_total_counts_over_all() -> None:
    uses = [use(nodes=4), use("Standard_NC24ads_A100_v4", 1, path="pools.big.size")]
    limits = region(Limit(T4, 16), Limit(A100, 24), total=40)
    assert quotas.compute_problems(uses, [limits]) == []
    [problem] = quotas.compute_problems(uses, [limits._replace(total=Limit("cores", 39))])
    assert problem.fix == ("request a limit of 40 vCPU of all families together in westeurope, 1 more than today's 39")


def test_a_constrained_size_counts_with_the_vcpus_that_it_pays_for() -> None:
    assert quotas.compute_problems([use("Standard_HC44-16rs")], [region(Limit("standardHCSFamily", 44))]) == []
    [problem] = quotas.compute_problems([use("Standard_HC44-16rs")], [region(Limit("standardHCSFamily", 16))])
    assert problem.fix == "request a limit of 44 vCPU of standardHCSFamily in westeurope, 28 more than today's 16"


def test_spot_has_a_quota_of_its_own() -> None:
    wanted = use(nodes=12, spot=True)
    assert quotas.compute_problems([wanted], [region(Limit(T4, 0), total=0, spot=48)]) == []
    [problem] = quotas.compute_problems([wanted], [region(Limit(T4, 1000), spot=47)])
    assert problem.fix == (
        "request a limit of 48 vCPU of Spot and low priority, all families together in westeurope, 1 more than today's 47"
    )


def test_regions_count_apart() -> None:
    uses = [use(nodes=12), use(nodes=12, region="northeurope", path="pools.other.size")]
    limits = [region(Limit(T4, 48)), region(Limit(T4, 47), name="northeurope")]
    [problem] = quotas.compute_problems(uses, limits)
    assert problem.path == "pools.other.size"


def test_a_region_whose_quotas_are_not_known_is_a_warning() -> None:
    [problem] = quotas.compute_problems([use()], [region(Limit(T4, 48), name="northeurope")])
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert problem.message == "no quota of virtual machines in westeurope is known"


def test_a_size_or_a_family_that_is_not_known_is_a_warning() -> None:
    [size] = quotas.compute_problems([use("Standard_NC4as_T4_v4")], [region(Limit(T4, 48))])
    assert (size.code, size.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert "Standard_NC4as_T4_v3" in size.instead
    [family] = quotas.compute_problems([use()], [region(Limit(A100, 48))])
    assert (family.code, family.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert family.message == f"no quota is listed in westeurope for the family {T4}"


def test_what_is_used_and_not_told_is_a_warning_unless_the_limit_alone_is_too_low() -> None:
    [problem] = quotas.compute_problems([use()], [region(Limit(T4, 48, None))])
    assert problem.code is Code.UNKNOWN
    [problem] = quotas.compute_problems([use(nodes=13)], [region(Limit(T4, 48, None))])
    assert problem.code is Code.NO_QUOTA


# Azure Machine Learning


def learning(nodes: int, size: str = "Standard_NC4as_T4_v3", **changed: Any) -> SizeUse:
    return use(size, nodes, **{"service": Service.ML_ENDPOINT, **changed})


def test_a_managed_endpoint_on_a100_is_exempt_from_the_reserve() -> None:
    limits = region(Limit(A100, 120))
    assert quotas.machine_learning_problems([learning(5, "Standard_NC24ads_A100_v4")], [limits]) == []
    assert len(quotas.machine_learning_problems([learning(6, "Standard_NC24ads_A100_v4")], [limits])) == 1


def test_a_family_that_machine_learning_spells_otherwise_is_found() -> None:
    """Elsewhere it is standardNDSH100v5Family."""
    h100 = use(service=Service.ML_COMPUTE, size="Standard_ND96isr_H100_v5", nodes=2)
    there = RegionLimits(region="westeurope", families=(Limit("standardNDv5H100Family", 96),), total=Limit("total", 1000))
    [problem] = quotas.machine_learning_problems([h100], [there])
    assert problem.fix == "request a limit of 192 vCPU of standardNDv5H100Family in westeurope, 96 more than today's 96"


def test_a_family_without_a_limit_of_its_own_is_held_to_the_total_alone() -> None:
    limits = region(Limit("StandardNCASv3_T4Family", -1), total=24)
    assert quotas.machine_learning_problems([learning(5)], [limits]) == []
    [problem] = quotas.machine_learning_problems([learning(6)], [limits])
    assert "all families together" in problem.fix


# Batch


def account(**changed: Any) -> BatchAccountLimits:
    given = {"account": "mnist", "region": "westeurope", "families": (Limit(T4, 48),), "dedicated": 100, "spot": 20}
    return BatchAccountLimits(**{**given, "pool_quota": 2, **changed})


def batch(nodes: int, **changed: Any) -> SizeUse:
    return use(nodes=nodes, **{"service": Service.BATCH, **changed})


def test_pools_that_are_there_count() -> None:
    there = account(pools=(PoolUse("STANDARD_NC4AS_T4_V3", 10, 3),))
    assert quotas.batch_problems([batch(2), batch(2, spot=True)], there) == []
    dedicated, spot = quotas.batch_problems([batch(3), batch(3, spot=True)], there)
    assert dedicated.fix == f"request a limit of 52 vCPU of {T4} in Batch account mnist, 4 more than today's 48"
    assert spot.fix == (
        "request a limit of 24 vCPU of all Spot and low-priority nodes in Batch account mnist, 4 more than today's 20"
    )


def test_pools_of_another_family_do_not_count() -> None:
    there = account(pools=(PoolUse("Standard_NC24ads_A100_v4", 1, 0),), dedicated=None)
    assert [problem for problem in quotas.batch_problems([batch(12)], there) if problem.code is Code.NO_QUOTA] == []


def test_a_pool_of_a_size_that_is_not_known_makes_the_rest_unknown() -> None:
    found = quotas.batch_problems([batch(1)], account(pools=(PoolUse("Standard_D2s_v3", 1, 0),)))
    assert found
    assert {problem.code for problem in found} == {Code.UNKNOWN}


def test_an_account_that_does_not_enforce_families_is_held_to_its_total() -> None:
    free = account(families=(), families_enforced=False, dedicated=60)
    assert quotas.batch_problems([batch(15)], free) == []
    [problem] = quotas.batch_problems([batch(16)], free)
    assert problem.fix == "request a limit of 64 vCPU of all dedicated nodes in Batch account mnist, 4 more than today's 60"


def test_an_account_takes_so_many_pools() -> None:
    there = account(pools=(PoolUse("Standard_NC4as_T4_v3", 1, 0),))
    assert quotas.batch_problems([batch(1)], there, new_pools=1) == []
    [problem] = quotas.batch_problems([batch(1)], there, new_pools=2)
    assert problem.fix == "request a limit of 3 pools in Batch account mnist, 1 more than today's 2"


# What holds for everything


@given(nodes=st.integers(1, 5000), limit=st.integers(0, 5000), used=st.integers(0, 5000))
def test_the_limit_to_ask_for_is_always_the_least_that_is_enough(nodes: int, limit: int, used: int) -> None:
    found = quotas.compute_problems([use(nodes=nodes)], [region(Limit(T4, limit, used), total=10**9)])
    if used + 4 * nodes <= limit:
        assert found == []
        return
    [problem] = found
    asked = int(problem.fix.removeprefix("request a limit of ").split(" ")[0])
    assert asked == used + 4 * nodes
    assert quotas.compute_problems([use(nodes=nodes)], [region(Limit(T4, asked, used), total=10**9)]) == []
