"""Reads the files of a Batch Shipyard configuration, which are recognised by their first key, whatever their names.

Parts have what Shipyard's own schemas allow. Of the credentials only names are taken: accounts, addresses and registries, never a
key, a password or an id."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.formats import lenient_json, located_yaml
from azure_gpu.formats.document import Document
from azure_gpu.formats.lenient_json import member
from azure_gpu.formats.shaped import validate
from azure_gpu.formats.shapes import Object
from azure_gpu.formats.shipyard import shape
from azure_gpu.formats.shipyard.part import Part

KINDS = {
    "pool": ("pool_specification",),
    "jobs": ("job_specifications",),
    "credentials": ("credentials",),
    "config": ("batch_shipyard", "global_resources", "data_replication"),
}
_OTHERS = {
    "remote_fs": "a file system of its own machines: let the nodes mount Azure Files or NFS (`mounts` of a pool)",
    "slurm": "a Slurm cluster: Azure CycleCloud is the successor",
    "monitoring": "machines with Grafana: metrics of the account and the pool are in Azure Monitor",
    "federation": "a federation of pools: each run names its pool",
}
_HOST = re.compile(r"([a-z0-9]{3,24})\.([a-z0-9]+)\.batch\.", re.IGNORECASE)


class Accounts(NamedTuple):
    """The names in the credentials."""

    file: str = ""  # "": there were none
    batch: str = ""
    location: str = ""  # from the address of the Batch account
    storage: Mapping[str, str] = {}  # the account's name by its link
    registries: tuple[str, ...] = ()  # servers with a login


class Shipyard(NamedTuple):
    """What was found."""

    pool: Part | None
    jobs: tuple[Part, ...]
    tasks: tuple[tuple[Part, ...], ...]  # of each job, in its order
    merges: tuple[Part | None, ...]  # the merge task of each job
    config: Part | None
    accounts: Accounts


def kind_of(text: str) -> str:
    """Which of the files it is: pool, jobs, config, credentials; "" for anything else. A glance, nothing is checked."""
    for kind, keys in KINDS.items():
        if any(re.search(rf"""(?:^|\A\s*\{{)[ \t]*["']?{key}["']?[ \t]*:""", text, re.MULTILINE) for key in keys):
            return kind
    return ""


def read(files: Iterable[tuple[str, str]]) -> tuple[Shipyard, list[Problem]]:
    """Each file is its name and its text. Of two of a kind the first counts."""
    reader = _Reader()
    for name, text in files:
        reader.take(name, text)
    return reader.whole()


class _Reader:
    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self.problems: list[Problem] = []

    def take(self, name: str, text: str) -> None:
        is_json = text.removeprefix("\ufeff").lstrip().startswith(("{", "//", "/*"))
        document, problems = (lenient_json if is_json else located_yaml).read(text, name)
        self.problems += problems
        if document is None:
            return
        value = document.value
        keys = set(cast(dict[str, Any], value)) if isinstance(value, dict) else set[str]()
        kind = next((kind for kind, names in KINDS.items() if keys & set(names)), "")
        for key in sorted(keys & set(_OTHERS)):
            where = document.at(key)
            self.problems.append(Problem(where, f"not taken: {_OTHERS[key]}", severity=Severity.WARNING))
        if not kind:
            if not keys & set(_OTHERS):
                allowed = "config.yaml, pool.yaml, jobs.yaml and credentials.yaml"
                fix = "name another file"
                self.problems.append(Problem(name, "not a file of Batch Shipyard", allowed=allowed, fix=fix))
        elif kind in self.documents:
            message = f"{self.documents[kind].file} has the same already"
            fix = "keep one of the two, or name it on the command line"
            self.problems.append(Problem(name, message, fix=fix))
        else:
            self.documents[kind] = document

    def whole(self) -> tuple[Shipyard, list[Problem]]:
        pool = self.part("pool", "pool_specification", shape.POOL, "a pool of Shipyard")
        jobs, tasks, merges = self.jobs()
        config = self.part("config", "", shape.CONFIG, "the configuration of Shipyard")
        return Shipyard(pool, jobs, tasks, merges, config, self.accounts()), self.problems

    def part(self, kind: str, key: str, wanted: Object, what: str) -> Part | None:
        document = self.documents.get(kind)
        if document is None:
            return None
        value: Any = document.value[key] if key else document.value
        return self.held(document, value, key, wanted, what)

    def held(self, document: Document, value: Any, path: str, wanted: Object, what: str) -> Part | None:
        if not isinstance(value, dict):
            self.problems.append(Problem(document.at(path), f"expected a mapping, as {what} is", fix="write its keys and values"))
            return None
        found = validate(cast(dict[str, Any], value), wanted, document, path, what=what, lenient=True)
        self.problems += found.problems
        return Part(found.value, Document(document.file, None, {**document.lines, **found.lines}), path)

    def jobs(self) -> tuple[tuple[Part, ...], tuple[tuple[Part, ...], ...], tuple[Part | None, ...]]:
        document = self.documents.get("jobs")
        jobs: list[Part] = []
        tasks: list[tuple[Part, ...]] = []
        merges: list[Part | None] = []
        key = "job_specifications"
        for index, one in enumerate(self.items(document, document.value[key], key) if document else []):
            path = f"{key}[{index}]"
            job = self.held(cast(Document, document), one, path, shape.JOB, "a job of Shipyard")
            if job is None:
                continue
            document = cast(Document, document)
            inner = self.items(document, job.get("tasks") or [], f"{path}.tasks")
            held = [
                self.held(document, task, f"{path}.tasks[{number}]", shape.TASK, "a task of Shipyard")
                for number, task in enumerate(inner)
            ]
            jobs.append(job)
            tasks.append(tuple(task for task in held if task is not None))
            last = job.get("merge_task")
            merges.append(self.held(document, last, f"{path}.merge_task", shape.TASK, "a task of Shipyard") if last else None)
        return tuple(jobs), tuple(tasks), tuple(merges)

    def items(self, document: Document | None, value: Any, path: str) -> list[Any]:
        if isinstance(value, list):
            return cast(list[Any], value)
        if document is not None:
            self.problems.append(Problem(document.at(path), "expected a list", fix="write a list, each with `- ` before it"))
        return []

    def accounts(self) -> Accounts:
        document = self.documents.get("credentials")
        if document is None:
            return Accounts()
        part = Part({"credentials": _mapping(document.value.get("credentials"))}, document, "")
        host = urlsplit(str(part.get("credentials.batch.account_service_url") or "")).netloc
        found = _HOST.match(host)
        links = part.things("credentials.storage")
        return Accounts(
            file=document.file,
            batch=found[1].lower() if found else "",
            location=found[2].lower() if found else "",
            storage={name: str(one["account"]) for name, link in links.items() if "account" in (one := _mapping(link))},
            registries=tuple(part.things("credentials.docker_registry")),
        )


def volumes(config: Part | None, kind: str) -> tuple[list[tuple[str, Part]], list[Problem]]:
    """The `data_volumes` or `shared_data_volumes` of the configuration, by their aliases."""
    if config is None:
        return [], []
    wanted = shape.DATA_VOLUME if kind == "data_volumes" else shape.SHARED_VOLUME
    within = "global_resources.volumes" if config.get("global_resources.volumes") else "global_resources.docker_volumes"
    result: list[tuple[str, Part]] = []
    problems: list[Problem] = []
    for alias, value in config.things(f"{within}.{kind}").items():
        path = member(f"{within}.{kind}", alias)
        held = validate(_mapping(value), wanted, config.document, path, what="a volume of Shipyard", lenient=True)
        problems += held.problems
        result.append((alias, Part(held.value, config.document, path)))
    return result, problems


def _mapping(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
