"""Resolves and validates the arguments of a Batch pool. Pure."""

import hashlib
import re
from datetime import timedelta
from typing import Any

from azure_gpu.batch.pool import rules as pool_rules
from azure_gpu.batch.pool.args import (
    DEFAULT_COMMUNICATION,
    DEFAULT_PUBLIC_ADDRESSES,
    DEFAULT_SCENARIO,
    AutoscaleArgs,
    BatchPoolSettings,
    BatchPoolWiring,
    StartTaskArgs,
)
from azure_gpu.batch.pool.spec import BatchPoolSpec, PoolDependencies
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.hourly_cost import Machines, of_machines
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.batch import methods, pools, scale
from azure_gpu.catalog.services.batch.installs import installs_driver
from azure_gpu.catalog.services.batch.request import ContainerTasks, PackageReference, PoolRequest, StartTask
from azure_gpu.catalog.services.batch.scale import ScenarioRequest
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.formats import azure_types
from azure_gpu.formats.autoscale_formula import formula_problems
from azure_gpu.formats.dates import resolve_day, resolve_end
from azure_gpu.images import choice as image_choice
from azure_gpu.images.args import DEFAULT_SYSTEM
from azure_gpu.images.choice import ImageChoice
from azure_gpu.shared.context import Context, known
from azure_gpu.shared.naming import HASH_LENGTH, physical_name
from azure_gpu.shared.validation import written

LONGEST_BASE = 64 - 1 - HASH_LENGTH  # longest pool name before its hash
_SIZE_NAME = re.compile(r"[A-Za-z]+_[\w-]+", re.ASCII)  # Standard_…, Basic_…
_MOST_MINUTES = 10**9  # above the service's limits, within timedelta's range


