"""Who gets into a cluster with Entra and Azure RBAC: kubectl with kubelogin, by role assignments; and who vouches for pods."""

import json
import os
import ssl
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
import yaml

from localazure.kubernetes.clusters import ClusterContext, Clusters
from localazure.kubernetes.model import ClusterShape
from tests.localazure.conftest import new_group
from tests.support import kubernetes
from tests.support.embedded import SUBSCRIPTION, ServedAzure, until
from tests.support.kubernetes import ControlPlane
from tests.support.patience import SECONDS

pytestmark = pytest.mark.slow

ROLES = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions"
CLUSTER_ADMIN = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"
EXCHANGED = "api://AzureADTokenExchange"
AUDIENCE = "6dae42f8-4368-4678-94ff-3960e28e3630"


@pytest.fixture(scope="module")
def azure(served_azure: ServedAzure) -> ServedAzure:
    return served_azure


@pytest.fixture(scope="module")
def shape(azure: ServedAzure) -> ClusterShape:
    group = new_group(azure)
    key = f"{group}/providers/microsoft.containerservice/managedclusters/entra".lower()
    roles = {"local_accounts": False, "entra": True, "azure_rbac": True}
    return kubernetes.shape("entra", key=key, tenant_id=azure.tenant_id, workload_identity=True, **roles)


@pytest.fixture(scope="module")
def cluster(azure: ServedAzure, shape: ClusterShape) -> Iterator[ControlPlane]:
    """In the folder of the embedded Azure, which so knows it, but started from here: its kind isn't what is tested."""
    programs = kubernetes.needed()
    around = ClusterContext(
        azure.state / "clusters",
        lambda: programs,
        url=azure.url,
        authority=azure.state / "ca" / "ca.pem",
        issuer=f"{azure.url}/{azure.tenant_id}/v2.0",
        agent=lambda _: (),
    )
    with kubernetes.running(Clusters(around), shape) as running:
        yield running


