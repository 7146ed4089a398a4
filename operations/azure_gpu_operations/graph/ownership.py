"""Which part of a stack each resource of its program belongs to, and what is told of a part: name, region, machines, costs,
last day.

A component is one part with everything in it, except resources that are parts themselves. Existing resources are known by their
id in the stack's file.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from azure_gpu.catalog.prices import hourly_cost
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import BY_TOKEN
from azure_gpu_operations.batch.pool_cost import hourly
from azure_gpu_operations.graph import kinds, stand_ins
from azure_gpu_operations.graph.kinds import KINDS
from azure_gpu_operations.graph.machines import idle_nodes, machines_of
from azure_gpu_operations.graph.model import Part, bare
from azure_gpu_operations.graph.recorded import Resource, texts
from azure_gpu_operations.observed.bodies import at

_OF_NO_PART = (
    kinds.FOUNDATION,
    *(
        each.token
        for each in (
            azure_types.ROLE_ASSIGNMENT,
            azure_types.DIAGNOSTIC_SETTING,
            azure_types.MANAGEMENT_LOCK,
            azure_types.PRIVATE_LINK_SCOPED_RESOURCE,
        )
    ),
)
# They belong to a part beside them that they don't use.
_BESIDE = tuple(each.token for each in (azure_types.NAT_GATEWAY, azure_types.PUBLIC_IP_ADDRESS, azure_types.PRIVATE_LINK_SCOPE))


def key_of(resource: Resource) -> str:
    """The key of the part that a resource is by itself."""
    return f"{resource.type}::{resource.name}"


class Ownership:
    """The parts of the resources of one stack."""

    def __init__(self, resources: tuple[Resource, ...]) -> None:
        self._resources = resources
        self._by_urn = {each.urn: each for each in resources}
        self.existing: dict[str, Part] = {}  # what is no resource, by key
        self._aliases: dict[str, str] = {}  # keys of what exists, by how inputs name it, in lower case
        self._of_urn = {each.urn: self._owner(each) for each in resources}
        self._of_number = {each.number: self._of_urn[each.urn] for each in resources}
        for each in resources:
            self._own_ids(each)
        for each in resources:
            for text in texts([each.inputs, each.outputs]):
                self._add_existing(text)
            self._add_resource_group(each)

    def of(self, resource: Resource) -> str:
        """The key of a resource's part; empty: it is of none."""
        return self._of_urn[resource.urn]

    def of_type(self, token: str) -> list[Resource]:
        return [each for each in self._resources if each.type == token]

    def used_by(self, resource: Resource) -> list[Resource]:
        """The resources whose outputs are in its inputs."""
        return [self._by_urn[urn] for urn in resource.uses if urn in self._by_urn]

    def parent_of(self, resource: Resource) -> Resource | None:
        return self._by_urn.get(resource.parent)

    def members(self) -> dict[str, list[Resource]]:
        """The resources of each part, by its key."""
        found: dict[str, list[Resource]] = {}
        for each in self._resources:
            if self._of_urn[each.urn]:
                found.setdefault(self._of_urn[each.urn], []).append(each)
        return found

    def is_around_existing(self, key: str) -> bool:
        """Whether a component stands for something that exists already."""
        return key in self._aliases.values()

    def declared(self, text: str) -> str:
        """The key of the part that the id or the principal in a text is of; empty: of none that is declared."""
        return next(filter(None, (self._of_number.get(number, "") for number in stand_ins.numbers_in(text))), "")

    def named(self, text: str) -> str:
        """The key of what exists whose id or name a text is, or begins with; empty: of none."""
        lowered = text.lower()
        return next((key for alias, key in self._aliases.items() if lowered == alias or lowered.startswith(f"{alias}/")), "")

    def component_named(self, output: str, name: Any) -> list[str]:
        """The keys of the components that have an output with this name."""
        return [self._of_urn[each.urn] for each in self._resources if name and each.outputs.get(output) == name]

    def _owner(self, resource: Resource) -> str:
        token = resource.type
        if token in _OF_NO_PART or token.startswith(kinds.PROVIDER_PREFIX):
            return ""
        if token in kinds.PART_OF:
            whole = self._whole(resource)
            if whole or token != azure_types.DEPLOYMENT.token:  # of another part: the traffic of an endpoint
                return whole
        parent = self.parent_of(resource)
        if token in KINDS:
            is_within = parent is not None and kinds.kind_of(parent.type).noun == KINDS[token].noun
            return key_of(parent if parent is not None and is_within else resource)
        while parent is not None:
            if parent.type in KINDS or (kinds.is_component(parent.type) and parent.type != kinds.FOUNDATION):
                return key_of(parent)
            parent = self.parent_of(parent)
        return "" if resource.is_component and not kinds.is_component(token) else key_of(resource)

    def _whole(self, resource: Resource) -> str:
        """The part that a resource belongs to, other than its parent: one that it uses, or beside it. A private endpoint in a
        network that exists belongs to what it leads to. Empty where there is none."""
        token, used = kinds.PART_OF[resource.type], self.used_by(resource)
        beside = [each for each in self._resources if each.parent == resource.parent]
        led = [each for each in used if each.type in kinds.LED_TO] if resource.type == azure_types.PRIVATE_ENDPOINT.token else []
        found = [each for each in (*used, *(beside if resource.type in _BESIDE else ())) if each.type == token]
        return next((self._owner(each) for each in (*found, *led)), "")

    def _own_ids(self, resource: Resource) -> None:
        """The id of the existing resource that a component wraps."""
        key = self._of_urn[resource.urn]
        for name, value in resource.outputs.items():
            if key and name.endswith("_id") and isinstance(value, str) and arm_ids.parse(value) is not None:
                self._aliases[value.lower()] = key

    def _add_existing(self, text: str) -> None:
        parsed = arm_ids.parse(text)
        token = kinds.BY_ARM_TYPE.get(parsed.type.lower()) if parsed is not None else None
        if parsed is None or token is None or parsed.key in self._aliases:
            return
        key = f"{token}::{parsed.key}"
        self.existing[key] = bare(key, token, _existing_name(parsed, token), exists=True)
        self._aliases[parsed.key] = key
        if token == kinds.REGISTRY:
            self._aliases[stand_ins.server_of(parsed.name).lower()] = key
        elif token == kinds.IDENTITY:
            self._aliases[stand_ins.principal_of(parsed.name).lower()] = key

    def _add_resource_group(self, resource: Resource) -> None:
        """One that exists is known by its name only."""
        name = resource.outputs.get("resource_group_name")
        if resource.type == kinds.FOUNDATION and name and not self.of_type(kinds.RESOURCE_GROUP):
            key = f"{kinds.RESOURCE_GROUP}::{name}"
            self.existing[key] = bare(key, kinds.RESOURCE_GROUP, str(name), exists=True)