def resolve(
    name: str, args: BatchPoolSettings, context: Context, dependencies: PoolDependencies
) -> tuple[BatchPoolSpec, list[Problem]]:
    """Resolves and validates the pool `name`. Pure."""
    path = context.path("pools", name)
    as_of, problems = resolve_day(args.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    end, end_problems = resolve_end(args.get("expires_after"), day, f"{path}.expires_after", "a pool", "of GPU or RDMA nodes")
    size = SIZES.find(args["size"])
    image, image_problems = image_choice.choose(args, dependencies.images, path)
    requested, scale_problems = _scaled(_request(args, path, size, image, dependencies), args, f"{path}.autoscale")
    install_method, method_problems = methods.choose(
        requested,
        context.chosen_at(as_of),
        args.get("driver", "auto"),
        driver_version=args.get("driver_version", ""),
        package=args.get("driver_package", ""),
    )
    request = install_method.applied(requested)
    spec = BatchPoolSpec(
        logical_name=name,
        settings=args,
        dependencies=dependencies,
        base_name=_base_name(name, args, context, existing=dependencies.account.existing),
        containers_name=context.name(azure_types.DEPLOYMENT.arm_type, f"{name}-containers"),
        size=size.name if size is not None else args["size"],
        image=image,
        install_method=install_method,
        request=request,
        container_images=_container_images(args),
        tags={**context.tags(as_of), **args.get("tags", {}), **end.tags},
        expires_at=end.at,
        hourly_cost=_hourly_cost(args["size"], request),
    )
    problems += [*end_problems, *image_problems]
    problems += [*pool_rules.fit_problems(args, image, size, path, dependencies.account.location), *scale_problems]
    problems += pool_rules.problems_of(spec, path)
    of_request = pools.problems(request, day, until=end.last)
    of_catalog = [*method_problems, *(problem for problem in of_request if problem not in method_problems)]
    return spec, [*problems, *of_catalog, *pool_rules.cloud_services_problems(args, of_catalog, path)]


def _request(
    settings: BatchPoolSettings, path: str, size: Size | None, image: ImageChoice, dependencies: PoolDependencies
) -> PoolRequest:
    """Builds the request of the pool at `path`, before the catalog chooses the installation method."""
    account, system = dependencies.account, _system(settings, image, size)
    return PoolRequest(
        path=path,
        size=size,
        size_name=settings["size"] if _SIZE_NAME.fullmatch(settings["size"]) else None,  # an invalid name is reported elsewhere
        written=_written(settings, path, image, dependencies),
        region=account.location,
        allocation_mode=account.allocation_mode,
        auto_storage=account.auto_storage,
        operating_system=system,
        image_kind=image.kind,
        image=image.reference,
        node_agent=settings.get("node_agent", image.node_agent),
        cloud_services=settings.get("cloud_services", False),
        dedicated_nodes=settings.get("dedicated_nodes"),
        spot_nodes=settings.get("spot_nodes"),
        resize_timeout=_minutes(settings["resize_timeout_minutes"]) if "resize_timeout_minutes" in settings else None,
        task_slots=settings.get("task_slots", scale.DEFAULT_TASK_SLOTS),
        inter_node=settings.get("inter_node", "mpi" in settings),
        multi_instance="mpi" in settings or settings.get("autoscale", {}).get("nodes_per_task", 1) > 1,
        rdma=settings.get("rdma", "mpi" in settings),
        mpi=settings.get("mpi"),
        containers=None if _container_images(settings) is None else ContainerTasks(elevated=system == "Windows"),
        package_references=tuple(PackageReference(*each) for each in sorted(settings.get("packages", {}).items())),
        start_task=_start_task(settings["start_task"], settings.get("driver_version", "")) if "start_task" in settings else None,
        communication=settings.get("communication", DEFAULT_COMMUNICATION),
        public_addresses=settings.get("public_addresses", DEFAULT_PUBLIC_ADDRESSES),
        explicit_outbound=settings.get("explicit_outbound", False),
    )


def _system(settings: BatchPoolSettings, choice: ImageChoice, size: Size | None) -> OperatingSystem:
    """Returns the configured operating system, else the image's, else the only one that the size supports, else Linux."""
    if "os_type" in settings:
        return settings["os_type"]
    if choice.operating_system is not None:
        return choice.operating_system
    return "Windows" if size is not None and size.series.windows_only else DEFAULT_SYSTEM


def _written(settings: BatchPoolSettings, path: str, image: ImageChoice, dependencies: PoolDependencies) -> dict[str, str]:
    """What is written at another path than the catalog's."""
    autoscale = settings.get("autoscale", {})
    by = "formula" if "formula" in autoscale else "scenario"
    return {
        "image": f"{path}.{image.key if image.key in settings else 'size'}",
        "resize_timeout": f"{path}.resize_timeout_minutes",
        "autoscale_formula": f"{path}.autoscale.{by}" if by in autoscale else f"{path}.autoscale",
        "evaluation_interval": f"{path}.autoscale.interval_minutes",
        "region": dependencies.location_path,
        "multi_instance": f"{path}.mpi",
        "start_task.command_line": f"{path}.start_task.command",
        "start_task.driver_version": f"{path}.driver_version",
        "containers.type": f"{path}.containers",
    }


def _start_task(settings: StartTaskArgs, driver_version: str) -> StartTask:
    return StartTask(
        command_line=settings["command"],
        elevated=settings.get("elevated", False),
        wait_for_success=settings.get("wait_for_success", True),
        installs_driver=installs_driver(settings["command"]),
        driver_version=driver_version,
    )


def _container_images(settings: BatchPoolSettings) -> tuple[str, ...] | None:
    """Returns the sorted images that nodes pull at start; None where tasks are programs on the node."""
    given = written(settings["containers"]) if "containers" in settings else None
    return tuple(sorted(given.get("images", []))) if given is not None and given.get("enabled", True) else None


def _scaled(request: PoolRequest, settings: BatchPoolSettings, path: str) -> tuple[PoolRequest, list[Problem]]:
    """Returns the request with its maximum number of nodes, and without a fixed number with a formula: the user's, or that of a
    scenario."""
    fixed = request.dedicated_nodes is not None or request.spot_nodes is not None
    if fixed and "autoscale" not in settings:
        return request._replace(most=(max(request.dedicated_nodes or 0, 0), max(request.spot_nodes or 0, 0))), []
    autoscale = settings.get("autoscale", AutoscaleArgs())
    interval = _minutes(autoscale["interval_minutes"]) if "interval_minutes" in autoscale else scale.DEFAULT_INTERVAL
    request = request._replace(evaluation_interval=interval)
    if "formula" in autoscale:
        beside = [key for key in autoscale if key not in ("formula", "interval_minutes")]
        problems = [refused("pool.formula_and_scenario", f"{path}.{beside[0]}", ", ".join(beside))] if beside else []
        problems += formula_problems(autoscale["formula"], f"{path}.formula")
        return request._replace(autoscale_formula=autoscale["formula"]), problems
    # Other numbers have the scenario's defaults.
    numbers: dict[str, Any] = {key: value for key, value in autoscale.items() if key not in ("scenario", "interval_minutes")}
    scenario = ScenarioRequest(autoscale.get("scenario", DEFAULT_SCENARIO), path, task_slots=request.task_slots, **numbers)
    problems = scale.scenario_problems(scenario)
    if errors(problems):  # the numbers are invalid: use the defaults
        return request._replace(autoscale_formula=scale.formula(ScenarioRequest(scenario.scenario, path))), problems
    return request._replace(autoscale_formula=scale.formula(scenario), most=scale.most_nodes(scenario)), problems


def _minutes(number: int) -> timedelta:
    """Converts minutes, clamped to timedelta's range; validation rejects larger values."""
    return timedelta(minutes=max(-_MOST_MINUTES, min(number, _MOST_MINUTES)))


def _base_name(name: str, args: BatchPoolSettings, context: Context, *, existing: bool) -> str:
    """Returns the pool's name before its hash; in an existing account it has the stack's prefix."""
    if "pool_name" in args:
        return args["pool_name"]
    arm_type = azure_types.BATCH_POOL.arm_type
    whole = context.name(arm_type, name) if existing else physical_name(arm_type, [name])
    if len(whole) <= LONGEST_BASE:
        return whole
    hashed = hashlib.sha256(whole.encode()).hexdigest()[:HASH_LENGTH]  # keeps cut names distinct
    return f"{whole[: LONGEST_BASE - 1 - HASH_LENGTH].rstrip('-')}-{hashed}"


def _hourly_cost(size: str, request: PoolRequest) -> float | None:
    """Returns the list price at the maximum number of nodes, in USD per hour; None for a custom formula, and for Windows, whose
    prices aren't known."""
    if request.most is None or (request.operating_system == "Windows" and max(request.most) > 0):
        return None
    dedicated, spot = request.most
    nodes = (Machines(size, dedicated), Machines(size, spot, spot=True))
    return of_machines(nodes, request.region, packaged()).number


def dependencies_of(args: BatchPoolWiring) -> PoolDependencies:
    """Returns the dependencies of a pool from the arguments of its component."""
    return PoolDependencies(
        account=args["account"]["facts"],
        identity=args.get("identity_name", ""),
        registry=args["registry"]["name"] if "registry" in args else "",
        storage=(known(args["storage"]["name"]) or "") if "storage" in args else "",
        own_storage="storage" in args and args["storage"].get("is_own", False),
        images=args.get("images", {}),
    )
