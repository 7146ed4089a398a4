"""The variables, command and arguments of a container, as its pod's specification makes them.

Variables are in order, with `$(NAME)` filled in. `ConfigError` is what a container waits with as CreateContainerConfigError.
Behaviour: kubelet v1.36.2, pkg/kubelet/kubelet_pods.go (makeEnvironmentVariables), third_party/forked/golang/expansion.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from localazure.kubernetes.agent import downward
from localazure.kubernetes.agent.sources import MissingError, Sources

Body = dict[str, Any]
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
    except (MissingError, downward.FieldError) as error:
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
        return downward.field(pod, origin["fieldRef"]["fieldPath"], context.host_ip, context.pod_ip)
    if "resourceFieldRef" in origin:
        return downward.resource(pod, origin["resourceFieldRef"], container, context.allocatable)
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
