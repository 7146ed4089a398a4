"""Resolves and validates the arguments of a container group. Pure, except for reading its `file`."""

from collections.abc import Sequence
from datetime import date
from typing import cast

from azure_gpu.catalog import lifecycle, names
from azure_gpu.catalog.problems import Problem
from azure_gpu.container_instances import (
    container as group_container,
    file as group_file,
    network as group_network,
    registries as group_registries,
    rules as group_rules,
    volumes as group_volumes,
)
from azure_gpu.container_instances.args import (
    DEFAULT_OS_TYPE,
    DEFAULT_PRIORITY,
    DEFAULT_RESTART_POLICY,
    DEFAULT_SKU,
    ContainerGroupSettings,
)
from azure_gpu.container_instances.container import ContainerBasics, ContainerSpec, InitContainerSettings, InitContainerSpec
from azure_gpu.container_instances.spec import ContainerGroupSpec
from azure_gpu.formats import azure_types
from azure_gpu.formats.tags import EXPIRES_AT
from azure_gpu.shared import files
from azure_gpu.shared.context import Context, check_region, check_tags, known, resolve_day
from azure_gpu.shared.end_dates import last_day, resolve_end
from azure_gpu.shared.files import Reader
from azure_gpu.shared.naming import physical_name
from azure_gpu.shared.workloads import Workload


def workloads(args: ContainerGroupSettings) -> set[Workload]:
    """Returns the workloads of the group's containers."""
    inside: list[InitContainerSettings] = [*args.get("containers", {}).values(), *args.get("init_containers", {}).values()]
    return {Workload(one["workload"]) for one in (args, *inside) if "workload" in one}


def resolve(
    name: str, args: ContainerGroupSettings, context: Context, read: Reader = files.read_text
) -> tuple[ContainerGroupSpec, list[Problem]]:
    """Resolves and validates the group `name`. Pure, except for `read`, which reads the group's `file`, if there is one."""
    path = context.path("container_groups", name)
    filled = group_file.fill(args, ContainerGroupSettings, path, context, read)
    spec, problems = _resolve(name, cast(ContainerGroupSettings, filled.settings), context)
    return spec, filled.together(problems, path)


