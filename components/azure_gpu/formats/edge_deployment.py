"""Reads a Kubernetes manifest, or a part of one, of jobs that share the GPUs of an edge device.

The text is a `deployment.yaml` as Microsoft's pages show it: a whole Job, or only its `env`, with any indentation, and with
comments that begin with `//`, which YAML doesn't have. Each container becomes an `EdgeJobInFile`; what isn't taken is a warning
with its line. A value that is likely a secret is never taken."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.formats import located_yaml
from azure_gpu.formats.document import Document
from azure_gpu.formats.lenient_json import member
from azure_gpu.formats.likely_secrets import holds_secret, is_secret_name

VISIBLE = "NVIDIA_VISIBLE_DEVICES"
PERCENTAGE = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
MEMORY = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"

_COMMENT = re.compile(r"\s*//")
_BLOCK = re.compile(r"(?:^|[\s:-])[|>][+-]?\d?[+-]?\s*(?:#.*)?$")
_SEPARATOR = re.compile(r"---(?:\s.*)?")
_LIMIT = re.compile(r"0=(\d+[GM])")
_GOES_ON = ("Deployment", "DaemonSet", "ReplicaSet", "StatefulSet")  # started again when they end
_TEMPLATES = {  # where the pod's spec is, and that of the job around it
    "Pod": ("spec", ""),
    "Job": ("spec.template.spec", "spec"),
    "CronJob": ("spec.jobTemplate.spec.template.spec", "spec.jobTemplate.spec"),
    **dict.fromkeys(_GOES_ON, ("spec.template.spec", "")),
}
_LEFT_OF_POD = {
    "initContainers": "a job here has one container",
    "volumes": "a job here has no volumes",
    "nodeSelector": "a job here runs on the device's own node",
    "hostNetwork": "a job here has a separate network",
}
_OWN = {"restartPolicy": ("Never", "OnFailure"), "imagePullPolicy": ("IfNotPresent", "Always")}  # what a job has by itself
_LEFT_OF_CONTAINER = {
    "volumeMounts": "a job here has no volumes",
    "ports": "a job here can't be reached",
    "resources": "a device gives its GPUs by NVIDIA_VISIBLE_DEVICES, and the jobs that Microsoft shows have no limits",
    "envFrom": "variables are written one by one here",
    "securityContext": "a job here has the fewest rights that it runs with",
}


class EdgeJobInFile(NamedTuple):
    """One container, as a job."""

    name: str  # empty if the file has none
    settings: Mapping[str, Any]  # image, command, args, environment, visible_devices, …: only what the file has
    secrets: tuple[str, ...]  # variables that are likely secrets: to be given as `secret_environment`
    at: str  # where it is written: file:line: path


def read(text: str, file: str) -> tuple[list[EdgeJobInFile], list[Problem]]:
    """All jobs of the text. `file` is how the user named it."""
    jobs: list[EdgeJobInFile] = []
    cleaned, problems = without_slashes(text, file)
    for above, part in documents(cleaned):
        document, wrong = located_yaml.read(part, file, above)
        problems += wrong
        if document is None:
            continue
        reading = _Reading(document)
        found = reading.jobs()
        if found:
            reading.rest(document.value, "")
        jobs += found
        problems += reading.problems
    if not jobs and not any(problem.severity is Severity.ERROR for problem in problems):
        problems.append(Problem(path=file, message="no job in this file", allowed="a Job, a container, or its env"))
    return jobs, problems


def without_slashes(text: str, file: str) -> tuple[str, list[Problem]]:
    """The text with the lines emptied that begin with `//`, but for those in a block of text, which belong to it."""
    kept: list[str] = []
    problems: list[Problem] = []
    block = -1  # how far the line is indented that a block of text began in; -1: none
    for number, line in enumerate(text.splitlines(), start=1):
        indent = len(line) - len(line.lstrip())
        if block >= 0 and line.strip() and indent <= block:
            block = -1
        if block < 0 and _COMMENT.match(line):
            message = "this line begins with //, which isn't a comment in YAML; it is read as one"
            problems.append(Problem(path=f"{file}:{number}", message=message, fix="begin it with #", severity=Severity.WARNING))
            kept.append("")
            continue
        if block < 0 and _BLOCK.search(line):
            block = indent
        kept.append(line)
    return "\n".join(kept) + "\n", problems


def documents(text: str) -> list[tuple[int, str]]:
    """The documents of the text, each with the number of lines above it."""
    found: list[tuple[int, str]] = []
    lines: list[str] = []
    above = 0
    for number, line in enumerate(text.splitlines(), start=1):
        if _SEPARATOR.fullmatch(line):
            found.append((above, "\n".join(lines)))
            above, lines = number, []
        else:
            lines.append(line)
    found.append((above, "\n".join(lines)))
    return [(above, part) for above, part in found if part.strip()] or [(0, text)]


class _Reading:
    """One document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self.taken: set[str] = set()  # paths of what was read

    def jobs(self) -> list[EdgeJobInFile]:
        body = _mapping(self.document.value)
        if items := _list(self.document.value):  # only `env`
            return [self.job("", "", {}, {"env": items}, "")]
        if not body:
            self.report("", "this is neither a manifest nor a piece of one", fix="write a Job, or the env of its container")
            return []
        if body.get("kind") is None:
            return self.of_piece(body)
        kind = _as_text(body["kind"])
        if kind not in _TEMPLATES:
            allowed = ", ".join(_TEMPLATES)
            self.warn("kind", "objects of this kind aren't jobs, and are left out", value=kind, allowed=allowed)
            return []
        if kind in _GOES_ON:
            self.warn("kind", f"a {kind} is started again when it ends; here it runs once, to its end", value=kind)
        if kind == "CronJob":
            self.warn("spec.schedule", "a job here has no schedule: it runs when it is declared")
        self.taken |= {"kind", "apiVersion", "status", "metadata.name"}
        pod_path, job_path = _TEMPLATES[kind]
        name = str(_inside(body, "metadata").get("name") or "")
        return self.of_pod(name, _inside(body, pod_path), pod_path, _inside(body, job_path) if job_path else {}, job_path)

    def of_piece(self, body: Mapping[str, Any]) -> list[EdgeJobInFile]:
        """A pod's spec, a container, or less."""
        for path in ("spec.template.spec", "template.spec", "spec", ""):
            if "containers" in _inside(body, path):
                return self.of_pod("", _inside(body, path), path, {}, "")
        if "env" in body or "image" in body:
            self.taken.add("name")
            return [self.job(str(body.get("name") or ""), "", {}, body, "")]
        self.report("", "no container here", fix="write a Job, or the env of its container")
        return []

    def of_pod(self, name: str, pod: Mapping[str, Any], path: str, job: Mapping[str, Any], job_path: str) -> list[EdgeJobInFile]:
        listed = [_mapping(one) for one in _list(pod.get("containers")) if _mapping(one)]
        if not listed:
            self.report(f"{path}.containers" if path else "containers", "the pod has no container", fix="add one")
            return []
        for key, why in _LEFT_OF_POD.items():
            if key in pod:
                self.leave(_join(path, key), why)
        self.taken |= {_join(path, key) for key in ("hostIPC", "hostPID")}
        of_pod = self.of_job(pod, job, job_path)
        found: list[EdgeJobInFile] = []
        for index, body in enumerate(listed):
            own = name if len(listed) == 1 else "-".join(filter(None, (name, str(body.get("name") or index))))
            self.taken.add(_join(path, f"containers[{index}].name"))
            found.append(self.job(own or str(body.get("name") or ""), path, of_pod, body, _join(path, f"containers[{index}]")))
        if len(listed) > 1:
            self.warn(_join(path, "containers"), f"the pod has {len(listed)} containers; each becomes a separate job")
        return found

    def of_job(self, pod: Mapping[str, Any], job: Mapping[str, Any], job_path: str) -> dict[str, Any]:
        settings: dict[str, Any] = {}
        for key, name in (("hostIPC", "host_ipc"), ("hostPID", "host_pid")):
            if isinstance(pod.get(key), bool):
                settings[name] = pod[key]
        self.taken |= {_join(job_path, key) for key in ("backoffLimit", "activeDeadlineSeconds", "parallelism", "completions")}
        retries, seconds = _count(job.get("backoffLimit")), _count(job.get("activeDeadlineSeconds"))
        if retries is not None:
            settings["retries"] = retries
        if seconds is not None:
            settings["timeout_minutes"] = max(1, -(-seconds // 60))
        for key in ("parallelism", "completions"):
            if job.get(key) not in (None, 1):
                self.leave(_join(job_path, key), "a job on a device is one pod")
        if "ttlSecondsAfterFinished" in job:
            why = "a finished Job is kept: one that was cleaned up would run again with the next update"
            self.leave(_join(job_path, "ttlSecondsAfterFinished"), why)
        return settings

    def job(self, name: str, pod_path: str, of_pod: Mapping[str, Any], body: Mapping[str, Any], path: str) -> EdgeJobInFile:
        settings: dict[str, Any] = dict(of_pod)
        if isinstance(body.get("image"), str):
            settings["image"] = body["image"]
            self.taken.add(_join(path, "image"))
        for key in ("command", "args"):
            if words := _list(body.get(key)):
                settings[key] = [_as_text(one) for one in words]
                self.taken.add(_join(path, key))
        for key, why in _LEFT_OF_CONTAINER.items():
            if key in body:
                self.leave(_join(path, key), why)
        environment: dict[str, str] = {}
        secrets: list[str] = []
        for variable, value, at in self.variables(body.get("env"), _join(path, "env")):
            if variable in (VISIBLE, PERCENTAGE, MEMORY):
                self.gpu_setting(variable, value.strip(), at, settings)
            elif is_secret_name(variable) or holds_secret(value):
                secrets.append(variable)
            else:
                environment[variable] = value
        if environment:
            settings["environment"] = environment
        return EdgeJobInFile(name, settings, tuple(secrets), self.document.at(path or pod_path))

    def variables(self, env: object, path: str) -> Iterator[tuple[str, str, str]]:
        """Names and values of `env`, with where they stand."""
        if env is None:
            return
        items = _list(env)
        if not items:
            self.report(path, "env is a list of variables", fix='write each as `- name: …` with `value: "…"` below')
            return
        for index, item in enumerate(items):
            at, entry = f"{path}[{index}]", _mapping(item)
            self.taken |= {f"{at}.name", f"{at}.value"}
            name, value = entry.get("name"), entry.get("value")
            if not isinstance(name, str) or not name.strip():
                self.report(at, "a variable has no name", fix="write `- name: …`")
            elif "valueFrom" in entry:
                self.leave(f"{at}.valueFrom", f"where {name.strip()} comes from isn't known here")
            else:
                if value is not None and not isinstance(value, str):
                    self.warn(f"{at}.value", "Kubernetes accepts only text here, so a number needs quotes; it is read as text")
                yield name.strip(), _as_text(value), at

    def gpu_setting(self, variable: str, value: str, path: str, settings: dict[str, Any]) -> None:
        if variable == VISIBLE:
            settings["visible_devices"] = "none" if value in ("", "void", "none") else value
        elif variable == PERCENTAGE:
            try:
                settings["active_thread_percentage"] = _number(value)
            except ValueError:
                self.report(
                    f"{path}.value", "the share of a GPU's threads is a percentage", value=value, fix='write "20" for a fifth'
                )
        else:
            match = _LIMIT.fullmatch(value)
            if match is None:
                self.leave(f"{path}.value", "a memory limit is taken only for the first GPU, as in 0=4G")
            else:
                settings["pinned_memory_limit"] = match[1]

    def rest(self, value: object, path: str) -> None:
        """Reports what was neither taken nor reported, unless it is what a job has by itself."""
        told = {problem.path for problem in self.problems}
        listed = [(f"{path}[{index}]", one) for index, one in enumerate(_list(value))]
        for here, one in listed or [(member(path, str(key)), one) for key, one in _mapping(value).items()]:
            if here in self.taken or self.document.at(here) in told or one in (None, "", [], {}):
                continue
            if any(each.startswith((f"{here}.", f"{here}[")) for each in self.taken):
                self.rest(one, here)
            elif one not in _OWN.get(here.rpartition(".")[2], ()):
                self.leave(here, "the stack file has no key for it")

    def report(self, path: str, message: str, *, value: object = None, fix: str = "") -> None:
        self.problems.append(Problem(path=self.document.at(path), message=message, value=value, fix=fix))

    def warn(self, path: str, message: str, *, value: object = None, allowed: str = "") -> None:
        at = self.document.at(path)
        self.problems.append(Problem(path=at, message=message, value=value, allowed=allowed, severity=Severity.WARNING))

    def leave(self, path: str, why: str) -> None:
        message = f"this isn't taken over: {why}"
        at = self.document.at(path)
        self.problems.append(Problem(path=at, message=message, code=Code.UNKNOWN, severity=Severity.WARNING))


def _inside(body: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The mapping at a path of words with dots; an empty one if there is none."""
    for step in filter(None, path.split(".")):
        body = _mapping(body.get(step))
    return body


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _number(text: str) -> float:
    number = float(text)
    if not 0 <= number < 1_000_000:  # what isn't a number at all, too
        raise ValueError(text)
    return int(number) if number == int(number) else number


def _as_text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def named(jobs: Sequence[EdgeJobInFile], name: str) -> EdgeJobInFile | None:
    """The job of this name, or the only one."""
    return next((job for job in jobs if job.name == name), jobs[0] if len(jobs) == 1 else None)
