"""Recorded states: their names, their files, and what a record leaves out.

A record is `stack` (its name), `config` (as the engine hands it to the program), `state` (the deployment) and `invokes` (what
functions of the provider answered). Left out is what says nothing about the resources: times, places in sources, the order in
which things were created, the salt of secrets. Provider plugins are known by an id that the engine draws; here it is the URN's.
"""

import gzip
import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from tests.components.recorded_bodies import CASES, SHIPPED
from tests.support.embedded import CHECKOUT

FOLDER = CHECKOUT / "tests" / "data" / "states"
EMBEDDED = "embedded."
STACK = "stack."
# A shipped stack as a later commit brought it up, in its name, with the common file of then in its configuration: today's names
# another pool.
LATER = ("dev.a407dcc5",)
_LEFT_OUT = {"created", "modified", "sourcePosition", "stackTrace"}
_LISTS = {"dependencies", "replaceWith"}
_PROVIDERS = "pulumi:providers:"
_MANIFEST = {"time": "2026-11-20T12:00:00Z", "magic": "", "version": ""}

Record = dict[str, Any]


def offline() -> list[str]:
    """Shipped stacks as `stack.<name>` and happy cases by the name of their file: what is brought up with no Azure at all."""
    return [*(f"{STACK}{name}" for name in SHIPPED), *sorted(path.stem for path in CASES.glob("*.happy.*.yaml"))]


def embedded() -> list[str]:
    """Shipped stacks as the embedded Azure answers for them. It has no image of the stack dev's group, which is on Docker Hub."""
    return [f"{EMBEDDED}{name}" for name in SHIPPED if name != "dev"]


def names() -> list[str]:
    return [*embedded(), *offline(), *LATER]


def load(name: str) -> Record:
    return json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))


def exists(name: str) -> bool:
    return (FOLDER / f"{name}.json.gz").is_file()


def save(name: str, record: Record) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    (FOLDER / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def record_of(stack: str, config: Mapping[str, str], deployment: Mapping[str, Any], invokes: list[Any]) -> Record:
    """`deployment`: as the engine exports it, with secrets in plain text."""
    resources = [_kept(resource) for resource in deployment["resources"]]
    state = {"manifest": _MANIFEST, "resources": list(_in_order(resources))}
    text = json.dumps({"stack": stack, "config": dict(config), "state": state, "invokes": invokes})
    for resource in resources:
        if resource["type"].startswith(_PROVIDERS):
            text = text.replace(resource["id"], str(uuid.uuid5(uuid.NAMESPACE_URL, resource["urn"])))
    return json.loads(text)


def _kept(resource: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in resource.items() if key not in _LEFT_OUT}
    by_property = {key: sorted(urns or ()) for key, urns in resource.get("propertyDependencies", {}).items()}
    return {
        **kept,
        **{key: sorted(kept[key]) for key in _LISTS & kept.keys()},
        **({"propertyDependencies": by_property} if by_property else {}),
    }


def _in_order(resources: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What a resource needs comes before it, as the engine wants it; otherwise by URN."""
    left = {resource["urn"]: resource for resource in resources}
    while left:
        ready = min(urn for urn, resource in left.items() if not (_needed(resource) & left.keys()))
        yield left.pop(ready)


def _needed(resource: Mapping[str, Any]) -> set[str]:
    provider = resource.get("provider", "").rpartition("::")[0]
    by_property = [urn for urns in resource.get("propertyDependencies", {}).values() for urn in urns]
    named = [resource.get("parent"), resource.get("deletedWith"), provider, *resource.get("dependencies", ()), *by_property]
    return {urn for urn in [*named, *resource.get("replaceWith", ())] if urn}
