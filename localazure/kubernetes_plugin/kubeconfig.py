"""Parses a kubeconfig: the server, and how to sign in there.

The kubeconfig is a text, a path, or what KUBECONFIG and ~/.kube/config have; a context and a cluster can override it. Nothing is
asked of a server here, and no program is run. ValueError says what is wrong, never a secret.
"""

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.formats import bounded_yaml

Config = dict[str, Any]
_LISTS = ("clusters", "contexts", "users")
_FOLDER = " folder"  # beside an entry: where its relative paths begin. No key of a kubeconfig has a space.


class Access(NamedTuple):
    """One server and one user."""

    server: str
    ca: bytes  # certificates in PEM; empty: those that the machine trusts
    insecure: bool
    tls_server_name: str
    proxy_url: str
    user: Mapping[str, Any]  # as in the kubeconfig
    cluster: Mapping[str, Any]  # as in the kubeconfig, for login programs that want it
    namespace: str  # the context's; "" where it has none
    folder: Path  # where relative paths of the user begin


def read(text_or_path: str, environment: Mapping[str, str]) -> Config:
    """The kubeconfig. `text_or_path` empty: the ambient one. ValueError: it can't be read."""
    if text_or_path:
        path = Path(text_or_path).expanduser() if "\n" not in text_or_path and len(text_or_path) < 4096 else None
        if path is not None and path.is_file():
            return _from_file(path)
        return parsed(text_or_path)
    named = [Path(each) for each in environment.get("KUBECONFIG", "").split(os.pathsep) if each]
    paths = named or [Path(environment.get("HOME", "~")).expanduser() / ".kube" / "config"]
    merged: Config = {}
    for path in paths:
        if path.is_file():
            merged = _merged(merged, _from_file(path))
    if not merged:
        raise ValueError("no kubeconfig was given, and there is none in KUBECONFIG or ~/.kube/config")
    return merged


def parsed(text: str) -> Config:
    """A kubeconfig's text, YAML or JSON."""
    try:
        found = bounded_yaml.load(text)
    except bounded_yaml.BoundedYamlError as error:
        raise ValueError(f"the kubeconfig can't be read: {error}") from None
    if not isinstance(found, dict):
        raise ValueError("the kubeconfig is neither a file that exists nor a kubeconfig's text")
    return found


def access(config: Config, context: str = "", cluster: str = "") -> Access:
    """What the kubeconfig's context means. `context` and `cluster` override its current one."""
    chosen = context or str(config.get("current-context") or "")
    if not chosen:
        raise ValueError("the kubeconfig has no current-context, and no context was given")
    found = _entry(config, "contexts", chosen, "context")
    if found is None:
        raise ValueError(f'context "{chosen}" does not exist in the kubeconfig')
    cluster_name, user_name = cluster or str(found.get("cluster") or ""), str(found.get("user") or "")
    server = _entry(config, "clusters", cluster_name, "cluster")
    if server is None or not server.get("server"):
        raise ValueError(f'cluster "{cluster_name}" does not exist in the kubeconfig, or has no server')
    user = _entry(config, "users", user_name, "user")
    if user is None and user_name:
        raise ValueError(f'user "{user_name}" does not exist in the kubeconfig')
    return Access(
        server=str(server["server"]).rstrip("/"),
        ca=data_of(server, "certificate-authority", _folder(server)),
        insecure=bool(server.get("insecure-skip-tls-verify")),
        tls_server_name=str(server.get("tls-server-name") or ""),
        proxy_url=str(server.get("proxy-url") or ""),
        user={key: value for key, value in (user or {}).items() if key != _FOLDER},
        cluster={key: value for key, value in server.items() if key != _FOLDER},
        namespace=str(found.get("namespace") or ""),
        folder=_folder(user or {}),
    )


def active_cluster(config: Config, context: str = "", cluster: str = "") -> Mapping[str, Any] | None:
    """The entry of the server that is meant, None where none is. Two configurations with one entry mean one cluster."""
    found = _entry(config, "contexts", context or str(config.get("current-context") or ""), "context")
    entry = _entry(config, "clusters", cluster or str(found.get("cluster") or ""), "cluster") if found else None
    return None if entry is None else {key: value for key, value in entry.items() if key != _FOLDER}


def data_of(entry: Mapping[str, Any], key: str, folder: Path) -> bytes:
    """`key`-data from base64, or the content of the file that `key` names. Empty: neither is given."""
    inline = entry.get(f"{key}-data")
    if inline:
        try:
            return base64.b64decode(str(inline), validate=True)
        except (binascii.Error, ValueError):
            raise ValueError(f"{key}-data of the kubeconfig isn't valid base64") from None
    named = entry.get(key)
    if not named:
        return b""
    try:
        return (folder / Path(str(named)).expanduser()).read_bytes()
    except OSError as error:
        raise ValueError(f"{key} of the kubeconfig can't be read: {error.strerror}: {named}") from None


def _from_file(path: Path) -> Config:
    try:
        found = parsed(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    for each in (entry for key in _LISTS for entry in found.get(key) or [] if isinstance(entry, dict)):
        inner = each.get("cluster") or each.get("user")
        if isinstance(inner, dict):
            inner[_FOLDER] = str(path.parent.absolute())
    return found


def _merged(first: Config, then: Config) -> Config:
    """Entries and the context of earlier files win."""
    lists = {key: [*(first.get(key) or []), *(then.get(key) or [])] for key in _LISTS}
    return {**then, **{key: value for key, value in first.items() if value}, **lists}


def _entry(config: Config, kind: str, name: str, inner: str) -> Mapping[str, Any] | None:
    for each in config.get(kind) or []:
        if isinstance(each, dict) and each.get("name") == name:
            found = each.get(inner)
            return found if isinstance(found, dict) else {}
    return None


def _folder(entry: Mapping[str, Any]) -> Path:
    return Path(entry.get(_FOLDER) or Path.cwd())
