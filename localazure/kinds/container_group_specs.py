"""The specs that the runtime starts a container group from: one for each container, init containers first."""

from collections.abc import Mapping
from dataclasses import replace

from localazure.arm.store import Body, Resource
from localazure.containers.container_spec import ContainerSpec, Http, Probe
from localazure.containers.images import Image
from localazure.containers.volumes import Mount
from localazure.kinds.container_group_capacity import GPU_CORES

Events = tuple[Body, ...]
GIB = 1024**3
# Microsoft Learn, container-instances-init-container: an init container isn't restarted once it has succeeded.
_INIT_POLICY = {"Always": "OnFailure", "OnFailure": "OnFailure", "Never": "Never"}
_PROBES = {"liveness": "livenessProbe", "readiness": "readinessProbe"}
_TIMINGS = {
    "initialDelaySeconds": "initial_delay_seconds",
    "periodSeconds": "period_seconds",
    "timeoutSeconds": "timeout_seconds",
    "failureThreshold": "failure_threshold",
}


def all_containers(body: Body) -> list[Body]:
    """Init containers and containers, in the order in which they start."""
    return [*(body["properties"].get("initContainers") or []), *body["properties"]["containers"]]


def init_names(body: Body) -> tuple[str, ...]:
    return tuple(container["name"] for container in body["properties"].get("initContainers") or [])


def specs(
    resource: Resource, run: str, pulled: Mapping[str, tuple[Image, Events]], surroundings: Mapping[str, str]
) -> list[ContainerSpec]:
    """`pulled`: image and events by the container's name; `surroundings`: variables that come from where the group is."""
    init, found = init_names(resource.body), all_containers(resource.body)
    made = [_spec(resource, container, init, run, *pulled[container["name"]]) for container in found]
    return [replace(each, env={**surroundings, **each.env}) for each in made] if surroundings else made


def _spec(resource: Resource, container: Body, init: tuple[str, ...], run: str, image: Image, events: Events) -> ContainerSpec:
    name, properties = container["name"], container["properties"]
    variables = properties.get("environmentVariables") or []
    policy = resource.properties["restartPolicy"]
    is_init = name in init
    gpus = _gpus(resource.body) if is_init else _gpu(container)
    return ContainerSpec(
        name=name,
        image=image,
        command=tuple(properties.get("command") or ()),
        env={one["name"]: one.get("secureValue", one.get("value", "")) for one in variables},
        restart_policy=_INIT_POLICY[policy] if is_init else policy,
        gpu_count=gpus,
        run=run,
        events=events,
        after=init[: init.index(name)] if is_init else init,
        mounts=tuple(Mount(one["name"], one["mountPath"].rstrip("/")) for one in properties.get("volumeMounts") or []),
        probes={ours: _probe(properties[theirs]) for ours, theirs in _PROBES.items() if properties.get(theirs)},
        memory_bytes=int((_total_gb(resource.body) if is_init else _limit_gb(container)) * GIB),
    )


def _probe(probe: Body) -> Probe:
    timings = {ours: probe[theirs] for theirs, ours in _TIMINGS.items() if theirs in probe}
    http = probe.get("httpGet")
    if not http:
        return Probe(command=tuple(probe["exec"]["command"]), **timings)
    path = http.get("path") or "/"
    headers = {one["name"]: one.get("value", "") for one in http.get("httpHeaders") or [] if one.get("name")}
    scheme = (http.get("scheme") or "http").lower()
    whole = path if path.startswith("/") else f"/{path}"
    return Probe(http=Http(port=http["port"], path=whole, scheme=scheme, headers=headers), **timings)


def _limit_gb(container: Body) -> float:
    """What a container may use: its limit, or its request (Microsoft Learn, container-instances-container-groups)."""
    resources = container["properties"]["resources"]
    return (resources.get("limits") or {}).get("memoryInGB") or resources["requests"]["memoryInGB"]


def _total_gb(body: Body) -> float:
    """What the group requests, all of which an init container may use."""
    return sum(container["properties"]["resources"]["requests"]["memoryInGB"] for container in body["properties"]["containers"])


def _gpu(container: Body) -> int:
    gpu = container["properties"]["resources"]["requests"].get("gpu")
    return int(gpu["count"]) if gpu and gpu["sku"] in GPU_CORES else 0


def _gpus(body: Body) -> int:
    return sum(_gpu(container) for container in body["properties"]["containers"])
