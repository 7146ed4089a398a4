"""What can be asked of a container group: its arguments, their defaults, and every reason to refuse them.

In: `ContainerGroupArgs`. Out: a `ContainerGroupSpec` with all defaults filled in, and problems. What the service itself takes,
and until when, is known to `catalog.services.container_instances`.
"""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import NotRequired, TypedDict

import pulumi

from catalog import container_groups, names, regions
from catalog.prices import packaged
from catalog.problems import Code, Problem
from catalog.services import container_instances
from components.context import Context, StackArgs, Surroundings, check_tags, resolve_day
from components.naming import physical_name
from components.workloads import Workload
from formats import azure_types, image_reference
from formats.dates import days_later
from formats.image_reference import ImageReference
from formats.tags import EXPIRES_AT

PROPOSED_DAYS = 7  # how long a group with a GPU may live in the proposal that the refusal of one without an end makes


class OsType(StrEnum):
    """The operating system of the containers."""

    LINUX = "Linux"
    WINDOWS = "Windows"  # never with a GPU


class RestartPolicy(StrEnum):
    """What the service does when a container ends."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"  # until it ends with 0
    NEVER = "Never"


class GpuArgs(TypedDict):
    """GPUs of a container. All of it is plain."""

    count: int
    """How many: 1, 2 or 4."""
    sku: str
    """Which: K80, P100 or V100, each until its retirement."""


class ContainerGroupSettings(TypedDict):
    """A container group, as a stack file says it. Plain, but for what is called wired."""

    image: NotRequired[str]
    """Image to run, by tag or better by digest. Exactly one of `image` and `workload` is needed."""
    workload: NotRequired[Workload]
    """Workload of this repository to run, built by the stack's registry."""
    command: NotRequired[list[str]]
    """Program and arguments in place of the image's own. Default: the image's."""
    environment: NotRequired[dict[str, str]]
    """Environment variables that everybody may read. Default: none."""
    secret_environment: NotRequired[dict[str, pulumi.Input[str]]]
    """Wired: environment variables that nobody may read: encrypted in the stack file by `pulumi config set --secret --path`,
    encrypted in the state, never shown by Azure. Default: none."""
    cpu: NotRequired[float]
    """CPU cores. Default: 1."""
    memory_in_gb: NotRequired[float]
    """Memory in GB. Default: 1.5."""
    gpu: NotRequired[GpuArgs]
    """GPUs; they need `expires_after`. Default: none."""
    restart_policy: NotRequired[RestartPolicy]
    """What happens when the container ends. Default: OnFailure, because what runs here is a job that ends."""
    os_type: NotRequired[OsType]
    """Operating system. Default: Linux."""
    subnet_id: NotRequired[pulumi.Input[str]]
    """Wired: ARM id of a subnet that is delegated to container groups; impossible with a GPU. Default: no virtual network."""
    group_name: NotRequired[str]
    """Name of the group in Azure. Default: made of project, team, stack and the group's name here."""
    container_name: NotRequired[str]
    """Name of the container in the group. Default: the group's name here."""
    location: NotRequired[str]
    """Azure region. Default: the stack's."""
    tags: NotRequired[dict[str, str]]
    """Tags beside the stack's, over which they win. Default: none."""
    as_of: NotRequired[str]
    """The day at which the group is judged, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the group, YYYY-MM-DD; the tag `expires-at` holds the instant at which that day ends in UTC. Tools and
    people keep it: Azure itself deletes nothing by it. Needed with a GPU. Default: none."""


