"""`prove`: what is read of workloads' reports, what is run where, how a row comes about, and the table."""

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations.__main__ import main
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.prove import command, on_runs, proving
from azure_gpu_operations.prove.on_runs import RejectedError, Step
from azure_gpu_operations.prove.proof import ABOUT, Proof, Report, Service, joined, report_of
from azure_gpu_operations.prove.proving import Proving
from azure_gpu_operations.prove.record import show
from azure_gpu_operations.prove.scoring import Sent
from azure_gpu_operations.run.protocol import Outcome, Output, Run, RunError, WrongRunError
from azure_gpu_operations.stack import EngineError, Stack
from azure_gpu_operations.stack_view import StackView
from tests.support.scripted_runs import ScriptedRun

ADDED = {
    "workload": "vector_add",
    "device": "cuda",
    "device_name": "Tesla T4",
    "device_memory_mib": 14913,
    "cuda_driver": "12.9",
    "bandwidth_gb_per_s": 245.3,
    "passed": True,
}
TRAINED = {
    "workload": "mnist",
    "device": "cpu",
    "device_name": "AMD EPYC 7V12",
    "steps": 200,
    "resumed_from": 0,
    "batch_size": 100,
    "seconds": {"training": 4.0},
    "passed": True,
}
VIEW = StackView("dev", Connection("s"), jobs={"train": "/t", "adder": "/a"}, registry="/r", groups={"check": "/g"})


@pytest.mark.parametrize(
    ("lines", "report"),
    [
        (
            ["a line", json.dumps({**TRAINED, "passed": False}), json.dumps(ADDED), '{"other": 1}', "Test PASSED"],
            Report("vector_add", True, True, "Tesla T4, 14.6 GiB, CUDA driver 12.9", gb_per_second=245.3),
        ),
        ([json.dumps(TRAINED)], Report("mnist", True, False, "CPU, AMD EPYC 7V12", images_per_second=5000.0)),
        (
            [json.dumps({"workload": "mnist", "exit_code": 3, "problems": ["no GPU"], "passed": False})],
            Report("mnist", False, on_gpu=False, problems=("no GPU",)),
        ),
        (["nothing", "[1]"], None),
    ],
    ids=["the last one", "on the CPU", "rejected", "none"],
)
def test_a_report_is_the_last_line_that_is_one(lines: list[str], report: Report | None) -> None:
    assert report_of(lines) == report


def test_a_row_of_two_workloads_has_passed_where_both_have() -> None:
    reports = [found for each in (ADDED, TRAINED) if (found := report_of([json.dumps(each)]))]
    row = joined(Service.JOB, "train", reports, usd=Decimal("0.01"))
    assert (row.passed, row.on_gpu, row.measured) == (True, False, ("245.3 GB/s", "5,000 images/s"))
    assert not joined(Service.JOB, "train", []).passed
    assert not joined(Service.JOB, "train", [reports[0], reports[1]._replace(passed=False)]).passed


def test_the_words_are_those_of_run_and_the_first_part_by_name_is_proved() -> None:
    found = list(on_runs.steps(VIEW, Service.JOB, "adder", None, require_gpu=True))
    assert [" ".join(each.words) for each in found] == [
        "vector_add --on job --job adder --stack dev -- --require-gpu",
        "mnist --on job --job adder --stack dev -- --steps 200 --min-accuracy 0.9 --require-gpu",
    ]
    assert all(each.plan is not None for each in found)


def test_what_speaks_against_a_run_is_in_its_step() -> None:
    (first, _) = on_runs.steps(VIEW._replace(registry=""), Service.JOB, "train", None, require_gpu=False)
    assert first.plan is None
    assert "the stack has no registry" in str(first.problems[0])


class Written(ScriptedRun):
    """A run that writes lines while it is followed."""

    def __init__(self, *lines: str, outcome: Outcome = Outcome(0, "succeeded"), **more: Any) -> None:  # noqa: B008
        super().__init__(outcome, **more)
        self.lines = lines
        self.output: Output | None = None

    def follow(self) -> Outcome:
        assert self.output is not None
        for line in self.lines:
            self.output.show(line)
        return super().follow()


