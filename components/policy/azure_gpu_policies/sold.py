"""Checks availability by the catalog: retired or retiring sizes, GPU SKUs and features, unsupported sizes, regions."""

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import Any

from azure_gpu.catalog import container_groups, lifecycle, offers, regions
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import container_instances
from azure_gpu.catalog.services.aks import kubernetes_versions, systems
from azure_gpu.catalog.services.batch import images
from azure_gpu.catalog.services.machine_learning import compute
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference, find, image_problems
from azure_gpu.catalog.size_use import Service
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu.formats import azure_types
from azure_gpu_policies.known import at, entries, is_word, mapping, number, text
from azure_gpu_policies.machines import Machines, machines_of
from azure_gpu_policies.model import DATED, PolicySettings, Setting, number as a_number, policy, texts
from azure_gpu_policies.resources import Resource, Stack

_NOT_SOLD = (Code.NOT_OFFERED, Code.IMPOSSIBLE, Code.WRONG_DRIVER, Code.UNKNOWN)  # UNKNOWN, as an error: a misspelt name


def problems_of(resource: Resource, region: str, day: date) -> list[Problem]:
    """Returns all problems of the catalog for the resource. `region`: "" where it isn't known."""
    found = [problem for each in machines_of(resource) for problem in _of_machines(each, region, day)]
    if resource.type == azure_types.CONTAINER_GROUP.token:
        found += _container_group(resource, region, day)
    read = _READERS.get(resource.type)
    return [*found, *read(resource, day)] if read is not None else found


