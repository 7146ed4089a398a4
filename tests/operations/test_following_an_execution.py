"""Following an execution: its log line by line, its end, its time limit and Ctrl-C. The log comes by `requests`."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import requests
from azure.core.exceptions import ServiceRequestError

from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.job_client import Jobs
from azure_gpu_operations.jobs import ContainerStatus, Execution, Job, job_of
from azure_gpu_operations.run.on_job.follow import QUIET_POLLS, READER, End, follow
from azure_gpu_operations.run.on_job.log_stream import LogStream, plain, stream_address
from azure_gpu_operations.run.on_job.run import JobRequest, JobRun
from azure_gpu_operations.run.protocol import Outcome, Output
from tests.support import web
from tests.support.log_server import LogServer

ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.App/jobs/trainer"
ONE, TWO, THREE = (f"2026-10-09T21:15:4{n}.4795058Z stdout F line {n}" for n in (1, 2, 3))
GREETING = "2026-10-09T21:16:02.38246  Connecting to the container 'main'..."

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

    def __init__(self, *states: str, replicas: bool = True) -> None:
        self.states = list(states)
        self.has_replicas = replicas
        self.stopped: list[str] = []
        self.tokens = 0

    def execution(self, job: Job, name: str) -> Execution | None:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if state == "Ctrl-C":
            raise KeyboardInterrupt
        if state == "lost":
            raise ServiceRequestError("connection refused")
        return None if state == "gone" else Execution(name, state)

    def replicas(self, job: Job, execution: str) -> list[dict[str, Any]]:
        containers = [{"name": "main"}]
        return [{"name": "trainer-1-abc", "properties": {"containers": containers}}] if self.has_replicas else []

    def profile_type(self, job: Job) -> str:
        return ""

    def log_token(self, job: Job) -> str:
        self.tokens += 1
        return "stream-token"

    def stop(self, job: Job, execution: str) -> None:
        self.stopped.append(execution)
        self.states = ["Stopped"]

    def wait_until_over(self, job: Job, name: str, **limits: Any) -> Execution | None:
        return self.execution(job, name)


def job(server: LogServer) -> Job:
    endpoint = f"{server.url}/subscriptions/s/resourceGroups/g/containerApps/trainer/eventstream"
    template = {"containers": [{"name": "main"}]}
    return job_of({"id": ID, "name": "trainer", "properties": {"eventStreamEndpoint": endpoint, "template": template}})


def stream(server: LogServer, jobs: Jobs | None = None) -> LogStream:
    return LogStream(jobs or ScriptedJobs("Running"), job(server), "trainer-1")


def followed(server: LogServer, jobs: Jobs, **options: Any) -> tuple[End, list[str], list[str]]:
    shown, said = list[str](), list[str]()
    output = Output(shown.append, shown.append, said.append)
    end = follow(jobs, job(server), "trainer-1", output, at_limit=lambda: None, sleep=lambda _: None, **options)
    return end, shown, said


def run_of(server: LogServer, jobs: Jobs, said: list[str], *, minutes: float | None = None) -> JobRun:
    output = Output(list[str]().append, list[str]().append, said.append)
    request = JobRequest(timeout_minutes=minutes)
    return JobRun(jobs, job(server), "dev", "train", output, request=request, execution="trainer-1", sleep=lambda _: None)


def test_the_containers_own_lines_are_given_without_times_and_without_the_services_greeting(serve: Serve) -> None:
    server = serve([GREETING, ONE, "2026-10-09T21:15:42Z stderr F a warning", "2026-10-09T21:15:43Z stdout F "])
    assert list(stream(server).read(follow=False)) == ["line 1", "a warning", ""]


def test_the_stream_is_asked_for_as_the_azure_cli_asks(serve: Serve) -> None:
    server = serve([ONE])
    list(stream(server).read(follow=True))
    path = "/subscriptions/s/resourceGroups/g/jobs/trainer/executions/trainer-1/replicas/trainer-1-abc/containers/main/logstream"
    assert server.asked == [(path, {"follow": "true", "tailLines": "300", "output": "text"}, "Bearer stream-token")]


def test_a_stream_that_is_opened_again_goes_on_behind_what_it_gave(serve: Serve) -> None:
    server = serve([ONE, TWO], [ONE, TWO, THREE])
    found = stream(server)
    assert [*found.read(follow=True), "again", *found.read(follow=True)] == ["line 1", "line 2", "again", "line 3"]
    assert found.given == 3


def many(first: int, count: int) -> list[str]:
    return [f"2019-10-09T21:15:44.{number:07d}Z stdout F {number}" for number in range(first, first + count)]


@pytest.mark.parametrize(("streams", "cut"), [([many(0, 300)], True), ([many(0, 299)], False)])
def test_a_stream_that_begins_with_as_many_lines_as_it_may_has_left_some_out(
    serve: Serve, streams: list[list[str]], cut: bool
) -> None:
    found = stream(serve(*streams))
    list(found.read(follow=False))
    assert found.cut is cut


@pytest.mark.parametrize(("again", "cut"), [(many(5, 300), False), (many(10, 300), True)])
def test_a_stream_that_is_opened_again_notices_what_it_has_missed(serve: Serve, again: list[str], cut: bool) -> None:
    found = stream(serve(many(0, 10), again))
    list(found.read(follow=False))
    list(found.read(follow=False))
    assert found.cut is cut
    assert found.given == (305 if again[0].endswith(" 5") else 310)


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


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (ONE, "line 1"),
        ("2026-10-09T21:15:44Z stderr F  indented", " indented"),
        ("no time at all", "no time at all"),
        ("", ""),
        (GREETING, None),
        ("2026-10-09T21:16:02.5  Successfully Connected to container: 'main' [Revision: 'r', Replica: 'p']", None),
    ],
)
def test_a_line_is_the_containers_or_the_services(line: str, text: str | None) -> None:
    assert plain(line) == text


def test_a_job_without_an_endpoint_has_no_stream() -> None:
    assert stream_address(job_of({"id": ID, "name": "trainer"}), "e", "r", "c") == ""


def test_it_is_followed_to_its_end_and_every_line_is_shown_once(serve: Serve) -> None:
    server = serve([ONE, TWO], [ONE, TWO, THREE])
    end, shown, _ = followed(server, ScriptedJobs("Processing", "Running", "Succeeded"))
    assert shown == ["line 1", "line 2", "line 3"]
    assert end.execution is not None
    assert (end.execution.status, end.in_time, end.log_lines) == ("Succeeded", True, 3)


def test_when_its_time_is_over_it_is_stopped_and_that_is_said(serve: Serve) -> None:
    jobs, said = ScriptedJobs("Running"), list[str]()
    outcome = run_of(serve([ONE]), jobs, said, minutes=0).follow()
    assert (jobs.stopped, outcome) == (["trainer-1"], Outcome(124, "stopped after its timeout"))
    assert said[0] == "timeout of 0 minutes reached"


def test_while_azure_can_not_be_reached_the_run_goes_on_and_says_so_once(serve: Serve) -> None:
    end, _, said = followed(serve([ONE]), ScriptedJobs("Running", "lost", "lost", "Running", "Succeeded"))
    assert end.execution is not None
    assert end.execution.status == "Succeeded"
    assert said == ["Azure can't be reached at the moment, retrying: connection refused"]


def test_after_a_while_without_azure_it_is_said_that_the_execution_may_still_run(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("azure_gpu_operations.run.polling.UNREACHABLE_SECONDS", 0)
    server, said = serve([ONE]), list[str]()
    with pytest.raises(ServiceRequestError):
        follow(ScriptedJobs("lost"), job(server), "trainer-1", Output(*[said.append] * 3), at_limit=lambda: None)
    assert "the execution trainer-1 may still be running and billed" in said[-1]


@pytest.mark.parametrize("state", ["Running", "lost"])
def test_one_that_can_not_be_stopped_in_time_may_still_run_and_that_is_said(serve: Serve, state: str) -> None:
    class Unstoppable(ScriptedJobs):
        def stop(self, job: Job, execution: str) -> None:
            if state == "lost":
                raise AzureError("Conflict: another operation is in progress", 409)

    said: list[str] = []
    outcome = run_of(serve([ONE]), Unstoppable("Running"), said, minutes=0).follow()
    assert outcome == Outcome(124, "told to stop after its timeout")
    told = (
        "was told to stop but is Running"
        if state == "Running"
        else "may still be running and billed (Conflict: another operation is"
    )
    assert f"the execution trainer-1 {told}" in said[-1]


def test_a_refusal_on_the_way_does_not_leave_the_execution_alone(serve: Serve) -> None:
    class Throttled(ScriptedJobs):
        refused = 0

        def execution(self, job: Job, name: str) -> Execution | None:
            self.refused += 1
            if self.refused == 2:
                raise AzureError("HTTP 503: later", 503)
            return super().execution(job, name)

    end, _, said = followed(serve([ONE]), Throttled("Running", "Succeeded"))
    assert end.execution is not None
    assert said == ["Azure can't be reached at the moment, retrying: HTTP 503: later"]


@pytest.mark.parametrize(
    ("containers", "said"),
    [
        (
            (ContainerStatus("r", "main", "Waiting", None, "There is no capacity"),),
            ["still waiting for a GPU: There is no capacity"],
        ),
        ((ContainerStatus("r", "main", "Running", None, ""),), []),
    ],
)
def test_one_that_waits_for_long_says_what_for(serve: Serve, containers: tuple[ContainerStatus, ...], said: list[str]) -> None:
    class Waiting(ScriptedJobs):
        def execution(self, job: Job, name: str) -> Execution | None:
            found = super().execution(job, name)
            return found and found._replace(containers=containers)

    assert followed(serve([]), Waiting(*["Running"] * QUIET_POLLS, "Succeeded"))[2] == said


def test_one_for_which_there_is_no_replica_yet_says_so_once(serve: Serve) -> None:
    said = followed(serve([]), ScriptedJobs(*["Running"] * (QUIET_POLLS + 5), "Succeeded", replicas=False))[2]
    assert said == ["still waiting for a GPU: the service is allocating a machine and pulling the image, which takes minutes"]


def test_a_stream_that_stays_open_after_the_end_does_not_hold_the_run(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("azure_gpu_operations.run.on_job.follow.DRAIN_SECONDS", 0)
    server = serve([ONE])
    server.hold.clear()

    class OnceTheLogIsRead(ScriptedJobs):
        def execution(self, job: Job, name: str) -> Execution | None:
            server.read_up.wait()
            return super().execution(job, name)

    assert followed(server, OnceTheLogIsRead("Running", "Succeeded"))[1] == ["line 1"]


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
    output = Output(said.append, said.append, said.append)
    return JobRun(jobs, job(server), "dev", "train", output, sleep=slept.append), said, slept


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
