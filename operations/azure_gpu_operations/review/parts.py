"""Groups the planned resources by the parts of the stack file that declare them, the worst first. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu_operations.review.model import UNKNOWN_YET, Operation, Part, Property, Resource
from azure_gpu_operations.review.steps import Planned, worst

STACK = "Stack"  # the component of what belongs to none
_COMPONENT = "azuregpu:index:"
_NO_PARTS = ("pulumi:pulumi:Stack",)
_ENGINES = ("pulumi:",)  # providers, and resources of the engine itself
_OPERATIONS = tuple(Operation)

# The section of the stack file by component; a component that there is one of has no name there.
_SECTIONS = {
    "ContainerGroup": "container_groups",
    "ServerlessGpuJob": "jobs",
    "BatchPool": "pools",
    "GalleryImage": "gallery_images",
    "GpuCluster": "clusters",
    "EdgeSharing": "edges",
    "GpuVm": "vms",
    "MlEndpoint": "ml_endpoints",
}
_SINGLE = {
    "Foundation": "foundation",
    "BatchAccount": "batch_account",
    "MlWorkspace": "ml_workspace",
    "JobEnvironment": "job_environment",
    "Budget": "budget",
}
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
        if self.component in _SINGLE:
            return _SINGLE[self.component]
        section = _SECTIONS.get(self.component)
        return f"{section}.{self.name}" if section else ""


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
    return (f"{_COMPONENT}{each}" for each in (*_SECTIONS, *_SINGLE))


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
                    key=lambda each: (-_OPERATIONS.index(each.operation), each.name),
                )
            )
            operation = worst(each.operation for each in resources)
            made.append(Part(owner.component, owner.name, owner.path, operation, resources, len(members) - len(changed)))
    return sorted(made, key=lambda each: (-_OPERATIONS.index(each.operation), each.component, each.name)), unchanged


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
