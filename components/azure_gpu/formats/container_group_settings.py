"""Converts a container group that was read from a file into the keys under `container_groups.<name>` of a stack file.

Secrets are left out, and their keys are returned as `pulumi config set --secret --path` takes them. Every part of the body that
has no key is returned with its line. What is one to one is rows of `body_keys.tsv`."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from azure_gpu.formats import tags as keys
from azure_gpu.formats.body_keys import take
from azure_gpu.formats.body_reader import BodyReader, Reading, given, mapping
from azure_gpu.formats.container_group_file import GroupInFile
from azure_gpu.formats.stack_file import SECRET

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_OWN_TAGS = {keys.AS_OF, keys.EXPIRES_AT, keys.PROJECT, keys.STACK, keys.TEAM}
_VOLUMES = ("azureFile", "secret", "gitRepo", "emptyDir")


class Left(NamedTuple):
    """One part of the body that the settings don't have."""

    path: str  # in the group's body
    line: int
    message: str  # why
    fix: str  # what to write instead; "" where there is nothing


class _Reading(Reading):
    """Of a body whose paths are those of the group."""

    def __init__(self, group: GroupInFile) -> None:
        super().__init__(group.document)
        self._group = group
        self.parts: list[Left] = []
        self.secrets: list[str] = []

    def leave(self, path: str, message: str, fix: str = "") -> None:
        self.parts.append(Left(path, self._group.line_of(path), message, fix))


def settings_of(group: GroupInFile) -> tuple[dict[str, Any], list[Left], list[str]]:
    """The settings, what isn't in them, and the keys of the secrets, relative to the settings."""
    reading = _Reading(group)
    head = BodyReader(group.body, "", reading)
    of, secrets = head.inside("properties"), reading.secrets
    result: dict[str, Any] = {"group_name": group.name, "location": head.raw("location")}
    containers = of.items("containers")
    if len(containers) == 1:
        own = _container(containers[0], "", secrets)
        _leave_closed_ports(own.pop("ports", []), containers[0].inside("properties"), of.inside("ipAddress"))
        result |= {"container_name": containers[0].raw("name"), **own}
    else:
        result["containers"] = _named(containers, "containers", secrets)
    result["init_containers"] = _named(of.items("initContainers"), "init_containers", secrets)
    order = list(result["init_containers"])
    result["init_order"] = order if order != sorted(order) else None  # the engine sorts a stack file's keys
    result |= take(
        "ACI group",
        of,
        head,
        **_network(of),
        volumes={str(one.raw("name") or ""): _volume(one, secrets) for one in of.items("volumes")},
        registries=_registries(of, secrets),
        tags=_tags(head.inside("tags")),
    )
    return given(**result), sorted(reading.parts, key=lambda left: left.line), secrets


def config_path(key: str, step: str | int) -> str:
    """A step further in the notation of `pulumi config set --path`."""
    if isinstance(step, int):
        return f"{key}[{step}]"
    if not _PLAIN_KEY.fullmatch(step):
        escaped = step.replace("\\", "\\\\").replace('"', '\\"')
        return f'{key}["{escaped}"]'
    return f"{key}.{step}" if key else step


def _named(ones: Sequence[BodyReader], ours: str, secrets: list[str]) -> dict[str, Any]:
    names = [str(one.raw("name") or "") for one in ones]
    return {name: _container(one, config_path(ours, name), secrets) for name, one in zip(names, ones, strict=True)}


def _container(container: BodyReader, key: str, secrets: list[str]) -> dict[str, Any]:
    """`key` is the container's own place in the settings, "" for the top. A variable without a value is a secret: Azure exports
    the names of secrets, and never their values."""
    of = container.inside("properties")
    environment: dict[str, Any] = {}
    for one in of.items("environmentVariables"):
        name = str(one.raw("name") or "")
        if "value" in one.names():
            environment[name] = one.peek("value")
        else:
            secrets.append(config_path(config_path(key, "secret_environment"), name))
    return take(
        "ACI container",
        of,
        image=_plain(of, "image"),
        command=_command(of),
        environment=environment,
        ports=[port for one in of.items("ports") if (port := one.raw("port")) is not None],
        mounts={str(one.raw("name") or ""): take("ACI mount", one) for one in of.items("volumeMounts")},
        liveness=_probe(of.inside("livenessProbe")),
        readiness=_probe(of.inside("readinessProbe")),
    )


