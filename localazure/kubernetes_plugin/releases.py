"""Releases of Helm charts: `kubernetes:helm.sh/v3:Release` for the charts that this machine has, those of JobSet and Kueue.

The chart's objects are rendered onto the cluster by Helm's own library (`engine/groups/main.go`), and deleted with the release
except for what is in the chart's `crds` folder and the namespace, as with Helm. There is no history, no hook and no test; nothing
of Helm's own is stored in the cluster. Behaviour: pulumi/pulumi-kubernetes, provider/pkg/provider/helm_release.go.
"""

import hashlib
import itertools
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from localazure.kubernetes.agent.settings import VERSION
from localazure.kubernetes.programs import GROUPS_TOLD
from localazure.kubernetes_plugin import objects
from localazure.kubernetes_plugin.api import ApiError
from localazure.kubernetes_plugin.cluster import Cluster, NoMatchError
from localazure.kubernetes_plugin.kinds import Kind
from localazure.kubernetes_plugin.objects import Object
from localazure.kubernetes_plugin.waiter import NotReadyError, Waiting, retried, until_ready
from localazure.plugin.diff import Diff, object_changes
from localazure.plugin.errors import PartialError, State
from localazure.plugin.wire import Properties, is_unknown

TYPE = "kubernetes:helm.sh/v3:Release"
_CHARTS = {  # by their address: the chart's name
    "oci://registry.k8s.io/jobset/charts/jobset": "jobset",
    "oci://registry.k8s.io/kueue/charts/kueue": "kueue",
}
# `compat` is the SDK's word.
_TAKEN = frozenset(
    {
        "chart", "version", "name", "namespace", "createNamespace", "values", "timeout", "skipAwait", "atomic", "cleanupOnFail",
        "compat", "description",
    }
)  # fmt: skip
_REPLACING = ("name", "namespace")
_MANAGER = "helm"
_OBJECTS = "__objects"  # what the release has made: group and version, kind, namespace, name of each
_KEPT = "__kept"  # how many of them, the first ones, stay
_RETRY_S = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # while a definition or a webhook isn't served yet
_SECONDS = 300.0
_UNPRIVILEGED = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
_PRIVILEGED, _MOVED = 1024, 10_000
# An API of Kueue's own that lists what waits; where nobody serves it, the cluster can't list what it has.
_NOT_MADE = ("APIService",)
_WAITED_FOR = ("Deployment",)


def problems(inputs: Mapping[str, Any], environment: Mapping[str, str]) -> list[str]:
    """What this plugin doesn't do, in the user's words."""
    found = [
        f"the property '{key}' of a release is not implemented here"
        for key in sorted(inputs.keys() - _TAKEN)
        if not key.startswith("__")
    ]
    chart, version = inputs.get("chart"), inputs.get("version")
    if is_unknown(chart) or is_unknown(version):
        return found
    if chart not in _CHARTS:
        return [*found, f"the chart '{chart}' isn't there: this stand-in of pulumi-kubernetes has {' and '.join(_CHARTS)}"]
    folder = _folder(environment)
    if folder is None:
        return [*found, f"the chart '{chart}' isn't there: this machine has no build of it yet; `make groups` makes one"]
    if not _chart(folder, str(chart), str(version or "")).is_dir():
        built = [path.name.rpartition("-")[2] for path in folder.glob(f"{_CHARTS[str(chart)]}-*/")]
        return [*found, f"the chart '{chart}' isn't there in version {version}, but in {', '.join(built)}"]
    return found


def checked(inputs: Properties, old: Mapping[str, Any], logical_name: str, seed: bytes, namespace: str) -> Properties:
    """The inputs with a name and a namespace."""
    digits = hashlib.sha256(seed).hexdigest()[:8] if seed else "00000000"
    name = inputs.get("name") or old.get("name") or f"{logical_name}-{digits}"
    return {**inputs, "name": name, "namespace": inputs.get("namespace") or namespace}


def changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> Diff:
    """Another name or namespace is another release."""
    found = object_changes({key: value for key, value in old.items() if not key.startswith("__")}, new)
    changes = tuple(replace(each, replaces=each.top_level in _REPLACING) for each in found)
    return Diff(changes, any(each.replaces for each in changes))


