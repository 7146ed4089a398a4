"""Arguments, specs and validation of one container or init container of a group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NotRequired, TypedDict

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import container_instances, container_instances_parts
from azure_gpu.container_instances import probes
from azure_gpu.container_instances.probes import ProbeArgs, ProbeSpec
from azure_gpu.formats import image_reference
from azure_gpu.formats.image_reference import ImageReference
from azure_gpu.shared.context import known
from azure_gpu.shared.validation import OpenInput
from azure_gpu.shared.workloads import Workload, WorkloadName, image_problems


class GpuArgs(TypedDict):
    """GPUs of a container. All of it is plain."""

    count: int
    """The number: 1, 2 or 4."""
    sku: str
    """The SKU: K80, P100 or V100, each until its retirement."""


class MountArgs(TypedDict):
    """A mount of a volume in a container. All of it is plain."""

    path: str
    """Folder in the container, such as /data. It hides the image's files there."""
    read_only: NotRequired[bool]
    """Whether the mount is read-only. Default: false."""


class InitContainerSettings(TypedDict):
    """An init container. Plain, except where marked as wired."""

    image: NotRequired[OpenInput[str]]
    """Image to run, by tag or preferably by digest. Exactly one of `image` and `workload` is required."""
    workload: NotRequired[WorkloadName]
    """Workload of this repository to run, built by the stack's registry."""
    command: NotRequired[Sequence[str]]
    """Program and arguments in place of the image's own. Default: the image's."""
    environment: NotRequired[Mapping[str, OpenInput[str]]]
    """Environment variables in plain text. Default: none."""
    secret_environment: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: secret environment variables: encrypted in the stack file by `pulumi config set --secret --path`, encrypted in the
    state, never shown by Azure. Default: none."""
    mounts: NotRequired[Mapping[str, MountArgs]]
    """Mounts of the group's volumes in this container, by the volume's name. Default: none."""


class ContainerBasics(InitContainerSettings):
    """Settings of a container, except its ports. Plain, except where marked as wired."""

    cpu: NotRequired[float]
    """CPU cores. Default: 1."""
    memory_in_gb: NotRequired[float]
    """Memory in GB. Default: 1.5."""
    gpu: NotRequired[GpuArgs]
    """GPUs, which require `expires_after`. Default: none."""
    liveness: NotRequired[ProbeArgs]
    """The liveness probe; a container that fails it is restarted. Default: none."""
    readiness: NotRequired[ProbeArgs]
    """The readiness probe; a container that fails it gets no requests. Default: none."""


class ContainerSettings(ContainerBasics):
    """One container of several. Plain, except where marked as wired."""

    ports: NotRequired[Sequence[int]]
    """Ports that the container opens, to the other containers too. Default: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """Resolved `GpuArgs`."""

    count: int
    sku: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """Resolved `MountArgs`."""

    volume: str
    path: str
    read_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InitContainerSpec:
    """A resolved init container. Outputs and secrets stay in `settings`."""

    name: str
    path: str  # of its settings
    settings: InitContainerSettings
    image: ImageReference | None  # None where a workload is run
    workload: Workload | None
    command: tuple[str, ...]  # empty: the image's
    environment: Mapping[str, pulumi.Input[str]]
    mounts: tuple[Mount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec(InitContainerSpec):
    """A resolved container."""

    cpu: float
    memory_in_gb: float
    gpu: Gpu | None
    ports: tuple[int, ...]
    liveness: ProbeSpec | None
    readiness: ProbeSpec | None


def resolve_init(name: str, settings: InitContainerSettings, path: str) -> tuple[InitContainerSpec, list[Problem]]:
    """Resolves and validates an init container. `name`: its name in Azure; `path`: of its settings. Pure."""
    spec = InitContainerSpec(
        name=name,
        path=path,
        settings=settings,
        image=image_reference.parse(known(settings.get("image")) or ""),
        workload=Workload(settings["workload"]) if "workload" in settings else None,
        command=tuple(settings.get("command", [])),
        environment=dict(settings.get("environment", {})),
        mounts=tuple(
            Mount(volume=volume, path=mount["path"], read_only=mount.get("read_only", False))
            for volume, mount in settings.get("mounts", {}).items()
        ),
    )
    of_image = image_problems(settings.get("image"), settings.get("workload"), path)
    return spec, [*of_image, *_variable_problems(settings, path), *_mount_problems(spec)]


def resolve(name: str, settings: ContainerBasics, ports: tuple[int, ...], path: str) -> tuple[ContainerSpec, list[Problem]]:
    """Resolves and validates a container that opens `ports`. Pure."""
    common, problems = resolve_init(name, settings, path)
    liveness, liveness_problems = _probe(settings.get("liveness"), f"{path}.liveness")
    readiness, readiness_problems = _probe(settings.get("readiness"), f"{path}.readiness")
    spec = ContainerSpec(
        name=name,
        path=path,
        settings=settings,
        image=common.image,
        workload=common.workload,
        command=common.command,
        environment=common.environment,
        mounts=common.mounts,
        cpu=settings.get("cpu", container_instances.DEFAULT_CPU),
        memory_in_gb=settings.get("memory_in_gb", container_instances.DEFAULT_MEMORY_GB),
        gpu=Gpu(count=int(settings["gpu"]["count"]), sku=settings["gpu"]["sku"]) if "gpu" in settings else None,
        ports=ports,
        liveness=liveness,
        readiness=readiness,
    )
    return spec, [*problems, *liveness_problems, *readiness_problems]


def _probe(args: ProbeArgs | None, path: str) -> tuple[ProbeSpec | None, list[Problem]]:
    return (None, []) if args is None else probes.resolve(args, path)


def _variable_problems(settings: InitContainerSettings, path: str) -> list[Problem]:
    kinds: Mapping[str, Mapping[str, object]] = {
        "environment": settings.get("environment", {}),
        "secret_environment": settings.get("secret_environment", {}),
    }
    misnamed = [
        problem
        for kind, variables in kinds.items()
        for variable in variables
        for problem in container_instances_parts.check_variable(variable, f"{path}.{kind}.{variable}")
    ]
    twice = kinds["environment"].keys() & kinds["secret_environment"].keys()
    return [
        *misnamed,
        *(
            Problem(
                path=f"{path}.environment.{variable}",
                message="set both as plain and as secret",
                allowed="one of environment and secret_environment",
                fix="remove it from environment",
            )
            for variable in sorted(twice)
        ),
    ]


def _mount_problems(spec: InitContainerSpec) -> list[Problem]:
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for mount in spec.mounts:
        path = f"{spec.path}.mounts.{mount.volume}.path"
        folder = mount.path.rstrip("/")
        if not mount.path.startswith("/") or ":" in mount.path or not folder:
            problems.append(
                Problem(
                    path=path,
                    message="a volume can't be mounted here",
                    value=mount.path,
                    allowed="an absolute path without a colon, other than /, such as /data",
                    fix=f"write /mnt/{mount.volume}",
                    source="Microsoft's API description of VolumeMount.mountPath, 2024-05-01-preview",
                )
            )
        elif folder in seen:
            problems.append(
                Problem(
                    path=path,
                    message=f"two volumes are mounted in the same folder: {seen[folder]} and {mount.volume}",
                    value=mount.path,
                    allowed="a folder for each volume",
                    fix=f"write /mnt/{mount.volume}",
                )
            )
        seen.setdefault(folder, mount.volume)
    return problems