def step(*runs: Written, target: str = "vector_add") -> Step:
    """One that starts these runs, in turn."""
    rest = iter(runs)

    @contextmanager
    def plan(output: Output) -> Iterator[Run]:
        run = next(rest)
        run.output = output
        yield run

    return Step((target, "--on", "job"), plan, ())


def proved(*steps: Step, service: Service = Service.JOB) -> tuple[Proof, list[str], list[str]]:
    said, asked, going = list[str](), list[str](), list[Run]()
    seconds = iter(range(100))

    @contextmanager
    def watched(run: Run) -> Iterator[None]:
        going.append(run)
        yield

    def explain(name: str) -> list[str]:
        asked.append(name)
        return [f"why {name} failed"]

    found = on_runs.prove(
        service,
        "train",
        steps,
        "dev",
        said.append,
        explain,
        watched=watched,
        expected=(RunError,),
        clock=lambda: float(next(seconds)),
    )
    return found, said, asked


def test_two_runs_make_one_row_with_the_first_line_of_the_first() -> None:
    found, said, asked = proved(
        step(Written("hello", json.dumps(ADDED))), step(Written(json.dumps({**TRAINED, "device": "gpu"})), target="mnist")
    )
    assert found.passed
    assert (found.first_line_seconds, found.measured, found.on_gpu) == (1.0, ("245.3 GB/s", "5,000 images/s"), True)
    assert said[0].startswith("train: succeeded; ")
    assert asked == []


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (Written("no memory", outcome=Outcome(1, "failed")), ("vector_add: exit code 1", "no memory", "why run-1 failed")),
        (Written("hello"), ("vector_add: it ended with exit code 0, but its last line isn't a report", "hello")),
        (Written(raises={"follow": RunError("gone")}), ("vector_add: gone", "why train failed")),
    ],
    ids=["exit code", "no report", "gone"],
)
def test_a_run_that_proves_nothing_says_why_and_the_next_one_isnt_started(run: Written, why: tuple[str, ...]) -> None:
    after = Written(json.dumps(TRAINED))
    found, said, _ = proved(step(run), step(after, target="mnist"))
    assert not found.passed
    told = [line for line in found.why if line not in said]
    assert tuple(told) == why
    assert after.steps == []


@pytest.mark.parametrize(
    "rejected",
    [
        step(Written(raises={"start": WrongRunError([Problem("--pool", "it has no nodes")])})),
        Step(("vector_add",), None, (Problem("--pool", "it has no nodes"),)),
    ],
    ids=["by Azure", "beforehand"],
)
def test_a_part_that_can_not_take_it_leaves_the_service_to_another_one(rejected: Step) -> None:
    with pytest.raises(RejectedError) as raised:
        proved(rejected)
    assert raised.value.proof.why == ("--pool: it has no nodes",)


def test_one_that_reports_that_it_hasnt_passed_hasnt() -> None:
    line = json.dumps({"workload": "mnist", "problems": ["no GPU"], "passed": False, "exit_code": 3})
    found, _, _ = proved(step(Written(line, outcome=Outcome(3, "failed")), target="mnist"))
    assert found.why[:2] == ("mnist: exit code 3", "no GPU")
    assert found.on_gpu is False, "by which the command ends with its own code"
    found, _, _ = proved(step(Written(line.replace("3", "1"), outcome=Outcome(1, "failed")), target="mnist"))
    assert found.on_gpu is None


def test_the_exit_code_tells_of_no_gpu_where_the_output_has_gone_with_the_node() -> None:
    def ended(code: int, *words: str) -> Proof:
        run = step(Written(outcome=Outcome(code, "failed")))
        return proved(run._replace(words=(*run.words, *words)))[0]

    found = ended(3, "--", "--require-gpu")
    assert (found.passed, found.on_gpu) == (False, False)
    assert found.why[:2] == ("vector_add: exit code 3", "it found no GPU, and --require-gpu is set")
    assert ended(3).on_gpu is None, "3 is the program's own there"
    assert ended(1, "--", "--require-gpu").on_gpu is None


