"""The ConfigMaps and Secrets of one namespace, as a pod's variables and volumes ask for them.

A 404 is `MissingError` in the kubelet's words. Nothing is kept: what a container starts with is what holds at that moment.
"""

import base64

from localazure.kubernetes.client import KubeApi


class MissingError(Exception):
    """What a pod refers to doesn't exist."""


class Sources:
    """One pod's namespace."""

    def __init__(self, api: KubeApi, namespace: str) -> None:
        self._api = api
        self.namespace = namespace

    async def config_map(self, name: str, *, optional: bool) -> dict[str, bytes] | None:
        found = await self._api.find(f"/api/v1/namespaces/{self.namespace}/configmaps/{name}")
        if found is None:
            return _none_of(f'configmap "{name}" not found', optional=optional)
        texts = {key: text.encode() for key, text in (found.get("data") or {}).items()}
        return texts | {key: base64.b64decode(text) for key, text in (found.get("binaryData") or {}).items()}

    async def secret(self, name: str, *, optional: bool) -> dict[str, bytes] | None:
        found = await self._api.find(f"/api/v1/namespaces/{self.namespace}/secrets/{name}")
        if found is None:
            return _none_of(f'secret "{name}" not found', optional=optional)
        return {key: base64.b64decode(text) for key, text in (found.get("data") or {}).items()}


def _none_of(message: str, *, optional: bool) -> None:
    if not optional:
        raise MissingError(message)
