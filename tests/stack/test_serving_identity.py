"""An identity that serves, on the real engine: what an endpoint and a cluster's service account do as it, and what they can't.

One stack for all: first with the workspace and the cluster, then with the endpoint, whose program is uploaded in between.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from azure_gpu.catalog.services.aks.workload_identity import AUDIENCE, SERVICE_ACCOUNT, SERVING_ACCOUNT
from localazure.entra.federation import ASSERTION_TYPE
from tests.support.embedded import ServedAzure
from tests.support.light_endpoint import Endpoint, foundation, serving, uploaded
from tests.support.stack import ProgramStack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
IDENTITIES = "2024-11-30"
CLUSTER = {
    "gpu_pools": {"t4": {"size": "Standard_NC4as_T4_v3"}},
    "expires_after": "2026-11-30",
    **dict.fromkeys(["device_plugin", "feature_labels", "metrics"], False),
}


def together(said: dict[str, Any]) -> dict[str, Any]:
    """A stack with a cluster, in which one identity trains and serves."""
    return {**said, "clusters": {"shared": CLUSTER}}


def separated(said: dict[str, Any]) -> dict[str, Any]:
    """The same with an identity that serves."""
    return together({**said, "foundation": {**said["foundation"], "serving_identity": "create"}})


class Account:
    """A service account of the cluster, which speaks as an identity."""

    def __init__(self, stack: ProgramStack, kubernetes_bin: Path, name: str, identity: str) -> None:
        self._azure = stack.azure
        self._client_id = self._azure.get(stack.outputs()[identity], IDENTITIES).json()["properties"]["clientId"]
        newest = max((self._azure.state / "clusters").glob("*/admin.kubeconfig"), key=lambda file: file.stat().st_mtime)
        command = [str(kubernetes_bin / "kubectl"), "--kubeconfig", str(newest), "--namespace", "gpu-jobs"]
        command += ["create", "token", name, "--audience", AUDIENCE]
        self.assertion = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def signs_on(self, assertion: str = "") -> httpx.Response:
        form = {
            "grant_type": "client_credentials",
            "client_id": self._client_id,
            "client_assertion": assertion or self.assertion,
            "client_assertion_type": ASSERTION_TYPE,
            "scope": "https://storage.azure.com/.default",
        }
        with self._azure.http() as client:
            return client.post(f"/{self._azure.tenant_id}/oauth2/v2.0/token", data=form)

    def blobs(self) -> httpx.Client:
        token = self.signs_on().json()["access_token"]
        return self._azure.http(headers={"Authorization": f"Bearer {token}", "x-ms-version": "2021-12-02"})


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, engine_bin: Path, kubernetes_bin: Path) -> Iterator[ProgramStack]:
    made = ProgramStack(azure, "serving", separated(foundation()), engine_bin=engine_bin)
    made.create()
    made.update()
    yield made
    made.end()


@pytest.fixture(scope="module")
def uri(stack: ProgramStack) -> str:
    """Of the endpoint's program, with the endpoint up."""
    there = uploaded(stack.azure, stack.outputs()["storage"])
    stack.become(separated(serving(there, {"blue": {}})))
    return there


@pytest.mark.usefixtures("uri")
def test_an_endpoint_serves_what_it_has_read_as_the_identity_that_serves(stack: ProgramStack) -> None:
    endpoint = Endpoint(stack)
    [identity] = endpoint.shown()["identity"]["userAssignedIdentities"]
    assert identity.lower() == stack.outputs()["serving_identity"].lower()
    assert endpoint.colours(2) == {"blue": 2}
    assert stack.steps() == []


def test_a_service_account_that_serves_reads_a_model_and_writes_none(stack: ProgramStack, kubernetes_bin: Path) -> None:
    trains = Account(stack, kubernetes_bin, SERVICE_ACCOUNT, "identity")
    serves = Account(stack, kubernetes_bin, SERVING_ACCOUNT, "serving_identity")
    account = stack.azure.get(stack.outputs()["storage"], "2024-01-01").json()["properties"]["primaryEndpoints"]["blob"]
    model, of_block = f"{account.rstrip('/')}/models/digits/1/model", {"x-ms-blob-type": "BlockBlob"}
    with trains.blobs() as writer, serves.blobs() as reader:
        assert writer.put(model, content=b"weights", headers=of_block).status_code == 201
        assert reader.get(model).content == b"weights"
        for refused in (reader.put(model, content=b"others", headers=of_block), reader.delete(model)):
            assert refused.status_code == 403
            assert refused.headers["x-ms-error-code"] == "AuthorizationPermissionMismatch"
        assert reader.get(model).content == b"weights"
    assert trains.signs_on(serves.assertion).json()["error_codes"] == [700213]  # no credential has it as its subject


def test_an_endpoint_that_is_up_moves_to_another_identity_only_where_that_is_allowed(stack: ProgramStack, uri: str) -> None:
    stack.configure(together(serving(uri, {"blue": {}})))
    refused = stack.operations("up")
    assert refused.returncode == 1, refused.stdout
    assert "  - ml_endpoints.colours: this up would replace the online endpoint " in refused.stderr
    assert "allowed: with --replace colours-endpoint; fix: undo this change, " in refused.stderr
    assert Endpoint(stack).colours(1) == {"blue": 1}
    allowed = stack.operations("up", "--replace", "colours-endpoint")
    assert allowed.returncode == 0, allowed.stdout + allowed.stderr
    [identity] = Endpoint(stack).shown()["identity"]["userAssignedIdentities"]
    assert identity.lower() == stack.outputs()["identity"].lower()
    assert Endpoint(stack).colours(1) == {"blue": 1}
    assert stack.steps() == []
