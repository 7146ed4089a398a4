"""Docker on a virtual machine, emulated as far as one container is run to its end: images of the stack's registries, pulled as
whom the machine signed on with `az`, and a process of this machine.

`DockerError` has the programs' words. Containers are known by machine and name, and end with their machine.
"""

import asyncio
import hashlib
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence

from localazure.arm.store import Body, Resource
from localazure.containers.container_spec import ContainerSpec
from localazure.containers.images import Image
from localazure.containers.runtime import Runtime
from localazure.kinds import images, registry_access
from localazure.kinds.images import UnavailableError
from localazure.kinds.registry_runs import LOGIN_SUFFIX, login_server
from localazure.kubernetes.node_gpus import Visible, gpus, seen
from localazure.machines import identity_tokens, paths
from localazure.machines.machine import Machine
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION

_DAEMON = "docker: Error response from daemon: "
_NO_GPUS = f'{_DAEMON}could not select device driver "" with capabilities: [[gpu]].'
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")  # a folder's, too
_FAILED = 125  # the program's exit code where no container ran
_FLAGS = ("--rm", "-i", "--interactive", "-t", "--tty", "-it", "-q", "--quiet")
_CHOICES = ("--client-id", "--object-id", "--resource-id", "--username", "-u")
_DOCKERS = "docker"  # the key of containers among those that see the machine's GPUs


class DockerError(Exception):
    """A refusal; the text is what the program prints."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Docker:
    """Docker of every machine, and the sign-on of `az`."""

    def __init__(self, services: Services, runtime: Runtime, save: Callable[[Machine], None]) -> None:
        self._services = services
        self._runtime = runtime
        self._save = save

    async def answer(self, machine: Machine, program: str, requested: Body) -> Body:
        """What one of the machine's programs prints, with the folder of a container that it follows. DockerError refuses."""
        arguments: list[str] = requested["arguments"]
        words = [one for one in arguments if not one.startswith("-")]
        match program, arguments[:1], words[:2]:
            case "docker", ["pull"], _:
                pulled = [(await self._pull(machine, name), name) for name in words[1:]]
                return {
                    "told": "".join(f"Digest: {image.digest}\nStatus: Image is up to date for {name}\n" for image, name in pulled)
                }
            case "docker", ["run"], _:
                return await self._run(machine, _run_options(arguments[1:], requested["environment"]))
            case "docker", ["rm"], _:
                for name in words[1:]:
                    await self._remove(machine, name)
                return {"told": "".join(f"{name}\n" for name in words[1:])}
            case "docker", *_:
                raise DockerError(f"docker: the embedded Azure acts out pull, run, rm, and not '{''.join(arguments[:1])}'")
            case "az", _, ["login", *_] if {"--identity", "-i"} & {*arguments}:
                return {"told": json.dumps(self._sign_on(machine, _option(arguments, *_CHOICES)), indent=2) + "\n"}
            case "az", _, ["acr", "login"]:
                self._sign_on_registry(machine, _option(arguments, "--name", "-n"))
                return {"told": "Login Succeeded\n"}
            case _:
                shown = " ".join(words[:2]) or "az without a command"
                message = f"the embedded Azure acts out 'az login --identity' and 'az acr login' on machines, not '{shown}'"
                raise DockerError(message, 2)

    # The machine

    async def machine_stops(self, machine: Machine) -> None:
        """Its containers go with it."""
        await asyncio.gather(*(self._runtime.remove(_group(machine, name)) for name in machine.record["containers"]))
        machine.record["containers"] = {}

    def groups(self, machine: Machine) -> list[str]:
        return [_group(machine, name) for name in machine.record["containers"]]

    # Images

    async def _pull(self, machine: Machine, name: str) -> Image:
        def may(registry: Resource) -> str:
            principal = machine.record["logins"].get(login_server(registry.id.name))  # roles come and go
            return "" if principal and registry_access.principal_may_pull(principal, registry, self._services) else "denied"

        try:
            images.check(name, may, self._services)
            return await images.pull(name, self._services)
        except UnavailableError as error:
            raise DockerError(f"{_DAEMON}{_told(error)}", _FAILED) from error

    # az

    def _sign_on(self, machine: Machine, chosen: str) -> Body:
        """`az login --identity`: with the identity that an id of any sort names; "" is the only one."""
        found = identity_tokens.named(identity_tokens.held_by(self._services.store.get(machine.key), self._services), chosen)
        if not found:
            raise DockerError("Failed to connect to MSI. No managed identity endpoint found.")
        if len(found) > 1:
            raise DockerError(f"{identity_tokens.SEVERAL}.")
        machine.record["signed_on"] = {"principal": found[0].principal, "client": found[0].client}
        self._save(machine)
        user = {
            "assignedIdentityInfo": f"MSIClient-{found[0].client}",
            "name": "userAssignedIdentity",
            "type": "servicePrincipal",
        }
        tenant = self._services.settings.tenant_id
        return {"environmentName": "AzureLocal", "id": SUBSCRIPTION, "isDefault": True, "tenantId": tenant, "user": user}

    def _sign_on_registry(self, machine: Machine, name: str) -> None:
        """`az acr login`: the identity has to have a role by which it may pull."""
        signed = machine.record["signed_on"]
        if not signed:
            raise DockerError("Please run 'az login' to setup account.")
        server = f"{name.lower().removesuffix(LOGIN_SUFFIX)}{LOGIN_SUFFIX}"
        registry = registry_access.registry_at(server, self._services)
        if registry is None:
            what = f"The resource with name '{name}' and type 'Microsoft.ContainerRegistry/registries'"
            raise DockerError(f"{what} could not be found in subscription.")
        if not registry_access.principal_may_pull(signed["principal"], registry, self._services):
            raise DockerError(
                f"Unable to get AAD authorization tokens with message: An error occurred: CONNECTIVITY_REFRESH_TOKEN_ERROR\n"
                f"Access to registry '{server}' was denied. Response code: 401. No role, such as AcrPull, lets the identity pull."
            )
        machine.record["logins"][server] = signed["principal"]
        self._save(machine)

    # Containers

    async def _run(self, machine: Machine, requested: Body) -> Body:
        name = requested["name"] or f"container_{secrets.token_hex(4)}"
        if not _NAME.fullmatch(name):
            raise DockerError(f"{_DAEMON}Invalid container name ({name}), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed.", _FAILED)
        if name in machine.record["containers"]:
            other = machine.record["containers"][name]["id"]
            raise DockerError(
                f'{_DAEMON}Conflict. The container name "/{name}" is already in use by container "{other}". You have to '
                "remove (or rename) that container to be able to reuse that name.",
                _FAILED,
            )
        if requested["gpus"] and not (
            machine.record["driver"] and machine.settings.has_nvidia and machine.settings.image_has_gpu_containers
        ):
            raise DockerError(_NO_GPUS, _FAILED)
        image = await self._pull(machine, requested["image"])
        visible = Visible("void")
        if requested["gpus"]:
            visible = seen("all", None, gpus(machine.settings.node(machine.record["driver"])))
        machine.programs.note(_DOCKERS, name, visible, host_pid=False, pod="")
        words = requested["command"]
        spec = ContainerSpec(
            name=name,
            image=image,
            command=(*image.entrypoint, *(_led(word, image) for word in words)) if words else (),
            env=requested["env"],
            machines_env=machine.identity_variables,
            programs=machine.programs.folder_of(_DOCKERS, name),
            restart_policy="Never",
            gpu_count=len(visible.gpus),
            gpus_visible=visible.value,
            run=secrets.token_hex(8),
        )
        await self._runtime.start(_group(machine, name), [spec])
        machine.record["containers"][name] = {"id": hashlib.sha256(spec.run.encode()).hexdigest()}
        self._save(machine)
        return {"told": "", "name": name, "folder": str(self._runtime.folder_of(_group(machine, name), name))}

    async def _remove(self, machine: Machine, name: str) -> None:
        if name not in machine.record["containers"]:
            raise DockerError(f"Error response from daemon: No such container: {name}")
        await self._runtime.remove(_group(machine, name))
        machine.record["containers"].pop(name, None)
        machine.programs.note(_DOCKERS, name, Visible("void"), host_pid=False, pod="")
        self._save(machine)


