"""Runs of the real engine over many variants at once: what each declares first, then what a preview of its change plans."""

import json
import shutil
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.replacements.program import SEPARATOR
from tests.upgrades import answers
from tests.upgrades.stacks import RecordedStack

COMPONENT = "azuregpu:"  # which is no resource
PROVIDER_KEYS = "azure-native:"
_STAY = ("same", "read", "refresh")


@dataclass(frozen=True, slots=True)
class Step:
    """What a preview does with one resource."""

    operation: str  # create, update, replace, delete
    urn: str  # as the variant's own stack would have it
    type: str
    properties: tuple[str, ...]  # input properties that differ

    @property
    def name(self) -> str:
        return self.urn.rsplit("::", 1)[-1]


@dataclass(slots=True)
class Outcome:
    """What the change of one variant does."""

    steps: list[Step] = field(default_factory=list[Step])
    planned: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])  # the same as the engine writes them
    refused_before: list[str] = field(default_factory=list[str])  # why the stack isn't declared at all
    refused: list[str] = field(default_factory=list[str])  # why the change isn't planned


class Variants(RecordedStack):
    """Stack files that are brought up together."""

    def _write_project(self) -> None:
        super()._write_project()
        shutil.copy(Path(__file__).parent / "program.py", self.folder / "__main__.py")
        file = self.folder / "Pulumi.yaml"
        project = yaml.load(file.read_text(), yaml.CSafeLoader)
        project.pop("config")  # each variant has its own, which the engine doesn't see
        file.write_text(yaml.safe_dump(project))

    def declare(self, configs: Mapping[str, tuple[str, Mapping[str, str]]], file: str) -> Path:
        """Has the next run of the engine declare these: by prefix the stack's name and its configuration. The file of what is
        refused."""
        variants, refused = self.folder / f"{file}.json", self.folder / f"{file}.refused.jsonl"
        variants.write_text(json.dumps(configs))
        refused.write_text("")
        self.environment |= {"VARIANTS": str(variants), "REFUSED": str(refused)}
        return refused


@dataclass(frozen=True, slots=True)
class Base:
    """A stack that is up before something of it changes. Configurations are as the engine hands them over."""

    config: Mapping[str, str]
    changes: Mapping[str, Mapping[str, str]]  # by the variant's prefix; what they say to the provider is the same


def outcomes(bases: Mapping[str, Base], by_token: Mapping[str, Any], folder: Path, engine_bin: Path) -> dict[str, Outcome]:
    """What each change does, by the prefix of its variant. `bases`: by their prefixes, of one configuration of the provider;
    `by_token`: what functions of the provider answer.

    Each base is brought up once; its part of the state is copied for each of its variants, over which one preview plans all."""
    [of_provider] = {tuple(sorted(_of_provider(each.config).items())) for each in bases.values()}
    prepared = {"by_token": answers.prepared_by(by_token)}
    stack = Variants(folder, "variants", dict(of_provider), engine_bin=engine_bin, prepared=prepared)
    stack.environment |= {"PULUMI_EXPERIMENTAL": "true", "PULUMI_SKIP_CHECKPOINTS": "true"}
    refused_before = _refused(stack, {prefix: (prefix, base.config) for prefix, base in bases.items()}, "before")
    stack.up()
    variants = {variant: prefix for prefix, base in bases.items() for variant in base.changes}
    found = {variant: Outcome(refused_before=refused_before()[prefix]) for variant, prefix in variants.items()}
    (folder / "answers.json").write_text(json.dumps({**prepared, "calls": answers.heard(stack.heard)}))
    stack.take(_copied(stack.exported(), variants))
    after = {variant: (prefix, config) for prefix, base in bases.items() for variant, config in base.changes.items()}
    refused_after = _refused(stack, after, "after")
    for step in stack.preview()["steps"]:
        _add(found, step)
    for prefix, why in refused_after().items():
        found[prefix].refused += why
    return found


def _copied(deployment: Mapping[str, Any], variants: Mapping[str, str]) -> dict[str, Any]:
    """A state in which each variant has what its base has."""
    resources: list[Any] = []
    for resource in deployment["resources"]:
        prefix, separator, _ = resource["urn"].rsplit("::", 1)[-1].partition(SEPARATOR)
        if resource["type"] == "pulumi:pulumi:Stack":
            outputs = resource.get("outputs", {})
            copied = {
                f"{variant}{key.removeprefix(base)}": value
                for variant, base in variants.items()
                for key, value in outputs.items()
                if key.startswith(f"{base}{SEPARATOR}")
            }
            resources.append({**resource, "outputs": copied})
        elif separator and prefix in variants.values():
            text = json.dumps(resource)
            of_base = [variant for variant, base in variants.items() if base == prefix]
            resources += [json.loads(text.replace(f"::{prefix}{SEPARATOR}", f"::{each}{SEPARATOR}")) for each in of_base]
        else:
            resources.append(resource)
    return {**deployment, "resources": resources}


def _of_provider(config: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in config.items() if key.startswith(PROVIDER_KEYS)}


def _refused(stack: Variants, configs: Mapping[str, tuple[str, Mapping[str, str]]], file: str) -> Any:
    path = stack.declare(configs, file)

    def read() -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for line in map(json.loads, path.read_text().splitlines()):
            if line["why"] not in found[line["variant"]]:
                found[line["variant"]].append(line["why"])
        return found

    return read


_OPERATIONS = {"create": "create", "update": "update", "delete": "delete", "replace": "replace"}


def _add(found: Mapping[str, Outcome], step: Mapping[str, Any]) -> None:
    *_, kinds, name_there = step["urn"].split("::")
    prefix, separator, name = name_there.partition(SEPARATOR)
    operation, kind = _OPERATIONS.get(step["op"]), kinds.rsplit("$", 1)[-1]
    if separator and prefix in found:
        found[prefix].planned.append(json.loads(json.dumps(step).replace(f"::{prefix}{SEPARATOR}", "::")))
    if not separator or operation is None or prefix not in found or kind.startswith(COMPONENT):
        return
    urn = f"{step['urn'].rsplit('::', 1)[0]}::{name}"
    old, new = ((step.get(key) or {}) for key in ("oldState", "newState"))
    properties = () if operation in ("create", "delete") else tuple(sorted(set(changed(old.get("inputs"), new.get("inputs")))))
    found[prefix].steps.append(Step(operation, urn, kind, properties))


def changed(before: Any, after: Any, path: str = "") -> list[str]:
    """The paths of what differs, without what the engine adds."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = sorted(key for key in before.keys() | after.keys() if not key.startswith("__"))
        return [found for key in keys for found in changed(before.get(key), after.get(key), f"{path}.{key}" if path else key)]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            found
            for index, (one, other) in enumerate(zip(before, after, strict=True))
            for found in changed(one, other, f"{path}[{index}]")
        ]
    return [path] if before != after else []
