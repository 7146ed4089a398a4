"""Tests the services of a stack, two at a time, and stops the runs on Ctrl-C.

More than two at a time would affect the measurements if all of them are on one machine.

A container group only runs its declared containers: it is started again, and its log read; one that runs forever is checked as it
is. Starting an ended group runs its containers again, which are billed while they run (Microsoft Learn,
container-instances/container-instances-stop-start). An endpoint must recognise ten handwritten digits from outside its training
data; one with another model than that of workloads/digits only has to answer, because the right answers aren't known.
"""

import argparse
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from typing import Any

from azure_gpu.shared.installation import WORKLOADS
from azure_gpu_operations import groups
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.closed import way_to
from azure_gpu_operations.errors import expected
from azure_gpu_operations.explain.command import lines_of
from azure_gpu_operations.groups import POLL_SECONDS, runs_to_an_end
from azure_gpu_operations.machine_learning import endpoints
from azure_gpu_operations.machine_learning.endpoints import API_VERSION, Deployment, Endpoint
from azure_gpu_operations.prove import on_runs
from azure_gpu_operations.prove.on_runs import RejectedError
from azure_gpu_operations.prove.proof import Proof, Report, Service, failure, joined, report_of
from azure_gpu_operations.prove.scoring import Sent, bearer_of, best, refusal, send
from azure_gpu_operations.run.protocol import Run, RunError, Say
from azure_gpu_operations.stack_view import StackView

GROUP_SECONDS = 600.0
_ENDED = ("Succeeded", "Failed", "Stopped")
LAST_LINES = 5

Explain = Callable[[str], list[str]]


