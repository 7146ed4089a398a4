"""A run of a container group: images pulled, volumes made, containers started, init containers awaited.

A run is stored before anything of it starts: after a kill the same run is resumed, and containers
of the same run are never started twice. In a resource's `private`: `run` (its id), `stopped` (a user stopped the group),
`failures` (containers that couldn't be started, by name, until the next run) and `events` (of the group).
"""

import asyncio
import logging
import uuid
from collections.abc import Mapping

from localazure.arm.errors import ArmError, refused
from localazure.arm.store import Body, Resource
from localazure.containers.images import Image
from localazure.containers.runtime import Runtime
from localazure.containers.volumes import MountFailedError
from localazure.kinds import (
    container_group_images as images,
    container_group_specs as specs,
    container_group_view as views,
    container_group_volumes as volumes,
)
from localazure.services import Services
from localazure.weather import reach

RUN, STOPPED, FAILURES, EVENTS = "run", "stopped", "failures", "events"
INIT_SECONDS = 30 * 60  # after which a deployment has failed: Microsoft Learn, container-instances/container-state
_POLL_SECONDS = 0.05
log = logging.getLogger(__name__)
_PULL_FAILED = "ErrImagePull"  # Kubernetes' word; the service's isn't known


def begin(resource: Resource, services: Services) -> None:
    """A new run. What the last one left to say is forgotten."""
    resource.private[RUN] = uuid.uuid4().hex
    resource.private[STOPPED] = False
    resource.private[FAILURES] = {}
    resource.private[EVENTS] = []
    services.store.put(resource)


def leave_stopped(resource: Resource, services: Services) -> None:
    """A run that is over before anything of it has started."""
    resource.private[STOPPED] = True
    services.store.put(resource)


def has_begun(resource: Resource) -> bool:
    return RUN in resource.private


async def run(resource: Resource, runtime: Runtime, services: Services) -> None:
    """Makes the group's containers what its body says. ArmError where an image or a volume isn't available."""
    run_id = resource.private[RUN]
    pulled = {one["name"]: await _pulled(resource, one, services) for one in specs.all_containers(resource.body)}
    try:
        around = reach.proxies() if reach.leads_nowhere(resource.properties.get("subnetIds") or [], services) else {}
        made = volumes.made_of(resource.id.name, run_id, resource.body, services)
        await runtime.start(resource.key, specs.specs(resource, run_id, pulled, around), made)
    except MountFailedError as error:
        name, message = volumes.FAILED_MOUNT
        resource.private[EVENTS] = [event(name, message, services, "Warning")]
        services.store.put(resource)
        raise failed(str(error)) from error


async def restart(resource: Resource, runtime: Runtime, services: Services) -> None:
    """Ends what runs of the group, and starts all of it again."""
    images.check_access(resource.id.name, resource.body, services)
    begin(resource, services)
    await run(resource, runtime, services)


async def restart_of_its_own_accord(resource: Resource, runtime: Runtime, services: Services) -> None:
    """The service restarts a group that nobody has stopped. What goes wrong is shown by the group and refused to nobody."""
    if resource.private.get(STOPPED) or services.store.operation_in_progress(resource.key) is not None:
        return
    try:
        await restart(resource, runtime, services)
    except ArmError as error:
        log.info("%s: %s", resource.key, error)


async def until_init_containers_have_run(resource: Resource, runtime: Runtime) -> None:
    """ArmError where one of them failed for good, or none gets on."""
    init = specs.init_names(resource.body)
    for _ in range(int(INIT_SECONDS / _POLL_SECONDS)):
        states = runtime.states(resource.key)
        if views.has_begun(states, init):
            return
        if views.has_failed(states, init):
            raise failed("An init container failed, and the restart policy Never doesn't start it again")
        await asyncio.sleep(_POLL_SECONDS)
    raise failed(f"The init containers didn't end within {INIT_SECONDS // 60} minutes")


def failed(why: str) -> ArmError:
    """ARM's own code and sentence for a resource that ended as Failed, and why among the details."""
    return refused("group: failed", details=[refused("group: failed, why", why=why)])


async def _pulled(resource: Resource, container: Body, services: Services) -> tuple[Image, specs.Events]:
    text = container["properties"]["image"]
    pulling = event("Pulling", f'pulling image "{text}"', services)
    try:
        images.check_access(resource.id.name, _alone(resource.body, container), services)
        image = await images.pull(container, resource.id.name, services)
    except ArmError as error:
        reason = error.details[0].message if error.details else error.message
        events = [pulling, event("Failed", f'Failed to pull image "{text}": {reason}', services, "Warning")]
        resource.private[FAILURES] = {container["name"]: {"detailStatus": f"{_PULL_FAILED}: {reason}", "events": events}}
        services.store.put(resource)
        raise
    return image, (pulling, event("Pulled", f'Successfully pulled image "{text}"', services))


def _alone(body: Body, container: Body) -> Body:
    """The group as if this were its only container."""
    return {**body, "properties": {**body["properties"], "initContainers": [], "containers": [container]}}


def event(name: str, message: str, services: Services, kind: str = "Normal") -> Body:
    now = services.clock.stamp()
    return {"count": 1, "firstTimestamp": now, "lastTimestamp": now, "name": name, "message": message, "type": kind}


def failures(resource: Resource) -> Mapping[str, views.Failure]:
    return resource.private.get(FAILURES) or {}


def events(resource: Resource) -> list[Body]:
    return list(resource.private.get(EVENTS) or [])
