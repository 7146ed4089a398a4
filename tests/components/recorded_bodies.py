"""What the program declares and refuses: of every case, and of every stack file that is shipped or an example, a YAML file in
`cases/bodies`.

The files answer "does this change alter what is sent to Azure?". `python -m tests.components.recorded_bodies` shows every
difference from them and ends with 1 if there is one; `--renew` writes them again, as `make renew` does. A commit that changes a
body or a name on purpose renews them and says so in CHANGELOG.md: a name that changes replaces what is up.

A file leaves out what is the same nearly everywhere: options that aren't set, exports that are empty, the beginning of each URN.
Where a resource is named, it is named by its name in the program.
"""

import argparse
import contextlib
import datetime
import functools
import json
import pickle
import re
import runpy
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from string import Template
from typing import Any
from unittest import mock

import pulumi
import yaml

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import stack_file
from azure_gpu.formats.build_context import context_hash
from azure_gpu.shared import workloads
from azure_gpu.stack import secret_values, written_by
from azure_gpu.stack.look_ups import BY_PROVIDER
from azure_gpu.stack.plan import plan
from azure_gpu.stack.settings import read
from tests.components.answering import clusters_that_answer
from tests.components.recording import KEYS, PROJECT, SECRET_SIGNATURE, STACK, SUBSCRIPTION, Recorded, declare
from tests.components.settings_of import TODAY, configuration, encrypted, encrypted_in

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "cases"
BODIES = CASES / "bodies"
EXAMPLES = ROOT / "examples"
EXAMPLE_VALUES = {
    "subscription_id": SUBSCRIPTION,
    "tenant_id": SUBSCRIPTION,
    "team": "vision",
    "location": "eastus",
    "expires_after": "2026-12-31",
    "image_source": "https://localhost:1/checkout.git#HEAD",
}
SHIPPED = ("dev", "documents", "lite", "local")
# What a shipped stack file leaves to its environment, and `connect` adds on the embedded Azure.
CONNECTED = {"azure-native:subscriptionId": SUBSCRIPTION, "azure-gpu:image_source": "https://localhost:1/checkout.git#HEAD"}


def has_most(name: str) -> bool:
    """Whether this is the longest case of its component: what each run of the engine shows of the others, it shows of this."""
    of_component = CASES.glob(f"{name.split('.')[0]}.happy.*.yaml")
    return name == max(of_component, key=lambda path: path.stat().st_size).stem


def names() -> list[str]:
    """Of everything in the record: cases by the name of their file, stack files as `stack.<name>` and `example.<name>`."""
    examples = [f"example.{path.parent.name}" for path in EXAMPLES.glob("*/stack.yaml")]
    return sorted([*(path.stem for path in CASES.glob("*.yaml")), *(f"stack.{name}" for name in SHIPPED), *examples])


