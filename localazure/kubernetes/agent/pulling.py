"""Pulls a container's image until that succeeds, with the states shown meanwhile and growing waits.

The result is the image's record, or None for an infrastructure image. Behaviour: kubelet v1.36.2,
pkg/kubelet/images/image_manager.go.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from azure_gpu.formats import image_reference
from localazure.kubernetes import infrastructure
from localazure.kubernetes.agent import controllers
from localazure.kubernetes.agent.environment import MissingError
from localazure.kubernetes.agent.images import Credential, PullError, credentials_of

if TYPE_CHECKING:
    from localazure.kubernetes.agent.container import Container
    from localazure.kubernetes.agent.pod import Pod

Body = dict[str, Any]
_FIRST_BACKOFF, _MOST_BACKOFF = 10.0, 300.0
_SHOWN_SECONDS = 2.0  # for which a failure is shown before the waiting for the next try is
_NEVER_SECONDS = 10.0


class Pulling:
    """For one run of one container."""

    def __init__(self, pod: "Pod", container: "Container") -> None:
        self._pod = pod
        self._container = container
        self._image: str = container.spec["image"]

    async def image(self) -> Body | None:
        if infrastructure.known(self._image):
            self._event("Normal", "Pulled", f'Container image "{self._image}" already present on machine')
            state = self._container.state
            state.image, state.image_id = self._image, self._image
            return None
        reference = image_reference.parse(self._image)
        if reference is None:
            await self._invalid()
        return await self._pulled(str(reference))

    async def _invalid(self) -> None:
        """For ever: the pod's image doesn't change by itself."""
        why = f'couldn\'t parse image name "{self._image}": invalid reference format'
        message = f'Failed to apply default image tag "{self._image}": {why}'
        while True:
            self._event("Warning", "InspectFailed", message)
            self._event("Warning", "Failed", "Error: InvalidImageName")
            self._wait("InvalidImageName", message)
            await asyncio.sleep(_FIRST_BACKOFF)

    async def _pulled(self, whole: str) -> Body:
        policy = self._container.spec.get("imagePullPolicy") or "IfNotPresent"
        present = self._pod.node.images
        backoff = _FIRST_BACKOFF
        while True:
            try:
                record = await self._try(whole, policy, present)
            except PullError as error:
                await self._failed(str(error), backoff)
                backoff = min(backoff * 2, _MOST_BACKOFF)
                continue
            if record is None:
                message = f'Container image "{self._image}" is not present with pull policy of Never'
                self._event("Warning", "ErrImageNeverPull", message)
                self._event("Warning", "Failed", "Error: ErrImageNeverPull")
                self._wait("ErrImageNeverPull", message)
                await asyncio.sleep(_NEVER_SECONDS)
                continue
            present[whole] = record
            state = self._container.state
            state.image, state.image_id = whole, f"{whole.partition('@')[0].rpartition(':')[0] or whole}@{record['digest']}"
            return record

    async def _try(self, whole: str, policy: str, present: dict[str, Body]) -> Body | None:
        if policy != "Always" and whole in present:
            self._event(
                "Normal", "Pulled", f'Container image "{self._image}" already present on machine and can be accessed by the pod'
            )
            return present[whole]
        if policy == "Never":
            return None
        self._event("Normal", "Pulling", f'Pulling image "{self._image}"')
        loop = asyncio.get_running_loop()
        began = loop.time()
        record = await self._record(whole)
        took = f"{int((loop.time() - began) * 1000)}ms"
        size = f"Image size: {record.get('size', 0)} bytes."
        self._event("Normal", "Pulled", f'Successfully pulled image "{self._image}" in {took} ({took} including waiting). {size}')
        return record

    async def _record(self, whole: str) -> Body:
        controller = controllers.of_image(whole)
        if controller is None:
            return await self._pod.registry.pull(whole, await self._credentials())
        settings = self._pod.node.settings
        found = controllers.record(controller, settings.groups, self._pod.node.folder / "images")
        if isinstance(found, str):
            raise PullError(f'failed to pull image "{self._image}": {found}')
        return found

    async def _failed(self, message: str, backoff: float) -> None:
        whole = f"rpc error: code = Unknown desc = {message}"
        self._event("Warning", "Failed", f'Failed to pull image "{self._image}": {whole}')
        self._event("Warning", "Failed", "Error: ErrImagePull")
        self._wait("ErrImagePull", whole)
        await asyncio.sleep(_SHOWN_SECONDS)
        waiting = f'Back-off pulling image "{self._image}"'
        self._event("Normal", "BackOff", waiting)
        self._event("Warning", "Failed", "Error: ImagePullBackOff")
        self._wait("ImagePullBackOff", f"{waiting}: ErrImagePull: {whole}")
        await asyncio.sleep(backoff - _SHOWN_SECONDS)

    async def _credentials(self) -> list[Credential]:
        found: list[Credential] = []
        missing: list[str] = []
        for one in self._pod.body["spec"].get("imagePullSecrets") or ():
            try:
                secret = await self._pod.sources.secret(one["name"], optional=False)
                found += credentials_of(secret or {})
            except MissingError:
                missing.append(one["name"])
        if missing:
            text = f"Unable to retrieve some image pull secrets ({', '.join(missing)})"
            self._pod.event(
                "Warning", "FailedToRetrieveImagePullSecret", f"{text}; attempting to pull the image may not succeed."
            )
        return found

    def _wait(self, reason: str, message: str) -> None:
        self._container.state.wait(reason, message)
        self._pod.changed()

    def _event(self, kind: str, reason: str, message: str) -> None:
        self._pod.event(kind, reason, message, self._container.path)
