"""Converts a container group that was read from a file into the keys under `container_groups.<name>` of a stack file.

Secrets are left out, and their keys are returned as `pulumi config set --secret --path` takes them. Every part of the body that
has no key is returned with its line."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from azure_gpu.formats import tags as keys
from azure_gpu.formats.container_group_file import GroupInFile
from azure_gpu.formats.lenient_json import member
from azure_gpu.formats.stack_file import SECRET

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PROBE = {
    "initialDelaySeconds": "initial_delay_seconds",
    "periodSeconds": "period_seconds",
    "failureThreshold": "failure_threshold",
    "successThreshold": "success_threshold",
    "timeoutSeconds": "timeout_seconds",
}
_DNS = {"nameServers": "name_servers", "searchDomains": "search_domains", "options": "options"}
_DEFAULTS = {"osType": ("os_type", "Linux"), "priority": ("priority", "Regular"), "sku": ("sku", "Standard")}  # of both
_OWN_TAGS = {keys.AS_OF, keys.EXPIRES_AT, keys.PROJECT, keys.STACK, keys.TEAM}
_ELSEWHERE = {
    "diagnostics": ("logs go to the stack's own workspace", "foundation: log_workspace: create, or existing: <id>"),
    "networkProfile": ("Azure took subnets in place of network profiles", "subnet_id: and the id of the profile's subnet"),
    "encryptionProperties": ("the stack file has no key for encryption with an own key", ""),
    "extensions": ("the stack file has no key for extensions", ""),
    "confidentialComputeProperties": ("the stack file has no key for a policy of confidential computing", ""),
    "containerGroupProfile": ("the stack file has no key for profiles of groups", ""),
    "standbyPoolProfile": ("the stack file has no key for standby pools", ""),
}


class Left(NamedTuple):
    """One part of the body that the settings don't have."""

    path: str  # in the group's body
    line: int
    message: str  # why
    fix: str  # what to write instead; "" where there is nothing


def settings_of(group: GroupInFile) -> tuple[dict[str, Any], list[Left], list[str]]:
    """The settings, what isn't in them, and the keys of the secrets, relative to the settings."""
    return _Settings(group).whole()


def config_path(key: str, step: str | int) -> str:
    """A step further in the notation of `pulumi config set --path`."""
    if isinstance(step, int):
        return f"{key}[{step}]"
    if not _PLAIN_KEY.fullmatch(step):
        escaped = step.replace("\\", "\\\\").replace('"', '\\"')
        return f'{key}["{escaped}"]'
    return f"{key}.{step}" if key else step


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if value not in (None, "", {}, [])}


