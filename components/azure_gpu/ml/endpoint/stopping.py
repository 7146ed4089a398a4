"""Stopped endpoints: the address and its keys are kept, and no deployment is declared until the endpoint is started.

A managed deployment has at least one instance, and Azure can't stop an endpoint (Azure/mlops-v2 issue 48, 2022-08-15), so the
deployments are deleted. A tag on the endpoint in Azure marks it as stopped, and every program reads it before declaring: all
checkouts and pipelines agree, and an ordinary `up` doesn't start it.

`operations stop` and `start` pass their requests for a run in an environment variable.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from azure_gpu.catalog.prices.hourly_cost import NOTHING
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats.tags import STOPPED_SINCE
from azure_gpu.ml.endpoint.spec import MlEndpointSpec
from azure_gpu.shared.installation import COMMAND

REQUEST_VARIABLE = "AZURE_GPU_STOPPED_ENDPOINTS"
"""JSON of this run's requests: by the endpoint's ARM id in lower case, the instant since which it is stopped; "" starts it."""


def requested(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Endpoints that this run stops or starts, by ARM id."""
    try:
        found = json.loads(environment.get(REQUEST_VARIABLE) or "{}")
    except ValueError:
        return {}
    return {key.lower(): str(value) for key, value in cast(dict[str, object], found).items()} if isinstance(found, dict) else {}


def since(endpoint_id: str, spec: MlEndpointSpec, requests: Mapping[str, str]) -> str:
    """Since when an endpoint is stopped; "" if it isn't."""
    current = spec.actual.tags.get(STOPPED_SINCE, "") if spec.actual is not None else ""
    return requests.get(endpoint_id.lower(), current)


def stopped(spec: MlEndpointSpec, instant: str) -> MlEndpointSpec:
    """The endpoint without its deployments."""
    return replace(
        spec,
        deployments={},
        traffic={},
        mirror={},
        uses=(),
        idle=NOTHING,
        tags={**spec.tags, STOPPED_SINCE: instant},
        stopped_since=instant,
    )


def warning(name: str, spec: MlEndpointSpec) -> Problem:
    """The warning for a stopped endpoint."""
    since, stack = spec.stopped_since, spec.context.stack
    return refused("endpoint.stopped", spec.path, since=since, command=COMMAND, endpoint=name, stack=stack)
