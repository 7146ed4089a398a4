"""The stack file's sections for existing resources: the keys that `formats.arm_settings` reads in their bodies, with what keeps
them as they are.

`read` asks Azure for the resources of the given ids with their children, and tells which ids can't be adopted. `overrides` set
what has no key, once a plan shows what the program would send.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import arm_bodies, arm_ids, arm_settings, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.formats.body_reader import Reading
from azure_gpu.formats.document import Document
from azure_gpu.formats.gpu_mentions import is_gpu_size
from azure_gpu_operations.azure import Arm

Body = Mapping[str, Any]
Settings = dict[str, Any]
PROTECTED: Body = {"protect": True}  # what ran before the stack isn't deleted or replaced by a slip


@dataclass(frozen=True, slots=True)
class ExistingResource:
    """An Azure resource, with the children that the stack file declares with it."""

    id: ArmId
    azure_type: AzureType
    body: Body
    within: tuple["ExistingResource", ...] = ()

    @property
    def name(self) -> str:
        return str(self.body.get("name", self.id.name)).rsplit("/", 1)[-1]

    @property
    def properties(self) -> Body:
        return self.body.get("properties") or {}


@dataclass(slots=True)
class Part:
    """The stack file's sections for the existing resources."""

    sections: dict[str, Settings] = field(default_factory=dict[str, Settings])
    notes: list[str] = field(default_factory=list[str])
    taken: list[ExistingResource] = field(default_factory=list[ExistingResource])  # imported into the state

    def put(self, section: str, name: str, settings: object) -> None:
        self.sections.setdefault(section, {})[name] = settings


def part_of(found: Sequence[ExistingResource], last_day: str) -> Part:
    """`last_day`: of everything with a GPU, which is nowhere to be read."""
    part = Part()
    for one in found:
        _GROUPS[one.azure_type](one, part, last_day)
    return part


def _needs(part: Part, key: str, settings: object) -> None:
    """Sets a part of the foundation, unless it is set already."""
    part.sections.setdefault("foundation", {}).setdefault(key, settings)


def _existing(part: Part, key: str, text: str) -> None:
    """A part of the foundation that is used as it is, unless the stack takes it over."""
    _needs(part, key, {"existing": text})


def _uses_stack_identity(one: ExistingResource, part: Part) -> bool:
    """Whether it has an identity of a user's, which is the stack's then."""
    identities = list((one.body.get("identity") or {}).get("userAssignedIdentities") or {})
    if identities:
        _existing(part, "identity", identities[0])
    return bool(identities)


def _use_group_of(one: ExistingResource, part: Part) -> None:
    """Its resource group becomes `existing`."""
    _existing(part, "resource_group", f"/subscriptions/{one.id.subscription}/resourceGroups/{one.id.resource_group}")


# A plan pins what is read and not set: AKS upgrades its version, a mount's key is nowhere to be read, a compute isn't adopted.
_NOT_SET = ("overrides", "kubernetes_version", "mounts", "compute")


def _keys_of(one: ExistingResource) -> Settings:
    """The keys of a body."""
    reading = Reading(Document(one.id.text, one.body, {}))
    parts = arm_settings.read(one.azure_type.arm_type, one.body, "", reading)
    settings = next((dict(each.settings) for each in parts if each.section != "foundation"), {})
    return {key: value for key, value in settings.items() if key not in _NOT_SET}


def _inner(one: ExistingResource, key: str) -> Settings:
    """The same of a child, which its parent has under a key and its name."""
    found = _keys_of(one)
    [inner] = (found.get(key, found) or {"": {}}).values()
    return {name: value for name, value in inner.items() if name not in _NOT_SET}


_APART: Body = {"replace": "drain-first"}  # keeps its name, which has no room for a hash


