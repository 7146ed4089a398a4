"""Parts whose last day has passed: deployed ones stay unchanged, those that were taken down stay off, and any other is an error.

A deployed part gets a warning, and resource options keep it unchanged until a later last day is set or the part is removed, so
that the rest of the stack can be updated.

`operations end --past` takes a part down and leaves the stack file unchanged, which may be under review in a pull request. A part
that the stack had until its last day, and no longer has, is treated like `enabled: false`, so that no `up` creates it again until
a later day is set; a new part with a past day stays an error. The stack's outputs show that it had the part: `expires_at` after
the deletion, and `taken_down` from the next `up` on.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import pulumi

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.shared import own_state
from azure_gpu.stack.kinds import BY_SECTION

_COMPUTE = re.compile(r"ml_workspace\.computes\.(?P<name>[^.]+)")
TAKEN_DOWN = "taken_down"
"""The stack's output: the ends of taken-down parts (RFC 3339) by paths such as `pools.train`; omitted where there are none."""
Reader = Callable[[Mapping[str, str]], Mapping[str, str]]  # selects the taken-down parts of past ones
_NOT_OURS = "pulumi:providers:"  # its login may change with each run


def ended(problems: Iterable[Problem]) -> list[str]:
    """Returns the paths of the parts whose last day has passed, such as `pools.train`."""
    return [each.path.removesuffix(".expires_after") for each in problems if each.code is Code.EXPIRED]


def deployed(
    parts: Sequence[str], look_up: Callable[[Collection[tuple[str, str]]], Collection[tuple[str, str]]] = own_state.deployed
) -> frozenset[str]:
    """Returns those of the parts that are in the stack's state. `look_up`: selects those of types with logical names."""
    declared = {part: _declared_as(part) for part in parts}
    in_state = look_up(declared.values()) if parts else ()
    return frozenset(part for part, resource in declared.items() if resource in in_state)


def _declared_as(part: str) -> tuple[str, str]:
    """Returns the token and the logical name of a part's resource."""
    section, _, name = part.partition(".")
    if compute := _COMPUTE.fullmatch(part):
        return "azure-native:machinelearningservices:Compute", f"ml-compute-{compute['name']}"
    kind = BY_SECTION.get(section) if "." not in name else None
    return (kind.token, name) if kind and name else ("", "")


def downgraded(problems: Iterable[Problem], parts: Collection[str]) -> list[Problem]:
    """Returns the problems, with the ends of these parts as warnings."""
    return [
        each._replace(
            severity=Severity.WARNING, message="its last day has passed: the part stays unchanged until a later one is set"
        )
        if each.code is Code.EXPIRED and each.path.removesuffix(".expires_after") in parts
        else each
        for each in problems
    ]


def options(
    parts: Collection[str], section: str, name: str, opts: pulumi.ResourceOptions | None
) -> pulumi.ResourceOptions | None:
    """Extends the options of a component so that resources of its ended parts stay unchanged."""
    unchanged: Mapping[str, str] = {_declared_as(part)[1]: part for part in parts if part.startswith(f"{section}.")}
    whole = f"{section}.{name}" in parts
    if not whole and (name or not unchanged):
        return opts

    def stay(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        part = f"{section}.{name}" if whole else unchanged.get(args.name, "")
        if not part or args.type_.startswith(_NOT_OURS) or isinstance(args.resource, pulumi.ComponentResource):
            return None
        more = pulumi.ResourceOptions(ignore_changes=["*"], hooks=_nothing_new(part))
        return pulumi.ResourceTransformationResult(args.props, pulumi.ResourceOptions.merge(args.opts, more))

    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(transformations=[stay]))


def _nothing_new(part: str) -> pulumi.ResourceHookBinding:
    async def refuse(_: pulumi.ResourceHookArgs) -> None:
        raise pulumi.RunError(f"{part}.expires_after: its last day has passed; set a later one, or remove the part")

    hook = pulumi.ResourceHook(f"{part}-has-ended", refuse, pulumi.ResourceHookOptions(on_dry_run=True))
    return pulumi.ResourceHookBinding(before_create=[hook])


def taken_down(past: Mapping[str, str]) -> Mapping[str, str]:
    """Selects the taken-down parts by the stack's outputs and state, from the engine that runs the program."""
    exported = own_state.outputs() if past else None
    if not exported:
        return {}
    had = {path for path, instant in past.items() if _had(exported, path, instant)}
    return {path: past[path] for path in sorted(had - deployed(sorted(had)))}


def none_taken_down(_: Mapping[str, str]) -> Mapping[str, str]:
    """The same without an engine: none."""
    return {}


def warnings(paths: Mapping[str, str]) -> list[Problem]:
    return [refused("stack.taken_down", f"{path}.expires_after") for path in paths]


def _had(exported: Mapping[str, Any], path: str, instant: str) -> bool:
    earlier: Mapping[str, Any] = exported.get(TAKEN_DOWN) or {}
    ends: Mapping[str, Any] = exported.get("expires_at") or {}
    return path in earlier or str(ends.get(path.rsplit(".", 1)[-1]) or "~") <= instant
