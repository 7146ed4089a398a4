"""Online endpoints of Azure Machine Learning, their deployments and logs, read from ARM.

Keys and tokens are fetched by `query.signing`, where they are used.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

from azure_gpu.catalog import durations
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.observed.bodies import read

API_VERSION = "2025-12-01"
ENDPOINT_TYPE = "Microsoft.MachineLearningServices/workspaces/onlineEndpoints"
DEPLOYMENT_TYPE = "Microsoft.MachineLearningServices/workspaces/onlineEndpoints/deployments"
# The containers of a deployment, in the order in which they run.
STORAGE_INITIALIZER, INFERENCE_SERVER = "StorageInitializer", "InferenceServer"
_INSTANCE, _LINES = "Instance status", "Container logs:"
_EVENT = re.compile(r"Kind: \w+, Name: (?P<name>\w+), Type: Warning, .*?Message: (?P<message>.*)")
_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)? ?")
COMING = frozenset({"Creating", "Updating", "Scaling"})


def seconds_of(duration: Any) -> float | None:
    """Seconds of an ISO 8601 duration such as PT5S or PT1M30S; None for other text."""
    return durations.seconds(str(duration or ""))


class Endpoint(NamedTuple):
    """One online endpoint."""

    id: Annotated[str, "id"]
    name: Annotated[str, "name"]
    state: Annotated[str, "properties.provisioningState"] = ""  # Succeeded, Creating, Failed, …
    scoring_uri: Annotated[str, "properties.scoringUri"] = ""
    auth_mode: Annotated[str, "properties.authMode"] = ""  # Key, AMLToken, AADToken
    traffic: Annotated[Mapping[str, int], "properties.traffic"] = {}  # percent by deployment
    mirror: Annotated[Mapping[str, int], "properties.mirrorTraffic"] = {}
    is_public: bool = True
    location: Annotated[str, "location"] = ""
    tags: Annotated[Mapping[str, str], "tags"] = {}
    identities: tuple[str, ...] = ()  # user-assigned ones, by ARM id


class Deployment(NamedTuple):
    """One deployment of an endpoint."""

    id: Annotated[str, "id"]
    name: Annotated[str, "name"]
    state: Annotated[str, "properties.provisioningState"] = ""
    kind: Annotated[str, "properties.endpointComputeType"] = ""  # Managed, Kubernetes
    instance_type: Annotated[str, "properties.instanceType"] = ""
    instances: Annotated[int, "sku.capacity"] = 0
    model: Annotated[str, "properties.model"] = ""  # ARM id, or another reference
    environment: Annotated[str, "properties.environmentId"] = ""
    code: Annotated[str, "properties.codeConfiguration.codeId"] = ""
    script: Annotated[str, "properties.codeConfiguration.scoringScript"] = ""
    timeout_seconds: Annotated[float | None, "properties.requestSettings.requestTimeout", seconds_of] = None  # of a request
    tags: Annotated[Mapping[str, str], "tags"] = {}


def endpoint_of(body: Mapping[str, Any]) -> Endpoint:
    is_public = (body.get("properties") or {}).get("publicNetworkAccess") != "Disabled"
    identities = tuple((body.get("identity") or {}).get("userAssignedIdentities") or {})
    return read(Endpoint, body, is_public=is_public, identities=identities)


def deployment_of(body: Mapping[str, Any]) -> Deployment:
    return read(Deployment, body)


def get(arm: Arm, endpoint_id: str) -> Endpoint | None:
    body = arm.get(endpoint_id, API_VERSION)
    return endpoint_of(body) if body is not None else None


def deployments(arm: Arm, endpoint_id: str) -> Iterator[Deployment]:
    for body in arm.values(f"{endpoint_id}/deployments", API_VERSION):
        yield deployment_of(body)


class Logged(NamedTuple):
    """Last log lines and events of a deployment's container, from all instances."""

    lines: tuple[str, ...] = ()
    events: tuple[str, ...] = ()  # warnings, as the service writes them
    is_down: bool = False  # the container of an instance isn't running


def logged(arm: Arm, deployment_id: str, container: str, most: int) -> Logged:
    """Empty if there are no logs, or no container yet."""
    try:
        answer = arm.post(f"{deployment_id}/getLogs", API_VERSION, {"containerType": container, "tail": most})
    except AzureError as error:
        if error.status in (400, 404, 409):
            return Logged()
        raise
    return logged_of(str(answer.get("content") or ""))


def logged_of(content: str) -> Logged:
    """Parses logs: state, events and lines of each instance; those of the initializer are only lines."""
    if not content.startswith(_INSTANCE):
        return Logged(tuple(content.splitlines()))
    lines, events, is_down, own = list[str](), list[str](), False, False
    for line in content.splitlines():
        if line.startswith(_INSTANCE):
            own = False
        elif own:
            lines.append(line)
        elif line == _LINES:
            own = True
        elif line.startswith("UserContainerStart: "):
            is_down = is_down or line.endswith("Failed")
        elif (found := _EVENT.match(line)) is not None:
            events.append(f"{found['name']}: {found['message']}")
    return Logged(tuple(lines), tuple(events), is_down)


def without_time(line: str) -> str:
    """A log line without the timestamp that the service adds."""
    return _TIME.sub("", line)
