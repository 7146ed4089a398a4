"""What can be asked of a container group: its arguments, their defaults, and every reason to refuse them.

In: `ContainerGroupArgs`. Out: a `ContainerGroupSpec` with all defaults filled in, and problems. What the service itself takes,
and until when, is known to `catalog.container_groups`; its parts have modules of their own beside this one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any, NotRequired, cast

from azure_gpu.catalog import names, regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.container_instances import (
    container as group_container,
)
from azure_gpu.container_instances import (
    file as group_file,
)
from azure_gpu.container_instances import (
    network as group_network,
)
from azure_gpu.container_instances import (
    registries as group_registries,
)
from azure_gpu.container_instances import (
    service as group_service,
)
from azure_gpu.container_instances import (
    volumes as group_volumes,
)
from azure_gpu.container_instances.container import (
    ContainerBasics,
    ContainerSettings,
    ContainerSpec,
    InitContainerSettings,
    InitContainerSpec,
)
from azure_gpu.container_instances.file import Reader
from azure_gpu.container_instances.network import NetworkSettings, NetworkSpec
from azure_gpu.container_instances.registries import RegistryLoginArgs
from azure_gpu.container_instances.service import Priority, Sku
from azure_gpu.container_instances.volumes import VolumeArgs
from azure_gpu.formats import azure_types
from azure_gpu.formats.tags import EXPIRES_AT
from azure_gpu.shared.context import Context, StackArgs, Surroundings, check_tags, resolve_day
from azure_gpu.shared.end_dates import resolve_end
from azure_gpu.shared.naming import physical_name
from azure_gpu.shared.workloads import Workload


class OsType(StrEnum):
    """The operating system of the containers."""

    LINUX = "Linux"
    WINDOWS = "Windows"  # never with a GPU


class RestartPolicy(StrEnum):
    """What the service does when a container ends."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"  # until it ends with 0
    NEVER = "Never"


class ContainerGroupSettings(ContainerBasics, NetworkSettings):
    """A container group, as a stack file says it: one container, or several in `containers`. Plain, but for what is called
    wired."""

    container_name: NotRequired[str]
    """Name of the one container in the group. Default: the group's name here."""
    containers: NotRequired[dict[str, ContainerSettings]]
    """Several containers, by name, in place of the keys of one. They share address, volumes and machine. Default: the one that
    the keys beside it describe."""
    init_containers: NotRequired[dict[str, InitContainerSettings]]
    """Containers that run to their end before the others start, one after the other, by name. Default: none."""
    init_order: NotRequired[list[str]]
    """The names of all init containers in the order in which they run. Default: the order of their names, in which the engine
    hands over the keys of a stack file; of a `file`, its own order."""
    volumes: NotRequired[dict[str, VolumeArgs]]
    """Volumes that containers mount, by name. Default: none."""
    registries: NotRequired[list[RegistryLoginArgs]]
    """Registries that ask for a name and a password. The stack's own is pulled from as the stack's identity. Default: none."""
    restart_policy: NotRequired[RestartPolicy]
    """What happens when a container ends. Default: OnFailure, because what runs here is a job that ends."""
    os_type: NotRequired[OsType]
    """Operating system. Default: Linux."""
    zones: NotRequired[list[str]]
    """The availability zone that the group is pinned to, 1, 2 or 3; impossible with a GPU. Default: Azure's choice."""
    priority: NotRequired[Priority]
    """Spot is cheaper, can be stopped at any time, and goes with neither a GPU nor inbound ports. Default: Regular."""
    sku: NotRequired[Sku]
    """What the group runs on. Default: Standard."""
    group_name: NotRequired[str]
    """Name of the group in Azure. Default: made of project, team, stack and the group's name here."""
    location: NotRequired[str]
    """Azure region. Default: the stack's."""
    tags: NotRequired[dict[str, str]]
    """Tags beside the stack's, over which they win. Default: none."""
    as_of: NotRequired[str]
    """The day at which the group is judged, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the group, YYYY-MM-DD; the tag `expires-at` holds the instant at which that day ends in UTC. Tools and
    people keep it: Azure itself deletes nothing by it. Needed with a GPU. Default: none."""
    file: NotRequired[str]
    """A file that describes the group: the YAML of `az container create --file`, or an ARM template; its path from the project's
    folder on. Keys beside it override what the file says; secrets are given beside it. Default: none."""
    file_parameters: NotRequired[dict[str, Any]]
    """Values for the parameters of a template in `file`, by name. Default: the template's own."""


