"""An API server of Kubernetes in this process, for whoever asks one through `localazure.kubernetes_plugin.api.Api`.

It keeps objects by their paths and applies by merging; it has no schemas, no field managers and no controllers. What a real
server would refuse, a test says with `refuse`; what a controller would write, with `status`.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

Object = dict[str, Any]
KINDS = {
    "v1": ("ConfigMap", "Namespace", "Pod", "ResourceQuota", "Secret", "ServiceAccount"),
    "apiextensions.k8s.io/v1": ("CustomResourceDefinition",),
    "apps/v1": ("DaemonSet", "Deployment"),
    "batch/v1": ("Job",),
}


CLUSTER_WIDE = ("CustomResourceDefinition", "Namespace")


class Answer(NamedTuple):
    status: int
    data: bytes
    headers: Mapping[str, str] = {}


class Request(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    headers: Mapping[str, str]


class FakeKubernetes:
    """Takes the place of the client's pool of connections."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.requests: list[Request] = []
        self.heard: Callable[[Request], object] = lambda _: None
        self._refusals: list[tuple[str, int, Object]] = []

    def sent(self, method: str) -> list[Request]:
        return [each for each in self.requests if each.method == method]

    def refuse(self, method: str, status: int, message: str = "", **more: Any) -> None:
        """The next request by `method` is refused."""
        self._refusals.append((method, status, {"kind": "Status", "message": message, **more}))

    def status(self, path: str, **status: Any) -> None:
        self.objects[path]["status"] = status

    def request(self, method: str, address: str, body: bytes | None = None, headers: Mapping[str, str] = {}, **_: Any) -> Answer:
        parts = urlsplit(address)
        asked = Request(method, parts.path, dict(parse_qsl(parts.query)), json.loads(body) if body else None, headers)
        self.requests.append(asked)
        self.heard(asked)
        for refusal in self._refusals:
            if refusal[0] == method:
                self._refusals.remove(refusal)
                return _answer(refusal[1], refusal[2])
        return self._answered(asked)

    def _answered(self, asked: Request) -> Answer:
        if (listed := self._listed(asked.path)) is not None:
            return _answer(200, listed)
        found = self.objects.get(asked.path)
        if asked.method == "PATCH":
            applied = _merged(found or {"metadata": {"uid": f"uid of {asked.path}", "generation": 1}}, asked.body)
            if "dryRun" not in asked.query:
                self.objects[asked.path] = applied
            return _answer(200, applied)
        if found is None:
            return _answer(404, {"kind": "Status", "reason": "NotFound", "message": f"{asked.path} not found"})
        if asked.method == "DELETE" and not found["metadata"].get("finalizers"):
            del self.objects[asked.path]
        return _answer(200, found)

    def _listed(self, path: str) -> Object | None:
        if path == "/version":
            return {"major": "1"}
        kinds = KINDS.get(path.removeprefix("/apis/").removeprefix("/api/"))
        if kinds is not None:
            named = [(each, f"{each.lower()}s", each not in CLUSTER_WIDE) for each in kinds]
            return {"resources": [{"kind": kind, "name": name, "namespaced": inside} for kind, name, inside in named]}
        if path.endswith(("/pods", "/events", "/replicasets")):
            return {"items": [each for key, each in self.objects.items() if key.startswith(f"{path}/")]}
        return None


def _answer(status: int, body: Object) -> Answer:
    return Answer(status, json.dumps(body).encode())


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
    return new
