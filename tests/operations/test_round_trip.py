"""`import`, of ids and of files, reads back what the library declares: settings of a stack, bodies of Azure, the same settings.

Each happy case is declared once (`tests.components.recorded_bodies`); both readers get its bodies as Azure would answer them. A
key that a reader leaves out is among those that are lost. What is lost on purpose is listed in `round_trip.yaml` with its reason.
"""

import fnmatch
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.formats import arm_ids, arm_settings, azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.formats.body_reader import Reading
from azure_gpu.formats.document import Document
from azure_gpu_operations.adopting.keys import ExistingResource, part_of
from azure_gpu_operations.graph.recorded import Recorded
from azure_gpu_operations.preflight.template import Sent, template_of
from tests.components import recorded_bodies
from tests.components.recorded_bodies import CASES
from tests.components.recording import KEYS, SUBSCRIPTION
from tests.components.settings_of import configuration
from tests.support import graphs

DAY = "2026-12-30"
BELOW: Mapping[AzureType, AzureType] = {  # what is read together with what it lies in
    azure_types.AGENT_POOL: azure_types.MANAGED_CLUSTER,
    azure_types.ML_COMPUTE: azure_types.ML_WORKSPACE,
    azure_types.ML_ONLINE_DEPLOYMENT: azure_types.ML_ONLINE_ENDPOINT,
}
SECTION = {
    azure_types.MANAGED_CLUSTER: "clusters",
    azure_types.BATCH_POOL: "pools",
    azure_types.ML_WORKSPACE: "ml_workspace",
    azure_types.ML_ONLINE_ENDPOINT: "ml_endpoints",
}
MARKS = {
    azure_types.AGENT_POOL: "-pool-",
    azure_types.ML_COMPUTE: "-compute-",
    azure_types.ML_ONLINE_DEPLOYMENT: "-deployment-",
}
TYPES = {each.arm_type: each for each in azure_types.ALL}
NAMES = sorted(
    path.stem
    for path in CASES.glob("*.happy.*.yaml")
    if path.stem.split(".")[0] in ("cluster", "pool", "ml_workspace", "ml_endpoint")
)

BESIDE = yaml.load((Path(__file__).parent / "round_trip.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
MORE: dict[str, Any] = BESIDE["more"]
LOST_BY_IMPORT, LOST_BY_ADOPT = ({**BESIDE["lost"]["by_both"], **BESIDE["lost"][each]} for each in ("by_import", "by_adopt"))


@functools.cache
def declarations() -> Sequence[tuple[str, Mapping[str, Any], Recorded]]:
    """Name, settings and what they declare."""
    found = [
        (name, yaml.load((CASES / f"{name}.yaml").read_text(), yaml.CSafeLoader)["says"], graphs.recorded(name)) for name in NAMES
    ]
    return [*found, ("more", MORE, graphs.read("more", recorded_bodies.declared_by_program(configuration(MORE), KEYS)))]


def existing(declared: Recorded) -> Iterator[ExistingResource]:
    """What is declared, as Azure would answer it, each under its name in the stack file."""
    sent = template_of(declared, SUBSCRIPTION, "deployer").sent
    for each in sent:
        kind = TYPES[each.type]
        if kind in SECTION:
            parts = [below for below in sent if below.resource.parent == each.resource.parent]
            yield _answered(each, tuple(_answered(below) for below in parts if BELOW.get(TYPES[below.type]) is kind))


def _answered(each: Sent, within: tuple[ExistingResource, ...] = ()) -> ExistingResource:
    kind, parsed = TYPES[each.type], arm_ids.parse(each.id)
    assert parsed is not None
    mark = MARKS.get(kind)
    name = each.resource.name.partition(mark)[2] if mark else each.resource.parent.rpartition("::")[2]
    return ExistingResource(parsed, kind, {"location": "eastus", **each.body, "name": name, "id": each.id}, within)


def by_adopt(one: ExistingResource) -> Any:
    found = part_of([one], DAY).sections[SECTION[one.azure_type]]
    return found if one.azure_type is azure_types.ML_WORKSPACE else found[one.name]


def by_import(one: ExistingResource) -> Any:
    found: dict[str, Any] = {}
    for each in (one, *one.within):
        reading = Reading(Document("body.json", each.body, {}))
        for part in arm_settings.read(each.azure_type.arm_type, each.body, "", reading):
            if part.section == SECTION[one.azure_type]:
                _merge(found, part.settings)
    return found


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def lost(expected: Any, found: Any, path: str) -> Iterator[tuple[str, str]]:
    """The paths of settings that aren't read back as they were."""
    if isinstance(expected, dict) and (isinstance(found, dict) or found is None):
        for key, value in expected.items():
            yield from lost(value, (found or {}).get(key), f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found) and isinstance(expected[0], dict):
        for one, other in zip(expected, found, strict=True):
            yield from lost(one, other, path)
    elif _plain(expected) != _plain(found):
        yield path, f"{expected!r} is read as {found!r}"


def _plain(value: Any) -> Any:
    """In any order and letter case, without the version of an image that is any."""
    if isinstance(value, list):
        return sorted(map(str, value))
    return value.lower().removesuffix(":latest") if isinstance(value, str) else value


def _lost_in(said: Mapping[str, Any], declared: Recorded, read: Any, types: Any) -> Iterator[tuple[str, str]]:
    for one in existing(declared):
        if one.azure_type in types:
            section = SECTION[one.azure_type]
            if one.azure_type is azure_types.ML_WORKSPACE:
                yield from lost(said[section], read(one), section)
            else:
                yield from lost(said[section][one.name], read(one), f"{section}.{one.name}")


@pytest.mark.parametrize(
    ("read", "types", "known"),
    [
        (by_adopt, tuple(SECTION), LOST_BY_ADOPT),
        (by_import, (azure_types.MANAGED_CLUSTER, azure_types.BATCH_POOL), LOST_BY_IMPORT),
    ],
    ids=["adopt", "import"],
)
def test_what_the_library_declares_is_read_back(read: Any, types: Any, known: Mapping[str, str]) -> None:
    met: set[str] = set()
    unknown: list[str] = []
    for case, said, declared in declarations():
        for path, what in _lost_in(said, declared, read, types):
            reasons = [
                pattern for pattern in known if fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, f"{pattern}.*")
            ]
            met.update(reasons)
            unknown += [] if reasons else [f"{case}: {path}: {what}"]
    assert unknown == []
    assert set(known) - met == set(), "these are read back today"


def test_a_template_waits_for_nothing_that_is_not_in_it() -> None:
    """`preflight --validate` sends it: what exists already, or the resource itself, is nothing that ARM could wait for."""
    waited = 0
    for name, _, declared in declarations():
        template = template_of(declared, SUBSCRIPTION)  # without the roles of a deployer that nobody knows
        ids = {each.id for each in template.sent}
        for nested in template.document["resources"]:
            for entry in nested["properties"]["template"]["resources"] if "template" in nested.get("properties", {}) else ():
                waits = entry.get("dependsOn", [])
                assert set(waits) <= ids, (name, entry["name"])
                assert not [each for each in waits if each.endswith(f"{entry['type']}/{entry['name']}")], (name, entry["name"])
                waited += len(waits)
    assert waited
