"""What a kubeconfig says before anybody is asked: which server is meant, and in which namespace. The rest is kubectl's to read.

The kubeconfig is a text, a path, or what KUBECONFIG and ~/.kube/config have; a context and a cluster can override it. ValueError
says what is wrong, never a secret.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.formats import bounded_yaml

Config = dict[str, Any]
_LISTS = ("clusters", "contexts", "users")


class Access(NamedTuple):
    """One server and one user. `kubeconfig`: a text or a path; empty: the ambient one."""

    kubeconfig: str
    context: str
    cluster: str
    server: str
    namespace: str  # the context's; "" where it has none


def read(text_or_path: str, environment: Mapping[str, str]) -> Config:
    """The kubeconfig. `text_or_path` empty: the ambient one. ValueError: it can't be read."""
    if text_or_path:
        path = file_of(text_or_path)
        return parsed(text_or_path) if path is None else _from_file(path)
    named = [Path(each) for each in environment.get("KUBECONFIG", "").split(os.pathsep) if each]
    paths = named or [Path(environment.get("HOME", "~")).expanduser() / ".kube" / "config"]
    merged: Config = {}
    for path in paths:
        if path.is_file():
            merged = _merged(merged, _from_file(path))
    if not merged:
        raise ValueError("no kubeconfig was given, and there is none in KUBECONFIG or ~/.kube/config")
    return merged


def file_of(text_or_path: str) -> Path | None:
    """The file that is meant; None: it is a text."""
    path = Path(text_or_path).expanduser() if "\n" not in text_or_path and len(text_or_path) < 4096 else None
    return path if path is not None and path.is_file() else None


def parsed(text: str) -> Config:
    """A kubeconfig's text, YAML or JSON."""
    try:
        found = bounded_yaml.load(text)
    except bounded_yaml.BoundedYamlError as error:
        raise ValueError(f"the kubeconfig can't be read: {error}") from None
    if not isinstance(found, dict):
        raise ValueError("the kubeconfig is neither a file that exists nor a kubeconfig's text")
    return found


def access(config: Config, context: str = "", cluster: str = "", given: str = "") -> Access:
    """What the kubeconfig's context means. `context` and `cluster` override its current one; `given`: where `config` was read."""
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
    if user_name and _entry(config, "users", user_name, "user") is None:
        raise ValueError(f'user "{user_name}" does not exist in the kubeconfig')
    return Access(given, context, cluster, str(server["server"]).rstrip("/"), str(found.get("namespace") or ""))


def active_cluster(config: Config, context: str = "", cluster: str = "") -> Mapping[str, Any] | None:
    """The entry of the server that is meant, None where none is. Two configurations with one entry mean one cluster."""
    found = _entry(config, "contexts", context or str(config.get("current-context") or ""), "context")
    return _entry(config, "clusters", cluster or str(found.get("cluster") or ""), "cluster") if found else None


def _from_file(path: Path) -> Config:
    try:
        return parsed(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


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
