"""Container groups of Azure Container Instances: containers that run together, as processes of this machine.

A group is created in the background: images pulled, containers started. The extra minutes that the service takes to find a GPU,
and limits on CPU and memory, are not imitated; `container_group_rules` says what is refused, `localazure/containers` how
containers run.
"""

import re
import uuid
from collections.abc import Mapping

from formats import azure_types
from formats.arm_ids import parse as parse_id
from localazure.arm.errors import ArmError
from localazure.arm.kind import Action, Answer, Call, Change, Kind, merged
from localazure.arm.store import Body, Resource
from localazure.containers.container_spec import ContainerSpec
from localazure.containers.images import Image
from localazure.kinds import container_group_images as images
from localazure.kinds import container_group_rules as rules
from localazure.kinds import container_group_view as views
from localazure.services import Services

_RUN = "run"  # in `private`: the id of the group's present run; containers of the same run are never started twice
_TAIL = re.compile(r"[0-9]{1,18}")
_STOPPED = "stopped"  # in `private`: whether a user stopped the group


class ContainerGroups(Kind):
    azure_type = azure_types.CONTAINER_GROUP
    # 2018-10-01: the files of the article of 2019. 2023-05-01: Microsoft's Python SDK for Container Instances 10.1.
    extra_api_versions = frozenset({"2018-10-01", "2023-05-01"})
    long_running = True
    delete_shows_resource = True

    @property
    def actions(self) -> Mapping[str, Action]:
        return {"stop": self.stop, "start": self.start, "restart": self.restart}

    @property
    def reads(self) -> Mapping[str, Action]:
        return {"containers/{container}/logs": self.logs}

    def busy(self, resource: Resource) -> ArmError:
        # Microsoft Learn, troubleshoot/azure/azure-container-instances, "Container group remains in transitioning state"
        message = f"The container group '{resource.id.name}' is still transitioning, please retry later."
        return ArmError(409, "ContainerGroupTransitioning", message)

    def normalise(self, body: Body) -> Body:
        """Files of 2019 spell `memoryInGb`, which the service takes as `memoryInGB`."""
        containers = (body.get("properties") or {}).get("containers")
        for container in containers if isinstance(containers, list) else []:
            resources = (container.get("properties") or {}).get("resources") if isinstance(container, dict) else None
            requests = resources.get("requests") if isinstance(resources, dict) else None
            if isinstance(requests, dict) and "memoryInGb" in requests and "memoryInGB" not in requests:
                requests["memoryInGB"] = requests.pop("memoryInGb")
        return body

    def check(self, change: Change) -> None:
        rules.check(change)
        _check_identities(change)
        _check_diagnostics(change)
        images.check_access(change.id.name, change.body, change.services)

    def defaults(self, change: Change) -> Body:  # noqa: ARG002
        return {"properties": {"restartPolicy": rules.DEFAULT_RESTART_POLICY, "sku": rules.DEFAULT_SKU}}

    async def provision(self, change: Change) -> Body:
        """A group that has ended is deployed as new by an update, as the service does; a living one keeps what didn't change."""
        resource, runtime = _of(change), change.services.runtime
        if change.creating or views.has_ended(runtime.states(resource.key)):
            _begin_run(resource, change.services)
        await self._run(resource, change.services)
        return _own_identity(resource, change.services)

    async def resume(self, change: Change) -> Body:
        resource = _of(change)
        if _RUN not in resource.private:
            _begin_run(resource, change.services)
        await self._run(resource, change.services)
        return _own_identity(resource, change.services)

    async def resume_action(self, action: str, resource: Resource, services: Services) -> None:
        if action == "start":
            await self._run(resource, services)

    async def remove(self, resource: Resource, services: Services) -> None:
        await services.runtime.remove(resource.key)

    async def started(self, services: Services) -> None:
        await services.runtime.adopt(group.key for group in services.store.of_type(self.arm_type))

    def view(self, resource: Resource, services: Services) -> Body:
        body = merged(resource.body, resource.service)
        states = services.runtime.states(resource.key)
        properties = body["properties"]
        containers = [
            {
                **container,
                "properties": {**container["properties"], "instanceView": views.container_view(states.get(container["name"]))},
            }
            for container in properties["containers"]
        ]
        state = views.group_state(states, stopped=resource.private.get(_STOPPED, False))
        shown = {**body, "properties": {**properties, "containers": containers, "instanceView": {"events": [], "state": state}}}
        attached = (body.get("identity") or {}).get("userAssignedIdentities")
        if attached:
            identities = {identity_id: _principal(identity_id, services) for identity_id in attached}
            shown["identity"] = {**body["identity"], "userAssignedIdentities": identities}
        return shown

    async def stop(self, resource: Resource, call: Call) -> Answer:
        resource.private[_STOPPED] = True
        call.services.store.put(resource)
        await call.services.runtime.stop(resource.key)
        return Answer(status=204)

    async def start(self, resource: Resource, call: Call) -> Answer:
        """Starts a group that has ended; one that runs goes on."""
        if not views.has_ended(call.services.runtime.states(resource.key)):
            return Answer(status=204)
        images.check_access(resource.id.name, resource.body, call.services)
        _begin_run(resource, call.services)
        return Answer(status=202, work=lambda: self._run(resource, call.services))

    async def restart(self, resource: Resource, call: Call) -> Answer:
        images.check_access(resource.id.name, resource.body, call.services)
        _begin_run(resource, call.services)
        await self._run(resource, call.services)
        return Answer(status=204)

    async def logs(self, resource: Resource, call: Call) -> Answer:
        """What a container's last run printed. `tail`: the last lines only; `timestamps=true`: each behind its time."""
        name = call.path["container"]
        if name not in {container["name"] for container in resource.properties["containers"]}:
            # The service's own code isn't known.
            message = f"The container '{name}' is not found in container group '{resource.id.name}'."
            raise ArmError(404, "ContainerNotFound", message, target="containerName")
        tail = call.query.get("tail")
        if tail is not None and not _TAIL.fullmatch(tail):
            raise ArmError(400, "InvalidParameter", f"tail takes a number of lines; '{tail}' isn't one.", target="tail")
        timestamps = call.query.get("timestamps", "false").lower() == "true"
        lines = None if tail is None else int(tail)
        return Answer(body={"content": call.services.runtime.logs(resource.key, name, lines, timestamps=timestamps)})

    async def _run(self, resource: Resource, services: Services) -> None:
        """Pulls the images and makes the group's containers what its body says."""
        specs = []
        for container in resource.properties["containers"]:
            text = container["properties"]["image"]
            pulling = _event("Pulling", f'pulling image "{text}"', services)
            image = await images.pull(container, resource.id.name, services)
            pulled = _event("Pulled", f'Successfully pulled image "{text}"', services)
            specs.append(_spec(resource, container, image, (pulling, pulled)))
        await services.runtime.start(resource.key, specs)


