"""The provider's configuration: the real provider's keys, then the environment variables it reads; and which change of it means
another cluster, so that everything in it has to be created again.

A kubeconfig that can't be read isn't an error here, since a program may never need the cluster: it makes the cluster unreachable.
Kubernetes has no identity of a cluster. So: a `clusterIdentifier` decides where there is one on both sides; otherwise the entry
of the kubeconfig's active cluster does.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from localazure.kubernetes_plugin import kubeconfig
from localazure.kubernetes_plugin.kubeconfig import Access
from localazure.plugin.wire import is_unknown

_IDENTIFIER = "clusterIdentifier"
_CLUSTER_KEYS = ("kubeconfig", "context", "cluster")


def replacing(old: Mapping[str, Any], new: Mapping[str, Any], changed: Collection[str]) -> list[str]:
    """Of the keys that have changed those that mean another cluster. ValueError where a kubeconfig can't be read."""
    identified = bool(old.get(_IDENTIFIER) and new.get(_IDENTIFIER))
    if identified and _IDENTIFIER not in changed:
        return []
    found = [_IDENTIFIER] if identified else []
    unknown = [key for key in _CLUSTER_KEYS if is_unknown(new.get(key))]
    if unknown:
        # Nobody can tell whether it is another cluster: the careful answer.
        return [*found, unknown[0]]
    before, after = _active(old), _active(new)
    if before is not None and after is not None and before != after:
        found += [key for key in _CLUSTER_KEYS if key in changed]
    return found


def _active(configuration: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """{} where no kubeconfig is given: then the machine's own is meant, on both sides or on one."""
    given = configuration.get("kubeconfig")
    if not given or is_unknown(given):
        return {}
    config = kubeconfig.read(str(given), {})
    return kubeconfig.active_cluster(config, str(configuration.get("context") or ""), str(configuration.get("cluster") or ""))


_SWITCHES = {
    "deleteUnreachable": "PULUMI_K8S_DELETE_UNREACHABLE",
    "upsertExistingObjects": "PULUMI_K8S_UPSERT_EXISTING_OBJECTS",
}
_NOT_HERE = {
    "enableConfigMapMutable": "PULUMI_K8S_ENABLE_CONFIGMAP_MUTABLE",
    "enablePatchForce": "PULUMI_K8S_ENABLE_PATCH_FORCE",
    "enableSecretMutable": "PULUMI_K8S_ENABLE_SECRET_MUTABLE",
    "skipUpdateUnreachable": "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE",
}
_SERVER_SIDE = {"enableServerSideApply": "PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY"}


class Settings(NamedTuple):
    """A configuration that can be worked with."""

    access: Access | None  # None: `problem` says why
    problem: str
    namespace: str  # of objects that say none; never empty
    on: frozenset[str]  # of `_SWITCHES`


def read_settings(configuration: Mapping[str, str], environment: Mapping[str, str]) -> Settings:
    """The settings, or ValueError with every problem in one message."""
    problems = configuration_problems(configuration, environment)
    if problems:
        raise ValueError("; ".join(problems))
    access, problem = _access(configuration, environment)
    namespace = configuration.get("namespace") or (access.namespace if access else "") or "default"
    on = frozenset(_on(_SWITCHES, configuration, environment, "true"))
    return Settings(access, problem, namespace, on)


def configuration_problems(configuration: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """What this plugin doesn't do, in the user's words."""
    problems: list[str] = []
    if list(_on(_SERVER_SIDE, configuration, environment, "false")):
        problems.append("kubernetes:enableServerSideApply is false, but the embedded pulumi-kubernetes only applies server-side")
    rendering = ["renderYamlToDirectory"] if configuration.get("renderYamlToDirectory") else []
    for key in [*_on(_NOT_HERE, configuration, environment, "true"), *rendering]:
        problems.append(f"kubernetes:{key} is not implemented by this stand-in of pulumi-kubernetes")
    return problems


def _access(configuration: Mapping[str, str], environment: Mapping[str, str]) -> tuple[Access | None, str]:
    given = configuration.get("kubeconfig", "")
    try:
        config = kubeconfig.read(given, environment)
        return kubeconfig.access(config, configuration.get("context", ""), configuration.get("cluster", ""), given), ""
    except ValueError as error:
        what = "failed to parse kubeconfig data in `kubernetes:config:kubeconfig`" if given else "unable to load a kubeconfig"
        return None, f"{what}: {error}"


def _on(
    switches: Mapping[str, str], configuration: Mapping[str, str], environment: Mapping[str, str], wanted: str
) -> Iterator[str]:
    """The switches that are turned so: by configuration, else by the environment."""
    for key, variable in switches.items():
        if (configuration.get(key) or environment.get(variable) or "").strip().lower() == wanted:
            yield key
