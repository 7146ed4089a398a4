"""What the readers of Kubernetes manifests share: the objects of a text, their names, and the variables of a container."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats.body_keys import take
from azure_gpu.formats.body_reader import BodyReader, Reading, mapping
from azure_gpu.formats.likely_secrets import holds_secret

Fitting = Callable[[str], str]  # the nearest name that a stack file takes

RUNS = ("Job", "CronJob", "Pod")
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
PERCENTAGE = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
MEMORY = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
POOL_LABELS = ("agentpool", "kubernetes.azure.com/agentpool")
_COMMENT = re.compile(r"\s*//")
_BLOCK = re.compile(r"(?:^|[\s:-])[|>][+-]?\d?[+-]?\s*(?:#.*)?$")
_SEPARATOR = re.compile(r"---(?:\s.*)?")
_LIMIT = re.compile(r"0=(\d+[GM])")


@dataclass(slots=True)
class Manifest:
    """What the documents of a file became. `refused`: what runs on GPUs that a cluster here doesn't have, by section."""

    fitting: Fitting  # makes a name that a stack file takes
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    services: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    refused: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict[str, dict[str, dict[str, Any]]])
    pools: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    secrets: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])  # section.name, variable
    queues: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    labels: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])  # of the pods of each service
    notes: list[str] = field(default_factory=list[str])

    def is_empty(self) -> bool:
        return not (self.jobs or self.services or self.refused or self.pools or self.queues)


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
            problems.append(refused("manifest.slashes", f"{file}:{number}"))
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


def objects(documents: list[Reading]) -> Iterator[tuple[Mapping[str, Any], str, Reading]]:
    """Every object, those of a List each by itself."""
    for reading in documents:
        body = mapping(reading.document.value)
        if str(body.get("kind", "")).endswith("List") and isinstance(body.get("items"), list):
            for index, item in enumerate(body["items"]):
                if isinstance(item, dict):
                    yield item, f"items[{index}]", reading
        elif isinstance(listed := reading.document.value, list):  # only `env`
            yield {"env": cast(list[Any], listed)}, "", reading
        else:
            yield body, "", reading


def pod_in(of: BodyReader) -> BodyReader | None:
    """The spec of the pod in a part of a manifest, as pages show it."""
    for steps in ("spec.template.spec", "template.spec", "spec"):
        pod = of
        for step in steps.split("."):
            pod = pod.inside(step) if isinstance(pod.peek(step), dict) else BodyReader({}, "", of.reading)
        if "containers" in pod:
            return pod
    return of if "containers" in of else None


def inside(reader: BodyReader, path: str) -> BodyReader:
    for step in path.split("."):
        reader = reader.inside(step)
    return reader


def metadata_of(of: BodyReader, kind: str, *taken: str) -> tuple[str, str | None]:
    """The object's name, and its queue of Kueue. Every other label and annotation is reported, since it may steer something.
    `taken`: annotations that are read beside this."""
    metadata = of.inside("metadata")
    name = metadata.text("name") or metadata.text("generateName") or kind
    take("manifest metadata", metadata, told={"name": name})
    of.skip("apiVersion", "kind", "status")
    labels = metadata.inside("labels")
    queue = labels.text(QUEUE_NAME)
    leave_each(labels, "labels here are the stack's own")
    leave_each(metadata.inside("annotations"), "annotations here are the stack's own", taken)
    return name, queue


def leave_each(of: BodyReader, message: str, but: Iterable[str] = (QUEUE_NAME,)) -> None:
    for name in of.names():
        text = str(of.peek(name))
        if name not in but:
            of.leave_given(name, message if holds_secret(text) else f"{text[:60]}: {message}")


def variables(container: BodyReader) -> Iterator[tuple[BodyReader, str, str]]:
    """The variables of a container, each with its name and its text. One whose text isn't in the file is left out."""
    for one in container.items("env"):
        name = (one.text("name") or "").strip()
        if "valueFrom" in one:
            fix = f"set secret_environment: {{{name}: …}}, or environment"
            field = mapping(mapping(one.peek("valueFrom")).get("fieldRef")).get("fieldPath")
            own = f"{name} comes from the pod's {field}, which a pod here has not"
            one.leave("valueFrom", own if field else f"where {name} comes from isn't in the file", fix)
            continue
        raw = one.raw("value")
        yield one, name, "" if raw is None else ("true" if raw else "false") if isinstance(raw, bool) else str(raw)


def sees(value: str) -> bool:
    """Whether a container with this value of VISIBLE sees a GPU."""
    return value.strip() not in ("", "none", "void")


def share(name: str, value: str) -> dict[str, Any]:
    """What a variable sets of a share of the first GPU; nothing for another value."""
    if name == PERCENTAGE and value.replace(".", "", 1).isdigit():
        return {"active_thread_percentage": int(float(value)) if float(value).is_integer() else float(value)}
    found = _LIMIT.fullmatch(value) if name == MEMORY else None
    return {"pinned_memory_limit": found[1]} if found else {}


def mappings(value: object) -> list[dict[str, Any]]:
    """The mappings of a list; of anything else none."""
    return [mapping(one) for one in cast(list[object], value)] if isinstance(value, list) else []
