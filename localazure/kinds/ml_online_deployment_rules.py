"""Rules of the service for a deployment: facts for the table of refusals, and parts that are missing."""

from collections.abc import Callable

from azure_gpu.catalog import durations
from azure_gpu.catalog.services.machine_learning import deployments as catalog
from azure_gpu.catalog.services.machine_learning.compute import KUBERNETES
from azure_gpu.catalog.services.machine_learning.deployments import MOST_DEPLOYMENTS
from azure_gpu.catalog.services.machine_learning.endpoints import DEFAULT_INSTANCE_TYPE
from azure_gpu.catalog.size_use import Service
from azure_gpu.formats import azure_types
from localazure import size_facts
from localazure.arm.errors import not_implemented
from localazure.arm.kind import Change
from localazure.arm.store import Body
from localazure.kinds import ml_online_quotas, ml_online_refusals as refusals
from localazure.ml import assets
from localazure.ml.settings import REQUESTS

_DURATIONS = {
    "livenessProbe": ("initialDelay", "period", "timeout"),
    "readinessProbe": ("initialDelay", "period", "timeout"),
    "requestSettings": ("requestTimeout", "maxQueueWait"),
}


def check(change: Change, judge: Callable[[Change, Body, Body], None]) -> None:
    endpoint = change.services.store.get(change.id.scope)
    if endpoint is None:
        raise ValueError("a deployment is changed below its endpoint")
    properties = change.properties
    kind = KUBERNETES if endpoint.properties.get("compute") else catalog.MANAGED
    size = str(properties.get("instanceType") or DEFAULT_INSTANCE_TYPE)
    judged = {**change.body, "properties": {**properties, "instanceType": size}}
    judge(change, judged, _facts(change, kind, size))
    _check_parts(change)
    if kind == catalog.MANAGED:
        given = (change.body.get("sku") or {}).get("capacity")
        instances = 1 if given is None else int(given)
        ml_online_quotas.check(change.id.key, size, change.body["location"], instances, change.previous, change.services)
    if change.previous is None:
        others = change.services.store.of_type(azure_types.ML_ONLINE_DEPLOYMENT.arm_type, endpoint.key)
        if len(others) >= MOST_DEPLOYMENTS:
            raise refusals.invalid(f"An endpoint takes at most {MOST_DEPLOYMENTS} deployments.", "name")


def _facts(change: Change, kind: str, size: str) -> Body:
    properties = change.properties
    found = size_facts.of(size, Service.ML_ENDPOINT, change.body["location"], change.as_of)
    given = {part: properties.get(part) or {} for part in _DURATIONS}
    seconds = {
        part: {name: durations.seconds(str(given[part][name])) for name in names if name in given[part]}
        for part, names in _DURATIONS.items()
    }
    return {
        **found,
        **seconds,
        "kind": kind,
        # What has been taken stays, whatever has been retired since.
        "sized": change.previous is None or str(change.previous.properties.get("instanceType")) != size,
        "why": found.get("ended") or "it isn't a valid size name.",
        "durations": [given[part][name] for part, names in seconds.items() for name, value in names.items() if value is not None],
        "timeout": durations.seconds(str({**REQUESTS, **given["requestSettings"]}["requestTimeout"])),
    }


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
    if environment.properties.get("build"):
        raise not_implemented("a deployment of an environment that is built from a Dockerfile; build the image and set 'image'")
    code: Body = properties.get("codeConfiguration") or {}
    if code.get("codeId"):
        assets.version(str(code["codeId"]), azure_types.ML_CODE_VERSION, services)
    elif environment.properties.get("condaFile"):
        message = "An environment with a conda file serves a scoring script: codeConfiguration with codeId and scoringScript."
        raise refusals.invalid(message, "properties.codeConfiguration.codeId")