def _cluster(one: ExistingResource, part: Part, last_day: str) -> None:
    _use_group_of(one, part)
    apart = [each for each in one.within if is_gpu_size(each.properties["vmSize"])]
    settings = _keys_of(one)
    settings["gpu_pools"] = {each.name: {**_inner(each, "gpu_pools"), **_APART} for each in apart}
    # What is on the cluster already is somebody's; nothing is put there until this is taken out.
    settings |= {"cluster_name": one.name, "expires_after": last_day, "on_cluster": False, "opts": dict(PROTECTED)}
    part.put("clusters", one.name, {key: value for key, value in settings.items() if value != {}})
    names = {each.name for each in apart}
    part.notes += [
        f"{one.name}: the pool {each['name']} of {each['vmSize']} has no GPU, so it stays in the cluster's body"
        for each in one.properties.get("agentPoolProfiles") or []
        if each["name"] not in names and str(each.get("mode")).lower() != "system"
    ]
    part.notes.append(
        f"{one.name}: nothing is installed on the cluster, such as a device plugin; remove `on_cluster: false` and the "
        "labels in a pool's `overrides` to install it"
    )
    part.taken += [one, *apart]


def _account(one: ExistingResource, part: Part, last_day: str) -> None:
    _use_group_of(one, part)
    storage = (one.properties.get("autoStorage") or {}).get("storageAccountId")
    _needs(part, "storage", {"existing": storage} if storage else "create")
    if not _uses_stack_identity(one, part):
        _needs(part, "identity", "create")
    for key, value in {**_keys_of(one), "opts": dict(PROTECTED)}.items():
        part.put("batch_account", key, value)
    part.taken.append(one)
    if not any(each.azure_type is azure_types.BATCH_POOL for each in one.within):
        part.notes.append(f"{one.name}: no pool; give the ids of the pools to adopt")
    for pool in one.within:
        _pool(pool, part, last_day)


def _pool(one: ExistingResource, part: Part, last_day: str) -> None:
    _use_group_of(one, part)
    if "batch_account" not in part.sections:
        part.put("batch_account", "existing", one.id.scope)
    _uses_stack_identity(one, part)
    settings = _keys_of(one)
    variables = (one.properties.get("startTask") or {}).get("environmentSettings") or []
    if variables and "start_task" in settings:
        settings["start_task"]["environment"] = {each["name"]: each.get("value", "") for each in variables}
        part.notes.append(f"{one.name}: the file contains the variables of its start task; move secrets to `secret_environment`")
    metadata = {key: value for key, value in settings.pop("metadata", {}).items() if key != "logical-name"}
    settings |= {"metadata": metadata} if metadata else {}
    settings |= {"pool_name": one.name, "expires_after": last_day, **_APART, "opts": dict(PROTECTED)}
    part.put("pools", one.name, settings)
    part.taken.append(one)


def _workspace(one: ExistingResource, part: Part, last_day: str) -> None:
    _use_group_of(one, part)
    machines = [each for each in one.within if _is_gpu_cluster(each)]
    computes = {
        each.name: {"public_addresses": True, **_inner(each, ""), "expires_after": last_day, **_APART} for each in machines
    }
    settings = {**_keys_of(one), **({"computes": computes} if computes else {}), "opts": dict(PROTECTED)}
    for key, value in settings.items():
        part.put("ml_workspace", key, value)
    for key, member in (("storage", "storageAccount"), ("registry", "containerRegistry")):
        if one.properties.get(member):
            _existing(part, key, one.properties[member])
    if one.properties.get("containerRegistry"):
        _needs(part, "identity", "create")
    part.notes += [
        f"{one.name}: the compute {each.name} ({each.properties.get('computeType')}) is left out: a stack declares only clusters "
        "of machines with GPUs"
        for each in one.within
        if each.azure_type is azure_types.ML_COMPUTE and not _is_gpu_cluster(each)
    ]
    part.taken += [one, *machines]