class Releases:
    """The operations, for one provider configuration."""

    def __init__(
        self,
        waiting: Waiting,
        environment: Mapping[str, str],
        run: "Callable[..., subprocess.CompletedProcess[str]]" = subprocess.run,
    ) -> None:
        self._waiting, self._environment, self._run = waiting, environment, run
        self._cluster: Cluster = waiting.cluster

    def apply(self, urn: str, inputs: Properties, old: Mapping[str, Any] | None = None) -> State:
        """Installs it, or upgrades the release that `old` is the state of. ValueError, PartialError."""
        rendered = list(self._rendered(inputs))
        names = [_names(each, self._cluster) for each in rendered]
        first = itertools.takewhile(lambda each: each["kind"] == "CustomResourceDefinition", rendered)
        # Of a chart's crds/; those of its templates come after other kinds, and go with the release.
        state = _state(inputs, names, kept=sum(1 for _ in first))
        try:
            if inputs.get("createNamespace"):
                self._put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": inputs["namespace"]}})
            for each in rendered:
                self._put(each)
            for gone in [each for each in (old or {}).get(_OBJECTS) or [] if each not in names]:
                self._remove(gone)
            for each in () if inputs.get("skipAwait") else rendered:
                if each["kind"] in _WAITED_FOR:
                    self._await(urn, each, float(inputs.get("timeout") or _SECONDS))
        except (ApiError, NoMatchError, NotReadyError) as error:
            reason = f"the release {state.id} isn't there as a whole: {error}"
            raise PartialError(state, reason, getattr(error, "more", ())) from error
        return state

    def there(self, outputs: Mapping[str, Any]) -> bool:
        """Whether anything of the release is in the cluster that would go with it."""
        return any(self._cluster.api.find(path) is not None for path in map(self._path, _leaving(outputs)) if path)

    def delete(self, outputs: Mapping[str, Any]) -> None:
        """What was installed last goes first."""
        for each in reversed(_leaving(outputs)):
            self._remove(each)

    def _rendered(self, inputs: Properties) -> Iterator[Object]:
        folder = _folder(self._environment)
        if folder is None:
            raise ValueError("this machine has no build of Helm charts; `make groups` makes one")
        chart = _chart(folder, inputs["chart"], inputs.get("version") or "")
        done = self._run(
            [str(folder / "charts"), str(chart), inputs["name"], inputs["namespace"], VERSION],
            input=json.dumps(inputs.get("values") or {}),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise ValueError(f"the chart can't be rendered: {done.stderr.strip()}")
        first = _first_port()
        for line in done.stdout.splitlines():
            each = _reachable(json.loads(line), first)
            if each["kind"] not in _NOT_MADE:
                metadata = each.setdefault("metadata", {})
                if self._cluster.namespaced(_kind(each)):
                    metadata.setdefault("namespace", inputs["namespace"])
                yield each

    def _put(self, thing: Object) -> None:
        def applied() -> Object:
            where = self._cluster.path_of(_kind(thing), thing)
            return self._cluster.api.apply(where, thing, manager=_MANAGER, force=True, dry_run=False)

        retried(self._waiting._replace(say=lambda *_: None), "", _RETRY_S, applied, lambda error: error.status not in (404, 500))

    def _await(self, urn: str, thing: Object, timeout_s: float) -> None:
        live = self._cluster.api.find(self._cluster.path_of(_kind(thing), thing)) or thing
        until_ready(self._waiting, urn, _kind(thing), live, thing, timeout_s)

    def _path(self, named: list[str]) -> str:
        """Empty where the server doesn't have the kind any more."""
        api_version, kind, namespace, name = named
        try:
            return self._cluster.path(Kind.of(api_version, kind), namespace, name)
        except NoMatchError:
            return ""

    def _remove(self, named: list[str]) -> None:
        path = self._path(named)
        try:
            if path:
                self._cluster.api.delete(path, "Background")
        except ApiError as error:
            if error.status != 404:
                raise


def _leaving(outputs: Mapping[str, Any]) -> list[list[str]]:
    return (outputs.get(_OBJECTS) or [])[int(outputs.get(_KEPT) or 0) :]


def recorded(inputs: Properties) -> State:
    """A release where nothing runs."""
    return _state(inputs, [], 0)


def _first_port() -> int:
    """The first port at which whoever isn't root may listen on this machine."""
    try:
        said = _UNPRIVILEGED.read_text(encoding="ascii")
    except OSError:
        return 0 if os.name != "posix" or os.geteuid() == 0 else _PRIVILEGED
    return 0 if os.geteuid() == 0 else int(said)


def _reachable(thing: Object, first: int) -> Object:
    """A Service, or a webhook that leads to one, at a port where the node agent may listen: 443 is 10443 where it may not."""
    if thing["kind"] == "Service":
        for port in (thing.get("spec") or {}).get("ports") or ():
            if port["port"] < first:
                port.setdefault("targetPort", port["port"])
                port["port"] += _MOVED
    for webhook in thing.get("webhooks") or ():
        service = (webhook.get("clientConfig") or {}).get("service")
        if service and service.get("port", 443) < first:
            service["port"] = service.get("port", 443) + _MOVED
    return thing


def _state(inputs: Properties, names: list[list[str]], kept: int) -> State:
    by_kind: dict[str, list[str]] = {}
    for api_version, kind, namespace, name in names:
        by_kind.setdefault(f"{kind}.{api_version}", []).append(f"{namespace}/{name}" if namespace else name)
    status = {
        "name": inputs["name"],
        "namespace": inputs["namespace"],
        "chart": _CHARTS.get(inputs["chart"], inputs["chart"]),
        "version": inputs.get("version") or "",
        "revision": 1,
        "status": "deployed",
    }
    outputs = {**inputs, "resourceNames": by_kind, "status": status, _OBJECTS: names, _KEPT: kept}
    return State(f"{inputs['namespace']}/{inputs['name']}", outputs, dict(inputs))


def _names(thing: Object, cluster: Cluster) -> list[str]:
    return [
        thing["apiVersion"],
        thing["kind"],
        objects.namespace(thing) if cluster.namespaced(_kind(thing)) else "",
        objects.name(thing),
    ]


def _kind(thing: Object) -> Kind:
    return Kind.of(thing["apiVersion"], thing["kind"])


def _folder(environment: Mapping[str, str]) -> Path | None:
    told = environment.get(GROUPS_TOLD)
    try:
        return Path(Path(told).read_text(encoding="utf-8").strip()) if told else None
    except OSError:
        return None


def _chart(folder: Path, chart: str, version: str) -> Path:
    return folder / f"{_CHARTS[chart]}-{version.removeprefix('v')}"
