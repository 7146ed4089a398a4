"""The variables, command and arguments of a container, as its pod's specification makes them; and what they are made from.

ConfigMaps and Secrets are asked for at that moment, `MissingError` where there is none; the downward API tells of the pod itself.
Variables are in order, with `$(NAME)` filled in. `ConfigError` is what a container waits with as CreateContainerConfigError.
Behaviour: kubelet v1.36.2, pkg/kubelet/kubelet_pods.go (makeEnvironmentVariables), third_party/forked/golang/expansion,
pkg/fieldpath/fieldpath.go and pkg/api/v1/resource/helpers.go.
"""

import base64
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from localazure.kubernetes import quantities
from localazure.kubernetes.client import KubeApi


class MissingError(Exception):
    """What a pod refers to doesn't exist."""


class Sources:
    """One pod's namespace."""

    def __init__(self, api: KubeApi, namespace: str) -> None:
        self._api = api
        self.namespace = namespace

    async def config_map(self, name: str, *, optional: bool) -> dict[str, bytes] | None:
        found = await self._api.find(f"/api/v1/namespaces/{self.namespace}/configmaps/{name}")
        if found is None:
            return _none_of(f'configmap "{name}" not found', optional=optional)
        texts = {key: text.encode() for key, text in (found.get("data") or {}).items()}
        return texts | {key: base64.b64decode(text) for key, text in (found.get("binaryData") or {}).items()}

    async def secret(self, name: str, *, optional: bool) -> dict[str, bytes] | None:
        found = await self._api.find(f"/api/v1/namespaces/{self.namespace}/secrets/{name}")
        if found is None:
            return _none_of(f'secret "{name}" not found', optional=optional)
        return {key: base64.b64decode(text) for key, text in (found.get("data") or {}).items()}


def _none_of(message: str, *, optional: bool) -> None:
    if not optional:
        raise MissingError(message)


Body = dict[str, Any]
_ONE_OF_MANY = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


class FieldError(Exception):
    """A field that doesn't exist for the asking."""


def field(pod: Body, path: str, host_ip: str, pod_ip: str) -> str:
    """The text of `fieldRef.fieldPath`."""
    metadata, spec = pod["metadata"], pod["spec"]
    found = _ONE_OF_MANY.fullmatch(path)
    if found:
        return str((metadata.get(found[1]) or {}).get(found[2], ""))
    texts = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "metadata.labels": _map(metadata.get("labels")),
        "metadata.annotations": _map(metadata.get("annotations")),
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.hostIP": host_ip,
        "status.hostIPs": host_ip,
        "status.podIP": pod_ip,
        "status.podIPs": pod_ip,
    }
    if path not in texts:
        raise FieldError(f"unsupported fieldPath: {path}")
    return str(texts[path])


def resource(pod: Body, reference: Body, container: Body | None, allocatable: Body) -> str:
    """The text of a `resourceFieldRef`. A limit that isn't set is what the node has."""
    name = reference.get("containerName")
    if name:
        every = [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or [])]
        container = next((one for one in every if one["name"] == name), None)
    if container is None:
        raise FieldError(f"container {name} not found")
    which, _, kind = reference["resource"].partition(".")
    resources = container.get("resources") or {}
    amount = (resources.get(which) or {}).get(kind)
    if amount is None and which == "limits":
        amount = allocatable.get(kind)
    return str(quantities.divided(amount or "0", reference.get("divisor") or "1"))


def _map(values: Body | None) -> str:
    """One `name="text"` a line, as a volume has them."""
    return "\n".join(f"{name}={_quoted(str(text))}" for name, text in sorted((values or {}).items()))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


class ConfigError(Exception):
    """Why the container can't be made yet."""


class PodContext(NamedTuple):
    """What a container's variables are made from, beside its pod."""

    host_ip: str
    pod_ip: str
    allocatable: Body  # of its node
    api_host: str
    api_port: str


async def variables(container: Body, pod: Body, sources: Sources, context: PodContext) -> dict[str, str]:
    """ConfigError where something that it refers to doesn't exist."""
    cluster = {
        "KUBERNETES_SERVICE_HOST": context.api_host,
        "KUBERNETES_SERVICE_PORT": context.api_port,
        "KUBERNETES_SERVICE_PORT_HTTPS": context.api_port,
    }
    try:
        found = await _from_whole(container, sources)
        known = {**cluster, **found}
        for one in container.get("env") or ():
            text = await _text(one, container, pod, sources, context, known)
            if text is not None:
                known[one["name"]] = text
    except (MissingError, FieldError) as error:
        raise ConfigError(str(error)) from error
    return known


async def _from_whole(container: Body, sources: Sources) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in container.get("envFrom") or ():
        for kind, ask in (("configMapRef", sources.config_map), ("secretRef", sources.secret)):
            reference = one.get(kind)
            content = await ask(reference["name"], optional=bool(reference.get("optional"))) if reference else None
            for key, text in sorted((content or {}).items()):
                found[one.get("prefix", "") + key] = text.decode("utf-8", errors="replace")
    return found


async def _text(
    one: Body, container: Body, pod: Body, sources: Sources, context: PodContext, known: Mapping[str, str]
) -> str | None:
    """The value of one variable; None where it is left out."""
    origin = one.get("valueFrom")
    if not origin:
        return expanded(one.get("value", ""), known)
    if "fieldRef" in origin:
        return field(pod, origin["fieldRef"]["fieldPath"], context.host_ip, context.pod_ip)
    if "resourceFieldRef" in origin:
        return resource(pod, origin["resourceFieldRef"], container, context.allocatable)
    for kind, ask, shown in (("configMapKeyRef", sources.config_map, "ConfigMap"), ("secretKeyRef", sources.secret, "Secret")):
        if kind in origin:
            reference = origin[kind]
            optional = bool(reference.get("optional"))
            content = await ask(reference["name"], optional=optional)
            if content is not None and reference["key"] in content:
                return content[reference["key"]].decode("utf-8", errors="replace")
            if optional:
                return None
            raise MissingError(f"couldn't find key {reference['key']} in {shown} {sources.namespace}/{reference['name']}")
    raise MissingError(f"the embedded Azure does not implement {', '.join(origin)} of the variable {one['name']}")


def expanded(text: str, known: Mapping[str, str]) -> str:
    """`$(NAME)` is the variable's value where there is one, and stays as it is where there is none; `$$` is `$`."""

    def filled(found: re.Match[str]) -> str:
        return "$" if found[1] else known.get(found[2], found[0])

    return _REFERENCE.sub(filled, text)


def program(container: Body, known: Mapping[str, str]) -> tuple[list[str] | None, list[str] | None]:
    """Command and arguments; None where the image's hold."""
    command, args = container.get("command"), container.get("args")
    return (
        [expanded(word, known) for word in command] if command else None,
        [expanded(word, known) for word in args] if args else None,
    )