def _existing_name(parsed: ArmId, token: str) -> str:
    """Its display name; for an image's version and a subnet with the parent."""
    around = parsed.scope.rsplit("/", 1)[-1]
    if token == azure_types.GALLERY_IMAGE_VERSION.token:
        return f"{around} {parsed.name}"
    return f"{around}/{parsed.name}" if token == azure_types.SUBNET.token else parsed.name


_JOB_ON_CLUSTER = "kubernetes:batch/v1:Job"
_OF_FOUNDATION = "foundation-"


def described(key: str, members: Sequence[Resource], owned: Ownership) -> Part:
    """The part with these resources."""
    head = next(each for each in members if key_of(each) == key)
    workspace = owned.parent_of(head) if head.type in (kinds.COMPUTE, kinds.MODEL) else None
    name = _name(head, workspace)
    # A workspace tells by name what its computes cost.
    outputs = head.outputs if workspace is None else {each: at(workspace.outputs.get(each), name) for each in workspace.outputs}
    most, idle = (_cost(outputs.get(each)) for each in ("hourly_cost", "idle_cost"))
    if head.type == kinds.JOB:
        idle = 0.0  # billed only while it runs
    elif head.type == kinds.GROUP:
        idle = most  # billed until it ends
    if not kinds.kind_of(head.type).has_cost:
        most = idle = _fixed(members)
    end = outputs.get("expires_at")
    return Part(
        key=key,
        type=head.type,
        name=name,
        location=next((text for each in members if (text := str(each.inputs.get("location") or "global")) != "global"), ""),
        machines=tuple(sorted(machines_of(members), key=lambda each: each.name)),
        notes=tuple(_notes(head, members)),
        exists=kinds.is_component(head.type) and owned.is_around_existing(key),
        most_cost=most,
        idle_cost=idle,
        expires=end if isinstance(end, str) else "",
    )


def _fixed(members: Sequence[Resource]) -> float | None:
    """What resources cost in any hour; None if none of them has such a price."""
    typed = [(BY_TOKEN[each.type].arm_type, each.inputs.get("sku") or {}) for each in members if each.type in BY_TOKEN]
    prices = [hourly_cost.of_resource(arm_type, str(sku.get("name", ""))) for arm_type, sku in typed]
    known = [price.usd_hour for price in prices if price is not None]
    return float(sum(known)) if known else None


def idle_cost_of_pool(pool: Part, members: Sequence[Resource]) -> float | None:
    """The cost of the nodes that stay at idle; the library has only the cost of all nodes."""
    inputs = next(each.inputs for each in members if each.type == azure_types.BATCH_POOL.token)
    [machines] = pool.machines
    idle = idle_nodes(inputs)
    if idle is None or not any(idle):
        return None if idle is None else 0.0
    if machines.idle == machines.most and pool.most_cost is not None:
        return pool.most_cost
    is_windows = "windows" in str(inputs.get("deploymentConfiguration")).lower()
    cost = hourly(machines.size, pool.location, *idle, is_windows=is_windows)
    return float(cost) if cost is not None else None


def _name(head: Resource, workspace: Resource | None) -> str:
    """The name in the stack file; parts of the foundation, which have none, are named after their kind."""
    for section in ("computes", "models") if workspace is not None else ():
        for name, value in (workspace.outputs.get(section) or {}).items() if workspace is not None else ():
            if value == stand_ins.id_of(head.number):
                return str(name)
    if head.type == kinds.RESOURCE_GROUP:
        return str(head.inputs.get("resourceGroupName", head.name))
    return head.name if kinds.is_component(head.type) else head.name.removeprefix(_OF_FOUNDATION)


def _notes(head: Resource, members: Sequence[Resource]) -> Iterator[str]:
    deployed = [each.name for each in members if each.type == azure_types.DEPLOYMENT.token] if head.type == kinds.REGISTRY else []
    built = [name.rpartition("build-")[2] for name in deployed]
    if built:
        yield f"builds {', '.join(sorted(built))}"
    if head.type == kinds.BUDGET:
        amount = next(each.inputs["amount"] for each in members if each.type == azure_types.BUDGET.token)
        yield f"{amount:,g} a month"
    jobs = [str(at(each.inputs.get("metadata"), "name") or each.name) for each in members if each.type == _JOB_ON_CLUSTER]
    if jobs:
        yield f"{'job' if len(jobs) == 1 else 'jobs'} {', '.join(sorted(jobs))}"


def _cost(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