def _is_gpu_cluster(one: ExistingResource) -> bool:
    if one.azure_type is not azure_types.ML_COMPUTE or one.properties.get("computeType") != "AmlCompute":
        return False
    return is_gpu_size(one.properties["properties"]["vmSize"])


def _endpoint(one: ExistingResource, part: Part, last_day: str) -> None:
    _use_group_of(one, part)
    if "ml_workspace" not in part.sections:
        part.put("ml_workspace", "existing", one.id.scope)
    _uses_stack_identity(one, part)
    if not one.within:
        part.notes.append(f"{one.name}: a stack can't declare an endpoint without a deployment; deploy a model first")
        return
    deployments = {each.name: _inner(each, "deployments") for each in one.within}
    settings = {**_keys_of(one), "endpoint_name": one.name, "deployments": deployments}
    part.put("ml_endpoints", one.name, {**settings, "expires_after": last_day, "opts": dict(PROTECTED)})
    part.notes.append(
        f"{one.name}: an update creates the deployment {one.name}-traffic, a template that sends the endpoint's body again"
    )
    part.taken += [one, *one.within]


# The foundation


def _group(one: ExistingResource, part: Part, _: str) -> None:
    _existing(part, "resource_group", one.id.text)
    part.notes.append(f"{one.name}: the resource group stays `existing`, so that destroying the stack doesn't delete it")


def _of_foundation(key: str) -> Callable[[ExistingResource, Part, str], None]:
    def take(one: ExistingResource, part: Part, _: str) -> None:
        _use_group_of(one, part)
        part.put("foundation", key, {"name": one.name})
        if key == "registry":
            _needs(part, "identity", "create")
        part.taken.append(one)

    return take


_FOUNDATION = {
    azure_types.USER_ASSIGNED_IDENTITY: "identity",
    azure_types.STORAGE_ACCOUNT: "storage",
    azure_types.REGISTRY: "registry",
    azure_types.LOG_WORKSPACE: "log_workspace",
}
_GROUPS: Mapping[AzureType, Callable[[ExistingResource, Part, str], None]] = {
    azure_types.RESOURCE_GROUP: _group,
    **{azure_type: _of_foundation(key) for azure_type, key in _FOUNDATION.items()},
    azure_types.MANAGED_CLUSTER: _cluster,
    azure_types.BATCH_ACCOUNT: _account,
    azure_types.BATCH_POOL: _pool,
    azure_types.ML_WORKSPACE: _workspace,
    azure_types.ML_ONLINE_ENDPOINT: _endpoint,
}
ADOPTED = tuple(_GROUPS)
"""The types whose ids `import` takes."""


def overrides_of(token: str, component: str, name: str) -> tuple[str, ...] | None:
    """The path of a resource's `overrides` in a stack file, by type, component and logical name; None if it has none."""
    within = {
        **{azure_type.token: ("foundation", key) for azure_type, key in _FOUNDATION.items() if component == "foundation"},
        azure_types.BUDGET.token: ("budget",),
        azure_types.BATCH_ACCOUNT.token: ("batch_account",),
        azure_types.MANAGED_CLUSTER.token: ("clusters", component),
        azure_types.AGENT_POOL.token: ("clusters", component, "gpu_pools", name.removeprefix(f"{component}-pool-")),
        azure_types.BATCH_POOL.token: ("pools", component),
        azure_types.ML_WORKSPACE.token: ("ml_workspace",),
        azure_types.ML_COMPUTE.token: ("ml_workspace", "computes", name.removeprefix(f"{component}-compute-")),
        azure_types.ML_ONLINE_ENDPOINT.token: ("ml_endpoints", component),
        azure_types.ML_ONLINE_DEPLOYMENT.token: (
            "ml_endpoints",
            component,
            "deployments",
            name.removeprefix(f"{component}-deployment-"),
        ),
    }.get(token)
    return (*within, "overrides") if within is not None else None


