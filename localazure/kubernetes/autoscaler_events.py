"""The events of the cluster autoscaler, as `kubectl describe pod` shows them.

They are core/v1 Events, each sent once until it changes.
"""

import logging
import uuid
from datetime import UTC, datetime

from localazure.kubernetes.autoscaler_views import PodView
from localazure.kubernetes.client import KubeApi, KubeError

SOURCE = "cluster-autoscaler"
log = logging.getLogger(__name__)


class Events:
    """Those of one cluster's autoscaler."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self._said: dict[tuple[str, str], str] = {}  # by object and reason: the last message

    async def of_pod(self, pod: PodView, reason: str, message: str, kind: str = "Normal") -> None:
        about = {"apiVersion": "v1", "kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
        await self._say(about, pod.namespace, reason, message, kind)

    async def of_node(self, name: str, reason: str, message: str, kind: str = "Normal") -> None:
        await self._say({"apiVersion": "v1", "kind": "Node", "name": name, "uid": name}, "default", reason, message, kind)

    async def of_itself(self, reason: str, message: str, kind: str = "Normal") -> None:
        """About its status, where it speaks of whole pools."""
        about = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "kube-system", "name": "cluster-autoscaler-status"}
        await self._say(about, "kube-system", reason, message, kind)

    def keep(self, uids: set[str]) -> None:
        """Forgets what was said of pods that are gone."""
        self._said = {key: message for key, message in self._said.items() if key[0] in uids or "/" in key[0]}

    async def _say(self, about: dict[str, str], namespace: str, reason: str, message: str, kind: str) -> None:
        key = (about.get("uid") or f"{about['kind']}/{about['name']}", reason)
        if self._said.get(key) == message:
            return
        self._said[key] = message
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{about['name']}.{uuid.uuid4().hex[:16]}", "namespace": namespace},
            "involvedObject": about,
            "reason": reason,
            "message": message,
            "type": kind,
            "source": {"component": SOURCE},
            "reportingComponent": SOURCE,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            await self._api.create(f"/api/v1/namespaces/{namespace}/events", body)
        except KubeError as error:
            log.debug("an event was not written: %s", error)
