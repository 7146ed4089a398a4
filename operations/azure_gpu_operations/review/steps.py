"""The engine's plan by resource, and by the part of the stack file that declares it: what changes, and what forces it. Pure.

Reads the steps of `pulumi preview --json --show-replacement-steps`. That JSON has no reason if a `replacementTrigger` forces a
replacement (engine 3.259.0), and its detailed diff is null then; so changes come from the old and the new inputs, and reasons
also from `replaceOnChanges`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from azure_gpu.formats import azure_types
from azure_gpu_operations.review.model import SECRET, UNKNOWN_YET, Operation, Part, Property, Resource

Step = Mapping[str, Any]

# How the engine writes what isn't known before an `up`: sdk/go/common/resource/plugin/rpc.go, UnknownStringValue and its like.
_UNKNOWN = {
    "04da6b54-80e4-46f7-96ec-b56ff0331ba9",  # a text
    "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # a truth value
    "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # a number
    "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # a list
    "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # an object
}
_SIGNATURE = "4dabf18193072939515e22adb298388d"  # the key by which the engine marks a special value in JSON
_SECRETS = "1b47061264138c4ac30d75fd1eb44270"

_OPERATIONS = {
    "same": Operation.SAME,
    "refresh": Operation.SAME,
    "read": Operation.READ,
    "read-replacement": Operation.READ,
    "read-discard": Operation.SAME,
    "discard-replaced": Operation.SAME,
    "remove-pending-replace": Operation.SAME,
    "import": Operation.IMPORT,
    "create": Operation.CREATE,
    "update": Operation.UPDATE,
    "delete": Operation.DELETE,
    "replace": Operation.REPLACE,
    "create-replacement": Operation.REPLACE,
    "delete-replaced": Operation.REPLACE,
    "import-replacement": Operation.REPLACE,
}
_WORST = tuple(Operation)


class Planned(NamedTuple):
    """The planned operation on one resource."""

    urn: str
    type: str
    name: str
    parent: str  # urn; "": the stack
    operation: Operation
    id: str  # in Azure, before; "": it isn't there
    properties: tuple[Property, ...]
    is_component: bool
    depends_on: Mapping[str, tuple[str, ...]]  # urns whose outputs an input is made of, by the input


def worst(operations: Iterable[Operation]) -> Operation:
    """The one that matters most; SAME of none."""
    return max(operations, key=_WORST.index, default=Operation.SAME)


def planned(steps: Iterable[Step], deployment: Mapping[str, Any]) -> list[Planned]:
    """Also what stays as it is, which the engine doesn't list. `deployment`: the state before. ValueError where a
    step isn't one of the engine's."""
    by_urn: dict[str, list[Step]] = {}
    for step in steps:
        try:
            by_urn.setdefault(str(step["urn"]), []).append(step)
        except (KeyError, TypeError):
            raise ValueError("a step of the preview has no URN") from None
    by_urn = {urn: news for urn, of_it in by_urn.items() if (news := [step for step in of_it if not _is_left_over(step)])}
    resources: list[Mapping[str, Any]] = deployment.get("resources") or []
    stay = [each for each in resources if str(each["urn"]) not in by_urn and not each.get("delete")]
    known = {
        str(_part(step, "oldState").get("urn") or "") for of_it in by_urn.values() for step in of_it
    }  # others by an alias now
    by_urn |= {
        str(each["urn"]): [{"op": "same", "oldState": each, "newState": each}] for each in stay if each["urn"] not in known
    }
    return [_merged(urn, of_it) for urn, of_it in by_urn.items()]


def _is_left_over(step: Step) -> bool:
    """Whether it deletes what an earlier update has replaced, and not deleted yet: no news."""
    return step.get("op") in ("delete", "delete-replaced") and bool(_part(step, "oldState").get("delete"))


def _merged(urn: str, steps: list[Step]) -> Planned:
    operation = worst(_OPERATIONS.get(str(step.get("op")), Operation.UPDATE) for step in steps)
    # Of a replacement the step that makes the new one has the reasons.
    telling = next((step for step in steps if step.get("op") == "create-replacement"), steps[0])
    old_state, new_state = _part(telling, "oldState"), _part(telling, "newState")
    if operation is Operation.DELETE and len(steps) == 1:
        new_state = {}
    state = new_state or old_state
    old, new = old_state.get("inputs") or {}, new_state.get("inputs") or {}
    return Planned(
        urn=urn,
        type=str(state.get("type") or urn.split("::")[-2].rsplit("$", 1)[-1]),
        name=urn.rsplit("::", 1)[-1],
        parent=str(state.get("parent") or ""),
        operation=operation,
        id=str(old_state.get("id") or ""),
        properties=tuple(_properties(operation, old, new, telling, new_state)),
        is_component=not state.get("custom"),
        depends_on=_dependencies(new_state),
    )


def _part(step: Step, key: str) -> Mapping[str, Any]:
    found = step.get(key)
    return cast(Mapping[str, Any], found) if isinstance(found, Mapping) else {}


def _dependencies(state: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Of each property. A dependency that a program states without a property is an order, and no reason."""
    by_property: Mapping[str, Any] = state.get("propertyDependencies") or {}
    return {key: tuple(str(urn) for urn in urns) for key, urns in by_property.items() if urns}


