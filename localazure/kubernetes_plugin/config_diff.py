"""Checks whether a changed configuration means another cluster, so that everything in it has to be created again.

Kubernetes has no identity of a cluster. So: a `clusterIdentifier` decides where there is one on both sides; otherwise the entry
of the kubeconfig's active cluster does.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from localazure.kubernetes_plugin import kubeconfig
from localazure.plugin.wire import is_unknown

_IDENTIFIER = "clusterIdentifier"
_CLUSTER_KEYS = ("kubeconfig", "context", "cluster")


class ConfigDiff(NamedTuple):
    changed: tuple[str, ...]
    replaces: tuple[str, ...]


def config_diff(old: Mapping[str, Any], new: Mapping[str, Any]) -> ConfigDiff:
    """ValueError where a kubeconfig can't be read."""
    changed = tuple(sorted(key for key in {*old, *new} if old.get(key) != new.get(key)))
    identified = bool(old.get(_IDENTIFIER) and new.get(_IDENTIFIER))
    if identified and _IDENTIFIER not in changed:
        return ConfigDiff(changed, ())
    replaces = [_IDENTIFIER] if identified else []
    unknown = [key for key in _CLUSTER_KEYS if is_unknown(new.get(key))]
    if unknown:
        # Nobody can tell whether it is another cluster: the careful answer.
        return ConfigDiff(changed, (*replaces, unknown[0]))
    before, after = _active(old), _active(new)
    if before is not None and after is not None and before != after:
        replaces += [key for key in _CLUSTER_KEYS if key in changed]
    return ConfigDiff(changed, tuple(replaces))


def _active(configuration: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """{} where no kubeconfig is given: then the machine's own is meant, on both sides or on one."""
    given = configuration.get("kubeconfig")
    if not given or is_unknown(given):
        return {}
    config = kubeconfig.read(str(given), {})
    return kubeconfig.active_cluster(config, str(configuration.get("context") or ""), str(configuration.get("cluster") or ""))