def now(name: str) -> Any:
    """What the program declares or refuses today, in the record's form."""
    if name.startswith(("stack.", "example.")):
        kind, which = name.split(".")
        text = (ROOT / f"Pulumi.{which}.yaml" if kind == "stack" else EXAMPLES / which / "stack.yaml").read_text()
        if kind == "example":
            text = Template(text).substitute(EXAMPLE_VALUES)
        return declared_by_program({**CONNECTED, **stack_file.configuration(text)}, KEYS)
    case = yaml.load((CASES / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    if ".error." in name:
        return _refused(case)
    config, lookups = configuration(case["says"]), {**KEYS, **case.get("azure_answers", {})}
    declared = declared_by_program(config, lookups)
    if ".variants." in name and (told := run_program(config, lookups, preview=True).log):
        declared["preview_log"] = sorted(told)
    return declared


class _Read(Mapping[str, Any]):
    """By name what was recorded, read when it is asked for. Each asking gets a copy, so that no test can change what the next one
    compares with."""

    def __init__(self, names: Iterable[str]) -> None:
        self._pickled: dict[str, bytes | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Any:
        if (pickled := self._pickled[name]) is None:
            pickled = self._pickled[name] = pickle.dumps(recorded_of(name))
        return pickle.loads(pickled)

    def __iter__(self) -> Iterator[str]:
        return iter(self._pickled)

    def __len__(self) -> int:
        return len(self._pickled)


@functools.cache
def recorded() -> Mapping[str, Any]:
    """By name what was recorded, in the form of `now`."""
    return _Read(path.stem for path in sorted(BODIES.glob("*.yaml")))


def recorded_of(name: str) -> dict[str, Any]:
    return expanded(yaml.load(file_text(name), yaml.CSafeLoader))


def file_text(name: str) -> str:
    return (BODIES / f"{name}.yaml").read_text(encoding="utf-8")


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """The differences between two records. A case that only one of them has is one line."""
    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            yield f"{name}: new"
        elif name not in after:
            yield f"{name}: gone"
        else:
            yield from differences(before[name], after[name], name)


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """One line for each value that is not the same, with where it is; of lists that became longer or shorter, for what came and
    went."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            below = f"{path}.{key}" if path else key
            if key not in before:
                yield f"{below}: new, {json.dumps(after[key])}"
            elif key not in after:
                yield f"{below}: gone, {json.dumps(before[key])}"
            else:
                yield from differences(before[key], after[key], below)
    elif isinstance(before, list) and isinstance(after, list) and len(before) != len(after):
        items = [Counter(json.dumps(each) for each in each_list) for each_list in (before, after)]
        yield from (f"{path}[]: new, {each}" for each in (items[1] - items[0]).elements())
        yield from (f"{path}[]: gone, {each}" for each in (items[0] - items[1]).elements())
    elif isinstance(before, list) and isinstance(after, list):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif before != after:
        yield f"{path}: {json.dumps(before)} is now {json.dumps(after)}"


def declared_by_program(config: Mapping[str, str], lookups: Mapping[str, Any]) -> dict[str, Any]:
    """What the whole program declares, in the form of `now`."""
    recorded = run_program(config, lookups)
    return _without_hashes(
        {
            "resources": {each.urn: _in_any_order(asdict(each)) for each in recorded.registrations},
            "outputs": recorded.outputs,
            "roles": [list(role) for role in recorded.roles],
            "exports": {name: value for name, value in recorded.exports.items() if name != written_by.OUTPUT},
            "lookups": sorted({json.dumps(each, sort_keys=True) for each in _lookups(recorded)}),
            "log": sorted(recorded.log),
        }
    )


def run_program(
    config: Mapping[str, str], lookups: Mapping[str, Any] = KEYS, *, preview: bool = False, file: Path = ROOT / "__main__.py"
) -> Recorded:
    """Runs the whole program, as the engine does, on the mock of the engine. `file`: another one."""

    def program() -> None:
        pulumi.runtime.set_all_config(dict(config))
        flagged = mock.patch.object(secret_values, "of_engine", return_value=encrypted_in(config))
        with _on_the_day_of_the_cases(), clusters_that_answer(), flagged:
            runpy.run_path(str(file), run_name="__main__")

    return declare(program, lookups=lookups, preview=preview)


def _lookups(recorded: Recorded) -> Iterator[dict[str, Any]]:
    for (token, args), provider in zip(recorded.lookups, recorded.lookup_providers, strict=True):
        yield {"token": token, "args": args, "provider": provider}


def _refused(case: dict[str, Any]) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    def build() -> None:
        settings = read(configuration(case["says"]), case.get("today", TODAY), encrypted(case["says"]))
        found.extend(_told(problem) for problem in plan(settings, BY_PROVIDER, PROJECT, STACK).problems)

    declare(build, lookups=case.get("azure_answers", {}))
    return {"problems": sorted(found, key=lambda problem: json.dumps(problem, sort_keys=True))}


def _told(problem: Problem) -> dict[str, Any]:
    """A problem as its user reads it."""
    return {
        "code": problem.code.value,
        "severity": problem.severity.value,
        "text": str(problem),
        "instead": list(problem.instead),
    }


def _in_any_order(registration: dict[str, Any]) -> dict[str, Any]:
    """The engine waits for all dependencies, in whatever order they are given. `wire` only adds to `inputs` what is secret."""
    kept = {key: value for key, value in registration.items() if key not in ("urn", "type", "name", "inputs")}
    return {**kept, "dependencies": sorted(kept["dependencies"]), "replace_with": sorted(kept["replace_with"])}


def _without_hashes(value: Any) -> Any:
    """The tags of the workloads' images change with their sources, which is no change of a body's form."""
    text = json.dumps(value, sort_keys=True)
    for workload in workloads.NAMES:
        text = re.sub(context_hash(workloads.context(workload)), f"hash-of-{workload}", text)
    return json.loads(text)


_URN = "urn:pulumi:stack::project::"
_STACK = "pulumi:pulumi:Stack"
_ROOT = f"{_URN}{_STACK}::{PROJECT}-{STACK}"
_NOT_SET: dict[str, Any] = {
    "additional_secret_outputs": [],
    "after_create": [],
    "aliases": [],
    "before_update": [],
    "custom_timeouts": {},
    "delete_before_replace": False,
    "deleted_with": "",
    "dependencies": [],
    "ignore_changes": [],
    "import_id": "",
    "on_error": [],
    "parent": _ROOT,
    "protect": False,
    "provider": "",
    "replace_on_changes": [],
    "replace_with": [],
    "replacement_trigger": None,
    "retain_on_delete": False,
    "wire": {},
}
_EMPTY_MAPS = (
    "clusters container_groups edges endpoints expires_at gpu_pools hourly_cost idle_cost job_environments jobs ml_computes "
    "ml_environments ml_models namespaces pools scoring_uris vms"
)
_NOTHING = "batch_account budget identity ml_workspace registry serving_identity storage"
_NO_EXPORTS: dict[str, Any] = {**dict.fromkeys(_NOTHING.split()), **{name: {} for name in _EMPTY_MAPS.split()}}
_USUAL_PROBLEM: dict[str, Any] = {"severity": "error", "instead": []}
_SECRET, _MARK = "(secret)", "1b47061264138c4ac30d75fd1eb44270"


def compact(body: Mapping[str, Any]) -> dict[str, Any]:
    """The form of a file, of what `now` returns."""
    if "problems" in body:
        return {"problems": [_without(each, _USUAL_PROBLEM) for each in body["problems"]]}
    resources = {
        _short_urn(urn): _without_marks(_by_name({**_without(each, _NOT_SET), "outputs": body["outputs"].get(urn)}))
        for urn, each in body["resources"].items()
    }
    parts = {
        "exports": _without(body["exports"], _NO_EXPORTS),
        "log": body["log"],
        "preview_log": body.get("preview_log"),
        "lookups": [json.loads(each) for each in body["lookups"]],
        "resources": {key: _without(each, {"outputs": None}) for key, each in resources.items()},
        "roles": body["roles"],
    }
    return {key: value for key, value in parts.items() if value}


def expanded(body: Mapping[str, Any]) -> dict[str, Any]:
    """What `now` returned, of the form of a file."""
    if "problems" in body:
        return {"problems": [{**_USUAL_PROBLEM, **each} for each in body["problems"]]}
    shortened = body.get("resources", {})
    by_name = {urn.rpartition("::")[2]: _long_urn(urn) for urn in shortened}
    found = {by_name[urn.rpartition("::")[2]]: _with_marks(_by_urn(each, by_name)) for urn, each in shortened.items()}
    of_preview = {"preview_log": body["preview_log"]} if "preview_log" in body else {}
    return {
        **of_preview,
        "resources": {urn: {**_NOT_SET, **_without_key(each, "outputs")} for urn, each in found.items()},
        "outputs": {urn: each["outputs"] for urn, each in found.items() if "outputs" in each},
        "roles": body.get("roles", []),
        "exports": {**_NO_EXPORTS, **body.get("exports", {})},
        "lookups": [json.dumps(each, sort_keys=True) for each in body.get("lookups", [])],
        "log": body.get("log", []),
    }


def _without(given: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key not in usual or value != usual[key]}


def _without_key(given: Mapping[str, Any], left_out: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != left_out}


def _short_urn(urn: str) -> str:
    return urn.removeprefix(_URN).removeprefix(f"{_STACK}$")


def _long_urn(short: str) -> str:
    return f"{_URN}{short}" if "$" in short else f"{_URN}{_STACK}${short}"


_LISTS, _SINGLE = ("dependencies", "replace_with"), ("parent", "deleted_with")


def _by_name(resource: dict[str, Any]) -> dict[str, Any]:
    """With names in place of URNs. A provider is also known by its id, which is made of its name."""
    lists = {key: [urn.rpartition("::")[2] for urn in resource[key]] for key in _LISTS if key in resource}
    single = {key: resource[key].rpartition("::")[2] for key in _SINGLE if key in resource}
    provider = {key: resource[key].split("::")[3] for key in ("provider",) if key in resource}
    return {**resource, **lists, **single, **provider}


def _by_urn(resource: dict[str, Any], urns: Mapping[str, str]) -> dict[str, Any]:
    lists = {key: sorted(urns[name] for name in resource[key]) for key in _LISTS if key in resource}
    single = {key: urns[resource[key]] for key in _SINGLE if key in resource}
    provider = {key: f"{urns[resource[key]]}::/id-of/{resource[key]}" for key in ("provider",) if key in resource}
    return {**resource, **lists, **single, **provider}


def _without_marks(value: Any) -> Any:
    """What the engine is told to keep secret is readable."""
    if isinstance(value, dict):
        if SECRET_SIGNATURE in value:
            return {_SECRET: _without_marks(value["value"])}
        return {key: _without_marks(inner) for key, inner in value.items()}
    return [_without_marks(inner) for inner in value] if isinstance(value, list) else value


def _with_marks(value: Any) -> Any:
    if isinstance(value, dict):
        if _SECRET in value:
            return {SECRET_SIGNATURE: _MARK, "value": _with_marks(value[_SECRET])}
        return {key: _with_marks(inner) for key, inner in value.items()}
    return [_with_marks(inner) for inner in value] if isinstance(value, list) else value


class _Dumper(yaml.CSafeDumper):
    """Long texts are blocks, and nothing is written as a reference to somewhere else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    block = "\n" in text or (" " in text and len(text) > 90)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if block else None)


_Dumper.add_representer(str, _text)


def text_of(body: Mapping[str, Any]) -> str:
    """The file of what `now` returns."""
    return yaml.dump(compact(body), Dumper=_Dumper, width=130, allow_unicode=True, default_flow_style=None, sort_keys=True)


def write(bodies: Mapping[str, Mapping[str, Any]]) -> None:
    BODIES.mkdir(exist_ok=True)
    for path in BODIES.glob("*.yaml"):
        if path.stem not in bodies:
            path.unlink()
    for name, body in bodies.items():
        (BODIES / f"{name}.yaml").write_text(text_of(body), encoding="utf-8")
    recorded.cache_clear()


class _DayOfTheCases(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> "_DayOfTheCases":
        return cls.fromisoformat(f"{TODAY}T12:00:00").replace(tzinfo=tz)


@contextlib.contextmanager
def _on_the_day_of_the_cases() -> Iterator[None]:
    with mock.patch.object(datetime, "datetime", _DayOfTheCases):
        yield


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.components.recorded_bodies", description=__doc__)
    parser.add_argument("--renew", action="store_true", help="write the files again")
    renew = parser.parse_args().renew
    after = {name: now(name) for name in names()}
    lines = list(changes(recorded(), after))
    print("\n".join(lines) if lines else "as recorded")
    if renew:
        write(after)
    return 1 if lines and not renew else 0


if __name__ == "__main__":
    sys.exit(main())
