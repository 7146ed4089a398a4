"""What can be asked of one container of a group, or of one that runs before the others: its arguments, their defaults, problems.

In: `ContainerSettings` or `InitContainerSettings`. Out: a `ContainerSpec` or an `InitContainerSpec`, and problems. What concerns
several containers is for the group's own modules to say.
"""

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
    """How many: 1, 2 or 4."""
    sku: str
    """Which: K80, P100 or V100, each until its retirement."""


class MountArgs(TypedDict):
    """Where a container finds a volume. All of it is plain."""

    path: str
    """Folder in the container, such as /data. What the image has there is hidden while the volume is mounted."""
    read_only: NotRequired[bool]
    """True keeps the container from writing. Default: false."""


class InitContainerSettings(TypedDict):
    """A container that runs to its end before the others start. Plain, but for what is called wired."""

    image: NotRequired[OpenInput[str]]
    """Image to run, by tag or better by digest. Exactly one of `image` and `workload` is needed."""
    workload: NotRequired[WorkloadName]
    """Workload of this repository to run, built by the stack's registry."""
    command: NotRequired[Sequence[str]]
    """Program and arguments in place of the image's own. Default: the image's."""
    environment: NotRequired[Mapping[str, OpenInput[str]]]
    """Environment variables that everybody may read. Default: none."""
    secret_environment: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: environment variables that nobody may read: encrypted in the stack file by `pulumi config set --secret --path`,
    encrypted in the state, never shown by Azure. Default: none."""
    mounts: NotRequired[Mapping[str, MountArgs]]
    """Where the group's volumes appear in this container, by the volume's name. Default: none."""


class ContainerBasics(InitContainerSettings):
    """What every container that runs can say, but for its ports. Plain, but for what is called wired."""

    cpu: NotRequired[float]
    """CPU cores. Default: 1."""
    memory_in_gb: NotRequired[float]
    """Memory in GB. Default: 1.5."""
    gpu: NotRequired[GpuArgs]
    """GPUs; they need `expires_after`. Default: none."""
    liveness: NotRequired[ProbeArgs]
    """The check that the container is alive; one that isn't is started again. Default: none."""
    readiness: NotRequired[ProbeArgs]
    """The check that the container is ready; one that isn't gets no requests. Default: none."""


class ContainerSettings(ContainerBasics):
    """One container of several. Plain, but for what is called wired."""

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
    """What is declared of a container. Wired values stay in `said`."""

    name: str
    path: str  # where its settings are written
    said: InitContainerSettings
    image: ImageReference | None  # None where a workload is run
    workload: Workload | None
    command: tuple[str, ...]  # empty: the image's own
    environment: Mapping[str, pulumi.Input[str]]
    mounts: tuple[Mount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec(InitContainerSpec):
    """The same of one that runs with the others."""

    cpu: float
    memory_in_gb: float
    gpu: Gpu | None
    ports: tuple[int, ...]
    liveness: ProbeSpec | None
    readiness: ProbeSpec | None


def resolve_init(name: str, said: InitContainerSettings, path: str) -> tuple[InitContainerSpec, list[Problem]]:
    """What is declared for a container that Azure knows as `name` and whose settings are at `path`, and what is wrong. Pure."""
    spec = InitContainerSpec(
        name=name,
        path=path,
        said=said,
        image=image_reference.parse(known(said.get("image")) or ""),
        workload=Workload(said["workload"]) if "workload" in said else None,
        command=tuple(said.get("command", [])),
        environment=dict(said.get("environment", {})),
        mounts=tuple(
            Mount(volume=volume, path=mount["path"], read_only=mount.get("read_only", False))
            for volume, mount in said.get("mounts", {}).items()
        ),
    )
    of_image = image_problems(said.get("image"), said.get("workload"), path)
    return spec, [*of_image, *_variable_problems(said, path), *_mount_problems(spec)]


def resolve(name: str, said: ContainerBasics, ports: tuple[int, ...], path: str) -> tuple[ContainerSpec, list[Problem]]:
    """The same for one that runs with the others and opens `ports`."""
    common, problems = resolve_init(name, said, path)
    liveness, liveness_problems = _probe(said.get("liveness"), f"{path}.liveness")
    readiness, readiness_problems = _probe(said.get("readiness"), f"{path}.readiness")
    spec = ContainerSpec(
        name=name,
        path=path,
        said=said,
        image=common.image,
        workload=common.workload,
        command=common.command,
        environment=common.environment,
        mounts=common.mounts,
        cpu=said.get("cpu", container_instances.DEFAULT_CPU),
        memory_in_gb=said.get("memory_in_gb", container_instances.DEFAULT_MEMORY_GB),
        gpu=Gpu(count=int(said["gpu"]["count"]), sku=said["gpu"]["sku"]) if "gpu" in said else None,
        ports=ports,
        liveness=liveness,
        readiness=readiness,
    )
    return spec, [*problems, *liveness_problems, *readiness_problems]


def _probe(args: ProbeArgs | None, path: str) -> tuple[ProbeSpec | None, list[Problem]]:
    return (None, []) if args is None else probes.resolve(args, path)


def _variable_problems(said: InitContainerSettings, path: str) -> list[Problem]:
    kinds: Mapping[str, Mapping[str, object]] = {
        "environment": said.get("environment", {}),
        "secret_environment": said.get("secret_environment", {}),
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
                message="this variable is given as plain and as secret",
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
                    allowed="a folder from the root on, not the root itself, without a colon, such as /data",
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
