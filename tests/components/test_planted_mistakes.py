"""Mistakes that people make in programs of their own: each is found before anything is declared, at its place, with its fix."""

from typing import Any

import pytest

import azure_gpu
from azure_gpu.shared import arm_reads, prerequisites
from azure_gpu.shared.refusal import Refused
from tests.components.recording import Recorded, declare
from tests.components.test_constructors import GOOD, GROUP, LOOK_UPS, alone, program

POOL, CLUSTER = alone(GOOD["BatchPool"]), alone(GOOD["GpuCluster"])
REGIONS = {"value": [{"name": "westeurope"}, {"name": "newlandnorth"}]}


def told(name: str, **args: Any) -> tuple[list[str], Recorded]:
    """The problems with which a component is refused, and what was declared and logged."""
    refused: list[str] = []

    def build() -> None:
        try:
            getattr(azure_gpu, name)("mine", args)
        except Refused as error:
            refused.extend(map(str, error.problems))

    return refused, program(build)


NEW_ACCOUNT = (
    'BatchPool("mine").size: its Batch account is new, and the vCPU quotas of a new account are known only after it exists, and '
    "can be 0: then the pool is created and gets no nodes until support grants a quota; given: 'Standard_NC4as_T4_v3'; allowed: "
    "an account that exists and has the quota; fix: after the first `up`, request a limit of 8 vCPU of Standard NCASv3_T4 Family "
    "on the account's Quotas page in the portal, or by `az support in-subscription tickets create`; source: Microsoft Learn, "
    "batch/batch-quota-limit (observed on 2026-11-20)"
)


REFUSED = [  # what is missing or wrong, and parts of the one line that is told
    ("BatchPool", {**POOL, "batch_account": ...}, (".batch_account: required", "allowed: a BatchAccount, or its ARM id")),
    ("ServerlessGpuJob", {}, (".job_environment: required", "allowed: a JobEnvironment, or its ARM id")),
    ("GpuCluster", {**CLUSTER, "resource_group_name": ...}, (".resource_group_name: ", "or `foundation`")),
    ("BatchPool", {**POOL, "batch_account": f"{GROUP}/Microsoft.Storage/storageAccounts/x"}, ("Microsoft.Batch/batchAccounts",)),
]


@pytest.mark.parametrize(("name", "args", "parts"), REFUSED)
def test_a_mistake_is_refused_with_its_fix(name: str, args: dict[str, Any], parts: tuple[str, ...]) -> None:
    refused, recorded = told(name, **{key: value for key, value in args.items() if value is not ...})
    assert [line for line in refused if all(part in line for part in parts)] != [], refused
    assert recorded.registrations == []


@pytest.mark.parametrize(
    ("name", "args", "parts"),
    [
        (
            "JobEnvironment",
            {**alone(GOOD["JobEnvironment"]), "location": "westeurop"},
            (".location: ", "fix: write 'westeurope'"),
        ),
        ("BatchPool", {**POOL, "size": "Standard_NC4as_T4"}, (".size: unknown VM size", "write Standard_NC4as_T4_v3 or ")),
    ],
)
def test_what_may_be_newer_than_the_catalog_is_one_warning(name: str, args: dict[str, Any], parts: tuple[str, ...]) -> None:
    refused, recorded = told(name, **args)
    assert refused == []
    [line] = [line for line in recorded.log if parts[0] in line]
    assert all(part in line for part in parts), line


@pytest.mark.parametrize("name", ["Foundation", "JobEnvironment", "BatchAccount"])
def test_a_region_that_the_subscription_does_not_list_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arm_reads, "get", lambda path, *_: REGIONS if path.endswith("/locations") else {})
    needed = {key: value for key, value in GOOD[name].items() if key != "log_workspace_id"}
    [line], _ = told(name, **{**needed, "location": "westeurop"})
    assert line.startswith(f'{name}("mine").location: the subscription has no such region')
    assert "fix: write 'westeurope'" in line
    refused, recorded = told(name, **{**needed, "location": "New Land North"})
    assert (refused, [each for each in recorded.log if ".location" in each]) == ([], [])


