"""The start configuration of a container's process: its image, program, variables and mounts, in the form that a shim reads.

The result is the content of `spec.json`; programs of `exec` and of probes run beside the container, with its variables and paths.
That a program exists is checked before it is started, as a container runtime does.
"""

import dataclasses
import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from localazure.containers.container_spec import ContainerSpec
from localazure.containers.images import Image
from localazure.containers.volumes import Mount
from localazure.kubernetes import quantities
from localazure.kubernetes.agent.environment import expanded, program
from localazure.kubernetes.agent.pod_facts import PodFacts
from localazure.kubernetes.node_gpus import StartError

Body = dict[str, Any]


def image_of(record: Body) -> Image:
    """As `record` below has it, which is also what the embedded Azure answers."""
    return Image(
        digest=record["digest"],
        root=Path(record["root"]),
        environment=Path(record["environment"]) if record["environment"] else None,
        entrypoint=tuple(record["entrypoint"]),
        cmd=tuple(record["cmd"]),
        env=dict(record["env"]),
        workdir=record["workdir"],
    )


def record_of(image: Image) -> Body:
    paths = {"root": str(image.root), "environment": str(image.environment) if image.environment else None}
    return {**dataclasses.asdict(image), **paths, "entrypoint": list(image.entrypoint), "cmd": list(image.cmd)}


def spec_of(pod: PodFacts, container: Body, image: Image, env: Mapping[str, str], folder: Path) -> Body:
    """Of a container that is to be a process. `folder`: of the run."""
    given = {**env, **pod.port_variables(container, env)}
    command, args = program(container, {**image.env, **given})
    limit = ((container.get("resources") or {}).get("limits") or {}).get("memory")
    bundle = pod.node.settings.bundle  # a real container trusts the public authorities
    spec = ContainerSpec(
        name=container["name"],
        image=dataclasses.replace(image, workdir=container.get("workingDir") or image.workdir),
        command=(*command, *args) if command else (*image.entrypoint, *(args or image.cmd)),
        env=given,
        machines_env={"SSL_CERT_FILE": bundle, "REQUESTS_CA_BUNDLE": bundle} if bundle else {},
        restart_policy="Never",
        run=pod.uid,
        mounts=mounts_of(container, env, pod.volumes),
        memory_bytes=quantities.whole(limit) if limit else 0,
        stop_seconds=float(pod.grace_seconds),
    )
    return spec.on_disk(folder)


def resolved_mounts(container: Body, env: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Volume, path in the container and part of the volume, of each mount. StartError for a part that leads out of its volume."""
    found: list[tuple[str, str, str]] = []
    for one in container.get("volumeMounts") or ():
        part = (one.get("subPath") or expanded(one.get("subPathExpr", ""), env)).strip("/")
        if ".." in part.split("/"):  # the API server sees to it where no variable is in it
            raise StartError(f"failed to prepare subPath for volumeMount \"{one['name']}\": must not contain '..'")
        found.append((one["name"], one["mountPath"], part))
    return found


def mounted(pod: PodFacts, container: Body, env: Mapping[str, str]) -> dict[str, Path]:
    """Where the mounts of a container lie, for what is emulated."""
    return {path: pod.volumes / name / part for name, path, part in resolved_mounts(container, env)}


def mounts_of(container: Body, env: Mapping[str, str], volumes: Path) -> tuple[Mount, ...]:
    """What a container mounts. A part of a volume is a link beside the volumes, by a name that no volume can have."""
    found: list[Mount] = []
    for volume, path, part in resolved_mounts(container, env):
        name = volume
        if part:
            name = f"{volume}.{hashlib.sha256(part.encode()).hexdigest()[:16]}"
            _link(volumes / name, volumes / volume / part)
        found.append(Mount(name, path.rstrip("/") or "/"))
    return tuple(found)


def _link(link: Path, target: Path) -> None:
    if not target.exists():
        target.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(target)


def beside(words: Sequence[str], record: Body, spec: Body, folder: Path) -> list[str]:
    """A program that runs beside a container, with its paths led as the container's own are."""
    image = image_of(record["image"])
    mounts = tuple(Mount(Path(target).name, path) for path, target in spec["mounts"])
    requested = ContainerSpec(name="beside", image=image, command=tuple(words), env={}, run="", mounts=mounts)
    return [str(word) for word in requested.on_disk(folder)["argv"]]


def located(words: Sequence[str], spec: Body) -> str:
    """Where a program beside a running container lies. ValueError as `refused`."""
    there = shutil.which(words[0], path=spec["env"].get("PATH")) if words else None
    return there or refused(words)[0]


def refused(words: Sequence[str]) -> list[str]:
    """The program beside a container that has none. ValueError in the runtime's words."""
    name = words[0] if words else ""
    raise ValueError(
        "failed to exec in container: OCI runtime exec failed: exec failed: unable to start container process: "
        f'exec: "{name}": executable file not found in $PATH: unknown'
    )


_PREFIX = "OCI runtime create failed: runc create failed: unable to start container process: "


def missing(spec: Body, folder: Path) -> str:
    """`spec`: the content of a run's spec.json; its files are still those of the image."""
    if not spec["argv"]:
        return "failed to generate container spec: no command specified"
    program = spec["argv"][0]
    own = str(folder / "root")
    mounted = [path for path, _ in spec["mounts"]]
    if os.sep in program:
        inside = program.removeprefix(own) if program.startswith(own) else ""
        if any(inside == path or inside.startswith(path + "/") for path in mounted):
            return ""
        there = Path(spec["image_root"] + inside) if inside else Path(spec["workdir"].replace(own, spec["image_root"])) / program
        if not there.exists():
            return f'{_PREFIX}exec: "{inside or program}": stat {inside or program}: no such file or directory'
        return "" if os.access(there, os.X_OK) else f'{_PREFIX}exec: "{inside or program}": permission denied'
    searched = spec["env"].get("PATH", os.defpath).replace(own, spec["image_root"])
    if shutil.which(program, path=searched) is None:
        return f'{_PREFIX}exec: "{program}": executable file not found in $PATH'
    return ""