def _resolve(name: str, settings: ContainerGroupSettings, context: Context) -> tuple[ContainerGroupSpec, list[Problem]]:
    path = context.path("container_groups", name)
    as_of, problems = resolve_day(settings.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    containers, container_problems = _containers(name, settings, path)
    init_containers, init_problems = _init_containers(settings, path)
    expires_at, expiry_problems = _end(settings, any(one.gpu for one in containers), day, path)
    own_tags = settings.get("tags", {})
    end_tag = {EXPIRES_AT: expires_at} if expires_at else {}
    spec = ContainerGroupSpec(
        settings=settings,
        group_name=known(settings.get("group_name")) or context.name(azure_types.CONTAINER_GROUP.arm_type, name),
        containers=containers,
        init_containers=init_containers,
        network=group_network.resolve(settings),
        restart_policy=settings.get("restart_policy", DEFAULT_RESTART_POLICY),
        os_type=settings.get("os_type", DEFAULT_OS_TYPE),
        zones=tuple(settings.get("zones", [])),
        priority=settings.get("priority", DEFAULT_PRIORITY),
        sku=settings.get("sku", DEFAULT_SKU),
        location=context.region(settings.get("location")),
        location_path=f"{path}.location" if "location" in settings else context.own_path("location"),
        tags={**context.tags(as_of), **own_tags, **end_tag},
        expires_at=expires_at,
        hourly_cost=None,  # prices of container groups aren't known to the catalog
    )
    all_containers: Sequence[InitContainerSpec] = [*init_containers, *containers]
    one_container = "containers" not in settings
    problems += [
        *expiry_problems,
        *container_problems,
        *init_problems,
        *_name_problems(settings, path),
        *group_network.problems_of(
            settings, spec.network, containers, path, context.subscription_id, one_container=one_container
        ),
        *group_volumes.problems_of(spec.volumes, all_containers, path),
        *group_registries.problems_of(settings.get("registries", []), path),
        *group_rules.zone_problems(spec.zones, path),
        *check_tags(own_tags, f"{path}.tags"),
        *check_region(settings.get("location"), f"{path}.location"),
        *lifecycle.through(lambda on: group_rules.problems_of(spec, path, on), day, last_day(settings.get("expires_after"))),
    ]
    return spec, problems


def _containers(name: str, settings: ContainerGroupSettings, path: str) -> tuple[tuple[ContainerSpec, ...], list[Problem]]:
    """Resolves the containers of `containers`, or the single one that the group's own keys set."""
    if "containers" not in settings:
        physical = settings.get("container_name") or physical_name(names.CONTAINER, [name])
        ports = tuple(dict.fromkeys(port["port"] for port in settings.get("ports", [])))
        container, problems = group_container.resolve(physical, settings, ports, path)
        return (container,), problems
    problems = _form_problems(settings, path)
    containers: list[ContainerSpec] = []
    for key, one in settings["containers"].items():
        here = f"{path}.containers.{key}"
        container, more = group_container.resolve(key, one, tuple(one.get("ports", [])), here)
        containers.append(container)
        problems += [*names.check(names.CONTAINER, key, here), *more]
    return tuple(containers), problems


def _form_problems(settings: ContainerGroupSettings, path: str) -> list[Problem]:
    """Rejects `containers` together with keys of a single container."""
    of_one = [key for key in settings if key in ContainerBasics.__annotations__ or key == "container_name"]
    problems: list[Problem] = []
    if of_one:
        problems.append(
            Problem(
                path=f"{path}.containers",
                message=f"can't be combined with keys of one container: {', '.join(of_one)}",
                value=", ".join(settings.get("containers", {})),
                allowed="containers, or the keys of one container",
                fix=f"write {', '.join(of_one)} into one of the containers",
            )
        )
    if not settings.get("containers"):
        fix = "add <name>: {image: …}, or remove containers and describe one in the group itself"
        problems.append(Problem(path=f"{path}.containers", message="at least one container is required", fix=fix))
    return problems


def _init_containers(settings: ContainerGroupSettings, path: str) -> tuple[tuple[InitContainerSpec, ...], list[Problem]]:
    containers: list[InitContainerSpec] = []
    given = settings.get("init_containers", {})
    order = settings.get("init_order", list(given))
    problems = _order_problems(order, list(given), path)
    for key in order if sorted(order) == sorted(given) else given:
        one = given[key]
        here = f"{path}.init_containers.{key}"
        container, more = group_container.resolve_init(key, one, here)
        containers.append(container)
        problems += [*names.check(names.CONTAINER, key, here), *more]
        if key in settings.get("containers", {}):
            fix = "rename one of them"
            problems.append(
                Problem(path=here, message="this name is already used by a container of the group", value=key, fix=fix)
            )
    return tuple(containers), problems


def _order_problems(order: Sequence[str], given: Sequence[str], path: str) -> list[Problem]:
    if sorted(order) == sorted(given):
        return []
    return [
        Problem(
            path=f"{path}.init_order",
            message="must name each init container once",
            value=", ".join(order),
            allowed=", ".join(given) or "none: there are no init containers",
            fix=f"write [{', '.join(given)}] in the order that they need, or remove init_order",
        )
    ]


def _end(settings: ContainerGroupSettings, has_gpu: bool, day: date, path: str) -> tuple[str | None, list[Problem]]:
    if "expires_after" not in settings and not has_gpu:
        return None, []
    return resolve_end(settings.get("expires_after"), day, f"{path}.expires_after", "a group")


def _name_problems(settings: ContainerGroupSettings, path: str) -> list[Problem]:
    problems: list[Problem] = []
    group_name = known(settings.get("group_name"))
    if group_name is not None:
        problems += names.check(azure_types.CONTAINER_GROUP.arm_type, group_name, f"{path}.group_name")
    if "container_name" in settings:
        problems += names.check(names.CONTAINER, settings["container_name"], f"{path}.container_name")
    return problems
