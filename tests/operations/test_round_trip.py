"""`adopt` and `import` read back what the library declares: settings of a stack file, bodies of Azure, the same settings.

Each happy case is declared once (`tests.components.recorded_bodies`); both readers get its bodies as Azure would answer them. A
key that a reader leaves out is among those that are lost. What is lost on purpose is listed here with its reason.
"""

import fnmatch
import functools
from collections.abc import Iterator, Mapping, Sequence
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

GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/company/providers"
SUBNET = f"{GROUP}/Microsoft.Network/virtualNetworks/v/subnets/s"
BELOW_WORKSPACE = f"{GROUP}/Microsoft.MachineLearningServices/workspaces/w"
# Keys that no case sets, declared here.
MORE: dict[str, Any] = {
    "location": "eastus",
    "foundation": {"identity": "create", "storage": "create", "registry": "create", "log_workspace": "create"},
    "batch_account": "create",
    "pools": {
        "ring": {
            "size": "Standard_NC4as_T4_v3",
            "dedicated_nodes": 2,
            "inter_node": True,
            "start_task": {"command": "/bin/true", "wait_for_success": False},
            "expires_after": "2026-12-31",
        }
    },
    "clusters": {
        "long": {
            "tier": "premium",
            "long_term_support": True,
            "gpu_pools": {"t4": {"size": "Standard_NC4as_T4_v3", "tags": {"a": "b"}}},
            "expires_after": "2026-12-31",
        }
    },
    "ml_workspace": {
        "network": "private",
        "private_endpoint": {"subnet_id": SUBNET},
        "high_business_impact": True,
        "friendly_name": "Vision",
        "description": "of the team",
        "computes": {
            "gpus": {
                "size": "Standard_NC4as_T4_v3",
                "min_nodes": 1,
                "max_nodes": 4,
                "idle_minutes": 7,
                "spot": True,
                "public_addresses": False,
                "subnet_id": SUBNET,
                "description": "of the team",
                "tags": {"a": "b"},
                "expires_after": "2026-12-31",
            }
        },
    },
    "ml_endpoints": {
        "scores": {
            "auth": "key",
            "network": "private",
            "identity": "system",
            "description": "of the team",
            "tags": {"a": "b"},
            "deployments": {
                "blue": {
                    "model": f"{BELOW_WORKSPACE}/models/digits/versions/1",
                    "environment": f"{BELOW_WORKSPACE}/environments/serving/versions/3",
                    "code": {"code": f"{BELOW_WORKSPACE}/codes/scripts/versions/1", "script": "score.py"},
                    "instance_type": "Standard_NC4as_T4_v3",
                    "instances": 2,
                    "probes": {
                        "liveness": {
                            "initial_delay_seconds": 61,
                            "period_seconds": 12,
                            "timeout_seconds": 3,
                            "failure_threshold": 5,
                        },
                        "readiness": {"success_threshold": 2},
                    },
                    "requests": {"timeout_seconds": 90, "concurrent": 2, "queue_seconds": 0.5},
                    "environment_variables": {"A": "b"},
                    "model_mount_path": "/models",
                    "egress": "private",
                    "app_insights": True,
                    "description": "of the team",
                    "tags": {"a": "b"},
                }
            },
            "expires_after": "2026-12-31",
        }
    },
}

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
    "ml_workspace.private_endpoint": "a resource of its own",
    "ml_workspace.models": "not adopted",
    "ml_workspace.environments": "not adopted",
    "ml_workspace.computes.on-shared": "only clusters of machines are adopted",
    "ml_endpoints.*.compute": "only endpoints on machines of the service are adopted",
    "ml_endpoints.*.model": "a path in the file, an id in the body, which is read",
    "ml_endpoints.*.environment": "a name in the file, an id in the body, which is read",
    "ml_endpoints.*.traffic": "sent by a template of its own, after the deployments",
}


@functools.cache
def declarations() -> Sequence[tuple[str, Mapping[str, Any], Recorded]]:
    """Name, settings and what they declare."""
    found = [(name, yaml.safe_load((CASES / f"{name}.yaml").read_text())["says"], graphs.recorded(name)) for name in NAMES]
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