@pytest.fixture(scope="module")
def kubeconfig(cluster: ControlPlane, azure: ServedAzure, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one that AKS hands out, with the login of a service principal in place of a person's."""
    found = yaml.safe_load(cluster.clusters.kubeconfig(cluster.key, "user", "exec"))
    login = found["users"][0]["user"]["exec"]
    assert (login["command"], login["args"][-2:]) == ("kubelogin", ["--login", "devicecode"])
    principal = ["--login", "spn", "--use-azurerm-env-vars", "--disable-instance-discovery"]
    login["args"] = ["get-token", "--server-id", AUDIENCE, *principal, "--authority-host", f"{azure.url}/"]
    path = tmp_path_factory.mktemp("kube") / "config"
    path.write_text(yaml.safe_dump(found))
    return path


@pytest.fixture
def kubectl(cluster: ControlPlane, azure: ServedAzure, kubeconfig: Path) -> "Kubectl":
    return Kubectl(cluster, azure, kubeconfig)


class Kubectl:
    """As somebody whose shell has read `.local/env`."""

    def __init__(self, cluster: ControlPlane, azure: ServedAzure, kubeconfig: Path) -> None:
        self.program = cluster.programs / "kubectl"
        self.environment = {
            "PATH": f"{cluster.programs}:{os.environ['PATH']}",
            "HOME": str(kubeconfig.parent),
            "KUBECONFIG": str(kubeconfig),
            "ARM_TENANT_ID": azure.tenant_id,
            "ARM_CLIENT_ID": azure.client_id,
            "ARM_CLIENT_SECRET": azure.client_secret,
            "SSL_CERT_FILE": str(azure.ca_bundle),
        }

    def __call__(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        asked = [str(self.program), *arguments]
        return subprocess.run(asked, env=self.environment, capture_output=True, text=True, timeout=SECONDS, check=False)


def grant(azure: ServedAzure, shape: ClusterShape, role: str) -> str:
    """A role for the folder's service principal at the cluster's group. The assignment's id."""
    scope = shape.key.split("/providers/")[0]
    path = f"{scope}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}"
    body = {"properties": {"principalId": azure.principal_id, "roleDefinitionId": f"{ROLES}/{role}"}}
    answer = azure.put(path, body, "2022-04-01")
    assert answer.status_code == 201, answer.text
    return path


def test_without_a_role_kubectl_is_told_which_kind_of_right_is_missing(kubectl: Kubectl, azure: ServedAzure) -> None:
    done = kubectl("get", "pods")
    assert done.returncode == 1
    assert f'User "{azure.principal_id}" cannot list resource "pods" in API group "" in the namespace "default"' in done.stderr
    assert "User does not have access to the resource in Azure. Update role assignment to allow access." in done.stderr


def test_a_role_holds_within_seconds_of_its_assignment_and_ends_with_it(
    kubectl: Kubectl, azure: ServedAzure, shape: ClusterShape
) -> None:
    assert kubectl("auth", "can-i", "create", "namespaces").stdout.startswith("no")
    path = grant(azure, shape, CLUSTER_ADMIN)
    until(lambda: kubectl("auth", "can-i", "create", "namespaces").stdout == "yes\n", "the role holds")
    assert kubectl("get", "namespaces", "-o", "name").stdout.startswith("namespace/default\n")
    azure.delete(path, "2022-04-01")
    until(lambda: kubectl("auth", "can-i", "create", "namespaces").stdout.startswith("no"), "it no longer does")


def test_a_token_for_somebody_else_lets_nobody_in(cluster: ControlPlane, azure: ServedAzure) -> None:
    assert asked(cluster, azure.token()).status_code == 401
    assert asked(cluster, "no token").status_code == 401
    assert asked(cluster, azure.token(f"{AUDIENCE}/.default")).status_code in (200, 403), "known, whatever it may do"


def test_the_judge_answers_the_api_server_alone(cluster: ControlPlane, azure: ServedAzure) -> None:
    identifier = cluster.folder.name.rpartition("-")[2]
    secret = json.loads((cluster.folder / "cluster.json").read_text())["secrets"]["webhook"]
    review = {"spec": {"user": azure.principal_id, "resourceAttributes": {"verb": "list", "resource": "pods"}}}
    with azure.http() as client:
        address = f"/kubernetes/authorization/{identifier}"
        assert client.post(address, json=review).status_code == 401
        assert client.post(address, json=review, headers={"Authorization": "Bearer guess"}).status_code == 401
        bearer = {"Authorization": f"Bearer {secret}"}
        assert client.post("/kubernetes/authorization/000000000000", json=review, headers=bearer).status_code == 401
        assert client.post(address, content=b"{", headers=bearer).status_code == 400
        assert client.post(address, json=review, headers=bearer).json()["status"]["allowed"] is False


def test_a_service_accounts_token_is_vouched_for_by_the_issuer_that_federation_asks(
    cluster: ControlPlane, azure: ServedAzure
) -> None:
    made = cluster.kubectl("create", "token", "default", "--audience", "api://AzureADTokenExchange")
    assert made.returncode == 0, made.stderr
    token = made.stdout.strip()
    issuer = cluster.clusters.issuer(cluster.key)
    with azure.http() as client:
        told = client.get(f"{issuer}.well-known/openid-configuration").json()
        keys = jwt.PyJWKSet.from_dict(client.get(told["jwks_uri"]).json())
        assert client.get(f"{azure.url}/kubernetes/oidc/none/openid/v1/jwks").status_code == 404
    key = keys[jwt.get_unverified_header(token)["kid"]]
    claims = jwt.decode(token, key, algorithms=["RS256"], audience="api://AzureADTokenExchange", issuer=told["issuer"])
    assert claims["sub"] == "system:serviceaccount:default:default"


def test_a_pods_token_is_exchanged_for_one_of_the_identity_whose_credential_names_its_account(
    cluster: ControlPlane, azure: ServedAzure, shape: ClusterShape
) -> None:
    identity = f"{shape.key.split('/providers/')[0]}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/pods"
    ids = azure.put(identity, {"location": "westeurope"}, "2023-01-31").json()["properties"]
    credential = {
        "issuer": cluster.clusters.issuer(cluster.key),
        "subject": "system:serviceaccount:default:default",
        "audiences": [EXCHANGED],
    }
    made = azure.put(f"{identity}/federatedIdentityCredentials/pods", {"properties": credential}, "2023-01-31")
    assert made.status_code == 201, made.text

    def exchange(account: str, audience: str = EXCHANGED, scope: str = "https://storage.azure.com/.default") -> httpx.Response:
        token = cluster.kubectl("create", "token", account, "--audience", audience)
        assert token.returncode == 0, token.stderr
        kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        form = {"client_assertion_type": kind, "client_assertion": token.stdout.strip(), "scope": scope, "client_secret": ""}
        with azure.http() as client:
            return azure.ask_token(client, client_id=ids["clientId"], **form)

    given = exchange("default")
    assert given.status_code == 200, given.text
    claims = jwt.decode(given.json()["access_token"], options={"verify_signature": False})
    assert (claims["oid"], claims["appid"], claims["aud"]) == (ids["principalId"], ids["clientId"], "https://storage.azure.com")
    assert cluster.kubectl("create", "serviceaccount", "other").returncode == 0
    assert exchange("other").json()["error_codes"] == [700213]
    assert exchange("default", "https://kubernetes").json()["error_codes"] == [700212]
    assert exchange("default", scope=f"{azure.url}/.default").json()["error_codes"] == [500011], "nothing here judges its roles"


def test_a_labelled_pod_is_made_with_the_identity_of_its_account_and_any_other_is_not_changed(
    cluster: ControlPlane, azure: ServedAzure
) -> None:
    account = {"metadata": {"name": "trainer", "annotations": {"azure.workload.identity/client-id": "of-the-trainer"}}}
    apply(cluster, {"apiVersion": "v1", "kind": "ServiceAccount", **account})
    labels = {"azure.workload.identity/use": "true"}
    spec = {"serviceAccountName": "trainer", "containers": [{"name": "main", "image": "i"}]}
    for name, labelled in (("speaks", labels), ("silent", {})):
        apply(cluster, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labelled}, "spec": spec})
    [container] = cluster.asked("get", "pod", "speaks")["spec"]["containers"]
    env = {each["name"]: each["value"] for each in container["env"]}
    assert (env["AZURE_CLIENT_ID"], env["AZURE_TENANT_ID"]) == ("of-the-trainer", azure.tenant_id)
    assert env["AZURE_AUTHORITY_HOST"] == f"{azure.url}/"
    [silent] = cluster.asked("get", "pod", "silent")["spec"]["containers"]
    assert "env" not in silent


