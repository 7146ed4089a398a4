"""Whatever a client sends as a deployment, the answer is ARM's refusal or success, never an error of the server's own."""

from typing import Any

from hypothesis import given, strategies as st

from tests.localazure.any_body import is_answer, json_of, many
from tests.localazure.test_deployments import ACCOUNT, CONTAINER_GROUP, IDENTITY, SCHEMA, VERSION, path
from tests.support.embedded import EmbeddedAzure

NAMES = ["properties", "osType", "containers", "tags", "sku", "name", "identity", "kind", "location"]
JSON = json_of(NAMES, st.sampled_from(["", "x", "[1]", "[reference('main')]", "[[", "eastus"]), most_leaves=8)
TYPES = [IDENTITY, ACCOUNT, CONTAINER_GROUP, "Microsoft.Resources/deployments", "Microsoft.Resources/resourceGroups", "A/b", "A"]
RESOURCE = st.fixed_dictionaries(
    {
        "type": st.sampled_from(TYPES) | JSON,
        "apiVersion": st.sampled_from(["2023-01-31", "2024-01-01", "2023-05-01", "x"]),
        "name": st.sampled_from(["main", "second", "a b", "..", "%2F", "main/x", ""]),
    },
    optional={
        "location": st.just("eastus") | JSON,
        "properties": JSON,
        "tags": JSON,
        "dependsOn": JSON,
        "sku": JSON,
        "scope": JSON,
    },
)
TEMPLATE = st.fixed_dictionaries(
    {
        "$schema": st.just(SCHEMA),
        "contentVersion": st.just("1.0.0.0"),
        "resources": st.lists(RESOURCE, max_size=3) | JSON,
    },
    optional={"parameters": JSON, "variables": JSON, "outputs": JSON},
)
BODY = st.fixed_dictionaries(
    {
        "properties": st.fixed_dictionaries(
            {"mode": st.sampled_from(["Incremental", "Complete"]) | JSON, "template": TEMPLATE | JSON},
            optional={"parameters": JSON},
        )
        | JSON
    },
    optional={"tags": JSON},
)


SOUND = st.fixed_dictionaries(
    {
        "type": st.sampled_from([IDENTITY, ACCOUNT, CONTAINER_GROUP, "Microsoft.Resources/resourceGroups", "A.B/c"]),
        "apiVersion": st.just("2023-05-01"),
        "name": st.sampled_from(["main", "second", "a b", "..", "%2F", "x?y", "x#y", "providers", "ä"]),
        "location": st.just("eastus"),
    },
    optional={
        "properties": JSON,
        "tags": JSON,
        "sku": JSON,
        "identity": JSON,
        "scope": st.sampled_from(["/", "/x", "A/b", "A/b/c"]),
    },
)


@many(120)
@given(resources=st.lists(SOUND, max_size=2, unique_by=lambda each: (each["type"], each["name"])))
def test_no_resource_of_a_sound_template_upsets_the_server(azure: EmbeddedAzure, group: str, resources: Any) -> None:
    template = {"$schema": SCHEMA, "contentVersion": "1.0.0.0", "resources": resources}
    for what in ("validate", "whatIf"):
        sent = {"properties": {"mode": "Incremental", "template": template}}
        is_answer(azure.post(f"{path(group, 'main')}/{what}", VERSION, sent))


@many(120)
@given(body=BODY)
def test_no_deployment_upsets_the_server(azure: EmbeddedAzure, group: str, body: Any) -> None:
    for what in ("validate", "whatIf"):
        is_answer(azure.post(f"{path(group, 'main')}/{what}", VERSION, body))


@many(60)
@given(text=st.text(alphabet='{}[]":,templateproperties \\/*\n', max_size=60))
def test_no_text_upsets_the_server(azure: EmbeddedAzure, group: str, text: str) -> None:
    answer = azure.client.put(path(group, "main"), params={"api-version": VERSION}, content=text.encode())
    assert (answer.status_code, bool(answer.json()["error"]["code"])) == (400, True)