def test_two_pools_of_one_account_with_one_name_are_refused_and_of_two_accounts_are_not() -> None:
    def build() -> None:
        named = {**POOL, "pool_name": "x"}
        azure_gpu.BatchPool("a", named)
        with pytest.raises(Refused, match=r'BatchPool\("b"\)\.pool_name: this name in Azure is already used by BatchPool\("a"\)'):
            azure_gpu.BatchPool("b", {**named, "pool_name": "X"})
        azure_gpu.BatchPool("c", {**named, "batch_account": f"{POOL['batch_account']}2"})

    assert [each.name for each in program(build).of_type("azure-native:batch:Pool")] == ["a-pool", "c-pool"]


@pytest.mark.parametrize(("limit", "warned"), [(8, False), (0, True)])
def test_machines_beyond_the_quota_of_an_account_that_exists_are_a_warning(limit: int, warned: bool) -> None:
    quota = {
        "dedicatedCoreQuotaPerVMFamily": [{"name": "Standard NCASv3_T4 Family", "coreQuota": limit}],
        "dedicatedCoreQuota": 99,
    }
    account = {**LOOK_UPS["azure-native:batch:getBatchAccount"], **quota, "dedicatedCoreQuotaPerVMFamilyEnforced": True}
    recorded = declare(
        lambda: azure_gpu.BatchPool("mine", {**POOL, "autoscale": {"max_nodes": 2}}),
        lookups={**LOOK_UPS, "azure-native:batch:getBatchAccount": account},
    )
    told = [line for line in recorded.log if line.startswith('BatchPool("mine").size: ')]
    assert [("8 vCPU of Standard NCASv3_T4 Family" in line, "fix: request a limit of 8" in line) for line in told] == [
        (True, True)
    ] * warned


@pytest.mark.parametrize("new", [False, True])
def test_the_first_quota_of_an_account_that_a_preview_would_create_is_a_warning(new: bool) -> None:
    def build() -> None:
        account = azure_gpu.BatchAccount("batch", GOOD["BatchAccount"])
        pool = {**POOL, "batch_account": account, "autoscale": {"max_nodes": 2}}
        azure_gpu.BatchPool("mine", {key: value for key, value in pool.items() if key != "resource_group_name"})

    told = [each for each in declare(build, preview=new, lookups=LOOK_UPS).log if "quota" in each]
    assert told == [NEW_ACCOUNT] * new


@pytest.mark.parametrize("preview", [False, True])
def test_what_is_missing_is_a_warning_in_a_preview_and_refuses_an_up(preview: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prerequisites, "is_dry_run", lambda: preview)
    monkeypatch.setattr(prerequisites, "MockMonitor", ())
    monkeypatch.setenv("PATH", "")
    unregistered = {"registrationState": "NotRegistered"}
    monkeypatch.setattr(arm_reads, "get", lambda *_: {"registrationState": "Registered"})
    refused, _ = told("BatchAccount", **GOOD["BatchAccount"])  # what one program has read of a subscription isn't the next one's
    assert refused == []
    refused, recorded = told("GpuCluster", **CLUSTER)
    [line] = [each for each in (recorded.log if preview else refused) if "kubelogin" in each]
    assert line.startswith('GpuCluster("mine"): kubelogin isn\'t on PATH')
    monkeypatch.setattr(arm_reads, "get", lambda *_: unregistered)
    refused, recorded = told("BatchAccount", **GOOD["BatchAccount"])
    [line] = [each for each in (recorded.log if preview else refused) if "Microsoft.Insights" in each]
    assert "fix: run `az provider register --namespace Microsoft.Insights --wait --subscription " in line
    assert (recorded.registrations != []) is preview