def _retired(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    day = settings.day(resource)
    yield from _of_code(problems_of(resource, resource.location, day), Code.RETIRED)


def _retiring(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    """Finds ends within the configured number of days."""
    day, days = settings.day(resource), int(settings["days"])

    def rules(on: date) -> Iterable[Problem]:
        return _of_code(problems_of(resource, resource.location, on), Code.RETIRED, Code.RETIRING)

    for problem in rules(day):
        if problem.code is Code.RETIRING and problem.end is not None and (problem.end.day - day).days <= days:
            yield problem
    if days > lifecycle.WARNING_DAYS:
        known = {problem.path for problem in rules(day)}
        for problem in lifecycle.through(rules, day, date.fromordinal(min(day.toordinal() + days, date.max.toordinal()))):
            if problem.code is Code.RETIRING and problem.path not in known:
                yield problem


def _not_offered(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    """Finds unsupported sizes, except retired ones."""
    found = problems_of(resource, resource.location, settings.day(resource))
    ended = {problem.path for problem in _of_code(found, Code.RETIRED)}
    for problem in found:
        if problem.code in _NOT_SOLD and problem.severity is Severity.ERROR and problem.path not in ended:
            yield problem


def _not_in_region(stack: Stack, settings: PolicySettings) -> Iterator[tuple[Resource, Problem]]:
    """Finds sizes that aren't sold in their region, and regions and sizes that no list has."""
    for resource in stack.resources:
        region, machines = stack.location(resource), machines_of(resource)
        found = [SIZES.unknown(each.size, each.path) for each in machines if _is_new(each)]
        if region and machines:
            if any(each.has_gpu or _is_new(each) for each in machines):
                found += regions.check(region, resource.path("location"))
            day = settings.day(resource, *stack.around(resource))
            for problem in _of_code(problems_of(resource, region, day), Code.NOT_IN_REGION, Code.NOT_LISTED):
                if problem.code is Code.NOT_IN_REGION or problem.value == region:  # else a list of sizes lacks the size
                    found.append(problem._replace(value=problem.value or region))
        yield from ((resource, each) for each in found if each.code is not Code.UNKNOWN or each.severity is Severity.WARNING)


def _is_new(machines: Machines) -> bool:
    """Whether it is a size of which nothing is known, with a GPU by its family's letter."""
    sized = machines.service not in (Service.CONTAINER_INSTANCES, Service.CONTAINER_APPS)
    return sized and SIZES.find(machines.size) is None and normalise(machines.size).lower().startswith("standard_n")


def _allowed_regions(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    region = text(resource.properties, "location")
    allowed = {regions.normalise(str(each)) for each in settings["regions"]}
    if resource.is_azure and region and allowed and regions.normalise(region) not in allowed | {"global"}:
        yield Problem(
            path=resource.path("location"),
            message="not a region of the organization",
            value=region,
            allowed=", ".join(sorted(allowed)),
            fix="choose one of those allowed",
        )


def _of_code(problems: Iterable[Problem], *codes: Code) -> Iterator[Problem]:
    return (each for each in problems if each.code in codes)


def _of_machines(machines: Machines, region: str, day: date) -> Iterator[Problem]:
    if machines.service is Service.CONTAINER_INSTANCES:  # checked as a whole group below
        return
    size = SIZES.find(machines.size) if machines.service is not Service.CONTAINER_APPS else None
    later = size.lifecycle.end_elsewhere.values() if size is not None and not region else ()
    for problem in offers.check(machines.use(region), day, prices=packaged()):
        if problem.code is Code.RETIRED and any(end.day >= day for end in later):
            continue  # some regions still have it, and this one isn't known
        yield problem


def _container_group(resource: Resource, region: str, day: date) -> Iterable[Problem]:
    if not machines_of(resource):
        return []
    containers: list[container_instances.ContainerRequest] = []
    images: list[container_groups.Image] = []
    for index, each in entries(resource.properties, "containers"):
        here = f"containers[{index}].resources.requests"
        requests = at(each, "resources", "requests")
        cpu, memory = at(requests, "cpu"), at(requests, "memoryInGB")
        sku = text(requests, "gpu", "sku")
        images.append(container_groups.Image(text(each, "image"), resource.path(f"containers[{index}].image")))
        containers.append(
            container_instances.ContainerRequest(
                name=text(each, "name"),
                cpu=float(cpu) if isinstance(cpu, int | float) else container_instances.DEFAULT_CPU,
                memory_gb=float(memory) if isinstance(memory, int | float) else container_instances.DEFAULT_MEMORY_GB,
                gpu_count=(number(requests, "gpu", "count") or 1) if sku else None,
                gpu_sku=sku,
                cpu_path=resource.path(f"{here}.cpu"),
                memory_path=resource.path(f"{here}.memoryInGB"),
                gpu_count_path=resource.path(f"{here}.gpu.count"),
                gpu_sku_path=resource.path(f"{here}.gpu.sku"),
            )
        )
    request = container_instances.GroupRequest(
        location=region,
        os_type=text(resource.properties, "osType") or "Linux",
        in_virtual_network=any(True for _ in entries(resource.properties, "subnetIds")),
        containers=tuple(containers),
        location_path=resource.path("location"),
        os_type_path=resource.path("osType"),
        network_path=resource.path("subnetIds"),
        spot=is_word(at(resource.properties, "priority"), "Spot"),
        spot_path=resource.path("priority"),
    )
    found = container_groups.check(request, images, day, packaged())
    ended = any(each.code is Code.RETIRED for each in found)
    # Regions and amounts don't matter after the retirement.
    return [
        each for each in found if (each.code is Code.RETIRED or not ended) and (region or each.code is not Code.NOT_IN_REGION)
    ]


def _batch_pool(resource: Resource, day: date) -> Iterator[Problem]:
    found = resource.properties
    configuration = at(found, "deploymentConfiguration")
    if mapping(configuration, "cloudServiceConfiguration") is not None:
        path = resource.path("deploymentConfiguration.cloudServiceConfiguration")
        yield from lifecycle.of_part("batch.cloud_services", day, path, None)
    if any(True for _ in entries(found, "certificates")):
        yield from lifecycle.of_part("batch.pool_certificates", day, resource.path("certificates"), None)
    if is_word(at(found, "targetNodeCommunicationMode"), "Classic"):
        path = resource.path("targetNodeCommunicationMode")
        yield from lifecycle.of_part("batch.classic_communication", day, path, "Classic")
    here = "deploymentConfiguration.virtualMachineConfiguration"
    machine = at(configuration, "virtualMachineConfiguration")
    image_id = text(machine, "imageReference", "id")
    if "/microsoft.compute/images/" in image_id.lower():
        yield from lifecycle.of_part("batch.managed_image", day, resource.path(f"{here}.imageReference.id"), image_id)
    agent = text(machine, "nodeAgentSkuId")
    if agent and images.find_agent(agent) is not None:
        yield from images.agent_problems(agent, day, resource.path(f"{here}.nodeAgentSkuId"))
    yield from _image(at(machine, "imageReference"), day, resource.path(f"{here}.imageReference"), in_batch=True)


def _machine(resource: Resource, day: date) -> Iterator[Problem]:
    where = "storageProfile.imageReference"
    if machines_of(resource) and any(each.has_gpu for each in machines_of(resource)):
        yield from _image(at(resource.properties, "storageProfile", "imageReference"), day, resource.path(where), in_batch=False)


def _image(image: Any, day: date, path: str, *, in_batch: bool) -> Iterator[Problem]:
    reference = ImageReference(text(image, "publisher"), text(image, "offer"), text(image, "sku"))
    if all(reference) and find(reference, IMAGES) is not None:
        yield from image_problems(reference, day, path, IMAGES, in_batch=in_batch)


def _cluster(resource: Resource, day: date) -> Iterator[Problem]:
    found = resource.properties
    lts = is_word(at(found, "supportPlan"), "AKSLongTermSupport")
    yield from _version(text(found, "kubernetesVersion"), day, resource.path("kubernetesVersion"), lts=lts)
    for index, pool in entries(found, "agentPoolProfiles"):
        here = f"agentPoolProfiles[{index}]"
        version = text(pool, "orchestratorVersion")
        yield from _version(version, day, resource.path(f"{here}.orchestratorVersion"), lts=lts)
        version = version or text(found, "kubernetesVersion")
        yield from _system(text(pool, "osSKU"), version, day, resource.path(f"{here}.osSKU"))
    plugin = text(found, "networkProfile", "networkPlugin")
    if plugin:
        yield from systems.check_network_plugin(plugin, day, resource.path("networkProfile.networkPlugin"))
    balancer = text(found, "networkProfile", "loadBalancerSku")
    yield from systems.check_load_balancer(balancer, day, resource.path("networkProfile.loadBalancerSku"))


def _agent_pool(resource: Resource, day: date) -> Iterator[Problem]:
    """Checks a pool as if its cluster had the long-term support plan, which isn't known here."""
    version = text(resource.properties, "orchestratorVersion")
    yield from _version(version, day, resource.path("orchestratorVersion"), lts=True)
    yield from _system(text(resource.properties, "osSKU"), version, day, resource.path("osSKU"))


def _version(version: str, day: date, path: str, *, lts: bool) -> Iterable[Problem]:
    return kubernetes_versions.check(version, day, path, lts=lts) if kubernetes_versions.number(version) else ()


def _system(name: str, version: str, day: date, path: str) -> Iterator[Problem]:
    yield from systems.check_version(name, version, day, path)
    sku = systems.OS_SKUS.get(name)
    if sku is not None:
        what, fix = f"the OS SKU {name} on AKS", f"write {' or '.join(sku.instead)}"
        yield from lifecycle.check(sku.lifecycle, what, day, path=path, value=name, fix=fix, instead=sku.instead)


def _ml_compute(resource: Resource, day: date) -> Iterable[Problem]:
    kind = text(resource.properties, "properties", "computeType")
    if kind not in (compute.LEGACY_AKS, compute.KUBERNETES):
        return ()
    return compute.kind_problems(kind, day, path=resource.path("properties.computeType"))


_READERS: dict[str, Callable[[Resource, date], Iterable[Problem]]] = {
    azure_types.BATCH_POOL.token: _batch_pool,
    azure_types.VIRTUAL_MACHINE.token: _machine,
    azure_types.MANAGED_CLUSTER.token: _cluster,
    azure_types.AGENT_POOL.token: _agent_pool,
    azure_types.ML_COMPUTE.token: _ml_compute,
}
_DAYS: Setting = a_number(
    "days", "How many days before the end of a size or of a part of a service it is reported", lifecycle.WARNING_DAYS, 1
)

POLICIES = (
    policy("gpu-retired", of_resource=_retired, own_settings=DATED),
    policy("gpu-retiring", of_resource=_retiring, own_settings=(_DAYS, *DATED)),
    policy("gpu-not-offered", of_resource=_not_offered, own_settings=DATED),
    policy("gpu-region", of_stack=_not_in_region, own_settings=DATED),
    policy(
        "allowed-regions",
        of_resource=_allowed_regions,
        own_settings=(texts("regions", "Regions as ARM or the portal spell them; empty: all"),),
    ),
)
