"""What the catalog's lists leave open of a stack: Azure's lists decide, before a first `up` creates anything."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.stack.inventory import Inventory
from azure_gpu_operations import planned
from azure_gpu_operations.connection import Connection, connection_from
from azure_gpu_operations.preflight import fetching, left_open, online
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.patience import SECONDS

OPEN = Problem("location", "the region isn't listed", "belgiumcentral", code=Code.NOT_LISTED, severity=Severity.WARNING)
VERSION = OPEN._replace(path="clusters.c.kubernetes_version", value="1.99", code=Code.UNKNOWN)
SIZE = OPEN._replace(path="vms.m.size", value="Standard_ND256isr_GB400_v7", code=Code.UNKNOWN)
PRICE = OPEN._replace(path="vms.t.location", value="westeurope", code=Code.NOT_IN_REGION)
OTHER = OPEN._replace(path="pools.p.image", value="x", code=Code.UNKNOWN)
T4 = "Standard_NC4as_T4_v3"
USES = (
    SizeUse(Service.AKS, T4, "westeurope", "clusters.c.gpu_pools.t4.size", "location"),
    SizeUse(Service.VIRTUAL_MACHINES, str(SIZE.value), "westeurope", SIZE.path, "vms.m.location"),
    SizeUse(Service.VIRTUAL_MACHINES, T4, "westeurope", "vms.t.size", PRICE.path),
)


def taken(*problems: Problem) -> Inventory:
    return Inventory(day=date(2026, 11, 21), location="westeurope", problems=problems, uses=USES)


@pytest.fixture
def settled(connected: EmbeddedAzure, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, str]]]:
    """Path and code of what is left of these problems, by the lists of the embedded Azure, read one after the other."""

    def fetch(readers: Mapping[Any, Callable[[], Any]], *, limit_seconds: float) -> dict[Any, fetching.Outcome[Any]]:
        assert limit_seconds <= 10, "an update begins at once"
        return {key: fetching._read(read, time.monotonic() + SECONDS, time.sleep) for key, read in readers.items()}

    monkeypatch.setattr(fetching, "fetch", fetch)
    connection = connection_from({}, os.environ)
    return lambda *problems: [(each.path, each.code.value) for each in left_open.settled(taken(*problems), connection)]


def test_azures_lists_decide_what_is_open_and_nothing_else(connected: EmbeddedAzure, settled: Callable[..., Any]) -> None:
    assert settled(OPEN) == [("location", "NOT_OFFERED")]
    connected.put(f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-open", {"location": "belgiumcentral"}, "2024-03-01")
    assert settled(OPEN, OTHER) == [(OTHER.path, "UNKNOWN")]
    assert settled(VERSION) == [(VERSION.path, "NOT_OFFERED")]
    assert settled(VERSION._replace(value="1.35")) == []
    assert settled(SIZE) == [(SIZE.path, "UNKNOWN"), (SIZE.path, "NOT_OFFERED")]
    assert settled(PRICE) == []


def test_what_a_file_insists_on_is_told_by_operations_up_as_by_the_plan(
    connected: EmbeddedAzure, settled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = OPEN._replace(value="denmarkeast")
    insisting = replace(taken(elsewhere, VERSION, SIZE), unchecked=("region",))
    found = left_open.settled(insisting, connection_from({}, os.environ))
    assert [each.path for each in errors(found)] == [VERSION.path], "a version isn't a region's"
    assert [each.path for each in found if each.code is Code.NOT_OFFERED] == [OPEN.path, VERSION.path, SIZE.path]
    told: list[str] = []
    stack: Any = SimpleNamespace(file=Path("Pulumi.s.yaml"), name="s")
    monkeypatch.setattr(planned, "inventory", lambda *_: replace(insisting, problems=(elsewhere, SIZE)))
    monkeypatch.setattr(left_open, "decided", lambda now, *_: left_open.settled(now, connection_from({}, os.environ)))
    deployment = {"resources": [{"type": "pulumi:providers:azure-native", "id": "3f", "inputs": {}}]}
    left_open.check(stack, deployment, told.append)
    assert [line.partition(": ")[2].partition(":")[0] for line in told if line.startswith("warning")] == [OPEN.path, SIZE.path]


NEW = Inventory(
    day=date(2026, 11, 21),
    location="westeurope",
    uses=(
        SizeUse(Service.VIRTUAL_MACHINES, T4, "westeurope", "vms.t.size", "location", 2),
        SizeUse(Service.ML_COMPUTE, T4, "westeurope", "ml_workspace.computes.c.size", "location", 2),
        SizeUse(Service.BATCH, T4, "westeurope", "pools.p.size", "location"),
    ),
    batch_account="of-the-stack",  # whatever accounts other tests have left in this region
)
FAMILY = "Standard NCASv3_T4 Family"


@pytest.mark.parametrize(
    ("fault", "path", "words"),
    [
        ({"kind": "quota", "service": "compute", "name": FAMILY, "limit": 4}, "vms.t.size", "request a limit of 8 vCPU"),
        ({"kind": "quota", "service": "ml", "name": FAMILY, "limit": 4}, "ml_workspace.computes.c.size", "a limit of 8 vCPU"),
        ({"kind": "quota", "service": "batch", "name": "accounts", "limit": 0}, "pools.p.size", " Batch accounts in westeurope"),
        ({"kind": "restrict", "name": T4}, "vms.t.size", "is restricted for this subscription in westeurope"),
    ],
    ids=lambda value: f"{value['kind']}-{value.get('service', '')}" if isinstance(value, dict) else "",
)
def test_what_a_new_stack_adds_has_to_be_offered_and_to_fit_in_the_quotas(
    connected: EmbeddedAzure, settled: Callable[..., Any], fault: dict[str, Any], path: str, words: str
) -> None:
    connection, told = connection_from({}, os.environ), list[str]()
    assert left_open.settled(NEW, connection, NEW, told.append) == ()
    connected.fault(location="westeurope", **fault)
    assert left_open.settled(NEW, connection) == (), "what is up isn't counted twice"
    [refused] = left_open.settled(NEW, connection, NEW, told.append)
    assert (refused.path, refused.severity, words in str(refused)) == (path, Severity.ERROR, True)
    assert refused.code is (Code.NOT_OFFERED if fault["kind"] == "restrict" else Code.NO_QUOTA)
    insisting = replace(NEW, unchecked=("region",))
    [insisted] = left_open.settled(insisting, connection, insisting)
    assert insisted.severity is (Severity.WARNING if fault["kind"] == "restrict" else Severity.ERROR)
    assert told == []


def test_a_quota_that_cant_be_read_is_one_line_and_stops_nothing(
    connected: EmbeddedAzure, settled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    connected.fault("fail", path="*/usages", count=0, status=403, code="AuthorizationFailed")
    told: list[str] = []
    assert left_open.settled(NEW, connection_from({}, os.environ), NEW, told.append) == ()
    assert [line.partition(";")[0] for line in told] == [
        "not read of Azure, so not checked: vCPU quotas in westeurope, vCPU quotas of Azure Machine Learning in westeurope"
    ]


@pytest.mark.parametrize(
    ("resources", "problems", "asked"),
    [([], [], True), ([{"type": "g", "id": "/there"}], [], False), ([], [Severity.ERROR], False)],
    ids=["first", "there", "refused by the program"],
)
def test_the_quotas_are_asked_for_before_the_first_update_of_what_the_program_accepts(
    monkeypatch: pytest.MonkeyPatch, resources: list[dict[str, str]], problems: list[Severity], asked: bool
) -> None:
    stack: Any = SimpleNamespace(file=Path("Pulumi.s.yaml"), name="s")
    deployment = {"resources": [{"type": "pulumi:providers:azure-native", "id": "3f", "inputs": {}}, *resources]}
    of_stack = replace(NEW, problems=tuple(OTHER._replace(severity=each) for each in problems))
    seen: list[Inventory | None] = []
    monkeypatch.setattr(planned, "inventory", lambda *_: of_stack)
    monkeypatch.setattr(left_open, "decided", lambda now, _, added, *says: seen.append(added) or now.problems)
    left_open.check(stack, deployment, lambda _: None)
    assert seen == [of_stack if asked else None]


@pytest.mark.parametrize(("resources", "refused"), [([], True), ([{"type": "g", "id": "/there"}], False)])
def test_what_azure_lacks_is_refused_before_the_first_update_and_told_later(
    monkeypatch: pytest.MonkeyPatch, resources: list[dict[str, str]], refused: bool
) -> None:
    told: list[str] = []
    stack: Any = SimpleNamespace(file=Path("Pulumi.s.yaml"), name="s")
    deployment = {"resources": [{"type": "pulumi:providers:azure-native", "id": "3f", "inputs": {}}, *resources]}
    lacking = SIZE._replace(code=Code.NOT_OFFERED, severity=Severity.ERROR)
    monkeypatch.setattr(planned, "inventory", lambda *_: taken(OPEN, SIZE))
    monkeypatch.setattr(left_open, "decided", lambda *_: (SIZE, lacking))
    if refused:
        with pytest.raises(left_open.NotOfferedError, match=r"1 problem, nothing was created:\n  - vms.m.size"):
            left_open.check(stack, deployment, told.append)
    else:
        left_open.check(stack, deployment, told.append)
    assert told[0] == "location: belgiumcentral: Azure's list decides, not the catalog's"
    assert [line.startswith("warning: vms.m.size") for line in told[1:]] == ([] if refused else [True])


def test_nothing_is_asked_where_nothing_is_open_or_azure_is_the_embedded_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(_: Connection) -> str:
        raise AssertionError("asked")

    monkeypatch.setattr(online, "reached", reached)
    assert left_open.decided(taken(OTHER), Connection("s")) == (OTHER,)
    assert left_open.decided(NEW, Connection("s", metadata_host="localhost:1"), NEW) == ()
    assert left_open.decided(taken(OPEN), Connection("s", metadata_host="localhost:1")) == (OPEN,)
    monkeypatch.setattr(online, "reached", lambda _: "no login")
    assert left_open.decided(taken(OPEN), Connection("s")) == (OPEN,)