def _option(arguments: Sequence[str], *names: str) -> str:
    """What the first of these options says, behind it or behind a `=`; "" where none is given."""
    found = {name: value for name, _, value in (word.partition("=") for word in arguments if "=" in word)}
    found |= dict(zip(arguments, [*arguments[1:], ""], strict=True))
    return next((found[name] for name in names if name in found), "")


def _run_options(arguments: Sequence[str], environment: Mapping[str, str]) -> Body:
    """Of `docker run`. `environment`: the program's own, from which `-e NAME` takes a value."""
    requested: Body = {"env": {}, "gpus": "", "name": ""}
    words = list(arguments)
    while words and words[0].startswith("-"):
        name, joined, value = words.pop(0).partition("=")
        if name in _FLAGS:
            continue
        if name not in ("-e", "--env", "--gpus", "--name"):
            raise DockerError(f"docker: the embedded Azure does not implement the option {name}", _FAILED)
        if not joined and not words:
            raise DockerError(f"flag needs an argument: {name}", _FAILED)
        value = value if joined else words.pop(0)
        variable, given, content = value.partition("=")
        if name in ("--gpus", "--name"):
            requested[name[2:]] = value
        elif given or variable in environment:
            requested["env"][variable] = content if given else environment[variable]
    if requested["gpus"] not in ("", "all"):
        raise DockerError(f"docker: the embedded Azure does not implement --gpus {requested['gpus']}", _FAILED)
    if not words:
        raise DockerError('"docker run" requires at least 1 argument.', _FAILED)
    return {**requested, "image": words[0], "command": words[1:]}


def _told(error: UnavailableError) -> str:
    reference = error.reference
    match error.why:
        case "name":
            return "invalid reference format"
        case "missing":
            return f"manifest for {reference} not found: manifest unknown"
        case "denied" if reference is not None:
            return (
                f'Head "https://{reference.registry}/v2/{reference.repository}/manifests/{reference.tag or reference.digest}": '
                "unauthorized: authentication required, visit https://aka.ms/acr/authorization for more information."
            )
        case _:
            return error.message


def _group(machine: Machine, name: str) -> str:
    return f"{machine.key}/docker/{name}"


def _led(word: str, image: Image) -> str:
    """A shell's line with its paths led into the image."""
    return paths.in_image(word, image.root, image.workdir) if " " in word else word