class ContainerGroupArgs(ContainerGroupSettings, Surroundings):
    """A container group, and what it stands on."""

    stack: StackArgs
    """What all components of the stack share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """Resolved `GpuArgs`."""

    count: int
    sku: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerGroupSpec:
    """What is declared. Wired values stay in the arguments."""

    group_name: str
    container_name: str
    image: ImageReference | None  # None where a workload is run
    workload: Workload | None
    command: tuple[str, ...]  # empty: the image's own
    environment: dict[str, str]
    cpu: float
    memory_in_gb: float
    gpu: Gpu | None
    restart_policy: RestartPolicy
    os_type: OsType
    location: str
    tags: dict[str, str]
    expires_at: str | None  # instant in UTC, RFC 3339
    hourly_cost: float | None  # in USD; None: not known


def resolve(name: str, args: ContainerGroupSettings, context: Context) -> tuple[ContainerGroupSpec, list[Problem]]:
    """What is declared for the group that the stack file calls `name`, and what is wrong with the arguments. Pure."""
    path = f"container_groups.{name}"
    as_of, problems = resolve_day(args.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    gpu = Gpu(count=int(args["gpu"]["count"]), sku=args["gpu"]["sku"]) if "gpu" in args else None
    expires_at, expiry_problems = _expiry(args, day, path)
    own_tags = args.get("tags", {})
    end_tag = {EXPIRES_AT: expires_at} if expires_at else {}
    spec = ContainerGroupSpec(
        group_name=args.get("group_name") or context.name(azure_types.CONTAINER_GROUP.arm_type, name),
        container_name=args.get("container_name") or physical_name(names.CONTAINER, [name]),
        image=image_reference.parse(args.get("image", "")),
        workload=Workload(args["workload"]) if "workload" in args else None,
        command=tuple(args.get("command", [])),
        environment=args.get("environment", {}),
        cpu=args.get("cpu", container_instances.DEFAULT_CPU),
        memory_in_gb=args.get("memory_in_gb", container_instances.DEFAULT_MEMORY_GB),
        gpu=gpu,
        restart_policy=RestartPolicy(args.get("restart_policy", RestartPolicy.ON_FAILURE)),
        os_type=OsType(args.get("os_type", OsType.LINUX)),
        location=regions.normalise(args.get("location", context.location)),
        tags={**context.tags(as_of), **own_tags, **end_tag},
        expires_at=expires_at,
        hourly_cost=None,  # prices of container groups aren't known to the catalog
    )
    problems += [
        *expiry_problems,
        *_image_problems(args, path),
        *_name_problems(args, path),
        *_variable_problems(args, path),
        *check_tags(own_tags, f"{path}.tags"),
        *(regions.check(args["location"], f"{path}.location") if "location" in args else []),
        *_service_problems(spec, args, day, path),
    ]
    return spec, problems


def _expiry(args: ContainerGroupSettings, day: date, path: str) -> tuple[str | None, list[Problem]]:
    """The instant at which the last day ends."""
    path = f"{path}.expires_after"
    allowed = f"a day after {day.isoformat()}, as YYYY-MM-DD"
    fix = f'expires_after: "{days_later(day, PROPOSED_DAYS).isoformat()}"'
    if "expires_after" not in args:
        missing = Problem(path=path, message="a group with a GPU needs a last day", allowed=allowed, fix=f"add {fix}")
        return None, [missing] if "gpu" in args else []
    last, problems = resolve_day(args["expires_after"], path)
    if last is None:
        return None, problems
    expires_at = f"{days_later(last, 1).isoformat()}T00:00:00Z"
    if last <= day:
        past = Problem(
            path=path,
            message=f"the last day has to lie after {day.isoformat()}, at which this is judged",
            value=args["expires_after"],
            allowed=allowed,
            fix=f"write {fix}, or remove the group",
        )
        return expires_at, [past]
    return expires_at, []


def _image_problems(args: ContainerGroupSettings, path: str) -> list[Problem]:
    if ("image" in args) == ("workload" in args):
        return [
            Problem(
                path=f"{path}.image",
                message="exactly one of image and workload has to be said",
                value=args.get("image"),
                allowed=f"an image reference, or one of the workloads {', '.join(Workload)}",
                fix="remove one of the two" if "image" in args else "add image: <reference> or workload: <name>",
            )
        ]
    return image_reference.check(args["image"], f"{path}.image") if "image" in args else []


def _name_problems(args: ContainerGroupSettings, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if "group_name" in args:
        problems += names.check(azure_types.CONTAINER_GROUP.arm_type, args["group_name"], f"{path}.group_name")
    if "container_name" in args:
        problems += names.check(names.CONTAINER, args["container_name"], f"{path}.container_name")
    return problems


def _variable_problems(args: ContainerGroupSettings, path: str) -> list[Problem]:
    twice = args.get("environment", {}).keys() & args.get("secret_environment", {}).keys()
    return [
        Problem(
            path=f"{path}.environment.{variable}",
            message="this variable is given as plain and as secret",
            allowed="one of environment and secret_environment",
            fix="remove it from environment",
        )
        for variable in sorted(twice)
    ]


def _service_problems(spec: ContainerGroupSpec, args: ContainerGroupSettings, day: date, path: str) -> list[Problem]:
    request = container_instances.GroupRequest(
        location=spec.location,
        os_type=spec.os_type.value,
        in_virtual_network="subnet_id" in args,
        containers=(
            container_instances.ContainerRequest(
                name=spec.container_name,
                cpu=spec.cpu,
                memory_gb=spec.memory_in_gb,
                gpu_count=spec.gpu.count if spec.gpu else None,
                gpu_sku=spec.gpu.sku if spec.gpu else "",
                cpu_path=f"{path}.cpu",
                memory_path=f"{path}.memory_in_gb",
                gpu_count_path=f"{path}.gpu.count",
                gpu_sku_path=f"{path}.gpu.sku",
            ),
        ),
        location_path=f"{path}.location" if "location" in args else "location",
        os_type_path=f"{path}.os_type",
        network_path=f"{path}.subnet_id",
    )
    image = container_groups.Image(args.get("image", ""), f"{path}.image")  # of a workload's image no CUDA version is known
    problems = container_groups.check(request, [image], day, packaged())
    if spec.location in regions.KNOWN:
        return problems
    return [problem for problem in problems if problem.code is not Code.NOT_IN_REGION]  # the region itself is refused elsewhere
