"""Rules of the service for a deployment: sizes, numbers, times, and missing parts.

What the catalog knows is validated at the request's date.
"""

import re
from collections.abc import Iterator

from azure_gpu.catalog import offers
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.machine_learning import deployments as catalog, serving
from azure_gpu.catalog.services.machine_learning.compute import KUBERNETES
from azure_gpu.catalog.services.machine_learning.endpoints import DEFAULT_INSTANCE_TYPE
from azure_gpu.catalog.services.machine_learning.traffic import MOST_DEPLOYMENTS
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from localazure.arm.errors import not_implemented
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.kinds import ml_online_quotas, ml_online_refusals as refusals
from localazure.kinds.problem_refusals import of_service
from localazure.ml import assets, durations
from localazure.ml.settings import PROBE, REQUESTS

_SIZE_NAME = re.compile(r"Standard_[A-Z]+[0-9A-Za-z_-]*")
_PROBES = ("livenessProbe", "readinessProbe")
_DURATIONS = {"initialDelay": PROBE, "period": PROBE, "timeout": PROBE, "requestTimeout": REQUESTS, "maxQueueWait": REQUESTS}


def check(change: Change) -> None:
    endpoint = change.services.store.get(change.id.scope)
    if endpoint is None:
        raise ValueError("a deployment is changed below its endpoint")
    properties = change.properties
    kind = KUBERNETES if endpoint.properties.get("compute") else catalog.MANAGED
    _check_kind(change, endpoint, kind)
    _check_durations(properties)
    instances = _instances(change.body)
    found = [
        *of_service(catalog.deployment_problems(_request(change, kind, instances), change.as_of)),
        *_numbers(properties, kind),
    ]
    if found:
        raise refusals.of_problems(found)
    _check_parts(change)
    if kind == catalog.MANAGED:
        _check_size(change, instances)
        size = str(properties.get("instanceType") or DEFAULT_INSTANCE_TYPE)
        ml_online_quotas.check(change.id.key, size, change.body["location"], instances, change.previous, change.services)
    if change.previous is None:
        others = change.services.store.of_type(azure_types.ML_ONLINE_DEPLOYMENT.arm_type, endpoint.key)
        if len(others) >= MOST_DEPLOYMENTS:
            raise refusals.invalid(f"An endpoint takes at most {MOST_DEPLOYMENTS} deployments.", "name")


def _check_kind(change: Change, endpoint: Resource, kind: str) -> None:
    given = change.properties.get("endpointComputeType")
    if given != kind:
        why = "it has a compute" if kind == KUBERNETES else "it has no compute"
        message = f"A deployment of the endpoint '{endpoint.id.name}' has the endpointComputeType {kind}, as {why}; not {given}."
        raise refusals.invalid(message, "properties.endpointComputeType")
    if endpoint.location != change.body["location"]:
        raise refusals.invalid(f"A deployment must be in the region of its endpoint, {endpoint.location}.", "location")
    if endpoint.state not in ("Succeeded", "Updating"):
        raise refusals.invalid(f"The endpoint '{endpoint.id.name}' is {endpoint.state}.", "name")


def _check_durations(properties: Body) -> None:
    for part in (*_PROBES, "requestSettings"):
        for name, value in (properties.get(part) or {}).items():
            if name in _DURATIONS and durations.seconds(str(value)) is None:
                raise refusals.invalid(f"'{value}' isn't an ISO 8601 duration such as PT10S.", f"properties.{part}.{name}")


def _instances(body: Body) -> int:
    given = (body.get("sku") or {}).get("capacity")
    return 1 if given is None else int(given)


def _request(change: Change, kind: str, instances: int) -> catalog.DeploymentRequest:
    requests: Body = {**REQUESTS, **(change.properties.get("requestSettings") or {})}
    return catalog.DeploymentRequest(
        kind=kind,
        name=change.id.name,
        endpoint_name=change.id.scope.rsplit("/", 1)[-1],
        name_path="name",
        instances_path="sku.capacity",
        timeout_path="properties.requestSettings.requestTimeout",
        instances=instances,
        request_timeout_s=durations.seconds(str(requests["requestTimeout"])),
    )


def _numbers(properties: Body, kind: str) -> Iterator[Problem]:
    for name in _PROBES:
        given: Body = {**PROBE, **(properties.get(name) or {})}
        initial_delay, period, timeout = (
            int(durations.seconds(str(given[each])) or 0) for each in ("initialDelay", "period", "timeout")
        )
        probe = serving.Probe(initial_delay, period, timeout, int(given["successThreshold"]), int(given["failureThreshold"]))
        requested = serving.ProbeRequest(probe, f"properties.{name}", name == "livenessProbe")
        yield from of_service(serving.probe_problems(requested))
    requests: Body = {**REQUESTS, **(properties.get("requestSettings") or {})}
    limits = serving.LimitsRequest(
        kind,
        "properties.requestSettings",
        int(requests["maxConcurrentRequestsPerInstance"]),
        durations.seconds(str(requests["maxQueueWait"])) or 0.0,
    )
    yield from of_service(serving.limits_problems(limits))


def _check_parts(change: Change) -> None:
    """Model, environment and code have to be there."""
    properties, services = change.properties, change.services
    model = properties.get("model")
    known = assets.version(str(model), azure_types.ML_MODEL_VERSION, services) if model else None
    if not properties.get("environmentId"):
        kind = str(known.properties.get("modelType") or "") if known is not None else ""
        if kind.lower().startswith(("mlflow", "triton")):  # the service has an image of its own for them
            raise not_implemented(f"a deployment of a model of the type '{kind}' without 'environmentId'")
        raise refusals.invalid("A deployment requires 'environmentId'.", "properties.environmentId")
    environment = assets.version(str(properties["environmentId"]), azure_types.ML_ENVIRONMENT_VERSION, services)
    code: Body = properties.get("codeConfiguration") or {}
    if code.get("codeId"):
        assets.version(str(code["codeId"]), azure_types.ML_CODE_VERSION, services)
    elif environment.properties.get("condaFile"):
        message = "An environment with a conda file serves a scoring script: codeConfiguration with codeId and scoringScript."
        raise refusals.invalid(message, "properties.codeConfiguration.codeId")


def _check_size(change: Change, instances: int) -> None:
    given = str(change.properties.get("instanceType") or DEFAULT_INSTANCE_TYPE)
    if SIZES.find(given) is None:
        if not _SIZE_NAME.fullmatch(given):
            raise refusals.of_size(f"The VM size '{given}' is not supported: it isn't a valid size name.")
        return
    use = SizeUse(
        service=Service.ML_ENDPOINT,
        size=given,
        region=change.body["location"],
        path="properties.instanceType",
        region_path="location",
        nodes=instances,
    )
    found = of_service(offers.check(use, change.as_of, prices=packaged()))
    if change.previous is not None and str(change.previous.properties.get("instanceType")) == given:
        return  # what has been taken stays, whatever has been retired since
    if found:
        raise refusals.of_size(f"The VM size '{given}' is not supported: {found[0].message}.")
