"""One cluster as the operations see it: whether it answers, which kinds it has, and the path of an object.

What a server says of a group is asked once for each process; a kind that it doesn't have is requested again, since its definition
may have been made meanwhile.
"""

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from localazure.kubernetes_plugin import objects
from localazure.kubernetes_plugin.api import Api, ApiError, UnreachableError
from localazure.kubernetes_plugin.kinds import Kind


class Resource(NamedTuple):
    """How the server spells a kind in its paths."""

    plural: str
    namespaced: bool


class NoMatchError(Exception):
    """The server doesn't have the kind."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(f'no matches for kind "{kind.name}" in version "{kind.api_version}"')


class Cluster:
    """Threads share it. `unreachable`: why nobody can be asked, where that is known beforehand."""

    def __init__(self, api: Api | None, unreachable: str = "") -> None:
        self._api = api
        self._unreachable = unreachable
        self._asked = api is None
        self._asking = threading.Lock()
        self._groups: dict[str, dict[str, Resource]] = {}
        self._locks: dict[str, threading.Lock] = {}

    @property
    def api(self) -> Api:
        """The server. UnreachableError where it doesn't answer."""
        if self.unreachable or self._api is None:
            raise UnreachableError(self.unreachable)
        return self._api

    @property
    def unreachable(self) -> str:
        """Why the cluster can't be worked with, empty where it can. Asked once."""
        with self._asking:
            if not self._asked and self._api is not None:
                try:
                    self._api.look()
                except (ApiError, UnreachableError) as error:
                    # An answer is one: who may not read the version may still read objects.
                    if isinstance(error, UnreachableError) or error.status == 401:
                        self._unreachable = f"unable to load schema information from the API server: {error}"
                self._asked = True
            return self._unreachable

    def has(self, kind: Kind) -> bool:
        """Whether the server answers and has the kind."""
        if self.unreachable:
            return False
        try:
            self.resource(kind)
        except (NoMatchError, UnreachableError, ApiError):
            return False
        return True

    def namespaced(self, kind: Kind) -> bool:
        """A kind that nobody knows yet is taken for one in a namespace, as the real provider does."""
        if kind.namespaced is not None:
            return kind.namespaced
        try:
            return self.resource(kind).namespaced
        except (NoMatchError, UnreachableError, ApiError):
            return True

    def resource(self, kind: Kind) -> Resource:
        """NoMatchError, UnreachableError."""
        with self._asking:
            lock = self._locks.setdefault(kind.api_version, threading.Lock())
        with lock:
            known = self._groups.get(kind.api_version, {})
            if kind.name not in known:
                known = self._groups[kind.api_version] = self._listed(kind)
        if kind.name not in known:
            raise NoMatchError(kind)
        return known[kind.name]

    def path(self, kind: Kind, namespace: str, name: str = "") -> str:
        """The path of an object, or of all objects of the kind in a namespace."""
        found = self.resource(kind)
        space = f"/namespaces/{namespace or objects.DEFAULT_NAMESPACE}" if found.namespaced else ""
        return f"{_root(kind)}{space}/{found.plural}" + (f"/{name}" if name else "")

    def path_of(self, kind: Kind, thing: Mapping[str, Any]) -> str:
        return self.path(kind, objects.namespace(thing), objects.name(thing))

    def _listed(self, kind: Kind) -> dict[str, Resource]:
        found = self.api.find(_root(kind)) or {}
        return {
            each["kind"]: Resource(each["name"], bool(each["namespaced"]))
            for each in found.get("resources") or []
            if "/" not in each["name"]
        }


def _root(kind: Kind) -> str:
    return f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
