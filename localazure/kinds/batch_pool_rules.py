"""Rules of Azure Batch for pools: the facts that the table of refusals needs, and references to missing resources.

Codes: `batch_refusals`. How the service refuses a formula that it can't read is known only by its code.
"""

from collections.abc import Callable
from datetime import date

from azure_gpu.catalog import durations, lifecycle
from azure_gpu.catalog.services.batch import images
from azure_gpu.catalog.services.batch.scale import MOST_TASK_SLOTS, SLOTS_PER_CORE
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.size_use import OperatingSystem, Service
from azure_gpu.formats.autoscale_formula import formula_problems
from localazure import size_facts
from localazure.arm.errors import not_implemented
from localazure.arm.kind import Change, merged
from localazure.arm.store import Body, Resource
from localazure.kinds import attached_identities, batch_packages, batch_pool_changes, batch_quotas, gallery_images
from localazure.kinds.batch_refusals import batch_error, invalid_value

AUTO = "properties.scaleSettings.autoScale"


def check(change: Change, defaults: Body, judge: Callable[[Change, Body, Body], None]) -> None:
    """`defaults`: what the service fills in."""
    properties = change.body.setdefault("properties", {})
    account = change.services.store.get(change.id.scope)
    if account is None:
        raise ValueError("a pool is changed below its account")
    if account.properties.get("poolAllocationMode") == batch_quotas.USER_SUBSCRIPTION:
        raise not_implemented(f"pools of a Batch account with the pool allocation mode {batch_quotas.USER_SUBSCRIPTION}")
    if properties.get("startTask") == {}:
        del properties["startTask"]
    if change.previous is not None:
        if not change.patched and change.services.weather.holds("whole-pools"):
            batch_pool_changes.refuse_whole(properties)
        whole = merged(defaults, change.body)["properties"]
        batch_pool_changes.check(change.previous.properties, whole)
        properties.update(batch_pool_changes.kept(change.previous.properties, properties))
    judge(change, change.body, _facts(change, account))
    _check_identities(change.body)
    batch_packages.check(properties.get("applicationPackages") or [], account, change.services)
    if change.previous is None:
        quota = batch_quotas.pool_quota(account, change.services)
        if len(batch_quotas.pools_of(account.key, change.services)) >= quota:
            raise batch_error("PoolQuotaReached")


def refuse_cloud_services(body: Body) -> None:
    """ArmError for pools of cloud services, which earlier API versions have."""
    properties = body.get("properties")
    deployment = properties.get("deploymentConfiguration") if isinstance(properties, dict) else None
    if isinstance(deployment, dict) and "cloudServiceConfiguration" in deployment:
        feature, path = lifecycle.PARTS["batch.cloud_services"], "properties.deploymentConfiguration.cloudServiceConfiguration"
        end = feature.lifecycle.end
        reason = f"{feature.what[0].upper()}{feature.what[1:]} ended{f' on {end.day}' if end else ''}: {feature.fix}."
        raise invalid_value(path, reason)


def _facts(change: Change, account: Resource) -> Body:
    properties = change.properties
    scale = properties.get("scaleSettings") or {}
    fixed, auto = scale.get("fixedScale"), scale.get("autoScale") or {}
    machine = (properties.get("deploymentConfiguration") or {}).get("virtualMachineConfiguration") or {}
    sku = str(machine.get("nodeAgentSkuId") or "")
    size = size_facts.of(
        str(properties.get("vmSize") or ""),
        Service.BATCH,
        account.location,
        change.as_of,
        windows=system_of(sku) == "Windows",
    )
    image = size_facts.of_image(_marketplace(machine.get("imageReference") or {}), change.as_of)
    image_id = str((machine.get("imageReference") or {}).get("id") or "")
    boots, generations = size.get("generations") or [], image.get("generations") or []
    return {
        **size,
        "size": properties.get("vmSize"),
        "fixed": fixed is not None,
        "resize_minutes": _minutes((fixed or {}).get("resizeTimeout")),
        "interval_minutes": _minutes(auto.get("evaluationInterval")),
        "misread": _misread(auto["formula"]) if auto else "",
        "most_slots": min(SLOTS_PER_CORE * (size.get("vcpus") or MOST_TASK_SLOTS), MOST_TASK_SLOTS),
        "image": image,
        "boots": boots,
        "fits": not boots or not generations or bool(set(boots) & set(generations)),
        "gallery": gallery_images.facts_of(image_id, str(properties.get("vmSize") or ""), change.services),
        "agent_system": system_of(sku),
        "containers": any(each in image.get("has", ()) for each in ("Docker-compatible containers", "Windows containers")),
        "agent": _agent(sku, image, change.as_of),
    }


def _agent(sku: str, image: Body, as_of: date) -> Body:
    agent = images.find_agent(sku)
    expected = images.agent_for(image["distribution"]) if image else None
    return {
        "sku": agent.sku if agent is not None else sku,
        "ended": size_facts.outside(agent.lifecycle, f"The node agent {agent.sku}", as_of) if agent is not None else "",
        "expected": expected.sku if expected is not None and agent is not None else "",
    }


def _marketplace(image: Body) -> ImageReference | None:
    names = [str(image.get(name) or "") for name in ("publisher", "offer", "sku")]
    return ImageReference(*names) if all(names) else None


def _minutes(text: object) -> float | str | None:
    """What isn't a duration is a word."""
    found = durations.length(text) if isinstance(text, str) else None
    return found.total_seconds() / 60 if found is not None else None if text is None else "unreadable"


def system_of(node_agent: str) -> OperatingSystem:
    return "Windows" if ".windows" in node_agent.lower() else "Linux"


def _misread(formula: str) -> str:
    found = [each.message for each in formula_problems(formula, f"{AUTO}.formula") if each.severity == "error"]
    return " ".join(f"{each[0].upper()}{each[1:]}." for each in found)


def _check_identities(body: Body) -> None:
    """Every identity that the body refers to has to be the pool's."""
    for path, reference in _references(body["properties"], "properties"):
        identity = reference.get("resourceId")
        if identity and not attached_identities.is_attached(body, identity):
            raise invalid_value(f"{path}.resourceId", "The identity isn't assigned to the pool.", identity)


def _references(value: object, path: str) -> list[tuple[str, Body]]:
    if isinstance(value, list):
        return [found for index, each in enumerate(value) for found in _references(each, f"{path}[{index}]")]
    if not isinstance(value, dict):
        return []
    here = [(f"{path}.identityReference", value["identityReference"])] if value.get("identityReference") else []
    return here + [
        found for name, each in value.items() if name != "identityReference" for found in _references(each, f"{path}.{name}")
    ]