_WITHIN = {
    azure_types.MANAGED_CLUSTER: (azure_types.AGENT_POOL,),
    azure_types.BATCH_ACCOUNT: (azure_types.BATCH_POOL,),
    azure_types.ML_WORKSPACE: (azure_types.ML_COMPUTE,),
    azure_types.ML_ONLINE_ENDPOINT: (azure_types.ML_ONLINE_DEPLOYMENT,),
}
_WITH_PARENT = {
    azure_types.AGENT_POOL: "cluster",
    azure_types.ML_COMPUTE: "workspace",
    azure_types.ML_ONLINE_DEPLOYMENT: "endpoint",
}


def read(arm: Arm, ids: Sequence[str]) -> tuple[list[ExistingResource], list[Problem]]:
    """The existing resources, workspaces before their endpoints, and the problems. AzureError if ARM rejects a request."""
    found: list[ExistingResource] = []
    problems: list[Problem] = []
    for text in dict.fromkeys(ids):
        azure_type, problem = _type_of(text, arm.subscription_id)
        if azure_type is None:
            problems += [problem] if problem else []
            continue
        there = _there(arm, text, azure_type)
        if there is None:
            problems.append(Problem(text, "no resource in Azure has this id", fix="`az resource list` shows ids"))
        elif one_to_be_one := _unfinished(there):
            problems.append(one_to_be_one)
        else:
            found.append(there)
    groups = {each.id.resource_group.lower(): each.id.resource_group for each in found if each.azure_type in _WITHIN}
    if len(groups) > 1:
        allowed = "ids in one resource group"
        fix = "adopt each group into a separate stack"
        problems.append(
            Problem("ID", f"these lie in {len(groups)} resource groups: {', '.join(groups.values())}", allowed=allowed, fix=fix)
        )
    return sorted(found, key=lambda each: ADOPTED.index(each.azure_type)), problems


def _type_of(text: str, subscription_id: str) -> tuple[AzureType | None, Problem | None]:
    given = arm_ids.parse(text)
    example = azure_types.MANAGED_CLUSTER.path.replace("{", "<").replace("}", ">")
    if given is None:
        return None, Problem(
            text, "not an Azure resource id", allowed=example, fix="copy the whole id; `az resource list` shows ids"
        )
    azure_type = next((each for each in ADOPTED if given.is_type(each.arm_type)), None)
    if azure_type is None:
        inside = next((noun for each, noun in _WITH_PARENT.items() if given.is_type(each.arm_type)), "")
        fix = f"give the id of its {inside}, which includes it" if inside else "omit it"
        return None, Problem(
            text, f"{given.type} can't be adopted", allowed=", ".join(each.arm_type for each in ADOPTED), fix=fix
        )
    if given.subscription.lower() != subscription_id.lower():
        fix = "adopt it into a stack of that subscription; `existing: <id>` uses it from here"
        return None, Problem(text, "not in the stack's subscription", given.subscription, subscription_id, fix)
    return azure_type, None


def _unfinished(there: ExistingResource) -> Problem | None:
    state = str(there.properties.get("provisioningState", "Succeeded"))
    if state.lower() == "succeeded":
        return None
    return Problem(
        there.id.text,
        "not provisioned",
        state,
        "Succeeded",
        "wait or repair it, then run the command again",
    )


def _there(arm: Arm, text: str, azure_type: AzureType) -> ExistingResource | None:
    given = arm_ids.parse(text)
    assert given is not None
    body = arm.get(given.text, arm_bodies.api_version(azure_type))
    if body is None:
        return None
    within = [
        ExistingResource(inner, kind, each)
        for kind in _WITHIN.get(azure_type, ())
        for each in arm.values(f"{given.text}/{kind.arm_type.rsplit('/', 1)[-1]}", arm_bodies.api_version(kind))
        if (inner := arm_ids.parse(each["id"])) is not None
    ]
    return ExistingResource(given, azure_type, body, tuple(within))
