"""Builds the graph of a stack from the resources that its program declares.

A part depends on another if an output of the other, or the id or name of an existing resource, is in its inputs.
"""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog.roles import NAMES
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu_operations.graph import kinds, stand_ins
from azure_gpu_operations.graph.kinds import Layer
from azure_gpu_operations.graph.model import Graph, Part, Role, Use, bare
from azure_gpu_operations.graph.ownership import Ownership, described, idle_cost_of_pool, key_of
from azure_gpu_operations.graph.recorded import Recorded, Resource, texts

_ROLE = azure_types.ROLE_ASSIGNMENT.token
_LOG_SETTINGS = azure_types.DIAGNOSTIC_SETTING.token
_DEPLOYER = "deployer"


def graph_of(recorded: Recorded, day: date) -> Graph:
    """`day`: that the stack is judged at."""
    return _Reader(recorded, day).graph()


class _Reader:
    def __init__(self, recorded: Recorded, day: date) -> None:
        self._recorded = recorded
        self._day = day
        self._owned = Ownership(recorded.resources)
        self._members = self._owned.members()
        own = {key: described(key, members, self._owned) for key, members in self._members.items()}
        self._parts: dict[str, Part] = {**self._owned.existing, **own}
        self._pulling: set[Use] = set()  # clusters whose nodes have an identity of their own

    def graph(self) -> Graph:
        roles = set(self._roles())
        uses = {*self._uses(), *self._pulling}
        self._locate(uses)
        for key, part in self._parts.items():
            if part.type == kinds.POOL and part.machines:
                self._parts[key] = part._replace(idle_cost=idle_cost_of_pool(part, self._members[key]))
        parts = sorted(self._parts.values(), key=_order)
        place = {each.key: index for index, each in enumerate(parts)}
        return Graph(
            stack=self._recorded.stack,
            day=self._day,
            parts=tuple(parts),
            uses=tuple(sorted(uses, key=lambda use: (place[use.part], place[use.on], use.words))),
            roles=tuple(sorted(roles, key=lambda role: (place[role.who], place.get(role.scope, len(place)), role))),
        )

    def _locate(self, uses: set[Use]) -> None:
        """Parts without a region get the region of the part that they run in."""
        for use in sorted(uses):
            part, on = self._parts[use.part], self._parts[use.on]
            if not part.location and part.layer is Layer.WORK and on.layer is Layer.PLACE:
                self._parts[part.key] = part._replace(location=on.location)

    # What depends on what

    def _uses(self) -> Iterator[Use]:
        for resource in self._recorded.resources:
            part = self._source(resource) if resource.type != _ROLE else ""
            for on in self._targets(resource) if part else ():
                if on != part and self._is_shown(part, on):
                    yield Use(part, self._words(resource, part, on), on)

    def _source(self, resource: Resource) -> str:
        """The part whose dependencies a resource has; settings of logs are about another one."""
        if resource.type != _LOG_SETTINGS:
            return self._owned.of(resource)
        about = [self._owned.of(each) for each in self._owned.used_by(resource) if each.type != kinds.LOGS]
        return next((each for each in [*about, self._owned.named(str(resource.inputs.get("resourceUri", "")))] if each), "")

    def _targets(self, resource: Resource) -> Iterator[str]:
        yield from filter(None, map(self._owned.of, self._owned.used_by(resource)))
        yield from filter(None, map(self._owned.named, texts(resource.inputs)))
        package = resource.type.rpartition(":")[0]
        for (of_package, key), output in kinds.NAMED_BY.items():
            if of_package == package and key in resource.inputs:
                yield from self._owned.component_named(output, resource.inputs[key])

    def _is_shown(self, part: str, on: str) -> bool:
        """Everything is in the resource group, and what keeps data only logs."""
        source, target = self._parts[part], self._parts[on]
        if kinds.RESOURCE_GROUP in (source.type, target.type) or source.layer is Layer.IDENTITY:
            return False
        return source.layer is not Layer.DATA or target.type in (kinds.LOGS, kinds.ML_WORKSPACE)

    def _words(self, resource: Resource, part: str, on: str) -> str:
        source, target = self._parts[part].type, self._parts[on].type
        if target == kinds.IDENTITY and resource.type in kinds.SPEAKING:
            return kinds.SPEAKS_AS
        return kinds.WORDS.get((source, target)) or kinds.kind_of(target).used

    # Who has which role

    def _roles(self) -> Iterator[Role]:
        for resource in self._owned.of_type(_ROLE):
            principal, scope, definition = (
                str(resource.inputs.get(key, "")) for key in ("principalId", "scope", "roleDefinitionId")
            )
            role = definition.rsplit("/", 1)[-1]
            who = self._who(principal, str(resource.inputs.get("principalType", "")))
            yield Role(who, NAMES.get(role, role), self._scope(scope))

    def _who(self, principal: str, principal_type: str) -> str:
        known = self._owned.declared(principal) or self._owned.named(principal)
        cluster = stand_ins.cluster_of(principal)
        if known or cluster:
            return known or self._nodes_of(cluster)
        name = _DEPLOYER if principal == stand_ins.DEPLOYER else f"{principal_type} {principal}".strip()
        return self._add(bare(f"{kinds.PRINCIPAL}::{principal}", kinds.PRINCIPAL, name))

    def _nodes_of(self, cluster: str) -> str:
        """The identity that a cluster's nodes pull images as, which the service makes. `cluster`: its name in Azure."""
        of = [each for each in self._owned.of_type(kinds.CLUSTER) if each.outputs.get("cluster_name") == cluster]
        name = of[0].name if of else cluster
        key = self._add(bare(f"{kinds.NODES_IDENTITY}::{name}", kinds.NODES_IDENTITY, f"{name}-nodes"))
        self._pulling |= {Use(key_of(each), kinds.kind_of(kinds.NODES_IDENTITY).used, key) for each in of}
        return key

    def _scope(self, scope: str) -> str:
        """The key of a part, or what Azure calls it where it is none."""
        parsed = arm_ids.parse(scope)
        called = f"{parsed.type.rsplit('/', 1)[-1]} {parsed.name}" if parsed is not None else scope
        return self._owned.declared(scope) or self._owned.named(scope) or called

    def _add(self, part: Part) -> str:
        self._parts.setdefault(part.key, part)
        return part.key


def _order(part: Part) -> tuple[int, str, str]:
    known = kinds.ORDER.index(part.type) if part.type in kinds.ORDER else len(kinds.ORDER)
    return known, part.type, part.key
