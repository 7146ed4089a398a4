"""Whatever a client sends as a body, the answer is ARM's refusal or success, never an error of the server's own."""

import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localazure.kinds import ALL
from localazure.shapes import default_api_version
from tests.support.embedded import EmbeddedAzure

NAMES = ["containers", "osType", "image", "resources", "requests", "gpu", "name", "properties", "identity", "type", "tags", "sku"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=12,
)
BODIES = st.fixed_dictionaries(
    {"location": st.just("westeurope") | JSON},
    optional={"properties": JSON, "sku": JSON, "kind": JSON, "tags": JSON, "identity": JSON, "zones": JSON},
)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.arm_type)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=BODIES)
def test_no_body_upsets_the_server(azure: EmbeddedAzure, group: str, kind: Any, body: dict[str, Any]) -> None:
    name = uuid.uuid4().hex[:20]
    names = {parameter: name for parameter in kind.azure_type.path_parameters}
    scope = {
        "resourceGroupName": group.rsplit("/", 1)[1],
        "scope": group,
        "resourceUri": group,
        "roleAssignmentName": str(uuid.uuid4()),
    }
    path = kind.azure_type.id_of(group.split("/")[2], {**names, **scope}) if kind.arm_type.count("/") == 1 else ""
    path = path or f"{group}/providers/Microsoft.ContainerRegistry/registries/{name}/taskRuns/{name}"
    for method in ("PUT", "PATCH"):
        answer = azure.client.request(method, path, params={"api-version": default_api_version(kind.azure_type)}, json=body)
        assert answer.status_code < 500, answer.text
        assert answer.is_success or answer.json()["error"]["code"]
