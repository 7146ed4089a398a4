"""Online endpoints of Azure Machine Learning, their deployments and logs, read from ARM.

Keys and tokens are fetched by `query.signing`, where they are used.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from azure_gpu.catalog import durations
from azure_gpu_operations.azure import Arm, AzureError

API_VERSION = "2025-12-01"
ENDPOINT_TYPE = "Microsoft.MachineLearningServices/workspaces/onlineEndpoints"
DEPLOYMENT_TYPE = "Microsoft.MachineLearningServices/workspaces/onlineEndpoints/deployments"
# The containers of a deployment, in the order in which they run.
STORAGE_INITIALIZER, INFERENCE_SERVER = "StorageInitializer", "InferenceServer"
_INSTANCE, _LINES = "Instance status", "Container logs:"
_EVENT = re.compile(r"Kind: \w+, Name: (?P<name>\w+), Type: Warning, .*?Message: (?P<message>.*)")
_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)? ?")
COMING = frozenset({"Creating", "Updating", "Scaling"})


class Endpoint(NamedTuple):
    """One online endpoint."""

    id: str
    name: str
    state: str = ""  # Succeeded, Creating, Failed, …
    scoring_uri: str = ""
    auth_mode: str = ""  # Key, AMLToken, AADToken
    traffic: Mapping[str, int] = {}  # percent by deployment
    mirror: Mapping[str, int] = {}
    is_public: bool = True
    location: str = ""
    tags: Mapping[str, str] = {}
    identities: tuple[str, ...] = ()  # user-assigned ones, by ARM id


class Deployment(NamedTuple):
    """One deployment of an endpoint."""

    id: str
    name: str
    state: str = ""
    kind: str = ""  # Managed, Kubernetes
    instance_type: str = ""
    instances: int = 0
    model: str = ""  # ARM id, or another reference
    environment: str = ""
    code: str = ""
    script: str = ""
    timeout_seconds: float | None = None  # of a request
    tags: Mapping[str, str] = {}


def endpoint_of(body: Mapping[str, Any]) -> Endpoint:
    properties = body.get("properties") or {}
    identity = body.get("identity") or {}
    return Endpoint(
        id=str(body.get("id") or ""),
        name=str(body.get("name") or ""),
        state=str(properties.get("provisioningState") or ""),
        scoring_uri=str(properties.get("scoringUri") or ""),
        auth_mode=str(properties.get("authMode") or ""),
        traffic=_shares(properties.get("traffic")),
        mirror=_shares(properties.get("mirrorTraffic")),
        is_public=str(properties.get("publicNetworkAccess") or "Enabled") != "Disabled",
        location=str(body.get("location") or ""),
        tags=dict(body.get("tags") or {}),
        identities=tuple(identity.get("userAssignedIdentities") or {}),
    )


def deployment_of(body: Mapping[str, Any]) -> Deployment:
    properties = body.get("properties") or {}
    code = properties.get("codeConfiguration") or {}
    requests = properties.get("requestSettings") or {}
    return Deployment(
        id=str(body.get("id") or ""),
        name=str(body.get("name") or ""),
        state=str(properties.get("provisioningState") or ""),
        kind=str(properties.get("endpointComputeType") or ""),
        instance_type=str(properties.get("instanceType") or ""),
        instances=int((body.get("sku") or {}).get("capacity") or 0),
        model=str(properties.get("model") or ""),
        environment=str(properties.get("environmentId") or ""),
        code=str(code.get("codeId") or ""),
        script=str(code.get("scoringScript") or ""),
        timeout_seconds=seconds_of(requests.get("requestTimeout")),
        tags=dict(body.get("tags") or {}),
    )


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


def _shares(traffic: Any) -> dict[str, int]:
    return {str(name): int(share) for name, share in (traffic or {}).items()}


def seconds_of(duration: Any) -> float | None:
    """Seconds of an ISO 8601 duration such as PT5S or PT1M30S; None for other text."""
    return durations.seconds(str(duration or ""))