def test_the_webhook_answers_reviews_of_pods_only(cluster: ControlPlane, azure: ServedAzure) -> None:
    address = f"/kubernetes/workload-identity/{cluster.folder.name.rpartition('-')[2]}"
    pod = {"metadata": {"name": "p"}, "spec": {"serviceAccountName": "nobody", "containers": [{"name": "main", "image": "i"}]}}
    review = {"request": {"uid": "u1", "namespace": "default", "object": pod}}
    with azure.http() as client:
        assert client.post("/kubernetes/workload-identity/000000000000", json=review).status_code == 404
        for wrong in (b"{", b"[]", b'{"request": {}}', b'{"request": {"uid": "u", "namespace": "default", "object": []}}'):
            assert client.post(address, content=wrong).status_code == 400
        answer = client.post(address, json=review).json()["response"]
    assert (answer["uid"], answer["allowed"], answer["status"]["code"]) == ("u1", False, 400)
    assert 'serviceaccounts "nobody" not found' in answer["status"]["message"]


def apply(cluster: ControlPlane, body: dict[str, Any]) -> None:
    done = cluster.kubectl("apply", "-f", "-", input=json.dumps(body))
    assert done.returncode == 0, done.stderr


def asked(cluster: ControlPlane, token: str) -> httpx.Response:
    """What the API server answers to somebody with this token."""
    trust = ssl.create_default_context(cafile=cluster.folder / "pki" / "ca.crt")
    with httpx.Client(verify=trust, trust_env=False, timeout=SECONDS) as client:
        return client.get(f"{cluster.server}/api/v1/namespaces", headers={"Authorization": f"Bearer {token}"})
