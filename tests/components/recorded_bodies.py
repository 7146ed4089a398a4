"""What the program declared and refused when it was recorded: every case, and every stack file that is shipped or an
example, in one compressed file.

The record answers "does this change alter what is sent to Azure?". `python -m tests.components.recorded_bodies` shows every
difference from it and ends with 1 if there is one; `--renew` writes it again. A commit that changes a body on purpose renews the
record and says so in CHANGELOG.md.
"""

import argparse
import contextlib
import datetime
import gzip
import json
import re
import runpy
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from string import Template
from typing import Any
from unittest import mock

import pulumi
import yaml

from azure_gpu.catalog.problems import as_data
from azure_gpu.formats import stack_file
from azure_gpu.formats.build_context import context_hash
from azure_gpu.shared.workloads import Workload
from azure_gpu.stack import secret_values, written_by
from azure_gpu.stack.look_ups import BY_PROVIDER
from azure_gpu.stack.plan import plan
from azure_gpu.stack.settings import read
from tests.components.answering import clusters_that_answer
from tests.components.recording import KEYS, PROJECT, STACK, SUBSCRIPTION, Recorded, declare
from tests.components.settings_of import TODAY, configuration, encrypted, encrypted_in

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "cases"
RECORD = ROOT / "tests" / "data" / "bodies.json.gz"
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
    case = yaml.safe_load((CASES / f"{name}.yaml").read_text())
    if ".error." in name:
        return _refused(case)
    return declared_by_program(configuration(case["says"]), {**KEYS, **case.get("azure_answers", {})})


def recorded() -> dict[str, Any]:
    return json.loads(gzip.decompress(RECORD.read_bytes()))


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
    """One line for each value that is not the same, with where it is."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from differences(before.get(key), after.get(key), f"{path}.{key}" if path else key)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif before != after:
        yield f"{path}: {json.dumps(before)} is now {json.dumps(after)}"


def declared_by_program(config: Mapping[str, str], lookups: Mapping[str, Any]) -> dict[str, Any]:
    """The whole program, as the engine runs it, on the mock of the engine."""

    def program() -> None:
        pulumi.runtime.set_all_config(dict(config))
        flagged = mock.patch.object(secret_values, "of_engine", return_value=encrypted_in(config))
        with _on_the_day_of_the_cases(), clusters_that_answer(), flagged:
            runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__")

    recorded = declare(program, lookups=lookups)
    return _without_hashes(
        {
            "resources": {each.urn: _in_any_order(asdict(each)) for each in recorded.registrations},
            "outputs": recorded.outputs,
            "exports": {name: value for name, value in recorded.exports.items() if name != written_by.OUTPUT},
            "lookups": sorted({json.dumps(each, sort_keys=True) for each in _lookups(recorded)}),
            "log": sorted(recorded.log),
        }
    )


def _lookups(recorded: Recorded) -> Iterator[dict[str, Any]]:
    for (token, args), provider in zip(recorded.lookups, recorded.lookup_providers, strict=True):
        yield {"token": token, "args": args, "provider": provider}


def _refused(case: dict[str, Any]) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    def build() -> None:
        settings = read(configuration(case["says"]), case.get("today", TODAY), encrypted(case["says"]))
        found.extend(as_data(problem) for problem in plan(settings, BY_PROVIDER, PROJECT, STACK).problems)

    declare(build, lookups=case.get("azure_answers", {}))
    return {"problems": sorted(found, key=lambda problem: json.dumps(problem, sort_keys=True))}


def _in_any_order(registration: dict[str, Any]) -> dict[str, Any]:
    """The engine waits for all dependencies, in whatever order they are given. `wire` only adds to `inputs` what is secret."""
    kept = {key: value for key, value in registration.items() if key not in ("urn", "type", "name", "inputs")}
    return {**kept, "dependencies": sorted(kept["dependencies"]), "replace_with": sorted(kept["replace_with"])}


def _without_hashes(value: Any) -> Any:
    """The tags of the workloads' images change with their sources, which is no change of a body's form."""
    text = json.dumps(value, sort_keys=True)
    for workload in Workload:
        text = re.sub(context_hash(workload.context), f"hash-of-{workload}", text)
    return json.loads(text)


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
    parser.add_argument("--renew", action="store_true", help="write the record again")
    renew = parser.parse_args().renew
    after = {name: now(name) for name in names()}
    before = recorded() if RECORD.exists() else {}
    lines = list(changes(before, after))
    print("\n".join(lines) if lines else "as recorded")
    if renew:
        text = json.dumps(after, sort_keys=True, separators=(",", ":"))
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return 1 if lines and not renew else 0


if __name__ == "__main__":
    sys.exit(main())