def _plain(of: BodyReader, key: str) -> Any:
    """Text that a stack file keeps in clear."""
    text = of.raw(key)
    if isinstance(text, str) and SECRET in text:
        of.leave(key, "there is a secret in it, and a stack file keeps this in clear", "write it without the secret")
        return None
    return text


def _command(of: BodyReader) -> list[str] | None:
    words: list[str] | None = of.raw("command")
    if words and any(SECRET in word for word in words):
        fix = "give the secret as a variable in secret_environment, and let the command read it"
        of.leave("command", "there is a secret in the command, and a stack file keeps commands in clear", fix)
        return None
    return words


def _probe(probe: BodyReader) -> dict[str, Any]:
    return take("ACI probe", probe, command=_command(probe.inside("exec")))


def _leave_closed_ports(ports: Sequence[int], container: BodyReader, address: BodyReader) -> None:
    """A single container's ports are those of the group's address; others can't be reached."""
    opened = [port.raw("port") for port in address.items("ports")]
    closed = [str(port) for port in ports if port not in opened]
    if closed:
        message = f"{', '.join(closed)}: only the ports of the group's address can be reached"
        container.leave("ports", message, "ports: of the group, with network: public or private")


def _network(of: BodyReader) -> dict[str, Any]:
    address, subnets = of.inside("ipAddress"), of.items("subnetIds")
    private = bool(subnets) or "networkProfile" in of or address.raw("type") == "Private"
    for subnet in subnets[1:2]:
        subnet.reading.leave(subnet.path, "a group is in one subnet")
    label = address.raw("dnsNameLabel")
    scope = address.raw("autoGeneratedDomainNameLabelScope") or address.raw("dnsNameLabelReusePolicy")
    return {
        "network": "private" if private else "public" if "ipAddress" in of else None,
        "subnet_id": subnets[0].raw("id") if subnets else None,
        "ports": [take("ACI port", port) for port in address.items("ports")],
        "dns_label": label,
        # Azure's own default, unlike the stack file's: the name stays as it is.
        "dns_label_scope": scope or ("Unsecure" if label else None),
    }


def _volume(volume: BodyReader, secrets: list[str]) -> dict[str, Any]:
    kind, *others = [kind for kind in _VOLUMES if kind in volume.names()] or [""]
    for other in others:
        volume.leave(other, f"a volume is one thing, and this one is a {kind} too", "make two volumes of it")
    key = config_path("volumes", str(volume.raw("name") or ""))
    if kind == "azureFile":
        secrets.append(f"{key}.azure_file.key")
        return {"azure_file": take("ACI share", volume.inside(kind))}
    if kind == "secret":
        secrets += [config_path(f"{key}.secret", file) for file in mapping(volume.raw(kind))]
        return {"secret": {}}
    if kind == "gitRepo":
        git = volume.inside(kind)
        return {"git_repo": given(**{name: _plain(git, name) for name in ("repository", "directory", "revision")})}
    if not kind:
        message = "the volume is none of emptyDir, secret, azureFile and gitRepo"
        volume.reading.leave(volume.path, message, "empty_dir: true for scratch space")
    return {"empty_dir": True}


def _registries(of: BodyReader, secrets: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for one in of.items("imageRegistryCredentials"):
        if "identity" in one or "identityUrl" in one:
            message = f"{one.raw('server')}: the group pulls as the stack's own identity, which needs the right to"
            one.reading.leave(one.path, message, "foundation: identity: existing: <id> where it is that of the file")
        else:
            secrets.append(f"registries[{len(found)}].password")
            found.append(take("ACI registry", one))
    return found


def _tags(tags: BodyReader) -> dict[str, str]:
    for name in tags.names():
        if name.lower() in _OWN_TAGS:
            tags.leave(name, "the program writes this tag itself", "another key, where it means something else")
    return {name: tags.peek(name) for name in tags.names() if name.lower() not in _OWN_TAGS}
