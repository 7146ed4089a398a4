"""The variables, command and arguments of a container, as its pod's specification makes them; and what they are made from.

ConfigMaps and Secrets are asked for at that moment; the downward API tells of the pod itself. Variables are in order, with
`$(NAME)` filled in. With `MissingError` a container waits as CreateContainerConfigError.
Behaviour: kubelet v1.36.2, pkg/kubelet/kubelet_pods.go (makeEnvironmentVariables), third_party/forked/golang/expansion,
pkg/fieldpath/fieldpath.go and pkg/api/v1/resource/helpers.go.
"""

import base64
import re
from collections.abc import Mapping
from typing import Any

from localazure.kubernetes import quantities
from localazure.kubernetes.agent.node_forms import ADDRESS
from localazure.kubernetes.agent.pod_facts import PodFacts

Body = dict[str, Any]
CONFIG_MAP, SECRET = "configmap", "secret"
_ONE_OF_MANY = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


class MissingError(Exception):
    """What a pod refers to doesn't exist."""


async def data(pod: PodFacts, kind: str, reference: Body) -> dict[str, bytes]:
    """Of a ConfigMap or Secret of the pod's namespace, by name; nothing where it is optional and isn't there."""
    name = reference.get("secretName") or reference.get("name", "")
    found = await pod.api.find(f"/api/v1/namespaces/{pod.namespace}/{kind}s/{name}")
    if found is None:
        if reference.get("optional"):
            return {}
        raise MissingError(f'{kind} "{name}" not found')
    plain, encoded = (found.get("data"), found.get("binaryData")) if kind == CONFIG_MAP else ({}, found.get("data"))
    texts = {key: text.encode() for key, text in (plain or {}).items()}
    return texts | {key: base64.b64decode(text) for key, text in (encoded or {}).items()}


def field(pod: PodFacts, path: str) -> str:
    """The text of `fieldRef.fieldPath`."""
    metadata, spec = pod.body["metadata"], pod.body["spec"]
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
        **dict.fromkeys(("status.hostIP", "status.hostIPs"), ADDRESS),
        **dict.fromkeys(("status.podIP", "status.podIPs"), pod.ip),
    }
    if path not in texts:
        raise MissingError(f"unsupported fieldPath: {path}")
    return str(texts[path])


def resource(pod: PodFacts, reference: Body, container: Body | None = None) -> str:
    """The text of a `resourceFieldRef`. A limit that isn't set is what the node has."""
    name = reference.get("containerName")
    if name:
        container = next((one for one in pod.specs if one["name"] == name), None)
    if container is None:
        raise MissingError(f"container {name} not found")
    which, _, kind = reference["resource"].partition(".")
    resources = container.get("resources") or {}
    amount = (resources.get(which) or {}).get(kind)
    if amount is None and which == "limits":
        amount = pod.node.allocatable.get(kind)
    return str(quantities.divided(amount or "0", reference.get("divisor") or "1"))


def _map(values: Body | None) -> str:
    """One `name="text"` a line, as a volume has them."""
    return "\n".join(f"{name}={_quoted(str(text))}" for name, text in sorted((values or {}).items()))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


async def variables(container: Body, pod: PodFacts) -> dict[str, str]:
    """MissingError where something that it refers to doesn't exist."""
    port = pod.node.settings.api_port
    known = {
        "KUBERNETES_SERVICE_HOST": pod.node.settings.api_host,
        "KUBERNETES_SERVICE_PORT": port,
        "KUBERNETES_SERVICE_PORT_HTTPS": port,
    }
    for one in container.get("envFrom") or ():
        for key, kind in (("configMapRef", CONFIG_MAP), ("secretRef", SECRET)):
            content = await data(pod, kind, one[key]) if key in one else {}
            known |= {one.get("prefix", "") + name: _text(text) for name, text in sorted(content.items())}
    for one in container.get("env") or ():
        origin = one.get("valueFrom")
        text = await _value(origin, one["name"], container, pod) if origin else expanded(one.get("value", ""), known)
        if text is not None:
            known[one["name"]] = text
    return known


def _text(content: bytes) -> str:
    return content.decode("utf-8", errors="replace")


async def _value(origin: Body, variable: str, container: Body, pod: PodFacts) -> str | None:
    """None where the variable is left out."""
    if "fieldRef" in origin:
        return field(pod, origin["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in origin:
        return resource(pod, origin["resourceFieldRef"], container)
    for key, kind, shown in (("configMapKeyRef", CONFIG_MAP, "ConfigMap"), ("secretKeyRef", SECRET, "Secret")):
        if key in origin:
            reference = origin[key]
            content = await data(pod, kind, reference)
            if reference["key"] in content:
                return _text(content[reference["key"]])
            if reference.get("optional"):
                return None
            raise MissingError(f"couldn't find key {reference['key']} in {shown} {pod.namespace}/{reference['name']}")
    raise MissingError(f"the embedded Azure does not implement {', '.join(origin)} of the variable {variable}")


def expanded(text: str, known: Mapping[str, str]) -> str:
    """`$(NAME)` is the variable's value where there is one, and stays as it is where there is none; `$$` is `$`."""

    def filled(found: re.Match[str]) -> str:
        return "$" if found[1] else known.get(found[2], found[0])

    return _REFERENCE.sub(filled, text)


def program(container: Body, known: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Command and arguments; empty where the image's hold."""
    command, args = ([expanded(word, known) for word in container.get(key) or ()] for key in ("command", "args"))
    return command, args
