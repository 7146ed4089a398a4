"""Who gets into a cluster with Entra and Azure RBAC: kubectl with kubelogin, by role assignments; and who vouches for pods."""

import json
import os
import ssl
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import jwt
import pytest
import yaml

from localazure.kubernetes.clusters import Clusters, Surroundings
from localazure.kubernetes.model import ClusterShape
from tests.localazure.conftest import new_group
from tests.support import kubernetes
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure, until
from tests.support.kubernetes import ControlPlane

pytestmark = pytest.mark.slow

ROLES = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions"
READER = "7f6c6a51-bcf8-42ba-9220-52d62157d7db"
CLUSTER_ADMIN = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"
AUDIENCE = "6dae42f8-4368-4678-94ff-3960e28e3630"


@pytest.fixture(scope="module")
def shape(azure: EmbeddedAzure) -> ClusterShape:
    group = new_group(azure)
    key = f"{group}/providers/microsoft.containerservice/managedclusters/entra".lower()
    return kubernetes.shape("entra", key=key, tenant_id=azure.tenant_id, local_accounts=False, entra=True, azure_rbac=True)


@pytest.fixture(scope="module")
def cluster(azure: EmbeddedAzure, shape: ClusterShape) -> Iterator[ControlPlane]:
    """In the folder of the embedded Azure, which so knows it, but started from here: its kind isn't what is tested."""
    programs = kubernetes.needed()
    around = Surroundings(
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
def kubeconfig(cluster: ControlPlane, azure: EmbeddedAzure, tmp_path_factory: pytest.TempPathFactory) -> Path:
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
def kubectl(cluster: ControlPlane, azure: EmbeddedAzure, kubeconfig: Path) -> "Kubectl":
    return Kubectl(cluster, azure, kubeconfig)


class Kubectl:
    """As somebody whose shell has read `.local/env`."""

    def __init__(self, cluster: ControlPlane, azure: EmbeddedAzure, kubeconfig: Path) -> None:
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
        return subprocess.run(asked, env=self.environment, capture_output=True, text=True, timeout=60, check=False)


def grant(azure: EmbeddedAzure, shape: ClusterShape, role: str) -> str:
    """A role for the folder's service principal at the cluster's group. The assignment's id."""
    scope = shape.key.split("/providers/")[0]
    path = f"{scope}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}"
    body = {"properties": {"principalId": azure.principal_id, "roleDefinitionId": f"{ROLES}/{role}"}}
    answer = azure.put(path, body, "2022-04-01")
    assert answer.status_code == 201, answer.text
    return path


def test_without_a_role_kubectl_is_told_which_kind_of_right_is_missing(kubectl: Kubectl, azure: EmbeddedAzure) -> None:
    done = kubectl("get", "pods")
    assert done.returncode == 1
    assert f'User "{azure.principal_id}" cannot list resource "pods" in API group "" in the namespace "default"' in done.stderr
    assert "User does not have access to the resource in Azure. Update role assignment to allow access." in done.stderr


def test_a_role_holds_within_seconds_of_its_assignment_and_ends_with_it(
    kubectl: Kubectl, azure: EmbeddedAzure, shape: ClusterShape
) -> None:
    assert kubectl("auth", "can-i", "create", "namespaces").stdout.startswith("no")
    path = grant(azure, shape, CLUSTER_ADMIN)
    until(lambda: kubectl("auth", "can-i", "create", "namespaces").stdout == "yes\n", "the role holds", 20)
    assert kubectl("get", "namespaces", "-o", "name").stdout.startswith("namespace/default\n")
    azure.delete(path, "2022-04-01")
    until(lambda: kubectl("auth", "can-i", "create", "namespaces").stdout.startswith("no"), "it no longer does", 20)


def test_a_reader_reads_pods_but_neither_secrets_nor_anything_to_change(
    kubectl: Kubectl, azure: EmbeddedAzure, shape: ClusterShape
) -> None:
    path = grant(azure, shape, READER)
    until(lambda: kubectl("auth", "can-i", "list", "pods").stdout == "yes\n", "the role holds", 20)
    assert kubectl("auth", "can-i", "list", "secrets").stdout.startswith("no")
    assert kubectl("auth", "can-i", "create", "pods").stdout.startswith("no")
    azure.delete(path, "2022-04-01")


def test_a_token_for_somebody_else_lets_nobody_in(cluster: ControlPlane, azure: EmbeddedAzure) -> None:
    assert asked(cluster, azure.token()).status_code == 401
    assert asked(cluster, "no token").status_code == 401
    assert asked(cluster, azure.token(f"{AUDIENCE}/.default")).status_code in (200, 403), "known, whatever it may do"


def test_the_judge_answers_the_api_server_alone(cluster: ControlPlane, azure: EmbeddedAzure) -> None:
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
    cluster: ControlPlane, azure: EmbeddedAzure
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


def asked(cluster: ControlPlane, token: str) -> httpx.Response:
    """What the API server answers to somebody with this token."""
    trust = ssl.create_default_context(cafile=cluster.folder / "pki" / "ca.crt")
    with httpx.Client(verify=trust, trust_env=False, timeout=30) as client:
        return client.get(f"{cluster.server}/api/v1/namespaces", headers={"Authorization": f"Bearer {token}"})
