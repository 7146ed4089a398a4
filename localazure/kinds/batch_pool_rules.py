"""Rules of Azure Batch for pools: the catalog's facts at the request's date, and references to missing resources.

Codes: `batch_refusals`. How the service refuses a formula that it can't read is known only by its code.
"""

import re

from azure_gpu.catalog.services.batch import pools, sizes as batch
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from azure_gpu.formats.autoscale_formula import formula_problems
from localazure.arm.kind import Change, merged
from localazure.arm.store import Body, Resource
from localazure.kinds import attached_identities, batch_packages, batch_pool_changes, batch_quotas
from localazure.kinds.batch_pool_requests import AUTO, MACHINE, request_of, system_of
from localazure.kinds.batch_refusals import invalid_value, missing, of_problems, refusal
from localazure.kinds.gallery_images import image_at
from localazure.kinds.problem_refusals import of_service
from localazure.services import SUBSCRIPTION

_SIZE_NAME = re.compile(r"[A-Za-z]+_[A-Za-z0-9_-]+")
_WAYS_TO_MOUNT = (
    "azureBlobFileSystemConfiguration",
    "azureFileShareConfiguration",
    "cifsMountConfiguration",
    "nfsMountConfiguration",
)


def check(change: Change, defaults: Body) -> None:
    """`defaults`: what the service fills in."""
    properties = change.body.setdefault("properties", {})
    account = change.services.store.get(change.id.scope)
    if account is None:
        raise ValueError("a pool is changed below its account")
    if properties.get("startTask") == {}:
        del properties["startTask"]
    if change.previous is not None:
        whole = merged(defaults, change.body)["properties"]
        batch_pool_changes.check(change.previous.properties, whole)
        properties.update(batch_pool_changes.kept(change.previous.properties, properties))
    attached_identities.check(change)
    _check_required(properties)
    _check_catalog(change, account)
    _check_formula(properties)
    _check_identities(change.body)
    batch_packages.check(properties.get("applicationPackages") or [], account, change.services)
    if change.previous is None:
        _check_image(change)
        quota = batch_quotas.pool_quota(account, change.services)
        if len(batch_quotas.pools_of(account.key, change.services)) >= quota:
            raise refusal(409, "PoolQuotaReached", "Pool quota for the account has been reached.")


def refuse_cloud_services(body: Body) -> None:
    """ArmError for pools of cloud services, which earlier API versions have."""
    properties = body.get("properties")
    deployment = properties.get("deploymentConfiguration") if isinstance(properties, dict) else None
    if isinstance(deployment, dict) and "cloudServiceConfiguration" in deployment:
        feature, path = batch.CLOUD_SERVICES, "properties.deploymentConfiguration.cloudServiceConfiguration"
        end = feature.lifecycle.end
        reason = f"{feature.what[0].upper()}{feature.what[1:]} ended{f' on {end.day}' if end else ''}: {feature.fix}."
        raise invalid_value(path, reason)


def _check_required(properties: Body) -> None:
    if not properties.get("vmSize"):
        raise missing("properties.vmSize")
    machine = (properties.get("deploymentConfiguration") or {}).get("virtualMachineConfiguration")
    if not machine:
        raise missing(MACHINE)
    if not _SIZE_NAME.fullmatch(properties["vmSize"]):
        raise invalid_value("properties.vmSize", "It isn't a valid size of virtual machines.", properties["vmSize"])
    image = machine["imageReference"]
    named = [name for name in ("id", "communityGalleryImageId", "sharedGalleryImageId") if image.get(name)]
    parts = [name for name in ("publisher", "offer", "sku") if image.get(name)]
    if len(named) + bool(parts) != 1 or len(parts) not in (0, 3):
        reason = "An image is named by its id, or by publisher, offer and sku together."
        raise invalid_value(f"{MACHINE}.imageReference", reason)
    start = properties.get("startTask")
    if start is not None and not start.get("commandLine"):
        raise missing("properties.startTask.commandLine")
    for index, mount in enumerate(properties.get("mountConfiguration") or []):
        if sum(bool(mount.get(name)) for name in _WAYS_TO_MOUNT) != 1:
            path = f"properties.mountConfiguration[{index}]"
            raise invalid_value(path, f"It takes exactly one of {', '.join(_WAYS_TO_MOUNT)}.")


def _check_catalog(change: Change, account: Resource) -> None:
    """Every error of the catalog. Of a pool that is there, only those about what can change: images and sizes end later."""
    request = request_of(change.body, account)
    if change.previous is None:
        found = of_service(pools.problems(request, change.as_of))
    else:
        about_all = of_service(pools.check(request, change.as_of))
        found = [each for each in about_all if each.path.split(".")[1] in batch_pool_changes.UPDATABLE]
    if found:
        raise of_problems(found)


def _check_formula(properties: Body) -> None:
    auto = (properties.get("scaleSettings") or {}).get("autoScale")
    found = of_service(formula_problems(auto["formula"], f"{AUTO}.formula")) if auto else []
    if found:
        details = {"Reason": " ".join(f"{each.message[0].upper()}{each.message[1:]}." for each in found)}
        message = "The specified autoscaling formula has a syntax error."
        raise refusal(400, "AutoScalingFormulaSyntaxError", message, **details, PropertyPath=f"{AUTO}.formula")


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


def _check_image(change: Change) -> None:
    """An image in a gallery of the subscription has to be there, and to be what the node agent runs on."""
    machine = change.properties["deploymentConfiguration"]["virtualMachineConfiguration"]
    given, path = machine["imageReference"].get("id"), f"{MACHINE}.imageReference.id"
    parsed = parse(given) if given else None
    if given and parsed is None:
        raise invalid_value(path, "It isn't the id of an image.", given)
    types = (azure_types.GALLERY_IMAGE.arm_type, azure_types.GALLERY_IMAGE_VERSION.arm_type)
    if parsed is None or parsed.subscription != SUBSCRIPTION or not any(parsed.is_type(each) for each in types):
        return
    definition = image_at(parsed, change.services)
    if definition is None:
        raise invalid_value(path, "The image doesn't exist or isn't ready.", given)
    size = SIZES.find(change.properties["vmSize"])
    boots = size.series.generations if size else ()
    generation = f"Gen{definition.properties['hyperVGeneration'][1:]}"
    if boots and generation not in boots:
        raise invalid_value(path, f"{size.name if size else ''} boots {' and '.join(boots)} images; this is {generation}.", given)
    requested, runs = system_of(machine["nodeAgentSkuId"]).value, definition.properties["osType"]
    if requested != runs:
        reason = f"The image runs {runs}, and the node agent is for {requested}."
        raise invalid_value(f"{MACHINE}.nodeAgentSkuId", reason, machine["nodeAgentSkuId"])