class ContainerGroupArgs(ContainerGroupSettings, Surroundings):
    """A container group, and what it stands on."""

    stack: StackArgs
    """What all components of the stack share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpusOfContainer:
    """The GPUs of one container and where they are written."""

    count: int
    sku: str
    path: str  # of the object with both, such as `container_groups.train.gpu`


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerGroupSpec:
    """What is declared. Wired values stay in `said`."""

    said: ContainerGroupSettings  # the arguments, with those of a file behind them
    group_name: str
    containers: tuple[ContainerSpec, ...]
    init_containers: tuple[InitContainerSpec, ...]
    network: NetworkSpec
    restart_policy: RestartPolicy
    os_type: OsType
    zones: tuple[str, ...]
    priority: Priority
    sku: Sku
    location: str
    tags: dict[str, str]
    expires_at: str | None  # instant in UTC, RFC 3339
    hourly_cost: float | None  # in USD; None: not known

    @property
    def gpu(self) -> group_container.Gpu | None:
        """The GPUs of all containers together; they are of one SKU, as anything else is a problem."""
        found = gpus(self)
        return group_container.Gpu(count=sum(one.count for one in found), sku=found[0].sku) if found else None

    @property
    def volumes(self) -> dict[str, VolumeArgs]:
        return self.said.get("volumes", {})


def gpus(spec: ContainerGroupSpec) -> tuple[GpusOfContainer, ...]:
    """The GPUs of each container that has some."""
    return tuple(
        GpusOfContainer(count=container.gpu.count, sku=container.gpu.sku, path=f"{container.path}.gpu")
        for container in spec.containers
        if container.gpu is not None
    )


def workloads(args: ContainerGroupSettings) -> set[Workload]:
    """The workloads whose images the group's containers run."""
    inside: list[InitContainerSettings] = [*args.get("containers", {}).values(), *args.get("init_containers", {}).values()]
    return {Workload(one["workload"]) for one in (args, *inside) if "workload" in one}


def resolve(
    name: str, args: ContainerGroupSettings, context: Context, read: Reader = group_file.read_text
) -> tuple[ContainerGroupSpec, list[Problem]]:
    """What is declared for the group that the stack file calls `name`, and what is wrong with the arguments. Pure, but for
    `read`, which is asked for the text of the group's `file` where the arguments name one."""
    path = f"container_groups.{name}"
    filled = group_file.fill(args, ContainerGroupSettings, path, context, read)
    spec, problems = _resolve(name, cast(ContainerGroupSettings, filled.said), context)
    return spec, filled.together(problems, path)


