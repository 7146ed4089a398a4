"""Reads a Kubernetes manifest, or a part of one, of jobs that share the GPUs of an edge device.

The text is a `deployment.yaml` as Microsoft's pages show it: a whole Job, or only its `env`, with any indentation, and with
comments that begin with `//`, which YAML doesn't have. Each container becomes an `EdgeJobInFile`; what isn't taken is a warning
with its line. A value that is likely a secret is never taken."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.formats import located_yaml
from azure_gpu.formats.body_keys import take
from azure_gpu.formats.body_reader import BodyReader, Reading, given, mapping
from azure_gpu.formats.document import Document
from azure_gpu.formats.kubernetes_manifest import (
    MEMORY,
    PERCENTAGE,
    RUNS,
    VISIBLE,
    documents,
    inside,
    objects,
    pod_in,
    sees,
    share,
    variables,
    without_slashes,
)
from azure_gpu.formats.likely_secrets import holds_secret, is_secret_name

_GOES_ON = ("Deployment", "DaemonSet", "ReplicaSet", "StatefulSet")  # started again when they end


class EdgeJobInFile(NamedTuple):
    """One container, as a job."""

    name: str  # empty if the file has none
    settings: Mapping[str, Any]  # image, command, args, environment, visible_devices, …: only what the file has
    secrets: tuple[str, ...]  # variables that are likely secrets: to be given as `secret_environment`


def read(text: str, file: str) -> tuple[list[EdgeJobInFile], list[Problem]]:
    """All jobs of the text. `file` is how the user named it."""
    jobs: list[EdgeJobInFile] = []
    cleaned, problems = without_slashes(text, file)
    for above, part in documents(cleaned):
        document, wrong = located_yaml.read(part, file, above)
        problems += wrong
        if document is not None:
            reading = _EdgeReading(document)
            for body, path, _ in objects([reading]):
                jobs += _jobs(BodyReader(body, path, reading))
            problems += reading.problems()
    if not jobs and not any(problem.severity is Severity.ERROR for problem in problems):
        problems.append(Problem(path=file, message="no job in this file", allowed="a Job, a container, or its env"))
    return jobs, problems


class _EdgeReading(Reading):
    """One document. `wrong`: what a job can't be made of, by its place."""

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self.wrong: list[Problem] = []

    def problems(self) -> list[Problem]:
        warnings = [
            Problem(
                path=each.at,
                message=each.message if each.changed else f"this isn't taken over: {each.message}",
                fix=each.fix,
                code=Code.INVALID if each.changed else Code.UNKNOWN,
                severity=Severity.WARNING,
            )
            for each in self.left
        ]
        return [*self.wrong, *warnings]


def _reject(of: BodyReader, path: str, message: str, fix: str, value: object = None) -> None:
    cast(_EdgeReading, of.reading).wrong.append(Problem(of.reading.document.at(path), message, value, fix=fix))


def _jobs(of: BodyReader) -> list[EdgeJobInFile]:
    """The jobs of one object, or of a part of one."""
    if not of.names():
        fix = "write a Job, or the env of its container"
        _reject(of, of.path, "this is neither a manifest nor a piece of one", fix)
        return []
    kind = of.text("kind")
    if kind is None:
        found = _of_piece(of)
    elif kind not in (*RUNS, *_GOES_ON):
        of.leave("kind", f"{kind}: objects of this kind aren't jobs")
        return []
    else:
        found = _of_object(kind, of)
    if found:
        of.rest()
    return found


def _of_object(kind: str, of: BodyReader) -> list[EdgeJobInFile]:
    if kind in _GOES_ON:
        of.change("kind", f"a {kind} is started again when it ends; here it runs once, to its end")
    spec = of.inside("spec")
    if kind == "CronJob":
        spec.change("schedule", "a job here has no schedule: it runs when it is declared")
        spec.skip("schedule")
        spec = inside(spec, "jobTemplate.spec")
    of.skip("apiVersion", "status")
    name = of.inside("metadata").text("name") or ""
    settings: dict[str, Any] = {}
    if kind in ("Job", "CronJob"):
        retries = spec.whole("backoffLimit")
        settings = take("edge job", spec, retries=retries if retries is not None and retries >= 0 else None)
    return _of_pod(name, spec if kind == "Pod" else inside(spec, "template.spec"), settings)


def _of_piece(of: BodyReader) -> list[EdgeJobInFile]:
    """A pod's spec, a container, or less."""
    pod = pod_in(of)
    if pod is not None:
        return _of_pod("", pod, {})
    if "env" in of or "image" in of:
        return [_of_container(of.text("name") or "", of, {})]
    _reject(of, of.path, "no container here", "write a Job, or the env of its container")
    return []


def _of_pod(name: str, pod: BodyReader, settings: dict[str, Any]) -> list[EdgeJobInFile]:
    containers = pod.items("containers")
    if not containers:
        _reject(pod, pod.whole_path("containers"), "the pod has no container", "add one")
        return []
    settings = settings | take("edge pod", pod)
    found: list[EdgeJobInFile] = []
    for index, one in enumerate(containers):
        called = one.text("name") or ""
        own = name if len(containers) == 1 else "-".join(filter(None, (name, called or str(index))))
        found.append(_of_container(own or called, one, settings))
    if len(containers) > 1:
        pod.change("containers", f"the pod has {len(containers)} containers; each becomes a separate job")
    return found


def _of_container(name: str, of: BodyReader, settings: Mapping[str, Any]) -> EdgeJobInFile:
    found = {**settings, **take("edge container", of)}
    environment: dict[str, str] = {}
    secrets: list[str] = []
    for one, variable, value in variables(of) if _has_names(of) else ():
        if not isinstance(one.peek("value"), str | None):
            one.change("value", "Kubernetes accepts only text here, so a number needs quotes; it is read as text")
        if variable == VISIBLE:
            found["visible_devices"] = value.strip() if sees(value) else "none"
        elif variable in (PERCENTAGE, MEMORY):
            found |= _share(variable, value.strip(), one)
        elif is_secret_name(variable) or holds_secret(value):
            secrets.append(variable)
        else:
            environment[variable] = one.text("value", free=True) or ""
    return EdgeJobInFile(name, found | given(environment=environment), tuple(secrets))


def _has_names(of: BodyReader) -> bool:
    """Whether `env` is a list of variables with names; rejects another one."""
    env = of.peek("env")
    if env is not None and not isinstance(env, list):
        of.skip("env")
        fix = 'write each as `- name: …` with `value: "…"` below'
        _reject(of, of.whole_path("env"), "env is a list of variables", fix)
        return False
    names = [mapping(one).get("name") for one in cast(list[object], env or [])]
    nameless = [at for at, name in enumerate(names) if not (isinstance(name, str) and name.strip())]
    for at in nameless:
        _reject(of, f"{of.whole_path('env')}[{at}]", "a variable has no name", "write `- name: …`")
    return not nameless


def _share(variable: str, value: str, one: BodyReader) -> dict[str, Any]:
    found = share(variable, value)
    if not found and variable == PERCENTAGE:
        message = "the share of a GPU's threads is a percentage"
        _reject(one, one.whole_path("value"), message, 'write "20" for a fifth', value)
    elif not found:
        one.leave("value", "a memory limit is taken only for the first GPU, as in 0=4G")
    return found


def named(jobs: Sequence[EdgeJobInFile], name: str) -> EdgeJobInFile | None:
    """The job of this name, or the only one."""
    return next((job for job in jobs if job.name == name), jobs[0] if len(jobs) == 1 else None)