@pytest.mark.parametrize(
    ("outputs", "code", "passed", "runs"),
    [
        (["", json.dumps(ADDED)], 0, True, 2),
        (["", ""], 0, False, 2),
        ([json.dumps(ADDED)], 0, True, 1),
        (["another line"], 0, False, 1),
        ([""], 1, False, 1),
    ],
    ids=["lost once", "lost twice", "not lost", "no report", "failed"],
)
def test_a_run_on_a_pool_that_succeeded_and_left_no_line_is_run_once_more(
    outputs: list[str], code: int, passed: bool, runs: int
) -> None:
    """The pool has given the node back with the output of its task."""
    tried = [Written(*filter(None, [text]), outcome=Outcome(code, "ended")) for text in outputs]
    found, _, _ = proved(step(*tried), service=Service.BATCH)
    assert (found.passed, sum("follow" in each.steps for each in tried)) == (passed, runs), found.why


ONE = {"one": "/one"}
WHOLE = StackView(
    "local",
    Connection("s"),
    groups=ONE,
    jobs=ONE,
    pools=ONE,
    clusters=ONE,
    endpoints=ONE,
    vms=ONE,
    ml_workspace="/w",
    ml_computes=ONE,
)


@pytest.mark.parametrize("broken", Service)
def test_what_fails_on_one_service_is_its_row_and_no_others(broken: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def proof(service: Service) -> Proof:
        if service is broken:
            raise RunError("gone")
        return Proof(service, "one", passed=True)

    monkeypatch.setattr(proving, "Arm", lambda _: StringIO())  # something to close
    monkeypatch.setattr(proving, "lines_of", lambda *_: ["somebody has deleted it"])
    monkeypatch.setattr(proving, "prove_group", lambda *_: proof(Service.CONTAINER_GROUP))
    monkeypatch.setattr(proving, "prove_endpoint", lambda *_: proof(Service.ENDPOINT))
    monkeypatch.setattr(on_runs, "prove", lambda service, *_, **__: proof(service))
    options = Namespace(config_folder=None, require_gpu=False)
    rows = Proving(WHOLE, options, lambda _: None).all(
        {each: sorted(getattr(WHOLE, about.parts)) for each, about in ABOUT.items()}
    )
    assert [(each.service, each.passed) for each in rows] == [(each, each is not broken) for each in Service]
    assert [each.why for each in rows if not each.passed] == [("gone", "somebody has deleted it")]


ROWS = [
    Proof(Service.JOB, "train", True, "Tesla T4", True, ("245.3 GB/s",), 2.5, Decimal("0.012")),
    Proof(Service.AKS, "shared", False, why=("--pool: it has no nodes", "  fix: give it some")),
]


def test_the_table_has_a_row_for_each_and_says_why_below(capsys: pytest.CaptureFixture[str]) -> None:
    show(ROWS)
    shown = capsys.readouterr().out
    assert "Container Apps job" in shown
    assert "2.5 s" in shown
    assert "0.01 USD" in shown
    assert shown.rstrip().endswith("AKS cluster shared failed:\n  --pool: it has no nodes\n    fix: give it some")


class Group:
    """A container group that ends the second time that it is looked at after its start."""

    def __init__(self, *, code: int = 0, restart: str = "Never", log: str = json.dumps(TRAINED), gone: bool = False) -> None:
        self.code, self.restart, self.log, self.gone = code, restart, log, gone
        self.started, self.looks = 0, 0

    def get(self, path: str, version: str, **_: str) -> dict[str, Any] | None:
        if self.gone:
            return None
        if path.endswith("/logs"):
            return {"content": self.log}
        self.looks += 1
        over = not self.started or self.looks > 2
        state = "Running" if self.restart == "Always" else ("Failed" if self.code else "Succeeded") if over else "Running"
        current = {"startTime": f"2026-11-23T12:00:0{self.started}Z", "exitCode": self.code if over else None}
        containers = [{"name": "main", "properties": {"instanceView": {"currentState": current}}}]
        return {"properties": {"restartPolicy": self.restart, "containers": containers, "instanceView": {"state": state}}}

    def post(self, path: str, version: str) -> dict[str, Any]:
        assert path == "/g/start"
        self.started += 1
        return {}


def proved_group(group: Group) -> Proof:
    return proving.prove_group(
        group,
        "check",
        "/g",
        lambda name: [f"why {name}"],
        clock=iter(float(n) for n in range(2000)).__next__,
        sleep=lambda _: None,
    )


def test_a_group_is_started_once_more_and_read_at_its_end() -> None:
    group = Group()
    found = proved_group(group)
    assert (group.started, found.passed, found.device, found.measured) == (1, True, "CPU, AMD EPYC 7V12", ("5,000 images/s",))
    assert found.first_line_seconds is not None


@pytest.mark.parametrize(
    ("group", "passed", "why", "started"),
    [
        (Group(log="2.16.1 1000000.0"), True, (), 1),  # of another image: by its exit code
        (Group(code=4, log="no data"), False, ("exit code 4", "no data", "why check"), 1),
        (Group(restart="Always", log="listening"), True, (), 0),  # it runs for ever, and is only looked at
    ],
    ids=["another image", "failed", "for ever"],
)
def test_a_group_without_a_report_is_judged_by_its_state(group: Group, passed: bool, why: tuple[str, ...], started: int) -> None:
    found = proved_group(group)
    assert (found.passed, found.why, group.started, found.device, found.on_gpu) == (passed, why, started, "", None)


def test_a_group_that_is_gone_says_so() -> None:
    assert "not in Azure" in proved_group(Group(gone=True)).why[0]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Proof]:
    """What is proved, for the command."""
    rows: list[Proof] = []

    def proved(view: StackView, chosen: dict[Service, list[str]], options: object) -> Sequence[Proof]:
        return [row for row in rows if row.service in chosen]

    monkeypatch.setattr(command, "view", lambda stack: VIEW)
    monkeypatch.setattr(command, "_proved", proved)
    return rows


