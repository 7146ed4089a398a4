"""The template that sets an online endpoint's traffic: the whole endpoint again, with the shares of its deployments.

Traffic names deployments, which require the endpoint first, and a PUT of the endpoint replaces all of it: what it leaves out is
lost, including traffic (Microsoft Learn, machine-learning/how-to-safely-rollout-online-endpoints, of clients that don't know of
mirroring). So the endpoint's own resource is sent once, and every later change is made by this template, in one request that
holds everything.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pulumi

from azure_gpu.formats import azure_types
from azure_gpu.shared import arm_templates

API_VERSION = "2025-12-01"  # as pulumi-azure-native 3.29 sends the endpoint itself
HASH_LENGTH = 16
DRIFT = "drift"  # in the template's metadata
DRIFT_PATH = f"properties.template.metadata.{DRIFT}"


def template(
    *,
    name: pulumi.Input[str],
    body: Mapping[str, Any],
    traffic: Mapping[str, int],
    mirror: Mapping[str, int],
    created_at: pulumi.Input[str],
    drift: str,
) -> dict[str, Any]:
    """`name`: the workspace's and the endpoint's, with a slash between. `body`: location, tags, identity and properties of the
    endpoint, without traffic; ids in it may be outputs. `created_at`: of the endpoint, so that the template runs again for a new
    one of the same name. `drift`: differences from what is declared, so that it runs again to repair them."""
    shares = {"traffic": dict(traffic), **({"mirrorTraffic": dict(mirror)} if mirror else {})}
    hashed = pulumi.Output.all(dict(body), created_at).apply(lambda both: digest(both[0], both[1]))
    endpoint = {
        "type": azure_types.ML_ONLINE_ENDPOINT.arm_type,
        "apiVersion": API_VERSION,
        "name": name,
        **arm_templates.literal({**body, "properties": {**body["properties"], **shares}}),
    }
    return arm_templates.template([endpoint], {"endpoint": hashed, DRIFT: drift})


def digest(body: Mapping[str, Any], created_at: str) -> str:
    """A hash of endpoint and arguments, independent of traffic."""
    return hashlib.sha256(json.dumps([body, created_at], sort_keys=True).encode()).hexdigest()[:HASH_LENGTH]
