"""Docker on a virtual machine, emulated: images of the stack's registries, pulled as whom the machine signed on, and containers
that are processes of this machine.

`DockerError` has Docker's words. Containers are known by machine and name; what they were started with is in the machine's
record, so that those with a restart policy begin again when the machine does.
"""

import asyncio
import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from azure_gpu.formats import image_reference
from azure_gpu.formats.image_reference import ImageReference
from localazure.arm.errors import ArmError
from localazure.arm.store import Body
from localazure.containers.container_spec import ContainerSpec
from localazure.containers.images import Image
from localazure.containers.mounts import Mount
from localazure.containers.runtime import Runtime
from localazure.containers.volumes import MountFailedError, Volume, Volumes
from localazure.kinds import job_images, public_images, registry_access
from localazure.kinds.registry_builds import LOGIN_SUFFIX
from localazure.kubernetes.devices_visible import StartError, Visible, seen
from localazure.kubernetes.node_gpus import gpus
from localazure.machines import paths
from localazure.machines.machine import Machine
from localazure.services import Services

_DAEMON = "docker: Error response from daemon: "
_NO_GPUS = f'{_DAEMON}could not select device driver "" with capabilities: [[gpu]].'
_POLICIES = {"no": "Never", "always": "Always", "unless-stopped": "Always", "on-failure": "OnFailure"}
_NOT_FOUND = 127
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")  # of containers and volumes: a folder's, too
_DOCKERS = "docker"  # the key of containers among those that see the machine's GPUs


