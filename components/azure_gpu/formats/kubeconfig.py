"""Reads a kubeconfig: the server, its certificate authority, and the login of a context.

The message of KubeconfigError contains names and no value of the text, since a kubeconfig is a secret. Files that it names aren't
read."""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from azure_gpu.formats import bounded_yaml


class KubeconfigError(Exception):
    """The text isn't a kubeconfig, or is incomplete. The message tells what is wrong with it."""


class ExecPlugin(NamedTuple):
    """The command that gets a token when one is needed."""

    command: str
    args: tuple[str, ...]
    environment: Mapping[str, str]
    api_version: str


class Kubeconfig(NamedTuple):
    """One context of a kubeconfig. Data is in Base64, as it is written there; empty if missing."""

    context: str
    server: str  # https://…
    namespace: str
    authority: str
    authority_file: str
    insecure: bool
    token: str
    token_file: str
    certificate: str
    certificate_file: str
    key: str
    key_file: str
    exec: ExecPlugin | None


def read(text: str, context: str = "") -> Kubeconfig:
    """The context of this name; without a name the one that is current."""
    try:
        parsed: Any = bounded_yaml.load(text)
    except bounded_yaml.BoundedYamlError as error:
        raise KubeconfigError(f"the kubeconfig can't be read: {error}") from None
    config = _mapping(parsed)
    if not isinstance(config.get("clusters"), list):
        raise KubeconfigError("not a kubeconfig: it has no list of clusters")
    name = context or str(config.get("current-context") or "")
    if not name:
        raise KubeconfigError("the kubeconfig has no current context, and none is named")
    chosen = _named(config, "contexts", "context", name)
    cluster = _named(config, "clusters", "cluster", str(chosen.get("cluster") or ""))
    user = _named(config, "users", "user", str(chosen["user"])) if chosen.get("user") else _mapping(None)
    server = str(cluster.get("server") or "")
    if not server.startswith("https://"):
        raise KubeconfigError("the kubeconfig's server isn't an https address")
    if "auth-provider" in user:
        raise KubeconfigError("the kubeconfig logs in by an auth-provider, which Kubernetes has not had since 1.26")
    return Kubeconfig(
        context=name,
        server=server,
        namespace=_text(chosen, "namespace"),
        authority=_text(cluster, "certificate-authority-data"),
        authority_file=_text(cluster, "certificate-authority"),
        insecure=cluster.get("insecure-skip-tls-verify") is True,
        token=_text(user, "token"),
        token_file=_text(user, "tokenFile"),
        certificate=_text(user, "client-certificate-data"),
        certificate_file=_text(user, "client-certificate"),
        key=_text(user, "client-key-data"),
        key_file=_text(user, "client-key"),
        exec=_exec(user.get("exec")),
    )


def _named(config: Mapping[str, Any], key: str, inner: str, name: str) -> Mapping[str, Any]:
    for entry in _list(config.get(key)):
        if _mapping(entry).get("name") == name:
            return _mapping(_mapping(entry).get(inner))
    there = ", ".join(repr(str(_mapping(entry).get("name"))) for entry in _list(config.get(key)))
    raise KubeconfigError(f"the kubeconfig has no {inner} that is called {name!r}; it has {there or 'none'}")


def _exec(value: object) -> ExecPlugin | None:
    plugin = _mapping(value)
    if not plugin:
        return None
    pairs = [_mapping(one) for one in _list(plugin.get("env"))]
    return ExecPlugin(
        command=_text(plugin, "command"),
        args=tuple(str(one) for one in _list(plugin.get("args"))),
        environment={_text(pair, "name"): _text(pair, "value") for pair in pairs},
        api_version=_text(plugin, "apiVersion"),
    )


def _text(mapping: Mapping[str, Any], key: str) -> str:
    value = mapping.get(key)
    return "" if value is None else str(value)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []
