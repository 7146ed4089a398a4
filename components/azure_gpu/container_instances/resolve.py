"""Resolves and validates the arguments of a container group. Pure, except for reading its `file`."""

from typing import cast

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Problem
from azure_gpu.container_instances import file as group_file, rules
from azure_gpu.container_instances.args import ContainerGroupSettings, ContainerSettings, InitContainerSettings
from azure_gpu.container_instances.spec import ContainerGroupSpec, ContainerSpec, InitContainerSpec
from azure_gpu.formats import azure_types
from azure_gpu.formats.dates import End, resolve_day, resolve_end
from azure_gpu.shared import files
from azure_gpu.shared.context import Context, known
from azure_gpu.shared.files import Reader
from azure_gpu.shared.naming import physical_name
from azure_gpu.shared.workloads import Workload


def workloads(args: ContainerGroupSettings) -> set[Workload]:
    """Returns the workloads of the group's containers."""
    inside: list[InitContainerSettings] = [*args.get("containers", {}).values(), *args.get("init_containers", {}).values()]
    return {one["workload"] for one in (args, *inside) if "workload" in one}


def resolve(
    name: str, args: ContainerGroupSettings, context: Context, read: Reader = files.read_text
) -> tuple[ContainerGroupSpec, list[Problem]]:
    """Resolves and validates the group `name`. Pure, except for `read`, which reads the group's `file`, if there is one."""
    path = context.path("container_groups", name)
    filled = group_file.fill(args, ContainerGroupSettings, path, context, read)
    spec, problems = _resolve(name, cast(ContainerGroupSettings, filled.settings), path, context)
    return spec, filled.together(problems, args, path)


def _resolve(
    name: str, settings: ContainerGroupSettings, path: str, context: Context
) -> tuple[ContainerGroupSpec, list[Problem]]:
    as_of, problems = resolve_day(settings.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    containers = _containers(name, settings, path)
    end, of_end = End(), list[Problem]()
    if "expires_after" in settings or any("gpu" in one.settings for one in containers):
        end, of_end = resolve_end(settings.get("expires_after"), day, f"{path}.expires_after", "a group")
    spec = ContainerGroupSpec(
        settings=settings,
        group_name=known(settings.get("group_name")) or context.name(azure_types.CONTAINER_GROUP.arm_type, name),
        containers=containers,
        init_containers=_init_containers(settings, path),
        location=context.region(settings.get("location")),
        location_path=f"{path}.location" if "location" in settings else context.own_path("location"),
        tags={**context.tags(as_of), **settings.get("tags", {}), **end.tags},
        expires_at=end.at,
    )
    return spec, [*problems, *of_end, *rules.problems_of(spec, path, day, end.last)]


def _containers(name: str, settings: ContainerGroupSettings, path: str) -> tuple[ContainerSpec, ...]:
    """The containers of `containers`, or the single one that the group's own keys set."""
    if "containers" not in settings:
        physical = settings.get("container_name") or physical_name(names.CONTAINER, [name])
        ports = tuple(dict.fromkeys(port["port"] for port in settings.get("ports", [])))
        return (ContainerSpec(name=physical, path=path, settings=cast(ContainerSettings, settings), ports=ports),)
    return tuple(
        ContainerSpec(name=key, path=f"{path}.containers.{key}", settings=one, ports=tuple(one.get("ports", [])))
        for key, one in settings["containers"].items()
    )


def _init_containers(settings: ContainerGroupSettings, path: str) -> tuple[InitContainerSpec, ...]:
    given = settings.get("init_containers", {})
    order = settings.get("init_order", list(given))
    return tuple(
        InitContainerSpec(name=key, path=f"{path}.init_containers.{key}", settings=given[key])
        for key in (order if sorted(order) == sorted(given) else given)
    )