def _renamed(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {ours: values[theirs] for theirs, ours in names.items() if theirs in values}


def _items(parent: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """A list of objects; empty where it isn't there."""
    return parent.get(name) or []


class _Settings:
    def __init__(self, group: GroupInFile) -> None:
        self.group = group
        self.left: list[Left] = []
        self.secrets: list[str] = []

    def leave(self, path: str, message: str, fix: str = "") -> None:
        self.left.append(Left(path, self.group.line_of(path), message, fix))

    def whole(self) -> tuple[dict[str, Any], list[Left], list[str]]:
        body = self.group.body
        properties: dict[str, Any] = body.get("properties") or {}
        result: dict[str, Any] = {"group_name": self.group.name, "location": body.get("location")}
        containers = _items(properties, "containers")
        if len(containers) == 1:
            result["container_name"] = containers[0].get("name")
            result |= self.container(containers[0].get("properties") or {}, "properties.containers[0].properties", "")
            self.lonely_ports(result.pop("ports", []), properties)
        else:
            result["containers"] = self.named(containers, "containers", "containers")
        result["init_containers"] = self.named(_items(properties, "initContainers"), "initContainers", "init_containers")
        order = list(result["init_containers"])
        result["init_order"] = order if order != sorted(order) else None  # the engine sorts a stack file's keys
        result["restart_policy"] = properties.get("restartPolicy", "Always")  # Azure's default
        result |= {ours: properties.get(key) for key, (ours, default) in _DEFAULTS.items() if properties.get(key) != default}
        result |= {"zones": body.get("zones"), **self.network(properties)}
        result["volumes"] = {
            str(volume.get("name", "")): self.volume(volume, index) for index, volume in enumerate(_items(properties, "volumes"))
        }
        logins = enumerate(_items(properties, "imageRegistryCredentials"))
        result["registries"] = [entry for index, one in logins if (entry := self.registry(one, index))]
        result["tags"] = self.tags(body.get("tags") or {})
        self.elsewhere(body, properties)
        return _given(result), sorted(self.left, key=lambda left: left.line), self.secrets

    def named(self, ones: list[dict[str, Any]], key: str, ours: str) -> dict[str, Any]:
        names = [str(one.get("name", "")) for one in ones]
        return {
            name: self.container(one.get("properties") or {}, f"properties.{key}[{index}].properties", config_path(ours, name))
            for index, (name, one) in enumerate(zip(names, ones, strict=True))
        }

    def container(self, properties: Mapping[str, Any], path: str, key: str) -> dict[str, Any]:
        """`key` is the container's own place in the settings, "" for the top."""
        result: dict[str, Any] = {"image": self.plain(properties.get("image"), f"{path}.image")}
        result["command"] = self.command(properties.get("command"), f"{path}.command")
        result["environment"] = self.variables(_items(properties, "environmentVariables"), key)
        result |= self.resources(properties.get("resources") or {}, f"{path}.resources")
        result["ports"] = [port["port"] for port in _items(properties, "ports") if "port" in port]
        result["mounts"] = {
            str(mount.get("name", "")): {"path": mount.get("mountPath"), **_given({"read_only": mount.get("readOnly") or None})}
            for mount in _items(properties, "volumeMounts")
        }
        for probe, name in (("livenessProbe", "liveness"), ("readinessProbe", "readiness")):
            if properties.get(probe):
                result[name] = self.probe(properties[probe], f"{path}.{probe}")
        for name in ("securityContext", "configMap"):
            if properties.get(name):
                self.leave(f"{path}.{name}", f"the stack file has no key for {name}")
        return {name: value for name, value in result.items() if value not in (None, {}, [])}

    def plain(self, text: Any, path: str) -> Any:
        """Text that a stack file keeps in clear."""
        if isinstance(text, str) and SECRET in text:
            self.leave(path, "there is a secret in it, and a stack file keeps this in clear", "write it without the secret")
            return None
        return text

    def command(self, words: list[str] | None, path: str) -> list[str] | None:
        if words and any(SECRET in word for word in words):
            fix = "give the secret as a variable in secret_environment, and let the command read it"
            self.leave(path, "there is a secret in the command, and a stack file keeps commands in clear", fix)
            return None
        return words

    def variables(self, variables: list[dict[str, Any]], key: str) -> dict[str, str]:
        """The plain ones. One without a value is a secret: Azure exports the names of secrets, and never their values."""
        plain: dict[str, str] = {}
        for variable in variables:
            name = str(variable.get("name", ""))
            if "value" in variable:
                plain[name] = variable["value"]
            else:
                self.secrets.append(config_path(config_path(key, "secret_environment"), name))
        return plain

    def resources(self, resources: Mapping[str, Any], path: str) -> dict[str, Any]:
        requests: dict[str, Any] = resources.get("requests") or {}
        if resources.get("limits"):
            self.leave(f"{path}.limits", "the stack file has no key for limits; a container may use what the group has")
        return {"cpu": requests.get("cpu"), "memory_in_gb": requests.get("memoryInGB"), "gpu": requests.get("gpu")}

    def probe(self, probe: Mapping[str, Any], path: str) -> dict[str, Any]:
        result: dict[str, Any] = {}
        if probe.get("exec"):
            result["command"] = self.command(probe["exec"].get("command"), f"{path}.exec.command")
        if probe.get("httpGet"):
            get = probe["httpGet"]
            result["http"] = {name: get[name] for name in ("port", "path", "scheme") if name in get}
            if get.get("httpHeaders"):
                self.leave(f"{path}.httpGet.httpHeaders", "the stack file has no key for the headers of a probe")
        result |= _renamed(probe, _PROBE)
        return {name: value for name, value in result.items() if value is not None}

    def lonely_ports(self, ports: list[int], properties: Mapping[str, Any]) -> None:
        """A single container's ports are those of the group's address; others can't be reached."""
        address: dict[str, Any] = properties.get("ipAddress") or {}
        opened = [port.get("port") for port in _items(address, "ports")]
        closed = [str(port) for port in ports if port not in opened]
        if closed:
            message = f"{', '.join(closed)}: only the ports of the group's address can be reached"
            self.leave(
                "properties.containers[0].properties.ports", message, "ports: of the group, with network: public or private"
            )

    def network(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        address: dict[str, Any] = properties.get("ipAddress") or {}
        subnets: list[dict[str, Any]] = _items(properties, "subnetIds")
        result: dict[str, Any] = {}
        if subnets or properties.get("networkProfile") or address.get("type") == "Private":
            result["network"] = "private"
            result["subnet_id"] = subnets[0].get("id") if subnets else None
        elif address:
            result["network"] = "public"
        if len(subnets) > 1:
            self.leave("properties.subnetIds[1]", "a group is in one subnet")
        result["ports"] = [
            {"port": port.get("port"), "protocol": port.get("protocol", "TCP")} for port in _items(address, "ports")
        ]
        result["dns_label"] = address.get("dnsNameLabel")
        scope = address.get("autoGeneratedDomainNameLabelScope") or address.get("dnsNameLabelReusePolicy")
        # Azure's own default, unlike the stack file's: the name stays as it is.
        result["dns_label_scope"] = scope or ("Unsecure" if result["dns_label"] else None)
        if address.get("ip"):
            self.leave("properties.ipAddress.ip", "Azure chooses the address", "dns_label: for a name that stays")
        result["dns_config"] = _renamed(properties.get("dnsConfig") or {}, _DNS)
        return result

    def volume(self, volume: Mapping[str, Any], index: int) -> dict[str, Any]:
        path = f"properties.volumes[{index}]"
        kinds = [kind for kind in ("azureFile", "secret", "gitRepo", "emptyDir") if kind in volume]
        for kind in kinds[1:]:
            self.leave(f"{path}.{kind}", f"a volume is one thing, and this one is a {kinds[0]} too", "make two volumes of it")
        key = config_path("volumes", str(volume.get("name", "")))
        if "azureFile" in volume:
            share = volume["azureFile"]
            self.secrets.append(f"{key}.azure_file.key")
            known = {"share": share.get("shareName"), "account": share.get("storageAccountName")}
            return {"azure_file": {**known, **_given({"read_only": share.get("readOnly") or None})}}
        if "secret" in volume:
            files: dict[str, Any] = volume["secret"]
            self.secrets += [config_path(f"{key}.secret", file) for file in files]
            return {"secret": {}}
        if "gitRepo" in volume:
            git = volume["gitRepo"]
            keys = ("repository", "directory", "revision")
            known = {name: self.plain(git.get(name), f"{path}.gitRepo.{name}") for name in keys}
            return {"git_repo": {name: value for name, value in known.items() if value is not None}}
        if "emptyDir" not in volume:
            self.leave(path, "the volume is none of emptyDir, secret, azureFile and gitRepo", "empty_dir: true for scratch space")
        return {"empty_dir": True}

    def registry(self, registry: Mapping[str, Any], index: int) -> dict[str, Any] | None:
        path = f"properties.imageRegistryCredentials[{index}]"
        if "identity" in registry or "identityUrl" in registry:
            message = f"{registry.get('server')}: the group pulls as the stack's own identity, which needs the right to"
            self.leave(path, message, "foundation: identity: existing: <id> where it is that of the file")
            return None
        position = sum(1 for secret in self.secrets if secret.startswith("registries["))
        self.secrets.append(f"registries[{position}].password")
        return {name: registry[name] for name in ("server", "username") if name in registry}

    def tags(self, tags: Mapping[str, str]) -> dict[str, str]:
        for key in tags:
            if key.lower() in _OWN_TAGS:
                self.leave(
                    member("tags", key), "the program writes this tag itself", "another key, where it means something else"
                )
        return {key: value for key, value in tags.items() if key.lower() not in _OWN_TAGS}

    def elsewhere(self, body: Mapping[str, Any], properties: Mapping[str, Any]) -> None:
        identity: dict[str, Any] = body.get("identity") or {}
        if identity and identity.get("type") != "None":
            message = "the group runs as the stack's own identity"
            self.leave("identity", message, "foundation: identity: create, or existing: <id> of a user-assigned one")
        for name, (message, fix) in _ELSEWHERE.items():
            if properties.get(name):
                self.leave(f"properties.{name}", message, fix)
