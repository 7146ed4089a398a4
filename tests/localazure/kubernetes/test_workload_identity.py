"""What the webhook of workload identity makes of a pod, field by field."""

from typing import Any

import kubernetes_validate
import pytest

from localazure.kubernetes import workload_identity
from localazure.kubernetes.workload_identity import WebhookError

TENANT, HOST = "tenant", "https://localhost:1/"
ACCOUNT = {"metadata": {"name": "stack-identity", "annotations": {"azure.workload.identity/client-id": "client"}}}
TOKEN = {"path": "azure-identity-token", "expirationSeconds": 3600, "audience": "api://AzureADTokenExchange"}
VOLUME = {"name": "azure-identity-token", "projected": {"sources": [{"serviceAccountToken": TOKEN}]}}
MOUNT = {"name": "azure-identity-token", "mountPath": "/var/run/secrets/azure/tokens", "readOnly": True}
FILE = "/var/run/secrets/azure/tokens/azure-identity-token"


def pod(*containers: dict[str, Any], annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    made = [{"name": "main", "image": "i", **one} for one in containers or ({},)]
    return {"metadata": {"name": "p", "annotations": annotations or {}}, "spec": {"containers": made, **spec}}


def mutated(given: dict[str, Any], account: dict[str, Any] = ACCOUNT) -> dict[str, Any]:
    """The spec with the changes, each of which is of a field of its own."""
    changes = workload_identity.patch(given, account, TENANT, HOST)
    assert {each["op"] for each in changes} == {"add"}
    return {**given["spec"], **{each["path"].removeprefix("/spec/"): each["value"] for each in changes}}


def env(container: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container["env"]}


def test_a_pod_gets_the_variables_and_a_token_of_its_service_account() -> None:
    spec = mutated(pod({"env": [{"name": "A", "value": "1"}]}, initContainers=[{"name": "first", "image": "i"}]))
    assert spec["volumes"] == [VOLUME]
    for container in (spec["containers"][0], spec["initContainers"][0]):
        assert container["volumeMounts"] == [MOUNT]
        assert {name: value for name, value in env(container).items() if name != "A"} == {
            "AZURE_CLIENT_ID": "client",
            "AZURE_TENANT_ID": TENANT,
            "AZURE_FEDERATED_TOKEN_FILE": FILE,
            "AZURE_AUTHORITY_HOST": HOST,
        }
    assert env(spec["containers"][0])["A"] == "1"
    whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    kubernetes_validate.validate(whole, "1.36.0", strict=True)


def test_what_the_pod_says_itself_stays_and_the_same_once_more_changes_nothing() -> None:
    once = mutated(pod({"env": [{"name": "AZURE_CLIENT_ID", "value": "mine"}]}, volumes=[{"name": "own", "emptyDir": {}}]))
    assert env(once["containers"][0])["AZURE_CLIENT_ID"] == "mine"
    assert once["volumes"] == [{"name": "own", "emptyDir": {}}, VOLUME]
    assert mutated({"metadata": {}, "spec": once}) == once


def test_an_account_may_name_a_tenant_and_without_a_client_there_is_no_variable_of_it() -> None:
    annotations = {"azure.workload.identity/tenant-id": "other"}
    found = env(mutated(pod(), {"metadata": {"annotations": annotations}})["containers"][0])
    assert found["AZURE_TENANT_ID"] == "other"
    assert "AZURE_CLIENT_ID" not in found


def test_containers_can_be_left_out() -> None:
    given = pod({}, {"name": "side"}, annotations={"azure.workload.identity/skip-containers": "side; other"})
    first, second = mutated(given)["containers"]
    assert "env" in first
    assert second == {"name": "side", "image": "i"}


@pytest.mark.parametrize(
    ("own", "of_account", "seconds"),
    [({}, {}, 3600), ({}, {"x": "7200"}, 7200), ({"x": "86400"}, {"x": "7200"}, 86400)],
    ids=["default", "the account's", "the pod's"],
)
def test_how_long_the_token_lasts(own: dict[str, str], of_account: dict[str, str], seconds: int) -> None:
    name = "azure.workload.identity/service-account-token-expiration"
    own, of_account = ({name: each["x"]} if each else {} for each in (own, of_account))
    [volume] = mutated(pod(annotations=own), {"metadata": {"annotations": of_account}})["volumes"]
    assert volume["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"] == seconds


@pytest.mark.parametrize("text", ["60", "90000", "long"])
def test_a_time_that_no_token_lasts_is_refused(text: str) -> None:
    annotations = {"azure.workload.identity/service-account-token-expiration": text}
    with pytest.raises(WebhookError, match=text):
        workload_identity.patch(pod(annotations=annotations), ACCOUNT, TENANT, HOST)
