"""`make conformance` against the embedded Azure in rough weather, and that it finds what is planted."""

import itertools
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conformance import __main__ as command, changes, lease, recordings, stacks, switch, validate
from tests.conformance.azure import Azure, Exchange, of_embedded
from tests.conformance.differences import Difference, between
from tests.conformance.report import Outcome, with_run
from tests.conformance.stacks import configuration
from tests.support import warm_python
from tests.support.embedded import SUBSCRIPTION, ServedAzure, until
from tests.support.in_process import InProcessAzure
from tests.support.stack import connected_environment

GROUPS = "2024-03-01"
IMAGELESS = {"image": "docker.io/tensorflow/tensorflow:2.16.1", "resources": {"requests": {"cpu": 1, "memoryInGB": 1}}}
# Container groups have no GPUs, and are proved at each level.
OF_GPUS = ["Container Apps job", "Batch pool", "AKS cluster", "virtual machine", "Azure ML endpoint"]
OWN = "11111111-2222-3333-4444-555555555555"
LAPSED = lease.Lease("killed", "elsewhere", "another", 1, datetime(2026, 11, 20, tzinfo=UTC))


@pytest.fixture(scope="module")
def rough(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    """For all tests here; each leaves it empty."""
    server = ServedAzure(tmp_path_factory.mktemp("rough"), weather="rough")
    yield server
    server.stop()


@pytest.fixture
def rough_here(tmp_path: Path) -> Iterator[InProcessAzure]:
    """In this process, for what creates nothing."""
    server = InProcessAzure(tmp_path / "rough", weather="rough")
    yield server
    server.stop()


@pytest.fixture
def warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engine starts comes out of a warm Python."""
    monkeypatch.setattr(stacks, "connected_environment", lambda *given: warm_python.warmed(connected_environment(*given)))


@pytest.fixture(scope="module")
def switched(served_azure: ServedAzure) -> tuple[str, datetime]:
    """The group of a run that nobody ends, and until when it has: made before the other tests, which so fill the time."""
    azure, until_then = of_embedded(served_azure), datetime.now(UTC) + timedelta(seconds=20)
    switch.make(azure, lease.Lease("a1", "gone", "another", 1, until_then), "eastus")
    return switch.group_id(azure, "a1"), until_then


def exchange(status: int = 200, **response: Any) -> Exchange:
    return Exchange(method="GET", path="/x", query={}, request=None, status=status, headers={}, response=response)


@pytest.mark.slow
@pytest.mark.usefixtures("switched")
def test_every_body_of_every_case_is_judged_alike_in_rough_weather(rough_here: InProcessAzure, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    azure = of_embedded(rough_here)
    assert command.run(azure, None, "validate", Decimal(0), "", tmp_path, report) == 0
    assert "No difference." in report.read_text()
    assert f"bodies of {len(validate.names())} cases" in report.read_text()
    groups = azure.send("GET", f"/subscriptions/{SUBSCRIPTION}/resourceGroups", GROUPS).response["value"]
    assert groups == [], "nothing was created"


@pytest.mark.slow
@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize(
    ("level", "on_gpus"),
    [
        ("cheap", []),  # of a small stack
        # Of every service. That all of them come up is in test_nothing_runs.py by day, and that work runs on each is proved by
        # `make up`, and of a machine in test_run_on_vm.py.
        pytest.param("gpu", OF_GPUS, marks=pytest.mark.nightly),
    ],
)
def test_a_stack_comes_up_shows_what_was_sent_and_goes(
    rough: ServedAzure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, on_gpus: list[str]
) -> None:
    if level == "cheap":
        monkeypatch.setattr(stacks, "configuration", a_small_one)
    report = tmp_path / "report.md"
    left = rough.made(
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/of-a-killed-run",
        {"location": "eastus", "tags": LAPSED.tags()},
        GROUPS,
    )
    assert command.run(of_embedded(rough), rough, level, Decimal(7), "", tmp_path, report) == 0, report.read_text()
    assert rough.get(left["id"], GROUPS).status_code == 404
    assert "an earlier run had left of-a-killed-run" in report.read_text()
    proved = re.findall(r"^- proved: ([^:\n]*) \w+(?:: .*)?$", report.read_text(), re.MULTILINE)
    assert proved == ["container group", *on_gpus]


@pytest.mark.slow
@pytest.mark.nightly
def test_what_is_changed_while_a_task_runs_moves_no_node_and_a_pool_that_is_refused_as_a_whole_is_patched(
    rough: ServedAzure, tmp_path: Path
) -> None:
    rough.fault("weather", name="whole-pools")
    rough.fault("calm", name="batch-quota")  # the node begins with the pool
    report = tmp_path / "report.md"
    assert command.run(of_embedded(rough), rough, "change", Decimal(1), "", tmp_path, report) == 0, report.read_text()
    assert "changed: pool and cluster, while the task ran" in report.read_text()
    assert "changed: the pool by PATCH, as its PUT was refused" in report.read_text()


def a_run(state: Path, level: str) -> None:
    """In a process group of its own, which is killed as a whole: the engine with it."""
    os.setpgrp()
    server = ServedAzure(state, weather="rough")  # the one that runs there
    command.run(of_embedded(server), server, level, Decimal(7), "", state, state / "report.md")


KILLED_AT = (
    "Microsoft.ManagedIdentity/userAssignedIdentities",
    "Microsoft.Batch/batchAccounts",
    "Microsoft.Batch/batchAccounts/pools",
)


@pytest.mark.slow
@pytest.mark.nightly  # nine runs of 20 s and more, each of which has to be half there within its time
@pytest.mark.timeout(3600)
def test_what_a_run_has_left_that_was_killed_is_deleted(
    rough: ServedAzure, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for level, at in itertools.product(("cheap", "gpu", "change"), KILLED_AT):
        _kill(rough, level, at)
        azure = of_embedded(rough)
        groups = [each["name"] for each in _left(azure, "resourceGroups") if stacks.TAG in each.get("tags", {})]
        assert command.clean(azure, tmp_path) == 0
        assert "left alone" in capsys.readouterr().out, "another checkout's, whose time isn't over"
        assert command.clean(azure, rough.state) == 0
        assert [f"deleted: {name}" for name in groups] == capsys.readouterr().out.splitlines(), (level, at)
        assert len(groups) == 1, (level, at)
        assert (_left(azure, "resourceGroups"), _left(azure, "resources")) == ([], []), (level, at)


def _left(azure: Azure, path: str) -> list[Any]:
    return azure.send("GET", f"/subscriptions/{SUBSCRIPTION}/{path}", GROUPS).response["value"]


def _kill(rough: ServedAzure, level: str, at: str) -> None:
    """A run of the level, once a resource of the type `at` is there."""
    run = multiprocessing.get_context("spawn").Process(target=a_run, args=(rough.state, level))
    run.start()
    azure = of_embedded(rough)

    def half() -> bool:
        assert run.exitcode is None, f"{level} has ended before {at}"
        accounts = [each["id"] for each in _left(azure, "resources") if each["type"] == "Microsoft.Batch/batchAccounts"]
        if at.endswith("/pools"):
            return any(azure.send("GET", f"{each}/pools", "2024-07-01").response["value"] for each in accounts)
        return any(each["type"] == at for each in _left(azure, "resources"))

    until(half, f"{at} is there at {level}")
    assert run.pid is not None
    os.killpg(run.pid, signal.SIGKILL)
    run.join()


def a_validation(state: Path, last: int) -> None:
    """In a process group of its own; killed at the answer of this number."""
    os.setpgrp()
    azure, answers = of_embedded(ServedAzure(state, weather="rough")), itertools.count(1)

    def kill(_: httpx.Response) -> None:
        if next(answers) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    azure.client.event_hooks["response"].append(kill)
    command.run(azure, None, "validate", Decimal(0), "", state, state / "report.md")


@pytest.mark.slow
@pytest.mark.nightly  # half of all bodies are judged until the second kill, and all until the third
@pytest.mark.timeout(3600)
def test_a_validation_that_was_killed_has_left_nothing(rough: ServedAzure, capsys: pytest.CaptureFixture[str]) -> None:
    every = len(validate.names()) * len(validate.ACTIONS)
    for last in (1, every // 2, every):
        run = multiprocessing.get_context("spawn").Process(target=a_validation, args=(rough.state, last))
        run.start()
        assert run.pid is not None
        run.join()
        assert run.exitcode == -signal.SIGKILL, f"it has ended before its answer {last}"
        until(lambda of=run.pid: not lives(of), "what records the programs ends with it")
        azure = of_embedded(rough)
        assert (_left(azure, "resourceGroups"), _left(azure, "resources")) == ([], [])
        assert command.clean(azure, rough.state) == 0
        assert capsys.readouterr().out == "earlier runs have left nothing\n"


def lives(group: int) -> bool:
    """Whether a process of the group is there."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_three_planted_differences_are_found(azure: InProcessAzure, own_azure: InProcessAzure) -> None:
    own_azure.fault("policy-deny", name="no-public", property="properties.publicNetworkAccess", path="*/registries/*", value="")
    own_azure.fault("fail", path="*/whatIf", status=409, code="Conflict", count=1)
    found = of_embedded(own_azure)
    found.client.event_hooks["response"].append(_without("duration"))
    chosen = ["foundation.happy.create", "pool.happy.mpi"]
    differences = validate.judge(found, of_embedded(azure), chosen).differences
    assert {(each.kind, each.expected, each.found) for each in differences if each.what == chosen[0]} == {
        ("status", "200", "400 RequestDisallowedByPolicy"),
        ("status", "200", "409 Conflict"),
    }
    assert ("member", "properties.duration", "missing") in {
        (each.kind, each.expected, each.found) for each in differences if each.what == chosen[1]
    }


@pytest.mark.slow
@pytest.mark.usefixtures("warm")
def test_differences_planted_in_a_stack_are_found(
    own_served_azure: ServedAzure, engine_bin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `up`: a member that GET leaves out, a change by hand, work that can't start, and a group that stays."""
    monkeypatch.setattr(stacks, "configuration", a_small_one)
    azure, look = of_embedded(own_served_azure), stacks.looked_at
    stack = stacks.on_embedded(azure, own_served_azure, "cheap", engine_bin, kubernetes_bin=None)
    stack.write(date(2099, 1, 1))
    own_served_azure.made(stack.group, {"location": "eastus", "tags": {stacks.TAG: stack.run}}, GROUPS)

    def plant_and_look(of: stacks.Stack) -> Iterator[Difference]:
        shown = azure.send("GET", f"/subscriptions/{SUBSCRIPTION}/resources", GROUPS).response["value"]
        (registry,) = [each["id"] for each in shown if each["type"] == "Microsoft.ContainerRegistry/registries"]
        own_served_azure.patch(registry, {"properties": {"adminUserEnabled": True}}, "2025-11-01").raise_for_status()
        azure.client.event_hooks["response"].append(_without("loginServer"))
        fault = ("--path", "*/containerGroups/*/start", "--status", "409", "--code", "ServiceUnavailable", "--count", "0")
        own_served_azure.command("fault", "fail", *fault)
        tags = {"location": "eastus", "tags": {stacks.TAG: stack.run}}
        own_served_azure.made(f"/subscriptions/{SUBSCRIPTION}/resourceGroups/stays", tags, GROUPS)
        return look(of)

    monkeypatch.setattr(stacks, "looked_at", plant_and_look)
    ran = stacks.run(stack)
    found = [(each.what.split()[0], each.request, each.kind, each.expected, each.found) for each in ran.differences]
    registry = "Microsoft.ContainerRegistry/registries"
    *shown, (what, request, kind, expected, why), left = found
    assert shown == [
        (registry, "GET", "value", "properties.adminuserenabled: False", "True"),
        (registry, "GET", "member", "properties.loginServer", "missing"),
        ("azure-native:containerregistry:Registry", "second preview", "change", "same", "update of adminUserEnabled"),
    ]
    assert (what, request, kind, expected) == ("container", "prove", "proof", "passed")
    assert "ServiceUnavailable" in why
    assert left == ("resource", "after down", "status", "gone", "there")
    assert ran.proofs == ()


def a_small_one(level: str, location: str, last: str, *, clusters: bool = True) -> dict[str, Any]:
    whole = configuration(level, location, last, clusters=clusters)
    return {name: whole[name] for name in ("team", "location", "protect_data", "foundation", "container_groups")}


def test_a_command_that_fails_is_a_difference_and_the_stack_goes_down(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = Nothing()
    monkeypatch.setattr(stacks, "removed", lambda of: [of.operations("down")][1:])
    ran = stacks.run(stack)
    assert [(each.request, each.kind, each.found) for each in ran.differences] == [("operations up", "failure", "ended with 255")]
    assert stack.commands == ["up", "down"]


def test_on_real_gpus_work_on_a_cpu_is_no_proof() -> None:
    rows = [
        {"service": service, "place": "x", "passed": True, "on_gpu": on_gpu, "device": "CPU", "why": []}
        for service, on_gpu in (("container-group", False), ("job", False), ("vm", True), ("endpoint", None))
    ]
    assert [each.what for each in stacks.unproved(rows, gpus_are_real=True)] == ["Container Apps job x"]
    assert not list(stacks.unproved(rows, gpus_are_real=False))


class Nothing:
    """A stack that doesn't come up."""

    level, name, server = "gpu", "x", None

    def __init__(self) -> None:
        self.commands: list[str] = []

    def operations(self, verb: str, *_: str, **__: Any) -> str:
        self.commands.append(verb)
        if verb == "up":
            raise stacks.CommandFailedError("operations up", "ended with 255")
        return ""


def _without(member: str) -> Callable[[httpx.Response], None]:
    """What a service would have left out."""

    def leave_out(answer: httpx.Response) -> None:
        answer.read()
        content = answer.json() if answer.content else None
        if isinstance(content, dict) and isinstance(content.get("properties"), dict):
            content["properties"].pop(member, None)
            answer._content = json.dumps(content).encode()

    return leave_out


def test_more_than_the_ceiling_is_refused_and_the_ceiling_itself_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    stack: Any = Nothing()
    monkeypatch.setattr(stacks, "price", lambda _: Decimal("4.20"))
    assert stacks.check_price(stack, Decimal("4.20")) == Decimal("4.20")
    with pytest.raises(stacks.PriceError, match=r"gpu costs up to 4\.20 USD, more than the ceiling of 4\.19 USD"):
        stacks.check_price(stack, Decimal("4.19"))


@pytest.mark.slow  # the stack is recorded in a Python of its own
@pytest.mark.parametrize(("level", "ceiling"), [("cheap", Decimal(5)), ("change", Decimal(1))])
def test_a_run_costs_less_than_the_default_ceiling(tmp_path: Path, level: str, ceiling: Decimal) -> None:
    stack = stack_at(tmp_path, level, "eastus")
    assert Decimal("0.5") < stacks.check_price(stack, ceiling) <= ceiling
    assert stacks.unpriced(stack) == []


@pytest.mark.slow
def test_what_has_no_price_in_a_region_counts_as_in_the_dearest_one(tmp_path: Path) -> None:
    stack = stack_at(tmp_path, "cheap", "newregion")
    assert stacks.unpriced(stack) == ["AKS cluster aks"]
    assert Decimal("0.7") < stacks.check_price(stack, Decimal(5)) < 2


def stack_at(folder: Path, level: str, region: str) -> stacks.Stack:
    keys = {"azure-gpu:image_source": "https://example.com/a.git#HEAD", "azure-native:subscriptionId": OWN}
    return stacks.Stack(Azure("Azure", httpx.Client(), OWN), level, folder, {}, keys, region)


NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def test_the_change_raises_limits_and_moves_an_end_and_a_tag_and_nothing_else() -> None:
    before = {**configuration("change", "eastus", "2026-12-01"), "tags": {lease.TAG: "a1"}}
    after = changes.configuration(before, "2026-12-02")
    pool = {"size": stacks.GPU, "autoscale": {"min_nodes": 1, "max_nodes": 2}, "expires_after": "2026-12-02"}
    aks = before["clusters"]["aks"]
    # pyrefly: ignore[invalid-argument]
    cluster = {**aks, "gpu_pools": {"t4": {"size": stacks.GPU, "max_nodes": 2}}, "expires_after": "2026-12-02"}
    tags = {lease.TAG: "a1", "changed": "yes"}
    assert after == {**before, "tags": tags, "pools": {"nodes": pool}, "clusters": {"aks": cluster}}
    # pyrefly: ignore[bad-index]
    assert aks["gpu_pools"]["t4"]["max_nodes"] == 1, "what was is left as it was"


@pytest.mark.parametrize(
    ("checkout", "runs", "until", "is_over"),
    [
        ("here", True, NOW + timedelta(minutes=1), False),
        ("here", False, NOW + timedelta(minutes=1), True),
        ("another", False, NOW + timedelta(minutes=1), False),
        ("another", True, NOW, True),
    ],
)
def test_a_run_is_over_after_its_time_or_when_its_process_has_gone_here(
    checkout: str, runs: bool, until: datetime, is_over: bool
) -> None:
    made = lease.Lease("a1", "host", checkout, 7, until)
    assert (lease.read(made.tags()), lease.read({}), lease.read({lease.TAG: "a1"})) == (made, None, None)
    assert lease.is_over(made, "here", NOW, lambda process: runs and process == 7) is is_over


def test_the_name_of_a_run_is_a_text_to_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks.secrets, "token_hex", lambda _: "075088")
    assert stack_at(tmp_path, "cheap", "eastus").run == "r75088"


@pytest.mark.parametrize("level", ["cheap", "gpu", "change"])
def test_images_come_from_microsoft_s_registry_or_the_stack_s_own(level: str) -> None:
    text = json.dumps(configuration(level, "eastus", "2026-12-01"))
    assert {image.partition("/")[0] for image in re.findall(r'"image": "([^"]*)"', text)} <= {"mcr.microsoft.com"}


def test_the_switch_looks_first_when_the_time_is_over() -> None:
    assert switch.minute(datetime(2026, 11, 25, 12, 59, 1, tzinfo=UTC)) == datetime(2026, 11, 25, 13, tzinfo=UTC)


@pytest.mark.slow
def test_a_command_that_takes_too_long_ends_with_what_it_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "GRACE_SECONDS", 1)
    hangs = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(600)"
    # Not by `run`, which would kill what it has started as soon as it is interrupted itself.
    started = f"subprocess.Popen([sys.executable, '-c', {hangs!r}, 'left-{os.getpid()}'])"
    program = f"import subprocess, sys, time; {started}; time.sleep(600)"
    with pytest.raises(stacks.CommandFailedError, match="took longer than 2 seconds"):
        stacks._run("up", [sys.executable, "-c", program], os.environ, 2)
    left = ["pgrep", "-f", f"left-{os.getpid()}$"]  # a killed process is there until it has been scheduled once more
    until(lambda: subprocess.run(left, capture_output=True, check=False).stdout == b"", "what it has started has ended")


@pytest.mark.slow
def test_the_switch_deletes_a_run_that_nobody_ends(served_azure: ServedAzure, switched: tuple[str, datetime]) -> None:
    group, until_then = switched
    until(lambda: served_azure.get(group, GROUPS).status_code == 404, "the group is gone")
    assert datetime.now(UTC) >= until_then


def test_bodies_are_judged_where_nothing_runs_so_that_no_image_has_to_be_there() -> None:
    with command._target(embedded=True, level="validate") as (azure, served):
        assert (azure.name, served) != ("Azure", None)
        group = {"location": "eastus", "properties": {"osType": "Linux", "containers": [{"name": "a", "properties": IMAGELESS}]}}
        path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/a"
        azure.send("PUT", path, GROUPS, {"location": "eastus"})
        assert (
            azure.send("PUT", f"{path}/providers/Microsoft.ContainerInstance/containerGroups/a", "2025-09-01", group).status
            == 201
        )


def test_a_lost_network_ends_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def lost(*_: Any) -> int:
        raise httpx.ConnectError("no route to host")

    monkeypatch.setattr(command, "of_login", lambda: None)
    monkeypatch.setattr(command, "run", lost)
    assert command.main(["--level", "cheap"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "error: Azure doesn't answer (no route to host); what a run has made is deleted by its own job in Azure"
    ]


@pytest.mark.parametrize(
    ("expected", "found", "kinds"),
    [
        (exchange(a=1), exchange(a=1), []),
        (exchange(a=1), exchange(201, a=1), ["status"]),
        (exchange(a=1), exchange(a=2), ["value"]),
        (exchange(a=1, b=2), exchange(b=2, c=3), ["member", "member"]),
        (exchange(400, error={"code": "A"}), exchange(400, error={"code": "B"}), ["error"]),
        (exchange(400, error={"code": "A", "message": "x"}), exchange(400, error={"code": "A", "message": "y"}), []),
        (exchange(etag="1", at="2026-11-25T01:02:03Z"), exchange(etag="2", at="2026-11-26T01:02:03Z"), []),
    ],
)
def test_answers_are_compared_by_status_code_of_errors_members_and_values(
    expected: Exchange, found: Exchange, kinds: list[str]
) -> None:
    assert [each.kind for each in between("x", "GET", expected, found)] == kinds


def test_a_recording_holds_no_secret_and_no_id_of_the_subscription(tmp_path: Path) -> None:
    azure = Azure("Azure", httpx.Client(base_url="https://management.azure.com"), OWN, tenant=OWN.replace("1", "9"))
    sent = replace(
        exchange(
            primarySharedKey="k3y",
            properties={"tenantId": azure.tenant, "createdBy": "me@example.org", "allowSharedKeyAccess": "x"},
        ),
        path=f"/subscriptions/{OWN}/x",
        request={"adminPassword": "hunter2", "url": "https://a.blob/x?sv=1&sig=abc%2F&se=2"},
    )
    path = recordings.write(tmp_path / "kept", "test", [sent], azure, date(2026, 11, 25))
    text = path.read_text()
    assert not [each for each in (OWN, azure.tenant, "k3y", "hunter2", "sig=abc", "example.org") if each in text]
    assert '"allowSharedKeyAccess": "x"' in text
    assert json.loads(text)["interactions"][0].keys() == {
        "host", "method", "path", "query", "request", "status", "headers", "response"
    }  # fmt: skip
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700


def test_a_report_says_what_was_asked_of_which_azure_and_replaces_the_last_run_of_its_level() -> None:
    found = Difference("a | b", "GET", "status", "200", "409")
    told = ("Azure", date(2026, 11, 25), "eastus", [("pulumi", "3")])
    page = "# Conformance\n\nHow.\n\n## Last run of `cheap`\n\nNone.\n\n## Last run of `gpu`\n\nNone.\n"
    text = with_run(page, Outcome("cheap", "Done.", (found,), ("a note",)), *told)
    assert text.startswith("# Conformance\n\nHow.\n\n## Last run of `gpu`\n\nNone.\n\n## Last run of `cheap`\n\nOn 2026-11-25")
    assert text.count("None.") == 1
    assert "against Azure, region eastus, with pulumi 3." in text
    assert "| a \\| b | GET | status | 200 | 409 |" in text
    assert "- a note" in text
    assert with_run("", Outcome("gpu", "Done.", ()), *told).startswith("# Conformance\n\n## Last run of `gpu`\n\nOn 2026-11-25")