def _resolve(name: str, said: ContainerGroupSettings, context: Context) -> tuple[ContainerGroupSpec, list[Problem]]:
    path = f"container_groups.{name}"
    as_of, problems = resolve_day(said.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    containers, container_problems = _containers(name, said, path)
    init_containers, init_problems = _init_containers(said, path)
    expires_at, expiry_problems = _end(said, any(one.gpu for one in containers), day, path)
    own_tags = said.get("tags", {})
    end_tag = {EXPIRES_AT: expires_at} if expires_at else {}
    spec = ContainerGroupSpec(
        said=said,
        group_name=said.get("group_name") or context.name(azure_types.CONTAINER_GROUP.arm_type, name),
        containers=containers,
        init_containers=init_containers,
        network=group_network.resolve(said),
        restart_policy=RestartPolicy(said.get("restart_policy", RestartPolicy.ON_FAILURE)),
        os_type=OsType(said.get("os_type", OsType.LINUX)),
        zones=tuple(said.get("zones", [])),
        priority=Priority(said.get("priority", Priority.REGULAR)),
        sku=Sku(said.get("sku", Sku.STANDARD)),
        location=regions.normalise(said.get("location", context.location)),
        tags={**context.tags(as_of), **own_tags, **end_tag},
        expires_at=expires_at,
        hourly_cost=None,  # prices of container groups aren't known to the catalog
    )
    all_containers: Sequence[InitContainerSpec] = [*init_containers, *containers]
    alone = "containers" not in said
    problems += [
        *expiry_problems,
        *container_problems,
        *init_problems,
        *_name_problems(said, path),
        *group_network.problems_of(said, spec.network, containers, path, alone=alone),
        *group_volumes.problems_of(spec.volumes, all_containers, path),
        *group_registries.problems_of(said.get("registries", []), path),
        *group_service.zone_problems(spec.zones, path),
        *check_tags(own_tags, f"{path}.tags"),
        *(regions.check(said["location"], f"{path}.location") if "location" in said else []),
        *group_service.problems_of(spec, path, day),
    ]
    return spec, problems


def _containers(name: str, said: ContainerGroupSettings, path: str) -> tuple[tuple[ContainerSpec, ...], list[Problem]]:
    """The containers of `containers`, or the one that the group's own keys describe."""
    if "containers" not in said:
        physical = said.get("container_name") or physical_name(names.CONTAINER, [name])
        ports = tuple(dict.fromkeys(port["port"] for port in said.get("ports", [])))
        container, problems = group_container.resolve(physical, said, ports, path)
        return (container,), problems
    problems = _form_problems(said, path)
    containers: list[ContainerSpec] = []
    for key, one in said["containers"].items():
        here = f"{path}.containers.{key}"
        container, more = group_container.resolve(key, one, tuple(one.get("ports", [])), here)
        containers.append(container)
        problems += [*names.check(names.CONTAINER, key, here), *more]
    return tuple(containers), problems


def _form_problems(said: ContainerGroupSettings, path: str) -> list[Problem]:
    """`containers` and the keys of one container exclude each other."""
    of_one = [key for key in said if key in ContainerBasics.__annotations__ or key == "container_name"]
    problems: list[Problem] = []
    if of_one:
        problems.append(
            Problem(
                path=f"{path}.containers",
                message=f"there are containers, and beside them keys of one container: {', '.join(of_one)}",
                value=", ".join(said.get("containers", {})),
                allowed="containers, or the keys of one container",
                fix=f"write {', '.join(of_one)} into one of the containers",
            )
        )
    if not said.get("containers"):
        fix = "add <name>: {image: …}, or leave containers out and describe one beside it"
        problems.append(Problem(path=f"{path}.containers", message="a group needs at least one container", fix=fix))
    return problems


def _init_containers(said: ContainerGroupSettings, path: str) -> tuple[tuple[InitContainerSpec, ...], list[Problem]]:
    containers: list[InitContainerSpec] = []
    given = said.get("init_containers", {})
    order = said.get("init_order", list(given))
    problems = _order_problems(order, list(given), path)
    for key in order if sorted(order) == sorted(given) else given:
        one = given[key]
        here = f"{path}.init_containers.{key}"
        container, more = group_container.resolve_init(key, one, here)
        containers.append(container)
        problems += [*names.check(names.CONTAINER, key, here), *more]
        if key in said.get("containers", {}):
            fix = "rename one of them"
            problems.append(Problem(path=here, message="a container of the group has this name too", value=key, fix=fix))
    return tuple(containers), problems


def _order_problems(order: Sequence[str], given: Sequence[str], path: str) -> list[Problem]:
    if sorted(order) == sorted(given):
        return []
    return [
        Problem(
            path=f"{path}.init_order",
            message="the order has to name each init container once",
            value=", ".join(order),
            allowed=", ".join(given) or "none: there are no init containers",
            fix=f"write [{', '.join(given)}] in the order that they need, or leave init_order out",
        )
    ]


def _end(said: ContainerGroupSettings, has_gpu: bool, day: date, path: str) -> tuple[str | None, list[Problem]]:
    if "expires_after" not in said and not has_gpu:
        return None, []
    return resolve_end(said.get("expires_after"), day, f"{path}.expires_after", "a group")


def _name_problems(said: ContainerGroupSettings, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if "group_name" in said:
        problems += names.check(azure_types.CONTAINER_GROUP.arm_type, said["group_name"], f"{path}.group_name")
    if "container_name" in said:
        problems += names.check(names.CONTAINER, said["container_name"], f"{path}.container_name")
    return problems
