"""What rights and Batch accounts mean. The embedded Azure has no Batch accounts yet; here they are in the client's own models."""

import argparse
from datetime import date
from typing import Any

import pytest
from azure.mgmt.batch import models

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.quotas import CountedUse, Limit, RegionLimits
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu_operations.preflight import answers, lists, needs
from azure_gpu_operations.preflight.answers import allows, offers, quota_rows
from azure_gpu_operations.preflight.fetching import Outcome
from azure_gpu_operations.preflight.lists import ListKey, ListKind, Permission
from azure_gpu_operations.preflight.rows import Answer
from tests.support.embedded import SUBSCRIPTION

T4 = "Standard NCASv3_T4 Family"

ACCOUNT = {
    "id": f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.Batch/batchAccounts/mnist",
    "name": "mnist",
    "location": "West Europe",
    "properties": {
        "poolAllocationMode": "BatchService",
        "dedicatedCoreQuota": 100,
        "lowPriorityCoreQuota": 20,
        "poolQuota": 3,
        "dedicatedCoreQuotaPerVMFamilyEnforced": True,
        "dedicatedCoreQuotaPerVMFamily": [{"name": T4, "coreQuota": 48}],
    },
}
POOL = {
    "properties": {
        "vmSize": "STANDARD_NC4AS_T4_V3",
        "currentDedicatedNodes": 2,
        "currentLowPriorityNodes": 1,
        "scaleSettings": {"fixedScale": {"targetDedicatedNodes": 8, "targetLowPriorityNodes": 0}},
    }
}


def batch_outcomes(*accounts: dict[str, Any], quota: int = 3) -> dict[ListKey, Outcome[Any]]:
    client: Any = argparse.Namespace(
        batch_account=argparse.Namespace(list=lambda: [models.BatchAccount(account) for account in accounts]),
        pool=argparse.Namespace(list_by_batch_account=lambda group, name: [models.Pool(POOL)]),
    )
    compute = RegionLimits(region="westeurope", families=(Limit(T4, 4),), total=Limit("cores", 100), spot=Limit("spot", 100))
    return {
        ListKey(ListKind.BATCH_ACCOUNTS): Outcome(lists.batch_accounts(client)),
        ListKey(ListKind.BATCH_ACCOUNT_QUOTA, "westeurope"): Outcome(quota),
        ListKey(ListKind.COMPUTE_QUOTAS, "westeurope"): Outcome(compute),
    }


def batch_answers(outcomes: dict[ListKey, Outcome[Any]], nodes: int, account: str = "") -> list[tuple[str, str]]:
    wanted = [needs.parse(f"batch=Standard_NC4as_T4_v3*{nodes}@westeurope")]
    return [(row.answer, row.fix) for row in quota_rows(outcomes, wanted, account)]


def test_the_only_account_of_a_region_is_held_to_its_own_quotas() -> None:
    outcomes = batch_outcomes(ACCOUNT)
    assert batch_answers(outcomes, 4) == [("ok", "")]
    fix = f"request a limit of 52 vCPU of {T4} in Batch account mnist, 4 more than today's 48"
    assert batch_answers(outcomes, 5) == [("no quota", fix)]


def test_an_account_in_the_users_subscription_draws_from_the_quotas_of_virtual_machines() -> None:
    properties = {**ACCOUNT["properties"], "poolAllocationMode": "UserSubscription"}
    outcomes = batch_outcomes({**ACCOUNT, "properties": properties})
    fix = f"request a limit of 8 vCPU of {T4} in westeurope, 4 more than today's 4"
    assert batch_answers(outcomes, 1) == [("ok", "")]
    assert batch_answers(outcomes, 2) == [("no quota", fix)]


def test_of_several_accounts_one_has_to_be_named() -> None:
    other = {**ACCOUNT, "name": "other", "id": f"{ACCOUNT['id']}2"}
    elsewhere = {**ACCOUNT, "name": "elsewhere", "location": "northeurope"}
    outcomes = batch_outcomes(ACCOUNT, other, elsewhere)
    assert batch_answers(outcomes, 4) == [("unknown", "set --batch-account")]
    assert batch_answers(outcomes, 4, "Mnist") == [("ok", "")]
    assert [answer for answer, _ in batch_answers(outcomes, 4, "nobody")] == ["ok", "unknown"]
    full = batch_outcomes(ACCOUNT, other, quota=2)
    assert [answer for answer, _ in batch_answers(full, 4, "nobody")] == ["no quota", "unknown"]


@pytest.mark.parametrize(
    ("actions", "not_actions", "allowed"),
    [
        (("*",), (), True),
        (("Microsoft.Authorization/*",), (), True),
        (("microsoft.authorization/ROLEASSIGNMENTS/write",), (), True),
        (("*/write",), (), True),
        (("*",), ("Microsoft.Authorization/*/Write", "Microsoft.Authorization/*/Delete"), False),  # Contributor
        (("*/read",), (), False),
        ((), (), False),
        (("Microsoft.Authorization.roleAssignments/write",), (), False),
    ],
)
def test_a_role_allows_what_its_actions_have_and_its_exceptions_leave(
    actions: tuple[str, ...], not_actions: tuple[str, ...], allowed: bool
) -> None:
    assert allows(Permission(actions, not_actions), "Microsoft.Authorization/roleAssignments/write") is allowed


