"""Rules for failures inside a deployment, by its logs: scoring script, server, memory, GPU. Pure."""

import re

from azure_gpu.catalog.services.machine_learning.deployments import MANAGED
from azure_gpu.catalog.services.machine_learning.endpoints import has_gpu
from azure_gpu.catalog.services.machine_learning.scoring import LIVENESS_ROUTE, PORT
from azure_gpu.catalog.services.machine_learning.serving import DEFAULT_REQUEST_TIMEOUT_S
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain import ml_phrases, phrases
from azure_gpu_operations.explain.facts import Cause, Finding
from azure_gpu_operations.explain.ml_facts import SERVER, DeploymentCase

_SLOW = 0.95  # of a request's time: what takes as long is cut off a little earlier or later
_RECENT = 40  # lines of a log that speak of now
_UP = "then `pulumi up`"


def _memory(case: DeploymentCase) -> Finding | None:
    matched = phrases.first(ml_phrases.KILLED, (*case.sentences, *case.server_log))
    if not matched or not (case.failed or phrases.first(ml_phrases.KILLED, case.server_log[-_RECENT:])):
        return None
    size = case.deployment.instance_type if case.deployment else ""
    had = f": {size} has too little" if size else ""
    return Finding(
        Cause.OUT_OF_MEMORY,
        f"its server was killed because it requires more memory{had}",
        "use a larger `instance_type`, fewer workers (WORKER_COUNT in `environment_variables`; each loads the model), or a "
        f"smaller model; {_UP}",
        (matched.strip(),),
        SERVER,
    )


def _inputs(case: DeploymentCase) -> Finding | None:
    matched = _in_log(case, ml_phrases.INPUTS)
    if not matched:
        return None
    return Finding(
        Cause.MODEL_INPUTS,
        "the model's signature has more than one input; the scoring script supports one",
        f"export it with a signature of one input, or set `code` to a custom script; {_UP}",
        (matched,),
        SERVER,
    )


def _package(case: DeploymentCase) -> Finding | None:
    matched = _in_log(case, ml_phrases.NO_MODULE)
    found = ml_phrases.NO_MODULE.search(matched) if matched else None
    if found is None or not case.failed:
        return None
    name = found["name"]
    return Finding(
        Cause.MISSING_PACKAGE,
        f"the scoring script imports {name}, which isn't in its environment" if name else "a package is missing",
        f"add it to the environment's conda file or requirements, give the environment a new version, {_UP}",
        (matched,),
        SERVER,
    )


def _function(case: DeploymentCase) -> Finding | None:
    matched = _in_log(case, ml_phrases.NO_FUNCTION)
    if not matched or not case.failed:
        return None
    return Finding(
        Cause.SCRIPT,
        "the scoring script lacks one of the functions init() and run()",
        f"add it, give `code` a new version, {_UP}",
        (matched,),
        SERVER,
    )


def _gpu_memory(case: DeploymentCase) -> Finding | None:
    matched = phrases.first(phrases.GPU_MEMORY, case.server_log)
    if not matched:
        return None
    return Finding(
        Cause.OUT_OF_GPU_MEMORY,
        "its server requested more memory than the GPU has",
        f"send fewer images at once, run fewer workers (WORKER_COUNT), or use a GPU with more memory: {COMMAND} sizes "
        "--gpu-memory 80",
        (matched.strip(),),
        SERVER,
    )


def _no_gpu(case: DeploymentCase) -> Finding | None:
    """An environment for GPUs on a machine without one: it fails, or answers slowly on the CPU."""
    matched = phrases.first(ml_phrases.NO_GPU, case.server_log)
    name = case.deployment.instance_type if case.deployment else ""
    managed = case.deployment is not None and case.deployment.kind == MANAGED
    if not matched or not managed or has_gpu(name):
        return None
    how = "so it doesn't start" if case.failed else "so it runs on the CPU"
    return Finding(
        Cause.NO_GPU,
        f"its environment requires a GPU, but {name or 'its machine'} has none, {how}",
        f"use an `instance_type` with a GPU ({COMMAND} sizes --service ml-endpoint), or a CPU environment",
        (matched.strip(),),
        SERVER,
    )


def _script(case: DeploymentCase) -> Finding | None:
    matched = ml_phrases.exception(case.server_log)
    if not matched or not case.failed:
        return None
    named = case.deployment.script if case.deployment and case.deployment.script else "the scoring script"
    return Finding(
        Cause.SCRIPT,
        f"{named} raised an exception while loading: {matched}",
        f"see its last lines below; run init() locally first (AZUREML_MODEL_DIR is the model's folder); {_UP}",
        case.sentences[:1],
        SERVER,
    )


def _probe(case: DeploymentCase) -> Finding | None:
    matched = phrases.first(ml_phrases.PROBE, case.sentences)
    found = ml_phrases.PROBE.search(matched) if matched else None
    if found is None or not case.failed:
        return None
    return Finding(
        Cause.NOT_READY,
        f"its container runs, but its {found['which'].lower()} probe gets no answer: usually nothing listens on the port "
        "set in the environment",
        f"check that the server listens on the port and path of the environment's routes (Azure's server: {PORT} and "
        f"{LIVENESS_ROUTE}), on all addresses; if the model loads slowly, relax `probes` of the deployment; {_UP}",
        (matched,),
        SERVER,
    )


def _crash(case: DeploymentCase) -> Finding | None:
    matched = phrases.first(ml_phrases.CRASHED, case.sentences)
    if not matched or not case.failed:
        return None
    return Finding(
        Cause.CRASH_LOOP,
        "its container ends soon after each start",
        f"see its last lines below; if there are none, the command is wrong: run the image locally; {_UP}",
        (matched,),
        SERVER,
    )


def _timeout(case: DeploymentCase) -> Finding | None:
    """A deployment that answers later than its limit: clients get 408 or 504."""
    deployment = case.deployment
    if deployment is None or case.failed:
        return None
    limit = deployment.timeout_seconds or DEFAULT_REQUEST_TIMEOUT_S
    took = [float(found["ms"]) / 1000 for line in case.server_log if (found := ml_phrases.REQUEST.search(line))]
    slow = [seconds for seconds in took if seconds >= limit * _SLOW]
    matched = phrases.first(ml_phrases.WORKER_TIMEOUT, case.server_log)
    if not slow and not matched:
        return None
    what = f"{len(slow)} of its last {len(took)} requests took longer" if slow else "a worker was stopped because it took longer"
    return Finding(
        Cause.TIMEOUT,
        f"{what} than the limit of {limit:g} s, so clients got 408",
        "send smaller requests, raise `requests: {timeout_seconds: …}` of the deployment, or use a faster machine",
        (matched.strip(),) if matched else (f"the slowest took {max(slow):.1f} s",),
        SERVER,
    )


def _in_log(case: DeploymentCase, pattern: re.Pattern[str]) -> str:
    """The matching line of the server's log, or of the service's message."""
    return phrases.first(pattern, case.server_log).strip() or next(
        (line.strip() for text in case.sentences for line in text.splitlines() if pattern.search(line)), ""
    )


RULES = (
    _inputs,
    _package,
    _function,
    _gpu_memory,
    _memory,
    _no_gpu,
    _script,
    _probe,
    _crash,
    _timeout,
)
