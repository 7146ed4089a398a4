"""Following an execution: its log line by line, its end, its time limit and Ctrl-C. The log comes by `requests`."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import requests
from azure.core.exceptions import ServiceRequestError

from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.job_bodies import ContainerStatus, Execution, Job, job_of
from azure_gpu_operations.job_client import Jobs
from azure_gpu_operations.run.log_lines import LogStream, stream_address
from azure_gpu_operations.run.on_job.request import JobRequest
from azure_gpu_operations.run.on_job.run import QUIET_POLLS, READER, JobRun, follow
from azure_gpu_operations.run.protocol import Outcome, Output
from tests.support import web
from tests.support.log_server import LogServer
from tests.support.scripted_runs import output_to

ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.App/jobs/trainer"
ONE, TWO, THREE = (f"2026-10-09T21:15:4{n}.4795058Z stdout F line {n}" for n in (1, 2, 3))
GREETING = "2026-10-09T21:16:02.38246  Connecting to the container 'main'..."
CONNECTED = "2026-10-09T21:16:02.5  Successfully Connected to container: 'main' [Revision: 'r', Replica: 'p']"

Serve = Callable[..., LogServer]


def readers_end() -> None:
    for thread in threading.enumerate():
        if thread.name == READER:
            thread.join()


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as running:

        def start(*streams: list[str], status: int = 200) -> LogServer:
            server = LogServer(list(streams), status=status)
            running.enter_context(web.answered(server.answer))
            running.callback(readers_end)
            running.callback(server.hold.set)
            return server

        yield start


class ScriptedJobs(Jobs):
    """Answers each look at the execution with the next state of its script, and stays at the last."""

    def __init__(self, *states: str, replicas: bool = True, refuses: str = "") -> None:
        self.states = list(states)
        self.has_replicas, self.refuses = replicas, refuses
        self.stopped: list[str] = []
        self.tokens = 0

    def execution(self, job: Job, name: str) -> Execution | None:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if state == "lost":
            raise ServiceRequestError("connection refused")
        if state == "throttled":
            raise AzureError("HTTP 503: later", 503)
        if state == "no capacity":
            return Execution(name, "Running", containers=(ContainerStatus("r", "main", "Waiting", None, "There is no capacity"),))
        if state == "no quota":
            why = "Maximum Allowed Cores exceeded for the environment: limit 0, used 0, asked 1"
            return Execution(name, "Running", containers=(ContainerStatus("r", "main", "Waiting", None, why),))
        if state == "at work":
            return Execution(name, "Running", containers=(ContainerStatus("r", "main", "Running", None, ""),))
        return Execution(name, state)

    def replicas(self, job: Job, execution: str) -> list[dict[str, Any]]:
        containers = [{"name": "main"}]
        return [{"name": "trainer-1-abc", "properties": {"containers": containers}}] if self.has_replicas else []

    def profile_type(self, job: Job) -> str:
        return ""

    def log_token(self, job: Job) -> str:
        self.tokens += 1
        return "stream-token"

    def stop(self, job: Job, execution: str) -> None:
        if self.refuses:
            raise AzureError(self.refuses, 409)
        self.stopped.append(execution)

    def wait_until_over(self, job: Job, name: str, **limits: Any) -> Execution | None:
        return self.execution(job, name)


def job(server: LogServer) -> Job:
    endpoint = f"{server.url}/subscriptions/s/resourceGroups/g/containerApps/trainer/eventstream"
    template = {"containers": [{"name": "main"}]}
    return job_of({"id": ID, "name": "trainer", "properties": {"eventStreamEndpoint": endpoint, "template": template}})


def stream(server: LogServer, jobs: Jobs | None = None) -> LogStream:
    return LogStream(jobs or ScriptedJobs("Running"), job(server), "trainer-1")


def many(first: int, count: int) -> list[str]:
    return [f"2019-10-09T21:15:44.{number:07d}Z stdout F {number}" for number in range(first, first + count)]


def numbers(first: int, end: int) -> list[str]:
    return [str(number) for number in range(first, end)]


@pytest.mark.parametrize(
    ("streams", "given", "cut"),
    [
        (
            [
                [
                    GREETING,
                    ONE,
                    "2026-10-09T21:15:42Z stderr F  a warning",
                    "2026-10-09T21:15:43Z stdout F ",
                    CONNECTED,
                    "as it is",
                ]
            ],
            ["line 1", " a warning", "", "as it is"],
            False,
        ),
        ([[ONE, TWO], [ONE, TWO, THREE]], ["line 1", "line 2", "line 3"], False),
        ([many(0, 299)], numbers(0, 299), False),
        ([many(0, 300)], numbers(0, 300), True),  # as many as a stream may begin with: some are left out
        ([many(0, 10), many(5, 300)], numbers(0, 305), False),
        ([many(0, 10), many(10, 300)], numbers(0, 310), True),
    ],
    ids=["the container's own lines", "opened again", "whole", "cut", "whole again", "cut between"],
)
def test_a_stream_gives_each_line_once_and_notices_what_it_has_missed(
    serve: Serve, streams: list[list[str]], given: list[str], cut: bool
) -> None:
    found = stream(serve(*streams))
    assert [line for _ in streams for line in found.read(follow=False)] == given
    assert (found.given, found.cut) == (len(given), cut)


def test_the_stream_is_asked_for_as_the_azure_cli_asks(serve: Serve) -> None:
    server = serve([ONE])
    list(stream(server).read(follow=True))
    path = "/subscriptions/s/resourceGroups/g/jobs/trainer/executions/trainer-1/replicas/trainer-1-abc/containers/main/logstream"
    assert server.asked == [(path, {"follow": "true", "tailLines": "300", "output": "text"}, "Bearer stream-token")]


def test_without_a_replica_there_is_nothing_to_read_and_nobody_is_asked(serve: Serve) -> None:
    server = serve([ONE])
    assert list(stream(server, ScriptedJobs("Running", replicas=False)).read(follow=True)) == []
    assert server.asked == []


def test_a_refused_token_is_asked_for_again(serve: Serve) -> None:
    server, jobs = serve([ONE], status=401), ScriptedJobs("Running")
    found = stream(server, jobs)
    for _ in range(2):
        with pytest.raises(requests.HTTPError):
            list(found.read(follow=True))
    assert jobs.tokens == 2


def test_a_job_without_an_endpoint_has_no_stream() -> None:
    assert stream_address(job_of({"id": ID, "name": "trainer"}), "e", "r", "c") == ""


UNREACHED = "Azure can't be reached at the moment, retrying: "
WAITS = "still waiting for a GPU: "
ALLOCATING = f"{WAITS}the service is allocating a machine and pulling the image, which takes minutes"


@pytest.mark.parametrize(
    ("states", "replicas", "said"),
    [
        (["Processing", "Running"], True, []),
        (["Running", "lost", "lost", "Running"], True, [f"{UNREACHED}connection refused"]),
        (["Running", "throttled"], True, [f"{UNREACHED}HTTP 503: later"]),
        (["no capacity"] * QUIET_POLLS, True, [f"{WAITS}There is no capacity"]),
        (["at work"] * QUIET_POLLS, True, []),
        (["Running"] * (QUIET_POLLS + 5), False, [ALLOCATING]),
    ],
    ids=["at once", "unreached", "throttled", "no capacity", "long", "no replica"],
)
def test_it_is_followed_to_its_end_and_each_reason_to_wait_is_said_once(
    serve: Serve, states: list[str], replicas: bool, said: list[str]
) -> None:
    server, told, shown = serve([ONE, TWO], [ONE, TWO, THREE]), list[str](), list[str]()
    jobs, output = ScriptedJobs(*states, "Succeeded", replicas=replicas), Output(shown.append, shown.append, told.append)
    end = follow(jobs, job(server), "trainer-1", output, at_limit=lambda: None, sleep=lambda _: None)
    assert told == said
    assert shown == (["line 1", "line 2", "line 3"] if replicas else [])
    assert end.execution is not None
    assert (end.execution.status, end.in_time, end.log_lines) == ("Succeeded", True, len(shown))


@pytest.mark.parametrize(
    ("jobs", "words", "said"),
    [
        (ScriptedJobs("Running", "Stopped"), "stopped after its timeout", "timeout of 0 minutes reached"),
        (
            ScriptedJobs("Running"),
            "told to stop after its timeout",
            "may still be running and billed (it was told to stop and is Running)",
        ),
        (
            ScriptedJobs("Running", refuses="Conflict: another operation is in progress"),
            "told to stop after its timeout",
            "the execution trainer-1 may still be running and billed (Conflict: another operation is in progress)",
        ),
    ],
    ids=["stopped", "still running", "refused"],
)
def test_when_its_time_is_over_it_is_stopped_and_said_whether_it_is(
    serve: Serve, jobs: ScriptedJobs, words: str, said: str
) -> None:
    told: list[str] = []
    request = JobRequest(timeout_minutes=0)
    run = JobRun("dev", "train", output_to(told), request, jobs, job(serve([ONE])), name="trainer-1", is_sent=True)
    assert run.follow() == Outcome(124, words)
    assert jobs.stopped == (["trainer-1"] if not jobs.refuses else [])
    assert any(said in line for line in told), told


def test_one_that_waits_at_a_quota_of_0_says_how_to_request_more_and_has_cost_nothing(serve: Serve) -> None:
    told: list[str] = []
    jobs = ScriptedJobs(*["no quota"] * QUIET_POLLS, "Succeeded")
    assert follow(jobs, job(serve([])), "trainer-1", output_to(told), at_limit=lambda: None, sleep=lambda _: None).ran
    assert "`python -m operations preflight` says how more is requested; on the embedded Azure `python -m localazure" in told[0]
    stopped = Execution("trainer-1", "Stopped")
    jobs = ScriptedJobs("no quota")
    end = follow(jobs, job(serve([])), "trainer-1", output_to([]), limit_seconds=0, at_limit=lambda: stopped)
    assert (end.in_time, end.ran, end.seconds) == (False, False, 0.0)


def test_after_a_while_without_azure_it_is_said_that_the_execution_may_still_run(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("azure_gpu.shared.polling.UNREACHABLE_SECONDS", 0)
    said: list[str] = []
    with pytest.raises(ServiceRequestError):
        follow(ScriptedJobs("lost"), job(serve([ONE])), "trainer-1", output_to(said), at_limit=lambda: None)
    assert "the execution trainer-1 may still be running and billed" in said[-1]


def test_a_stream_that_stays_open_after_the_end_does_not_hold_the_run(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("azure_gpu_operations.run.on_job.run.DRAIN_SECONDS", 0)
    server = serve([ONE])
    server.hold.clear()

    class OnceTheLogIsRead(ScriptedJobs):
        def execution(self, job: Job, name: str) -> Execution | None:
            server.read_up.wait()
            return super().execution(job, name)

    shown: list[str] = []
    follow(OnceTheLogIsRead("Running", "Succeeded"), job(server), "trainer-1", output_to(shown), at_limit=lambda: None)
    assert shown == ["line 1"]


NO_PULL = (
    "Azure refused to start the job trainer: InvalidParameterValueInContainerTemplate: Field 'template.containers.main.image' is "
    'invalid: \'Invalid value: "r.azurecr.io/a:1": GET https:?scope=repository: UNAUTHORIZED: authentication required'
)


class Refusing(ScriptedJobs):
    """Refuses to start as often as there are refusals."""

    def __init__(self, *refusals: str) -> None:
        super().__init__("Running")
        self.refusals = list(refusals)

    def start(self, job: Job, template: Any) -> str:
        if self.refusals:
            raise AzureError(self.refusals.pop(0))
        return "trainer-1"


def started(jobs: Jobs, server: LogServer) -> tuple[JobRun, list[str], list[float]]:
    said, slept = list[str](), list[float]()
    return JobRun("dev", "train", output_to(said), JobRequest(), jobs, job(server), sleep=slept.append), said, slept


def test_a_job_whose_right_to_its_image_is_new_is_started_once_it_works(serve: Serve) -> None:
    run, said, slept = started(Refusing(NO_PULL, NO_PULL), serve())
    run.start()
    assert run.name == "trainer-1"
    assert slept == [5.0, 10.0]
    assert said[0] == "the role assignment for pulling its image isn't effective yet; retrying for up to 15 minutes"
    assert [each.startswith("started ") for each in said[1:2]] == [True]


def test_what_doesn_t_pass_by_itself_or_in_time_ends_the_run(serve: Serve) -> None:
    run, said, slept = started(Refusing("Azure refused to start the job trainer: InvalidImage: no"), serve())
    with pytest.raises(AzureError, match="InvalidImage"):
        run.start()
    assert (said, slept) == ([], [])
    run, said, slept = started(Refusing(*[NO_PULL] * 100), serve())
    with pytest.raises(AzureError, match="UNAUTHORIZED"):
        run.start()
    assert 15 * 60 <= sum(slept) < 16 * 60