def test_the_exit_code_is_that_of_the_rows(shown: list[Proof], capsys: pytest.CaptureFixture[str]) -> None:
    shown.append(ROWS[0])
    assert main(["prove", "--stack", "dev"]) == 0
    shown.append(Proof(Service.CONTAINER_GROUP, "check", False, why=("exit code 4",)))
    assert main(["prove", "--stack", "dev"]) == 1
    assert main(["prove", "--stack", "dev", "--only", "job"]) == 0
    shown[:] = [ROWS[0]._replace(passed=False, on_gpu=False)]
    assert main(["prove", "--stack", "dev", "--require-gpu"]) == 3
    capsys.readouterr()
    assert main(["prove", "--stack", "dev", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["passed"], told["proofs"][0]["service"], told["proofs"][0]["usd"]) == (False, "job", 0.012)


def test_a_service_that_the_stack_hasnt_is_refused_with_those_that_it_has(
    shown: list[Proof], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["prove", "--stack", "dev", "--config-folder", str(tmp_path), "--only", "aks", "--only", "endpoint"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: --only: the stack dev has no AKS cluster; it has container-group, job",
        "error: --only: the stack dev has no Azure ML endpoint; it has container-group, job",
    ]


def test_a_service_that_is_switched_off_is_told_from_one_that_is_not_there(
    shown: list[Proof], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    off = "{digits: {enabled: false, expires_after: '2027-03-31', deployments: {}}}"
    (tmp_path / "Pulumi.dev.yaml").write_text(f"config:\n  azure-gpu:ml_endpoints: {off}\n")
    assert main(["prove", "--stack", "dev", "--config-folder", str(tmp_path), "--only", "endpoint"]) == 2
    told = "error: --only: the stack dev has no Azure ML endpoint: ml_endpoints.digits is switched off: "
    assert capsys.readouterr().err.startswith(told)


@pytest.mark.parametrize("answer", [EngineError("no stack named 'dev' found"), {"resources": []}], ids=["none", "empty"])
def test_a_stack_that_is_not_up_is_one_line(
    answer: EngineError | dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def deployment(_: Stack) -> dict[str, Any]:
        if isinstance(answer, EngineError):
            raise answer
        return answer

    monkeypatch.setattr(Stack, "deployment", deployment)
    assert main(["prove", "--stack", "dev"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "stack dev doesn't exist" in line or line.endswith("deploy it first: pulumi up --stack dev")


def test_what_computed_on_the_cpu_is_no_proof_where_a_gpu_is_required(
    shown: list[Proof], capsys: pytest.CaptureFixture[str]
) -> None:
    shown[:] = [Proof(Service.CONTAINER_GROUP, "check", True, on_gpu=False), Proof(Service.JOB, "train", True, on_gpu=True)]
    assert main(["prove", "--stack", "dev", "--require-gpu", "--json"]) == 3
    rows = json.loads(capsys.readouterr().out)["proofs"]
    assert [row["passed"] for row in rows] == [False, True]
    assert "--require-gpu" in rows[0]["why"][0]
    assert main(["prove", "--stack", "dev", "--require-gpu", "--only", "job"]) == 0


def test_ctrl_c_is_its_own_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "view", lambda stack: VIEW)
    monkeypatch.setattr(command, "_proved", lambda *_: None)
    assert main(["prove", "--stack", "dev"]) == 130


class Endpoint:
    """An endpoint with one deployment, as ARM has it. `answer`: what its server says of a picture."""

    def __init__(
        self,
        *,
        image: str = "r.azurecr.io/digits:1",
        model: str = "",
        log: str = "",
        deployed: bool = True,
        access: str = "Enabled",
    ) -> None:
        self.image, self.model, self.log, self.deployed, self.access = image, model, log, deployed, access

    def get(self, path: str, version: str, **_: str) -> dict[str, Any] | None:
        if path.endswith("/environments/digits/versions/1"):
            return {"properties": {"image": self.image}}
        uri = {"scoringUri": "https://e/score", "traffic": {"blue": 100}, "publicNetworkAccess": self.access}
        return {"id": path, "name": "digits", "properties": {**uri, "provisioningState": "Succeeded", "authMode": "Key"}}

    def values(self, path: str, version: str) -> Iterator[dict[str, Any]]:
        properties = {"environmentId": "/w/environments/digits/versions/1", "model": self.model}
        yield from [{"id": f"{path}/blue", "name": "blue", "properties": properties}] if self.deployed else []

    def post(self, path: str, version: str, body: object = None) -> dict[str, Any]:
        return {"content": self.log} if path.endswith("/getLogs") else {"primaryKey": "k"}


def scored(*digits: int, status: int = 200) -> list[Sent]:
    rows = [[float(place == digit) for place in range(10)] for digit in digits]
    return [Sent(status, 0.004, json.dumps({"scores": [row], "output": "scores"}).encode()) for row in rows]


def proved_endpoint(endpoint: Endpoint, sent: list[Sent], monkeypatch: pytest.MonkeyPatch) -> Proof:
    monkeypatch.setattr(proving, "_sent", lambda *_: sent)
    view = VIEW._replace(endpoints={"digits": "/e"})
    return proving.prove_endpoint(endpoint, view, "digits", lambda name: [f"why {name}"])


def test_an_endpoint_names_ten_digits_and_its_log_tells_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    found = proved_endpoint(Endpoint(log=f"{proving.RUNS_ON_CPU} (no driver)\nI listen"), scored(*range(10)), monkeypatch)
    assert (found.passed, found.device, found.on_gpu) == (True, "CPU", False)
    assert found.measured == ("10 of 10 digits", "4 ms a digit")
    assert proved_endpoint(Endpoint(), scored(*range(10)), monkeypatch).on_gpu is None


def test_a_digit_that_is_named_wrongly_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = proved_endpoint(Endpoint(), scored(0, 1, 2, 3, 4, 5, 6, 1, 8, 9), monkeypatch)
    assert (found.passed, found.why) == (False, ("it recognised 9 of 10 digits: 7 as 1",))


@pytest.mark.parametrize("endpoint", [Endpoint(image="ghcr.io/other/server:1"), Endpoint(model="/w/models/mine/versions/1")])
def test_an_endpoint_with_another_model_only_has_to_answer(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    found = proved_endpoint(endpoint, scored(*[5] * 10), monkeypatch)
    assert (found.passed, found.measured[0]) == (True, "it answers")


def test_an_endpoint_that_does_not_answer_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    found = proved_endpoint(Endpoint(), scored(*range(10), status=503), monkeypatch)
    assert found.why[0] == "no instance of the deployment is ready"
    assert found.why[-1] == "why digits"
    assert proved_endpoint(Endpoint(deployed=False), [], monkeypatch).why[0] == "it has no deployment"
    for access, fix in (("Disabled", "run this on a machine in the network"), ("Enabled", "assign the identity a role")):
        found = proved_endpoint(Endpoint(access=access), scored(*range(10), status=403), monkeypatch)
        assert found.why[1].startswith(f"fix: {fix}")


def test_the_samples_are_ten_pictures() -> None:
    assert len(set(proving.samples())) == 10
    assert {each[:8] for each in proving.samples()} == {b"\x89PNG\r\n\x1a\n"}