def _properties(
    operation: Operation, old: Mapping[str, Any], new: Mapping[str, Any], step: Step, state: Mapping[str, Any]
) -> Iterator[Property]:
    if operation not in (Operation.UPDATE, Operation.REPLACE):
        return
    before, after = dict(leaves(old)), dict(leaves(new))
    detailed: Mapping[str, Any] = step.get("detailedDiff") or {}
    forcing = {path for path, change in detailed.items() if str(change.get("kind")).endswith("replace")}
    forcing |= {str(each) for each in step.get("replaceReasons") or ()}
    if operation is Operation.REPLACE and not forcing:
        forcing = {str(each) for each in state.get("replaceOnChanges") or ()}
    for path in sorted(before.keys() | after.keys()):
        one, other = before.get(path), after.get(path)
        is_secret = one == other == SECRET and any(_is_at(path, each) for each in detailed)
        if (one == other and not is_secret) or _is_within_other(path, before, after):
            continue
        forces = operation is Operation.REPLACE and any(_is_at(path, each) for each in forcing)
        if detailed and not forces and not any(_is_at(path, each) for each in detailed):
            continue  # the provider takes both for the same
        yield Property(path, one, other, forces)


def _is_within_other(path: str, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Whether the property is an empty object or list that has properties on the other side."""
    mine, theirs = (before, after) if path in before else (after, before)
    return path not in theirs and mine[path] in ("{}", "[]") and any(_is_at(each, path) for each in theirs)


def _is_at(path: str, place: str) -> bool:
    """Whether a property is the one at a place, or within it, or around it."""
    one, other = path.replace('["', ".").replace('"]', ""), place.replace('["', ".").replace('"]', "")
    return any(long == short or long.startswith((f"{short}.", f"{short}[")) for long, short in ((one, other), (other, one)))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each leaf (including empty mappings and lists) as text, with its path as the engine writes it."""
    if isinstance(value, Mapping):
        mapping = cast(Mapping[str, Any], value)
        if _SIGNATURE in mapping:
            yield path, SECRET if mapping[_SIGNATURE] == _SECRETS else text_of(mapping)
            return
        if mapping or not path:
            for key, inner in mapping.items():
                if key != "__defaults":
                    yield from leaves(inner, _below(path, str(key)))
            return
    if isinstance(value, list) and value:
        for number, inner in enumerate(cast(list[Any], value)):
            yield from leaves(inner, f"{path}[{number}]")
        return
    yield path, text_of(value)


def _below(path: str, key: str) -> str:
    if not key.replace("_", "a").replace("-", "a").isalnum():
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def text_of(value: Any) -> str:
    """A value as a person reads it."""
    if isinstance(value, str):
        return UNKNOWN_YET if value in _UNKNOWN else value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


STACK = "Stack"  # the component of what belongs to none
_COMPONENT = "azuregpu:index:"
_NO_PARTS = ("pulumi:pulumi:Stack",)
_ENGINES = ("pulumi:",)  # providers, and resources of the engine itself

# Keys inside a part by component: what a resource is called behind the part's name, and the key.
_INSIDE = {
    "GpuCluster": (("-pool-", "gpu_pools"),),
    "MlEndpoint": (("-deployment-", "deployments"), ("-autoscale-", "deployments")),
    "MlWorkspace": (("-compute-", "computes"), ("-environment-", "environments")),
}
_OF_FOUNDATION = (
    ("resource-group", "resource_group"),
    ("identity", "identity"),
    ("serving-identity", "serving_identity"),
    ("registry", "registry"),
    ("logs", "log_workspace"),
    ("storage", "storage"),
    ("blob-service", "storage"),
)


class Owner(NamedTuple):
    """The component that a resource belongs to."""

    component: str  # without the package: `BatchPool`; STACK: none
    name: str

    @property
    def path(self) -> str:
        """The component's path in the stack file; "" if unknown."""
        from azure_gpu.formats.parts import path_of_part  # here, because `--help` needs no table

        return path_of_part(self.component, self.name)


def owners(found: Iterable[Planned]) -> dict[str, Owner]:
    """The outermost component of each resource, by URN."""
    listed = list(found)
    by_urn = {each.urn: each for each in listed}
    return {each.urn: _owner(each, by_urn) for each in listed}


def _owner(of: Planned, by_urn: Mapping[str, Planned]) -> Owner:
    owner = Owner(STACK, "")
    at: Planned | None = of
    seen: set[str] = set()
    while at is not None and at.urn not in seen:
        seen.add(at.urn)
        if at.type.startswith(_COMPONENT):
            owner = Owner(at.type.removeprefix(_COMPONENT), at.name)
        # A deleted resource's parent may not be among the steps; its URN contains its components.
        if at.parent not in by_urn and at.parent.rpartition("::")[0].endswith(tuple(_of_components())):
            return Owner(at.parent.split("::")[-2].rpartition(":")[2], at.parent.rsplit("::", 1)[-1])
        at = by_urn.get(at.parent)
    return owner


def _of_components() -> Iterable[str]:
    from azure_gpu.formats.parts import PARTS  # here, because `--help` needs no table

    return (kind.token for kind in PARTS)


def path_of(resource: Planned, owner: Owner) -> str:
    """The path of a resource in the stack file, as precise as its name allows: `clusters.shared.gpu_pools.t4`."""
    if owner.component == "Foundation":
        rest = resource.name.removeprefix(f"{owner.name}-")
        return next((f"{owner.path}.{key}" for name, key in _OF_FOUNDATION if rest == name), owner.path)
    for word, key in _INSIDE.get(owner.component, ()):
        start = f"{owner.name}{word}"
        if resource.name.startswith(start):
            return f"{owner.path}.{key}.{resource.name.removeprefix(start)}"
    return owner.path


def parts(found: Iterable[Planned]) -> tuple[list[Part], int]:
    """The parts of which something changes, the worst first; and how many resources stay as they are in all."""
    listed = [each for each in found if each.type not in _NO_PARTS]
    owner_of = owners(listed)
    forced = followers(listed)
    grouped: dict[Owner, list[Planned]] = {}
    for each in listed:
        if not each.is_component and not each.type.startswith(_ENGINES):
            grouped.setdefault(owner_of[each.urn], []).append(each)
    made: list[Part] = []
    unchanged = 0
    for owner, members in grouped.items():
        changed = [each for each in members if each.operation not in (Operation.SAME, Operation.READ)]
        unchanged += len(members) - len(changed)
        if changed:
            resources = tuple(
                sorted(
                    (_resource(each, forced) for each in changed),
                    key=lambda each: (-_WORST.index(each.operation), each.name),
                )
            )
            operation = worst(each.operation for each in resources)
            made.append(Part(owner.component, owner.name, owner.path, operation, resources, len(members) - len(changed)))
    return sorted(made, key=lambda each: (-_WORST.index(each.operation), each.component, each.name)), unchanged


def followers(found: Iterable[Planned]) -> dict[str, Planned]:
    """For each resource that is replaced because another one is: that one, by URN (the first of its dependencies)."""
    replaced = {each.urn: each for each in found if each.operation is Operation.REPLACE}
    forced: dict[str, Planned] = {}
    for urn, each in replaced.items():
        forcing = [one for one in each.properties if one.forces]
        if forcing and all(one.after == UNKNOWN_YET for one in forcing):
            # In their order, as the first one is often the group or the account that it lies in.
            inputs = dict.fromkeys(re.split(r"[.\[]", one.path)[0] for one in forcing)
            others = (other for key in inputs for other in each.depends_on.get(key, ()))
            leader = next((replaced[other] for other in others if other in replaced and other != urn), None)
            if leader is not None:
                forced[urn] = leader
    return forced


def _resource(each: Planned, forced: Mapping[str, Planned]) -> Resource:
    leader = forced.get(each.urn)
    # What follows from another's replacement isn't news; what is set here is.
    shown = [one for one in each.properties if leader is None or one.after != UNKNOWN_YET]
    return Resource(
        each.urn,
        each.type,
        each.name,
        each.operation,
        tuple(shown if shown else each.properties[:1]),
        leader.name if leader else "",
    )


_NOISE = re.compile(r"^(azureApiVersion$|properties\.template\.metadata\.|__)")


def without_noise(found: Iterable[Planned]) -> list[Planned]:
    """The resources without uninformative properties: the API version, a template's metadata."""
    return [each._replace(properties=tuple(one for one in each.properties if not _is_noise(one, each.type))) for each in found]


def _is_noise(one: Property, type_: str) -> bool:
    return not one.forces and bool(_NOISE.match(one.path)) and (type_ == azure_types.DEPLOYMENT.token or one.path[0] != "p")
