"""`adopt` and `import` read back what the library declares: settings of a stack file, bodies of Azure, the same settings.

Each happy case is declared once (`tests.components.recorded_bodies`); both readers get its bodies as Azure would answer them. A
key that a reader leaves out makes its path appear among those that are lost. What is lost on purpose is listed here with its
reason.
"""

import fnmatch
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.formats import arm_ids, arm_settings, azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.formats.body_reader import Reading
from azure_gpu.formats.document import Document
from azure_gpu_operations.adopting.keys import ExistingResource, part_of
from azure_gpu_operations.preflight.template import Sent, template_of
from tests.components.recorded_bodies import CASES
from tests.components.recording import SUBSCRIPTION
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

# What isn't read back, by a pattern over section and path. Each of them is lost in some case, or it has to go.
NOT_IN_A_BODY = {
    "*.expires_after": "a day that no body has; it is asked for",
    "*.workloads": "an image of the stack is an image by its name in a body",
    "*.autoscale.scenario": "a scenario is a formula in the body, which is read",
    "*.autoscale.m??_nodes": "a number in the formula",
    "*.autoscale.utc_offset_hours": "a number in the formula",
    "*.autoscale.spot": "a word of the formula",
    "*.autoscale.nodes_per_task": "a number in the formula",
    "pools.*.driver": "of the image, or a package and a command of the start task",
    "pools.*.driver_*": "a package and a command of the start task",
    "pools.*.mpi": "metadata of the pool and the image",
    "pools.*.gallery_image": "the id of the image, which is read",
    "pools.*.pool_name": "the case's bodies have their entries' names",
    "pools.*.explicit_outbound": "declares that the subnet has a way out, which is no setting of the pool",
    "*.secret_environment": "secrets are never copied",
}
OF_OTHER_RESOURCES = {
    "clusters.*.access.admins": "role assignments",
    "clusters.*.maintenance.day": "a maintenance configuration",
    "clusters.*.maintenance.start": "a maintenance configuration",
    "clusters.*.maintenance.hours": "a maintenance configuration",
    "clusters.*.maintenance.utc_offset": "a maintenance configuration",
}
LOST_BY_IMPORT = {
    **NOT_IN_A_BODY,
    **OF_OTHER_RESOURCES,
    "clusters.*.idle_minutes": "autoScalerProfile is told and left out",
    "*.replace": "a new resource needs no care for an old one",
    "*.on_cluster": "what this program puts on a cluster isn't in its body",
}
LOST_BY_ADOPT = {
    **NOT_IN_A_BODY,
    **OF_OTHER_RESOURCES,
    "clusters.*.idle_minutes": "pinned by `overrides`",
    "clusters.*.kubernetes_version": "AKS upgrades it, and a version in the file would take it back",
    "pools.*.mounts": "pinned by `overrides`",
    "ml_workspace.insights": "used as it is",
    "ml_workspace.models": "not adopted",
    "ml_workspace.environments": "not adopted",
    "ml_workspace.computes.on-shared": "only clusters of machines are adopted",
    "ml_endpoints.*.compute": "only endpoints on machines of the service are adopted",
    "ml_endpoints.*.model": "a path in the file, an id in the body, which is read",
    "ml_endpoints.*.environment": "a name in the file, an id in the body, which is read",
    "ml_endpoints.*.traffic": "sent by a template of its own, after the deployments",
}


def existing(case: str) -> Iterator[ExistingResource]:
    """What a case declares, as Azure would answer it, each under its name in the stack file."""
    sent = template_of(graphs.recorded(case), SUBSCRIPTION, "deployer").sent
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


def _lost_in(case: str, read: Any, types: Any) -> Iterator[tuple[str, str]]:
    said = yaml.safe_load((Path(CASES) / f"{case}.yaml").read_text(encoding="utf-8"))["says"]
    for one in existing(case):
        if one.azure_type in types:
            section = SECTION[one.azure_type]
            is_one = one.azure_type is azure_types.ML_WORKSPACE
            expected = said[section] if is_one else said[section][one.name]
            yield from lost(expected, read(one), section if is_one else f"{section}.{one.name}")


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
    for case in NAMES:
        for path, what in _lost_in(case, read, types):
            reasons = [
                pattern for pattern in known if fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, f"{pattern}.*")
            ]
            met.update(reasons)
            unknown += [] if reasons else [f"{case}: {path}: {what}"]
    assert unknown == []
    assert set(known) - met == set(), "these are read back today"
