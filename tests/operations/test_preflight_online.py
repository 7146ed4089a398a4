"""`preflight` online: Azure's own clients on an embedded Azure, whose subscription faults change on purpose."""

import shlex
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.shared.naming import physical_name
from azure_gpu.stack.inventory import Inventory
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.preflight import command, online
from azure_gpu_operations.preflight.report import Report
from tests.operations.yaml_tables import Has, differences
from tests.support.azure_clients import host_of
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.preflight import Run

DAY = date(2026, 11, 21)
NEED = "vm=Standard_NC4as_T4_v3*24@westeurope"
STACK = (Path(__file__).parent / "validated.yaml").read_text(encoding="utf-8")
CALLS: dict[str, Any] = yaml.load((Path(__file__).parent / "preflights.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)

NAMED: list[tuple[str, list[str]]] = [
    ("Microsoft.Resources/resourceGroups", []),
    ("Microsoft.App/managedEnvironments", ["eastus"]),
]


def rows(report: dict[str, Any], check: str, subject: str = "") -> list[tuple[str, str, str]]:
    """Answer, message and fix of the rows of one check."""
    return [
        (row["answer"], row["message"], row["fix"])
        for row in report["rows"]
        if row["check"] == check and subject in row["subject"]
    ]


def answers(report: dict[str, Any], check: str, subject: str = "") -> set[str]:
    return {answer for answer, _, _ in rows(report, check, subject)}


# What is asked of the subscription


@pytest.mark.parametrize("name", CALLS)
def test_a_call_reports_what_its_row_says(connected: EmbeddedAzure, preflight: Run, tmp_path: Path, name: str) -> None:
    before = connected.get(f"/subscriptions/{SUBSCRIPTION}/resources", "2024-11-01").json()["value"]
    for call in CALLS[name]:
        for fault in call.get("faults", ()):
            connected.fault(fault["kind"], **{key: value for key, value in fault.items() if key != "kind"})
        words = shlex.split(call["words"])
        if "stack" in call:
            text = STACK
            for old, new in call["stack"].items():
                assert old in text
                text = text.replace(old, new)
            (tmp_path / "Pulumi.mine.yaml").write_text(text)
            words += ["--stack", "mine", "--config-folder", str(tmp_path)]
        code, report = preflight(*words)
        wrong = [] if code == call.get("code", 0) else [f"the exit code is {code}"]
        for subject, checks in {"": call.get("answers", {}), **call.get("of", {})}.items():
            wrong += [
                f"{check}: {found}"
                for check, expected in checks.items()
                if (found := answers(report, check, subject)) != set(expected)
            ]
        wrong += differences(Has(call.get("has", [])), report["rows"])
        if "missing" in call:
            assert report["missing"].keys() == call["missing"].keys()
            wrong += [reason for of, reason in report["missing"].items() if call["missing"][of] not in reason]
        told = "\n".join(str(value) for row in [*report["rows"], report["missing"]] for value in row.values())
        wrong += [f"not told: {each}" for each in call.get("says", ()) if each not in told]
        assert wrong == [], report
    after = connected.get(f"/subscriptions/{SUBSCRIPTION}/resources", "2024-11-01").json()["value"]
    assert after == before, "preflight changes nothing"


def test_names_are_free_taken_or_wrong(connected: EmbeddedAzure, preflight: Run) -> None:
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-preflight"
    connected.put(group, {"location": "westeurope"}, "2024-03-01")
    body = {"location": "westeurope", "sku": {"name": "Basic"}}
    connected.put(f"{group}/providers/Microsoft.ContainerRegistry/registries/takenhere", body, "2023-07-01").raise_for_status()
    code, report = preflight(
        *("--location", "westeurope", "--name", "storage=freehere", "--name", "registry=takenhere", "--name", "batch=NotValid"),
        *("--name", "vault=free-here", "--name", "vault=2many"),
    )
    assert code == 1
    assert answers(report, "name", "freehere") == {"ok"}
    assert answers(report, "name", "takenhere") == {"name not available"}
    assert answers(report, "name", "NotValid") == {"name not available"}
    assert answers(report, "name", "free-here") == {"ok"}
    assert answers(report, "name", "2many") == {"name not available"}


# A stack


def connection_keys(azure: EmbeddedAzure) -> dict[str, str]:
    keys = {
        "metadataHost": host_of(azure),
        "disableInstanceDiscovery": "true",
        "subscriptionId": SUBSCRIPTION,
        "tenantId": azure.tenant_id,
        "clientId": azure.client_id,
    }
    return {f"azure-native:{name}": value for name, value in keys.items()}


def stack_file(folder: Path, azure: EmbeddedAzure, **program: Any) -> None:
    config = {f"azure-gpu:{key}": value for key, value in program.items()} | connection_keys(azure)
    (folder / "Pulumi.mine.yaml").write_text(yaml.safe_dump({"config": config}))


def test_a_stack_that_is_not_there_yet_lives_where_its_file_says(
    connected: EmbeddedAzure, preflight: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ARM_SUBSCRIPTION_ID", "ARM_TENANT_ID", "ARM_CLIENT_ID", "ARM_METADATA_HOSTNAME"):
        monkeypatch.delenv(name)
    program = {"team": "vision", "location": "westeurope", "foundation": {"identity": "create", "storage": "create"}}
    group = {"image": "docker.io/library/python:3.12", "cpu": 1, "memory_in_gb": 1}
    stack_file(tmp_path, connected, **program, container_groups={"check": group})
    code, report = preflight("--stack", "mine", "--config-folder", str(tmp_path), "--need", "vm=nc4as_t4_v3")
    assert (code, report["missing"]) == (0, {})
    named = {row["subject"] for row in report["rows"] if row["check"] == "registration"}
    assert named == {
        *("Microsoft.Compute", "Microsoft.ContainerInstance", "Microsoft.ManagedIdentity", "Microsoft.Network"),
        "Microsoft.Storage",
    }
    assert answers(report, "offer") == {"ok"}


def test_a_stack_that_assigns_no_roles_needs_no_right_to(
    connected: EmbeddedAzure, preflight: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected.fault("forbid", name="Microsoft.Authorization/roleAssignments/write")
    stack_file(tmp_path, connected, team="vision", location="westeurope", assign_roles=False)
    code, report = preflight("--stack", "mine", "--config-folder", str(tmp_path))
    assert (code, answers(report, "assign roles")) == (0, set())


def test_a_stack_that_is_there_lives_where_its_state_says(
    connected: EmbeddedAzure, preflight: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = {key.removeprefix("azure-native:"): value for key, value in connection_keys(connected).items()}
    program = {"team": "vision", "location": "westeurope", "foundation": {"storage": "create"}}
    config = {f"azure-gpu:{key}": value for key, value in program.items()} | {"azure-native:subscriptionId": "elsewhere"}
    held = physical_name("Microsoft.Storage/storageAccounts", ["azure-gpu", "vision", "mine"], subscription_id="elsewhere")
    provider = {"type": "pulumi:providers:azure-native", "inputs": inputs}
    storage = {"type": "azure-native:storage:StorageAccount", "id": f"/subscriptions/{SUBSCRIPTION}/x/{held}"}
    state = {"resources": [provider, storage]}
    monkeypatch.setattr(command.Stack, "exists", lambda stack: stack.name == "mine")
    monkeypatch.setattr(command.Stack, "deployment", lambda stack: state)
    for name in ("mine", "other"):
        (tmp_path / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump({"config": config}))
    folder = ("--config-folder", str(tmp_path))
    code, report = preflight("--stack", "mine", *folder)
    assert (code, report["missing"], answers(report, "name", held)) == (0, {}, set())  # the stack holds the name itself
    monkeypatch.setenv("ARM_METADATA_HOSTNAME", "localhost:2")
    monkeypatch.setattr(
        online, "ask", lambda connection, *_, **__: Report(as_of=DAY, rows=(), missing={"asked": connection.subscription_id})
    )
    assert preflight("--stack", "other", *folder)[1]["missing"]["asked"] == "elsewhere"


def test_rights_are_asked_of_an_existing_resource_group(
    connected: EmbeddedAzure, preflight: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-existing"
    parts = {"resource_group": {"existing": group}, "identity": "create", "registry": "create"}
    stack_file(tmp_path, connected, team="vision", location="westeurope", foundation=parts, lock_data=True)
    code, report = preflight("--stack", "mine", "--config-folder", str(tmp_path))
    assert code == 3
    assert "ResourceGroupNotFound" in report["missing"]["rights"]
    connected.put(group, {"location": "westeurope"}, "2024-03-01")
    code, report = preflight("--stack", "mine", "--config-folder", str(tmp_path))
    assert code == 0
    assert rows(report, "assign roles", "resource group rg-existing") == [("ok", "this login can assign roles", "")]
    assert rows(report, "write locks", "resource group rg-existing") == [("ok", "this login can lock what holds data", "")]
    connected.fault("forbid", name="Microsoft.Authorization/locks/write")
    code, report = preflight("--stack", "mine", "--config-folder", str(tmp_path))
    assert (code, answers(report, "write locks"), answers(report, "assign roles")) == (1, {"no right"}, {"ok"})


HUB = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-of-hub"
SCOPE = f"{HUB}/providers/Microsoft.Insights/privateLinkScopes/company"
KEY = f"{HUB}/providers/Microsoft.KeyVault/vaults/company-keys/keys/data"
OF_HUB = {
    "key": ({"customer_managed_key": KEY}, "assign roles", "assign the role on the key", "Authorization/roleAssignments/write"),
    "private link scope": (
        {"network": "private", "log_workspace": {"create": True, "private_link_scope": {"existing": SCOPE}}},
        "private link scope",
        "add resources to the private link scope",
        "Insights/privateLinkScopes/scopedResources/write",
    ),
}


@pytest.mark.parametrize("what", OF_HUB)
def test_a_right_on_what_the_company_has_is_asked_where_that_lies(
    connected: EmbeddedAzure, preflight: Run, tmp_path: Path, what: str
) -> None:
    parts, check, may, action = OF_HUB[what]
    connected.put(HUB, {"location": "westeurope"}, "2024-03-01")
    foundation = {"identity": "create", "storage": "create", **parts}
    stack_file(tmp_path, connected, team="vision", location="westeurope", foundation=foundation)
    scope = f"resource group rg-of-hub, which the {what} is in"
    code, report = preflight("--stack", "mine", "--config-folder", str(tmp_path))
    assert (code, rows(report, check, scope)) == (0, [("ok", f"this login can {may}", "")])
    connected.fault("forbid", name=f"Microsoft.{action}")
    code, report = preflight("--stack", "mine", "--config-folder", str(tmp_path))
    assert (code, answers(report, check, scope)) == (1, {"no right"})


def test_the_right_to_make_a_budget_is_asked_where_the_budget_lies(
    connected: EmbeddedAzure, preflight: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-with-budget"
    connected.put(group, {"location": "westeurope"}, "2024-03-01")
    parts = {"resource_group": {"existing": group}}
    for beside, scope in (({}, "resource group rg-with-budget"), ({"resource_groups": ["o"]}, f"subscription {SUBSCRIPTION}")):
        budget = {"monthly_usd": 500, **beside}
        stack_file(tmp_path, connected, team="vision", location="westeurope", foundation=parts, budget=budget)
        code, report = preflight("--stack", "mine", "--config-folder", str(tmp_path))
        assert (code, report["missing"]) == (0, {})
        assert rows(report, "write budgets", scope) == [("ok", "this login can create the stack's budget", "")]
        assert answers(report, "registration", "Microsoft.Consumption") == {"ok"}
    connected.fault("forbid", name="Microsoft.Consumption/budgets/write")
    code, report = preflight("--stack", "mine", "--config-folder", str(tmp_path))
    assert (code, answers(report, "write budgets")) == (1, {"no right"})


# Lists that are missing


def test_an_expired_login_says_how_to_log_in(connected: EmbeddedAzure, preflight: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARM_CLIENT_SECRET", "expired")
    code, report = preflight("--need", NEED)
    assert code == 3
    assert len(report["missing"]) == 4
    assert all("run `az login`" in reason and "AADSTS7000215" in reason for reason in report["missing"].values())
    connected.fault("fail", path="/subscriptions/*", count=0, status=401)
    monkeypatch.setenv("ARM_CLIENT_SECRET", connected.client_secret)
    code, report = preflight("--need", NEED)
    assert code == 3
    assert all("run `az login`" in reason for reason in report["missing"].values())


def test_no_subscription_and_no_azure_are_said_in_a_line(preflight: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARM_SUBSCRIPTION_ID", raising=False)
    code, report = preflight("--need", NEED)
    assert code == 3
    assert "ARM_SUBSCRIPTION_ID" in report["missing"]["everything"]
    found = online.ask(Connection(SUBSCRIPTION, metadata_host="localhost:2"), Inventory(day=DAY, location=""))
    assert "localhost:2 can't be reached" in found.missing["everything"]


def test_the_gpus_of_a_job_are_a_quota_of_its_environment(connected: EmbeddedAzure, preflight: Run, tmp_path: Path) -> None:
    jobs = {"tonight": {"expires_after": "2099-12-31", "parallelism": 2}}
    stack_file(tmp_path, connected, team="quota", location="eastus", jobs=jobs)
    stack = ("--stack", "mine", "--config-folder", str(tmp_path))
    [(answer, message, fix)] = rows(preflight(*stack)[1], "quota", "jobs.tonight.gpu")
    assert (answer, "doesn't exist yet" in message, "keep: true" in fix) == ("unknown", True, True)

    names = [physical_name(each, ["azure-gpu", "quota", "mine", *more], subscription_id=SUBSCRIPTION) for each, more in NAMED]
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{names[0]}"
    connected.put(group, {"location": "eastus"}, "2024-03-01")
    profiles = [{"name": "gpu-t4", "workloadProfileType": "Consumption-GPU-NC8as-T4"}]
    body = {"location": "eastus", "properties": {"workloadProfiles": profiles}}
    made = connected.put(f"{group}/providers/Microsoft.App/managedEnvironments/{names[1]}", body, "2025-01-01")
    made.raise_for_status()
    connected.fault("weather", name="environment-quota")
    code, report = preflight(*stack)
    [(answer, message, fix)] = rows(report, "quota", "jobs.tonight.gpu")
    assert (code, answer) == (1, "no quota")
    assert message == f"jobs use up to 2 T4s at once; the limit of the environment {names[1]} is 0"
    assert "request a limit of 2 for ManagedEnvironmentConsumptionT4Gpus" in fix