class DockerError(Exception):
    """A refusal; the text is what the program prints."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Docker:
    """Docker of every machine."""

    def __init__(self, services: Services, runtime: Runtime, save: Callable[[Machine], None]) -> None:
        self._services = services
        self._runtime = runtime
        self._save = save

    async def answer(self, machine: Machine, requested: Body) -> Body:
        """What the machine's `docker` hears. DockerError refuses."""
        match requested.get("do"):
            case "pull":
                image = await self._pull(machine, str(requested.get("image") or ""))
                return {"told": f"Digest: {image.digest}\nStatus: Image is up to date for {requested['image']}"}
            case "run":
                return await self._run(machine, requested)
            case "list":
                return {"containers": self._list(machine)}
            case "stop":
                name = self._named(machine, requested)
                machine.record["containers"][name]["stopped"] = True
                await self._runtime.stop(_group(machine, name))
                self._save(machine)
                return {}
            case "rm":
                return await self._remove(machine, self._named(machine, requested), forced=bool(requested.get("force")))
            case "images":
                return {"images": sorted(machine.record["images"].items())}
            case "login":
                return self._login(machine, requested)
            case "logout":
                machine.record["logins"].pop(str(requested.get("server") or "").lower(), None)
                self._save(machine)
                return {"told": f"Removing login credentials for {requested.get('server')}"}
            case _:
                raise DockerError("docker: the embedded Azure does not implement that")

    # The machine

    async def machine_starts(self, machine: Machine) -> None:
        """Those with a restart policy begin again; the others stay as they ended."""
        for name, kept in machine.record["containers"].items():
            if kept["restart"] == "Never" or kept.get("stopped"):
                continue
            kept["run"] = secrets.token_hex(8)
            try:
                await self._start(machine, name, kept)
            except (DockerError, MountFailedError):
                kept["stopped"] = True
        self._save(machine)

    async def machine_stops(self, machine: Machine) -> None:
        await asyncio.gather(*(self._runtime.stop(_group(machine, name)) for name in machine.record["containers"]))

    async def machine_goes(self, machine: Machine) -> None:
        await asyncio.gather(*(self._runtime.remove(_group(machine, name)) for name in machine.record["containers"]))
        machine.record["containers"] = {}

    def groups(self, machine: Machine) -> list[str]:
        return [_group(machine, name) for name in machine.record["containers"]]

    # Images

    async def _pull(self, machine: Machine, name: str) -> Image:
        reference = image_reference.parse(name)
        if reference is None:
            raise DockerError(f"{_DAEMON}invalid reference format", 125)
        if not public_images.is_public(reference):
            self._check_registry(machine, reference)
        try:
            image = await job_images.pull(name, self._services)
        except ArmError as error:
            raise DockerError(f"{_DAEMON}{error.message}", 125) from error
        machine.record["images"][str(reference)] = image.digest
        self._save(machine)
        return image

    def _check_registry(self, machine: Machine, reference: ImageReference) -> None:
        registry = registry_access.registry_at(reference.registry, self._services)
        if registry is None:
            raise DockerError(
                f"{_DAEMON}the embedded Azure reaches no registry {reference.registry}: it has the images that its own "
                f"registries "
                f"built (<name>{LOGIN_SUFFIX})",
                125,
            )
        login = machine.record["logins"].get(reference.registry)
        if login is None or not self._may_pull(login, reference.registry):
            known = reference.registry
            raise DockerError(
                f'{_DAEMON}Head "https://{known}/v2/{reference.repository}/manifests/{reference.tag or reference.digest}": '
                "unauthorized: authentication required, visit https://aka.ms/acr/authorization for more information.",
                125,
            )
        if self._services.images.find(str(reference)) is None:
            raise DockerError(f"{_DAEMON}manifest for {reference} not found: manifest unknown", 125)

    def _may_pull(self, login: Body, server: str) -> bool:
        """Validated again at each pull, as roles come and go."""
        registry = registry_access.registry_at(server, self._services)
        if registry is None:
            return False
        if login.get("principal"):
            return registry_access.principal_may_pull(str(login["principal"]), registry, self._services)
        return registry_access.is_admin(registry, str(login.get("username") or ""), str(login.get("password") or ""))

    def _login(self, machine: Machine, requested: Body) -> Body:
        server = str(requested.get("server") or "").lower().removeprefix("https://").rstrip("/")
        login = {"username": str(requested.get("username") or ""), "password": str(requested.get("password") or "")}
        if not self._may_pull(login, server):
            what = f'Get "https://{server}/v2/": unauthorized: authentication required'
            raise DockerError(f"Error response from daemon: {what}")
        machine.record["logins"][server] = login
        self._save(machine)
        return {}

    def login_as(self, machine: Machine, registry_name: str, principal: str) -> None:
        """`az acr login`: the identity has to have a role by which it may pull."""
        server = f"{registry_name.lower().removesuffix(LOGIN_SUFFIX)}{LOGIN_SUFFIX}"
        registry = registry_access.registry_at(server, self._services)
        if registry is None:
            what = f"The resource with name '{registry_name}' and type 'Microsoft.ContainerRegistry/registries'"
            raise DockerError(f"{what} could not be found in subscription.")
        if not registry_access.principal_may_pull(principal, registry, self._services):
            raise DockerError(
                f"Unable to get AAD authorization tokens with message: An error occurred: CONNECTIVITY_REFRESH_TOKEN_ERROR\n"
                f"Access to registry '{server}' was denied. Response code: 401. No role, such as AcrPull, lets the identity pull."
            )
        machine.record["logins"][server] = {"principal": principal}
        self._save(machine)

    # Containers

    async def _run(self, machine: Machine, requested: Body) -> Body:
        name = str(requested.get("name") or f"container_{secrets.token_hex(4)}")
        if not _NAME.fullmatch(name):
            raise DockerError(f"{_DAEMON}Invalid container name ({name}), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed.", 125)
        if name in machine.record["containers"]:
            other = machine.record["containers"][name]["id"]
            raise DockerError(
                f'{_DAEMON}Conflict. The container name "/{name}" is already in use by container "{other}". You have to '
                "remove (or rename) that container to be able to reuse that name.",
                125,
            )
        if requested.get("gpus") and not (machine.record["driver"] and machine.settings.has_nvidia and machine.gpu_containers):
            raise DockerError(_NO_GPUS, 125)
        kept: Body = {
            "id": hashlib.sha256(f"{machine.key}/{name}/{secrets.token_hex(8)}".encode()).hexdigest(),
            "image": str(requested.get("image") or ""),
            "command": [str(word) for word in requested.get("command") or ()],
            "env": {str(key): str(value) for key, value in (requested.get("env") or {}).items()},
            "entrypoint": requested.get("entrypoint"),
            "workdir": str(requested.get("workdir") or ""),
            "mounts": [[str(source), str(target)] for source, target in requested.get("mounts") or ()],
            "gpus": str(requested.get("gpus") or ""),
            "restart": _POLICIES.get(str(requested.get("restart") or "no").partition(":")[0], "Never"),
            "run": secrets.token_hex(8),
        }
        await self._start(machine, name, kept)
        machine.record["containers"][name] = kept
        self._save(machine)
        return {"name": name, "id": kept["id"], "folder": str(self._runtime.folder_of(_group(machine, name), name))}

    async def _start(self, machine: Machine, name: str, kept: Body) -> None:
        image = await self._pull(machine, kept["image"])
        visible = self._gpus(machine, kept)
        machine.programs.note(_DOCKERS, name, visible, host_pid=False, pod="")
        volumes = [self._volume(machine, number, source) for number, (source, _) in enumerate(kept["mounts"])]
        targets = [target for _, target in kept["mounts"]]
        mounts = tuple(Mount(one.name, target.rstrip("/")) for one, target in zip(volumes, targets, strict=True))
        spec = ContainerSpec(
            name=name,
            image=replace(image, workdir=kept["workdir"] or image.workdir),
            command=_command(image, kept),
            env=kept["env"],
            machines_env=machine.identity_variables,
            programs=machine.programs.folder_of(_DOCKERS, name),
            restart_policy=kept["restart"],
            gpu_count=len(visible.gpus),
            gpus_visible=visible.value,
            run=kept["run"],
            mounts=mounts,
        )
        try:
            await self._runtime.start(_group(machine, name), [spec], Volumes(run=kept["run"], volumes=tuple(volumes)))
        except MountFailedError as error:
            raise DockerError(f"{_DAEMON}{error}", 125) from error

    def _gpus(self, machine: Machine, kept: Body) -> Visible:
        """`all`, a number, `device=0,2`, or what the NVIDIA runtime's own variable says."""
        if not kept["gpus"]:
            return Visible("void")
        own = gpus(machine.settings.node(machine.record["driver"]))
        requested = kept["gpus"].strip("'\"")
        if requested == "runtime":
            requested = kept["env"].get("NVIDIA_VISIBLE_DEVICES", "all")
        elif requested.startswith("device="):
            requested = requested.removeprefix("device=")
        elif requested.isdigit():
            if int(requested) > len(own):
                raise DockerError(f"{_DAEMON}could not select device driver: {requested} GPUs of {len(own)}", 125)
            requested = ",".join(str(gpu.number) for gpu in own[: int(requested)])
        elif requested != "all":
            raise DockerError(f"{_DAEMON}the embedded Azure does not implement --gpus {requested}", 125)
        try:
            return seen(requested, None, own)
        except StartError as error:
            raise DockerError(f"{_DAEMON}{error}", 125) from error

    def _volume(self, machine: Machine, number: int, source: str) -> Volume:
        if not source.startswith("/"):
            if not _NAME.fullmatch(source):
                what = 'includes invalid characters for a local volume name, only "[a-zA-Z0-9][a-zA-Z0-9_.-]" are allowed'
                raise DockerError(f'{_DAEMON}create {source}: "{source}" {what}.', 125)
            return Volume(name=f"v{number}", shared=machine.root / "var/lib/docker/volumes" / source / "_data")
        known = source.startswith((str(machine.root), *(f"{one}/" for one in paths.LED))) or source in paths.LED
        folder = paths.inside(source, machine.root)
        if not known:
            raise DockerError(f"{_DAEMON}the embedded Azure mounts folders of the machine, below {', '.join(paths.LED)}", 125)
        if folder.is_file():
            raise DockerError(f"{_DAEMON}the embedded Azure only mounts folders, and {source} is a file", 125)
        return Volume(name=f"v{number}", shared=folder)

    def _named(self, machine: Machine, requested: Body) -> str:
        name = str(requested.get("name") or "")
        if name not in machine.record["containers"]:
            raise DockerError(f"Error response from daemon: No such container: {name}")
        return name

    async def _remove(self, machine: Machine, name: str, *, forced: bool) -> Body:
        if not forced and self._state(machine, name)["running"]:
            what = f'cannot remove container "/{name}": container is running'
            raise DockerError(f"Error response from daemon: {what}: stop the container before removing or force remove")
        await self._runtime.remove(_group(machine, name))
        machine.record["containers"].pop(name, None)
        machine.programs.note(_DOCKERS, name, Visible("void"), host_pid=False, pod="")
        self._save(machine)
        return {}

    def _list(self, machine: Machine) -> list[Body]:
        return [self._state(machine, name) for name in machine.record["containers"]]

    def _state(self, machine: Machine, name: str) -> Body:
        kept = machine.record["containers"][name]
        state: dict[str, Any] = self._runtime.states(_group(machine, name)).get(name) or {"current": {}, "ended": True}
        current = state["current"]
        running = not state["ended"]
        status = "Up" if running else f"Exited ({current.get('exitCode', _NOT_FOUND)})"
        folder = str(self._runtime.folder_of(_group(machine, name), name))
        return {"name": name, "id": kept["id"], "image": kept["image"], "running": running, "status": status, "folder": folder}


def identity_of(machine: Machine, chosen: str, services: Services) -> tuple[str, str]:
    """(principal, client id) of the machine's identity that an id of any sort names; "" is the only one."""
    found = machine.principals(services)
    if chosen:
        found = [one for one in found if chosen.lower() in (part.lower() for part in one)]
    if not found:
        raise DockerError("Failed to connect to MSI. No managed identity endpoint found.")
    if len(found) > 1:
        raise DockerError("Multiple user assigned identities exist, please specify the clientId / resourceId of the identity.")
    return found[0][0], found[0][1]


def _group(machine: Machine, name: str) -> str:
    return f"{machine.key}/docker/{name}"


def _command(image: Image, kept: Body) -> tuple[str, ...]:
    """As Docker puts it together: an entry point of your own takes the image's CMD away too."""
    entrypoint = kept["entrypoint"]
    lines = (paths.in_image(word, image.root, image.workdir) if " " in word else word for word in kept["command"])
    words = tuple(lines)
    if entrypoint is None:
        return (*image.entrypoint, *words) if words else ()
    return (*((str(entrypoint),) if entrypoint else ()), *words)
