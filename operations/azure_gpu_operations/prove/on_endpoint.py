"""Tests an endpoint by a query: it must recognise ten handwritten digits from outside its training data.

An endpoint with another model than that of workloads/digits only has to answer, because the right answers aren't known.
"""

import statistics
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from azure_gpu.shared.installation import WORKLOADS
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.machine_learning import endpoints
from azure_gpu_operations.machine_learning.endpoints import API_VERSION, Deployment, Endpoint
from azure_gpu_operations.prove.proof import Proof, Service
from azure_gpu_operations.query import inputs, scores
from azure_gpu_operations.query.inputs import Input
from azure_gpu_operations.query.refusals import refusal
from azure_gpu_operations.query.sending import ScoringTarget, Sent, of_endpoint, send
from azure_gpu_operations.stack_view import StackView

WORKLOAD = "digits"
SAMPLES = WORKLOADS / WORKLOAD / "samples"  # 0.png to 9.png
SECONDS = 60.0  # of one request
NO_GPU = "No GPU found: the model runs on the CPU"  # of workloads/scoring
_CLIENTS = 1
_LOG_LINES = 500

Explain = Callable[[str], list[str]]


def prove(arm: Arm, view: StackView, place: str, explain: Explain) -> Proof:
    endpoint = endpoints.get(arm, view.endpoints[place])
    if endpoint is None:
        return _failed(place, "the endpoint is in the stack's state but not in Azure; run `pulumi refresh`")
    deployments = list(endpoints.deployments(arm, endpoint.id))
    if not deployments:
        return _failed(place, "it has no deployment", *explain(place))
    if not endpoint.scoring_uri:
        return _failed(place, f"it has no address: it is {endpoint.state or 'not ready'}", *explain(place))
    digits = samples()
    sent = _sent(arm, endpoint, digits)
    failed = next((one for one in sent if not one.is_good), None)
    if failed is not None:
        refused = refusal(failed, place, view.name)
        return _failed(place, f"{refused.what}", *([f"fix: {refused.fix}"] if refused.fix else []), *explain(place))
    latency = f"{statistics.median(one.seconds for one in sent) * 1000:.0f} ms a digit"
    serving = [each for each in deployments if endpoint.traffic.get(each.name)]
    knows_digits = any(_has_our_model(arm, each) for each in serving)
    device, on_gpu = _device(arm, serving)
    if not knows_digits:
        measured = ("it answers", latency)
        return Proof(Service.ENDPOINT, place, True, device, on_gpu, measured, first_line_seconds=sent[0].seconds)
    named = [_named(one) for one in sent]
    wrong = [f"{digit} as {name or 'nothing'}" for digit, name in enumerate(named) if name != str(digit)]
    right = f"{len(digits) - len(wrong)} of {len(digits)} digits"
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


def samples() -> list[Input]:
    """The ten digits, in their order."""
    return inputs.read(SAMPLES / f"{digit}.png" for digit in range(10))


def _sent(arm: Arm, endpoint: Endpoint, digits: Sequence[Input]) -> list[Sent]:
    target = ScoringTarget(endpoint.scoring_uri, of_endpoint(arm, endpoint))
    with closing(send(target, digits, 1, _CLIENTS, SECONDS, threading.Event())) as answers:
        return sorted(answers, key=lambda one: one.input)


def _named(sent: Sent) -> str:
    """The class with the highest score; "" if the answer has none."""
    rows = scores.rows(sent.body, [str(digit) for digit in range(10)])
    return rows[0][0].label if rows and rows[0] else ""


def _has_our_model(arm: Arm, deployment: Deployment) -> bool:
    """Whether it serves the model of the digits image."""
    environment = arm.get(deployment.environment, API_VERSION) if deployment.environment and not deployment.model else None
    image = str(((environment or {}).get("properties") or {}).get("image") or "")
    return image.rpartition("/")[2].partition(":")[0] == WORKLOAD


def _device(arm: Arm, deployments: Sequence[Deployment]) -> tuple[str, bool | None]:
    """The device: the log of this repository's scoring server begins with a line if there is no GPU; otherwise unknown."""
    for each in deployments:
        lines = endpoints.logged(arm, each.id, endpoints.INFERENCE_SERVER, _LOG_LINES).lines
        if any(endpoints.without_time(line).startswith(NO_GPU) for line in lines):
            return "CPU", False
    return "", None


def _failed(place: str, *why: str) -> Proof:
    return Proof(Service.ENDPOINT, place, passed=False, why=tuple(_lines(why)))


def _lines(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        yield from text.splitlines()
