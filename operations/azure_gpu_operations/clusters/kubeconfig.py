"""Reads cluster, user and context of a kubeconfig. Pure. Messages never show values, which may be credentials."""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from azure_gpu.formats import bounded_yaml

_OWN_CREDENTIALS = ("client-certificate-data", "client-certificate", "token", "tokenFile", "username")


class KubeconfigError(ValueError):
    """The text is not a usable kubeconfig. The message is for the user."""


class Kubeconfig(NamedTuple):
    """One context with its cluster and user."""

    server: str
    cluster: Mapping[str, Any]  # its section: server, certificate-authority-data, …
    user: Mapping[str, Any]
    context: str
    namespace: str = ""

    @property
    def has_credentials(self) -> bool:
        """Whether it contains credentials, so that no sign-in program is needed."""
        return any(self.user.get(key) for key in _OWN_CREDENTIALS)


def read(text: str, context: str = "") -> Kubeconfig:
    try:
        content: Any = bounded_yaml.load(text)
    except bounded_yaml.BoundedYamlError as error:
        raise KubeconfigError(f"it can't be read: {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("clusters"), list):
        raise KubeconfigError("not a kubeconfig: it has no list `clusters`")
    name = context or str(content.get("current-context") or "")
    if not name:
        raise KubeconfigError(f"it has no current context; choose one of {_names(content, 'contexts')}")
    chosen = _named(content, "contexts", name, "context")
    cluster = _named(content, "clusters", str(chosen.get("cluster") or ""), "cluster")
    user = _named(content, "users", str(chosen["user"]), "user") if chosen.get("user") else {}
    server = str(cluster.get("server") or "")
    if not server.startswith(("https://", "http://")):
        raise KubeconfigError(f"the cluster of its context {name} has no address")
    return Kubeconfig(server, cluster, user, name, str(chosen.get("namespace") or ""))


def single_context(found: Kubeconfig, user: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A kubeconfig with only this context, and optionally another user."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": dict(found.cluster)}],
        "users": [{"name": "user", "user": dict(found.user if user is None else user)}],
        "contexts": [{"name": "context", "context": {"cluster": "cluster", "user": "user"}}],
        "current-context": "context",
    }


def _named(content: Mapping[str, Any], section: str, name: str, key: str) -> Mapping[str, Any]:
    for each in cast(list[Any], content.get(section) or []):
        if isinstance(each, dict) and each.get("name") == name and isinstance(each.get(key), dict):
            return cast(Mapping[str, Any], each[key])
    raise KubeconfigError(f"it has no {key} {name!r}; it has {_names(content, section)}")


def _names(content: Mapping[str, Any], section: str) -> str:
    names = [str(each.get("name")) for each in cast(list[Any], content.get(section) or []) if isinstance(each, dict)]
    return ", ".join(sorted(names)) or "none"