@pytest.mark.parametrize(
    ("end", "answer"),
    [
        (None, "ok"),
        (date(2026, 11, 20), "retired"),
        (date(2026, 11, 21), "retiring"),  # the last day is the last on which it can be had
        (date(2027, 5, 20), "retiring"),  # 180 days
        (date(2027, 5, 21), "ok"),
    ],
)
def test_batch_says_of_a_size_when_it_gives_it_up(end: date | None, answer: str) -> None:
    wanted = [needs.parse("batch=Standard_NC4as_T4_v3@westeurope")]
    outcomes: dict[ListKey, Outcome[Any]] = {ListKey(ListKind.BATCH_SIZES, "westeurope"): Outcome({"standard_nc4as_t4_v3": end})}
    first, *rest = offers(outcomes, wanted, date(2026, 11, 21))
    assert first.answer == answer
    assert [row.answer for row in rest] == ([] if answer == "retired" else ["no capacity known"])


def test_new_pools_are_held_to_the_accounts_number_of_pools() -> None:
    wanted = [needs.parse(f"batch=Standard_NC4as_T4_v3@westeurope{spot}") for spot in ("", ":spot", ":spot")]
    fits, does_not = (quota_rows(batch_outcomes(ACCOUNT), wanted[:count]) for count in (2, 3))
    assert [row.answer for row in fits] == ["ok", "ok"]
    assert [row.fix for row in does_not] == ["request a limit of 4 pools in Batch account mnist, 1 more than today's 3"]


def test_machines_without_a_gpu_draw_from_machine_learnings_own_quota() -> None:
    use = SizeUse(Service.ML_ENDPOINT, "Standard_F2s_v2", "westeurope", "ml_endpoints.digits", "location", 4)
    limits = RegionLimits("westeurope", (Limit("standardFSv2Family", 6, 0),), Limit("total", 100, 0), Limit("low", 0, 0))
    outcomes: dict[ListKey, Outcome[Any]] = {ListKey(ListKind.ML_QUOTAS, "westeurope"): Outcome(limits)}
    (row,) = quota_rows(outcomes, [], ml_beside=[CountedUse(use, "standardFSv2Family", 8)])
    assert (row.answer, row.subject) == ("no quota", "ml_endpoints.digits")
    assert "Azure approves no more quota of this one since July 2026" in row.fix, "Fsv2"
    newer = limits._replace(families=(Limit("standardDSv5Family", 6, 0),))
    (row,) = quota_rows(
        {ListKey(ListKind.ML_QUOTAS, "westeurope"): Outcome(newer)}, [], ml_beside=[CountedUse(use, "standardDSv5Family", 8)]
    )
    assert "request a limit of 8 vCPU of standardDSv5Family" in row.fix


REGION = Problem("location", "the region isn't on the list", "belgiumcentral", code=Code.NOT_LISTED, severity=Severity.WARNING)
OLDER = Problem("clusters.c.kubernetes_version", "Kubernetes 1.34 on AKS retired", "1.34", code=Code.RETIRED)
NEWER = OLDER._replace(value="1.38", code=Code.UNKNOWN, severity=Severity.WARNING)
PROFILE = Problem("jobs.j.location", "no list has it", "uksouth", code=Code.NOT_LISTED, severity=Severity.WARNING)
VERSIONS = ListKey(ListKind.KUBERNETES, "westeurope")
T4_PROFILE = "Consumption-GPU-NC8as-T4"
USES = [
    SizeUse(Service.AKS, "Standard_NC4as_T4_v3", "westeurope", "clusters.c.gpu_pools.t4.size", "location"),
    SizeUse(Service.CONTAINER_APPS, T4_PROFILE, "uksouth", "jobs.j.gpu", "jobs.j.location"),
]


@pytest.mark.parametrize(
    ("problem", "key", "value", "found"),
    [
        (REGION, ListKey(ListKind.LOCATIONS), frozenset({"belgiumcentral"}), []),
        (REGION, ListKey(ListKind.LOCATIONS), frozenset({"westeurope"}), [("location", Answer.NOT_OFFERED)]),
        (REGION, ListKey(ListKind.LOCATIONS), None, [("location", Answer.NOT_LISTED)]),
        (OLDER, VERSIONS, frozenset({"1.34", "1.34.9"}), []),
        (OLDER, VERSIONS, frozenset({"1.35"}), [("clusters.c.kubernetes_version", Answer.NOT_OFFERED)]),
        (OLDER, VERSIONS, None, [("clusters.c.kubernetes_version", Answer.RETIRED)]),
        (NEWER, VERSIONS, frozenset({"1.38"}), []),
        (OLDER._replace(code=Code.RETIRING), VERSIONS, {"1.34"}, [("clusters.c.kubernetes_version", Answer.RETIRING)]),
        (PROFILE, ListKey(ListKind.PROFILES, "uksouth"), frozenset({T4_PROFILE.lower()}), []),
        (PROFILE, ListKey(ListKind.PROFILES, "uksouth"), frozenset({"d4"}), []),  # the offer's own row says so
        (PROFILE, ListKey(ListKind.PROFILES, "uksouth"), None, [("jobs.j.location", Answer.NOT_LISTED)]),
    ],
)
def test_azures_list_wins_over_the_catalogs(problem: Problem, key: ListKey, value: Any, found: list[tuple[str, Answer]]) -> None:
    outcomes: dict[ListKey, Outcome[Any]] = {key: Outcome(value)}
    assert [(row.subject, row.answer) for row in answers.catalog_rows([problem], USES, outcomes)] == found


@pytest.mark.parametrize(("listed", "answer"), [({T4_PROFILE.lower()}, Answer.OK), ({"d4"}, Answer.NOT_OFFERED)])
def test_a_profile_of_container_apps_is_offered_where_azure_lists_it(listed: set[str], answer: Answer) -> None:
    outcomes: dict[ListKey, Outcome[Any]] = {ListKey(ListKind.PROFILES, "uksouth"): Outcome(frozenset(listed))}
    assert offers(outcomes, USES[1:], date(2026, 11, 20))[0].answer is answer
