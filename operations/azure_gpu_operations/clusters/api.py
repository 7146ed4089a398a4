"""Client of one Kubernetes cluster: objects, logs, exec, a pod's port.

Returns plain JSON values; ClusterError, in one line, if the cluster refuses or doesn't answer. Every request has a timeout, so
that a dead cluster is noticed. Imported only when needed: the client takes seconds to load.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from azure_gpu_operations.clusters.errors import ClusterError

CONNECT_SECONDS = 10
ANSWER_SECONDS = 30
SILENCE_SECONDS = 300  # without output, after which a followed log is opened again
PAGE = 500
_PATCHES = {"merge": "application/merge-patch+json"}


class ClusterApi:
    """One cluster. Paths are those of the API, such as /api/v1/nodes. `way_in`: the fix where nothing answers."""

    def __init__(self, api_client: Any, server: str, way_in: str = "") -> None:
        self._client = api_client
        self.server = server
        self._way_in = way_in

    def get(self, path: str) -> dict[str, Any] | None:
        """The object, None on 404."""
        try:
            return self._json("GET", path)
        except ClusterError as error:
            if error.status != 404:
                raise
            return None

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """All pages of a list."""
        found: list[dict[str, Any]] = []
        more = ""
        while True:
            page = self._json("GET", path, {"limit": str(PAGE), **query, **({"continue": more} if more else {})})
            found += page.get("items") or []
            more = (page.get("metadata") or {}).get("continue") or ""
            if not more:
                return found

    def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._json("POST", path, body=body)

    def merge(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A merge patch."""
        return self._json("PATCH", path, body=body, content=_PATCHES["merge"])

    def delete(self, path: str) -> None:
        """Deletes an object, and its dependents in the background. A missing one is fine."""
        try:
            self._json("DELETE", path, body={"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"})
        except ClusterError as error:
            if error.status != 404:
                raise

    def log(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        follow: bool = False,
        since: str = "",
        tail: int | None = None,
        previous: bool = False,
    ) -> Iterator[str]:
        """Lines with the time at which each was written, `2026-11-22T10:00:00.123456789Z text`. `since`: RFC 3339; `previous`: of
        the container's run before this one."""
        query = {"container": container, "timestamps": "true"}
        query |= {"follow": "true"} if follow else {}
        query |= {"sinceTime": since} if since else {}
        query |= {"previous": "true"} if previous else {}
        query |= {"tailLines": str(tail)} if tail is not None else {}
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
        answer = self._send("GET", path, query, silence=SILENCE_SECONDS if follow else ANSWER_SECONDS, headers={"Accept": "*/*"})
        rest = b""
        try:
            for part in answer.stream(amt=None if not follow else 65536, decode_content=True):
                *lines, rest = (rest + part).split(b"\n")
                yield from (line.decode("utf-8", errors="replace") for line in lines)
        except HTTPError as error:
            raise ClusterError(f"the log of {pod} broke off: {_first(error)}") from error
        finally:
            answer.release_conn() if not follow else answer.close()
        if rest:
            yield rest.decode("utf-8", errors="replace")

    def close(self) -> None:
        self._client.close()

    def _json(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content: str = "application/json",
    ) -> dict[str, Any]:
        answer = self._send(method, path, query, body, headers={"Accept": "application/json", "Content-Type": content})
        try:
            return json.loads(answer.data or b"{}")
        except (ValueError, HTTPError) as error:
            raise ClusterError(f"the cluster at {self.server} gave an invalid answer: {_first(error)}", 502) from error

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        *,
        silence: float = ANSWER_SECONDS,
        headers: Mapping[str, str],
    ) -> Any:
        try:
            return self._client.call_api(
                path,
                method,
                query_params=list((query or {}).items()),
                header_params=dict(headers),
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _request_timeout=(CONNECT_SECONDS, silence),
            )
        except ApiException as error:
            if not error.status:
                text = f"the cluster at {self.server} can't be reached: {_first(error.reason)}"
                raise ClusterError(text, fix=self._way_in) from error
            raise ClusterError(_reason(error), error.status) from error
        except (HTTPError, OSError) as error:
            text = f"the cluster at {self.server} doesn't answer: {_cause(error)}"
            raise ClusterError(text, fix=self._way_in) from error


def _reason(error: ApiException) -> str:
    """The API's own message."""
    body: Any = error.body
    try:
        status = json.loads(body or "")
        return f"{status.get('reason') or error.reason}: {status['message']}"
    except (ValueError, KeyError, TypeError, AttributeError):
        text = body.decode("utf-8", errors="replace") if isinstance(body, bytes) else str(body or "")
        return f"HTTP {error.status}: {_first(text or error.reason or '')}"


def _cause(error: BaseException) -> str:
    """The cause below urllib3's message about its retries."""
    reason = getattr(error, "reason", None)
    return _first(reason if isinstance(reason, BaseException) else error)


def _first(text: object) -> str:
    lines = str(text).strip().splitlines()
    return lines[0][:500] if lines else type(text).__name__