def _spec(resource: Resource, container: Body, image: Image, events: tuple[Body, ...]) -> ContainerSpec:
    properties = container["properties"]
    variables = properties.get("environmentVariables") or []
    gpu = properties["resources"]["requests"].get("gpu")
    return ContainerSpec(
        name=container["name"],
        image=image,
        command=tuple(properties.get("command") or ()),
        env={one["name"]: one.get("secureValue", one.get("value", "")) for one in variables},
        restart_policy=resource.properties["restartPolicy"],
        gpu_count=int(gpu["count"]) if gpu else 0,
        run=resource.private[_RUN],
        events=events,
    )


def _event(name: str, message: str, services: Services) -> Body:
    now = services.clock.stamp()
    return {"count": 1, "firstTimestamp": now, "lastTimestamp": now, "name": name, "message": message, "type": "Normal"}


def _begin_run(resource: Resource, services: Services) -> None:
    """A new run, remembered before anything of it starts: whoever takes up the work after a kill goes on with the same one."""
    resource.private[_RUN] = uuid.uuid4().hex
    resource.private[_STOPPED] = False
    services.store.put(resource)


def _own_identity(resource: Resource, services: Services) -> Body:
    """The principal of a group with an identity of its own; it keeps it over updates."""
    if "SystemAssigned" not in (resource.body.get("identity") or {}).get("type", ""):
        return {}
    before = resource.service.get("identity") or {}
    return {"identity": {"principalId": str(uuid.uuid4()), "tenantId": services.settings.tenant_id, **before}}


def _check_identities(change: Change) -> None:
    identity = change.body.get("identity") or {}
    for identity_id in identity.get("userAssignedIdentities") or {}:
        parsed = parse_id(identity_id)
        is_identity = parsed is not None and parsed.is_type(azure_types.USER_ASSIGNED_IDENTITY.arm_type)
        if parsed is None or not is_identity or change.services.store.get(parsed.key) is None:
            # The service's own code for this isn't known.
            raise ArmError(
                400,
                "FailedIdentityOperation",
                f"Identity operation for resource '{change.id.text}' failed: there is no user-assigned identity '{identity_id}'.",
                target="identity.userAssignedIdentities",
            )


def _principal(identity_id: str, services: Services) -> Body:
    """The ids of an attached identity; nothing for one that was deleted since."""
    parsed = parse_id(identity_id)
    identity = services.store.get(parsed.key) if parsed else None
    if identity is None:
        return {}
    properties = identity.service["properties"]
    return {"principalId": properties["principalId"], "clientId": properties["clientId"]}


def _check_diagnostics(change: Change) -> None:
    """Logs go to a workspace that is there, with a key that is right. The service's own code for this isn't known."""
    analytics = (change.properties.get("diagnostics") or {}).get("logAnalytics")
    if not analytics:
        return
    workspaces = change.services.store.of_type(azure_types.LOG_WORKSPACE.arm_type)
    workspace = next((one for one in workspaces if one.service["properties"]["customerId"] == analytics["workspaceId"]), None)
    target = "properties.diagnostics.logAnalytics"
    if workspace is None:
        message = f"There is no Log Analytics workspace with the workspace id '{analytics['workspaceId']}'."
        raise ArmError(400, rules.INVALID, message, target=f"{target}.workspaceId")
    if analytics.get("workspaceKey") not in workspace.private["keys"].values():
        message = f"The workspaceKey isn't a key of the Log Analytics workspace '{workspace.id.name}'."
        raise ArmError(400, rules.INVALID, message, target=f"{target}.workspaceKey")


def _of(change: Change) -> Resource:
    if change.resource is None:
        raise ValueError("a change is provisioned with its stored record")
    return change.resource
