"""Parts whose last day has passed: they stay as they are, and the rest of the stack goes on.

In: the problems of a plan. Out: the same, where a part that is up already only warns; and the options by which nothing of it is
changed until its last day is a later one, or it is removed. A part that isn't up is refused, as before.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import pulumi

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.shared import own_state

_COMPUTE = re.compile(r"ml_workspace\.computes\.(?P<name>[^.]+)")
_PART = re.compile(r"(?P<section>\w+)\.(?P<name>[^.]+)")
TOKENS = {
    "container_groups": "azuregpu:index:ContainerGroup",
    "jobs": "azuregpu:index:ServerlessGpuJob",
    "pools": "azuregpu:index:BatchPool",
    "clusters": "azuregpu:index:GpuCluster",
    "vms": "azuregpu:index:GpuVm",
    "ml_endpoints": "azuregpu:index:MlEndpoint",
}
_NOT_OURS = "pulumi:providers:"  # logs in as whoever runs the program


def ended(problems: Iterable[Problem]) -> list[str]:
    """The paths of the parts that ended, such as `pools.train`."""
    return [each.path.removesuffix(".expires_after") for each in problems if each.code is Code.EXPIRED]


def standing(parts: Sequence[str]) -> frozenset[str]:
    """Those of them that the stack has."""
    state = own_state.resources(of_stack_file=True) if parts else None
    there = {(each["type"], urn.rsplit("::", 1)[-1]) for urn, each in (state or {}).items()}
    return frozenset(part for part in parts if _declared_as(part) in there)


def _declared_as(part: str) -> tuple[str, str]:
    """The token and the logical name of what a part is declared as."""
    compute = _COMPUTE.fullmatch(part)
    if compute:
        return "azure-native:machinelearningservices:Compute", f"ml-compute-{compute['name']}"
    found = _PART.fullmatch(part)
    return (TOKENS.get(found["section"], ""), found["name"]) if found else ("", "")


def told(problems: Iterable[Problem], parts: Collection[str]) -> list[Problem]:
    """The problems, where the end of one of these parts is a warning."""
    return [
        each._replace(
            severity=Severity.WARNING, message="its last day has passed: nothing of it is changed until that is a later one"
        )
        if each.code is Code.EXPIRED and each.path.removesuffix(".expires_after") in parts
        else each
        for each in problems
    ]


def options(
    parts: Collection[str], section: str, name: str, opts: pulumi.ResourceOptions | None
) -> pulumi.ResourceOptions | None:
    """The options of a part's component, with which its resources stay as they are where it has ended."""
    left_alone: Mapping[str, str] = {_declared_as(part)[1]: part for part in parts if part.startswith(f"{section}.")}
    whole = f"{section}.{name}" in parts
    if not whole and (name or not left_alone):
        return opts

    def stay(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        part = f"{section}.{name}" if whole else left_alone.get(args.name, "")
        if not part or args.type_.startswith(_NOT_OURS) or isinstance(args.resource, pulumi.ComponentResource):
            return None
        more = pulumi.ResourceOptions(ignore_changes=["*"], hooks=_nothing_new(part))
        return pulumi.ResourceTransformationResult(args.props, pulumi.ResourceOptions.merge(args.opts, more))

    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(transformations=[stay]))


def _nothing_new(part: str) -> pulumi.ResourceHookBinding:
    async def refuse(_: pulumi.ResourceHookArgs) -> None:
        raise pulumi.RunError(f"{part}.expires_after: its last day has passed; write a later one, or remove it")

    hook = pulumi.ResourceHook(f"{part}-has-ended", refuse, pulumi.ResourceHookOptions(on_dry_run=True))
    return pulumi.ResourceHookBinding(before_create=[hook])