def prove_group(
    arm: Arm,
    place: str,
    group_id: str,
    explain: Explain,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Proof:
    body = arm.get(group_id, groups.API_VERSION)
    if body is None:
        return failure(Service.CONTAINER_GROUP, place, "the group is in the stack's state but not in Azure; run `pulumi refresh`")
    if not runs_to_an_end(body):
        return _of_a_server(arm, place, group_id, body, explain)
    runs_before = _begun(body)
    arm.post(f"{group_id}/start", groups.API_VERSION)
    began, first = clock(), None
    while clock() - began < GROUP_SECONDS:
        body = arm.get(group_id, groups.API_VERSION)
        if body is None:
            return failure(Service.CONTAINER_GROUP, place, "the group was deleted while it ran")
        is_anew = _begun(body) != runs_before or not _is_over(body)
        lines = _group_log(arm, group_id, body) if is_anew else []
        first = clock() - began if first is None and lines else first
        if is_anew and _begun(body) != runs_before and _is_over(body):
            return _ended(arm, place, group_id, body, first, explain)
        sleep(POLL_SECONDS / 4)
    return failure(Service.CONTAINER_GROUP, place, f"it didn't end within {GROUP_SECONDS / 60:g} minutes", *explain(place))


def _ended(arm: Arm, place: str, group_id: str, body: Mapping[str, Any], first: float | None, explain: Explain) -> Proof:
    codes = [_current(each).get("exitCode") for each in body["properties"]["containers"]]
    lines = _group_log(arm, group_id, body)
    found = report_of(lines)
    if any(codes):
        details = (found.problems if found else ()) or tuple(lines[-LAST_LINES:])
        code = next(each for each in codes if each)
        return failure(Service.CONTAINER_GROUP, place, f"exit code {code}", *details, *explain(place))._replace(
            first_line_seconds=first
        )
    return joined(Service.CONTAINER_GROUP, place, [found or Report("", passed=True)], first_line_seconds=first)


def _of_a_server(arm: Arm, place: str, group_id: str, body: Mapping[str, Any], explain: Explain) -> Proof:
    state = (body["properties"].get("instanceView") or {}).get("state")
    if state != "Running":
        return failure(Service.CONTAINER_GROUP, place, f"it is {state or 'in no state'} and should run", *explain(place))
    found = report_of(_group_log(arm, group_id, body))
    return joined(Service.CONTAINER_GROUP, place, [found or Report("", passed=True)])


def _is_over(body: Mapping[str, Any]) -> bool:
    return (body["properties"].get("instanceView") or {}).get("state") in _ENDED


def _begun(body: Mapping[str, Any]) -> list[str]:
    """The last start times of the containers."""
    return [str(_current(each).get("startTime") or "") for each in body["properties"]["containers"]]


def _current(container: Mapping[str, Any]) -> Mapping[str, Any]:
    return (container["properties"].get("instanceView") or {}).get("currentState") or {}


def _group_log(arm: Arm, group_id: str, body: Mapping[str, Any]) -> list[str]:
    """Of its first container."""
    name = body["properties"]["containers"][0]["name"]
    answer = arm.get(f"{group_id}/containers/{name}/logs", groups.API_VERSION)
    return str((answer or {}).get("content") or "").splitlines()


WORKLOAD = "digits"
SAMPLES = WORKLOADS / WORKLOAD / "samples"  # 0.png to 9.png
REQUEST_SECONDS = 60.0  # of one request
RUNS_ON_CPU = "No GPU found: the model runs on the CPU"  # of workloads/scoring
_LOG_LINES = 500


def prove_endpoint(arm: Arm, view: StackView, place: str, explain: Explain) -> Proof:
    endpoint = endpoints.get(arm, view.endpoints[place])
    if endpoint is None:
        return failure(Service.ENDPOINT, place, "the endpoint is in the stack's state but not in Azure; run `pulumi refresh`")
    deployments = list(endpoints.deployments(arm, endpoint.id))
    if not deployments:
        return failure(Service.ENDPOINT, place, "it has no deployment", *explain(place))
    if not endpoint.scoring_uri:
        return failure(Service.ENDPOINT, place, f"it has no address: it is {endpoint.state or 'not ready'}", *explain(place))
    sent = _sent(arm, endpoint)
    failed = next((one for one in sent if not one.is_good), None)
    if failed is not None:
        refused = refusal(failed, place, view.name)
        if failed.status in (0, 403) and not endpoint.is_public:
            refused = refused._replace(fix=way_to(arm, endpoint.id.rsplit("/", 2)[0]))
        return failure(Service.ENDPOINT, place, refused.what, f"fix: {refused.fix}", *explain(place))
    latency = f"{statistics.median(one.seconds for one in sent) * 1000:.0f} ms a digit"
    serving = [each for each in deployments if endpoint.traffic.get(each.name)]
    knows_digits = any(_has_our_model(arm, each) for each in serving)
    device, on_gpu = _device(arm, serving)
    named = [best(one.body) for one in sent] if knows_digits else []
    wrong = [f"{digit} as {name or 'nothing'}" for digit, name in enumerate(named) if name != str(digit)]
    right = f"{len(sent) - len(wrong)} of {len(sent)} digits" if knows_digits else "it answers"
    why = (f"it recognised {right}: {', '.join(wrong)}",) if wrong else ()
    return Proof(
        Service.ENDPOINT,
        place,
        passed=not wrong,
        device=device,
        on_gpu=on_gpu,
        measured=(right, latency),
        first_line_seconds=sent[0].seconds,
        why=why,
    )


def samples() -> list[bytes]:
    """The ten digits, in their order."""
    return [(SAMPLES / f"{digit}.png").read_bytes() for digit in range(10)]


def _sent(arm: Arm, endpoint: Endpoint) -> list[Sent]:
    return send(endpoint.scoring_uri, bearer_of(arm, endpoint), samples(), REQUEST_SECONDS)


def _has_our_model(arm: Arm, deployment: Deployment) -> bool:
    """Whether it serves the model of the digits image."""
    environment = arm.get(deployment.environment, API_VERSION) if deployment.environment and not deployment.model else None
    image = str(((environment or {}).get("properties") or {}).get("image") or "")
    return image.rpartition("/")[2].partition(":")[0] == WORKLOAD


def _device(arm: Arm, deployments: Sequence[Deployment]) -> tuple[str, bool | None]:
    """The device: the log of this repository's scoring server begins with a line if there is no GPU; otherwise unknown."""
    for each in deployments:
        lines = endpoints.logged(arm, each.id, endpoints.INFERENCE_SERVER, _LOG_LINES).lines
        if any(endpoints.without_time(line).startswith(RUNS_ON_CPU) for line in lines):
            return "CPU", False
    return "", None


AT_A_TIME = 2


class Proving:
    """One execution of `prove` for a stack."""

    def __init__(self, view: StackView, options: argparse.Namespace, say: Say) -> None:
        self._view, self._options, self._say = view, options, say
        self._going: list[Run] = []
        self._stopped = threading.Event()

    def all(self, places: Mapping[Service, Sequence[str]]) -> list[Proof]:
        """A `Proof` per service, in their order. On Ctrl-C stops the runs and raises KeyboardInterrupt."""
        with ThreadPoolExecutor(AT_A_TIME) as threads:
            coming = [threads.submit(self._first, service, parts) for service, parts in places.items()]
            try:
                return [each.result() for each in coming]
            except KeyboardInterrupt:
                self._stopped.set()
                for run in list(self._going):
                    with suppress(*expected()):
                        run.stop()
                threads.shutdown(wait=False, cancel_futures=True)
                raise

    def _first(self, service: Service, places: Sequence[str]) -> Proof:
        """The proof of the first part that accepts the run, or else of the first one."""
        rejected: list[Proof] = []
        for place in places:
            try:
                return self._one(service, place)
            except RejectedError as error:
                rejected.append(error.proof)
        return rejected[0]

    def _one(self, service: Service, place: str) -> Proof:
        def say(line: str) -> None:
            self._say(f"{service.title} {place}: {line}")

        try:
            with closing(Arm(self._view.connection)) as arm:
                if service is Service.CONTAINER_GROUP:
                    return prove_group(arm, place, self._view.groups[place], self._explain)
                if service is Service.ENDPOINT:
                    return prove_endpoint(arm, self._view, place, self._explain)
            steps = on_runs.steps(self._view, service, place, self._options.config_folder, require_gpu=self._options.require_gpu)
            return on_runs.prove(
                service, place, steps, self._view.name, say, self._explain, watched=self._watched, expected=expected()
            )
        except expected() as error:
            return failure(service, place, str(error), *self._explain(place))

    @contextmanager
    def _watched(self, run: Run) -> Iterator[None]:
        """Registers a run while it is active."""
        self._going.append(run)
        try:
            if self._stopped.is_set():
                raise RunError("stopped before it began")
            yield
        finally:
            self._going.remove(run)

    def _explain(self, name: str) -> list[str]:
        """The lines of `explain`; empty if it doesn't know the name."""
        with suppress(*expected()), closing(Arm(self._view.connection)) as arm:
            return lines_of(arm, name, self._view, self._options.config_folder)
        return []
