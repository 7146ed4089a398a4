"""The client of clusters on a real control plane: objects, refusals, and a cluster that isn't there."""

import base64
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu_operations.clusters import connect
from azure_gpu_operations.clusters.api import ClusterApi
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.run.on_cluster import plan
from azure_gpu_operations.run.on_cluster.placing import Placement
from azure_gpu_operations.run.on_cluster.request import ClusterRequest
from azure_gpu_operations.run.target import Target
from tests.support.kubernetes import ControlPlane

ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/aks"


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[ClusterApi]:
    with closing(connect.of_file(control_plane.kubeconfig)[0]) as made:
        yield made


def test_a_job_is_made_changed_and_removed_with_its_secret(api: ClusterApi, namespace: str) -> None:
    wanted = ClusterRequest(Target(image="docker.io/library/python:3.11-slim", secrets={"TOKEN": "hidden"}), gpus=1)
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    made = api.create(jobs, plan.job("run-x", namespace, "dev", wanted.target.image, wanted, Placement("nvidia.com/gpu", 1)))
    secret = plan.secret(namespace, "dev", {"TOKEN": "hidden"}, made)
    api.create(f"/api/v1/namespaces/{namespace}/secrets", secret)
    changed = api.merge(f"{jobs}/run-x", {"spec": {"suspend": False}})
    assert changed["spec"]["suspend"] is False
    assert [each["metadata"]["name"] for each in api.items(jobs, labelSelector="azure-gpu/run=run-x")] == ["run-x"]
    api.delete(f"{jobs}/run-x")
    api.delete(f"{jobs}/not-there")
    assert api.get(f"{jobs}/not-there") is None


def test_a_refusal_is_told_in_the_apis_own_words(api: ClusterApi, namespace: str) -> None:
    with pytest.raises(ClusterError) as refused:
        api.create(f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": "Not A Name"}})
    assert refused.value.status == 422
    assert str(refused.value).startswith('Invalid: ConfigMap "Not A Name" is invalid')


def test_a_list_is_read_page_after_page(api: ClusterApi, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for index in range(5):
        api.create(path, {"metadata": {"name": f"c{index}", "labels": {"of": "pages"}}})
    monkeypatch.setattr("azure_gpu_operations.clusters.api.PAGE", 2)
    assert sorted(each["metadata"]["name"] for each in api.items(path, labelSelector="of=pages")) == [f"c{i}" for i in range(5)]


def test_a_cluster_that_does_not_answer_is_said_so_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused_by_the_machine(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr("urllib3.util.connection.create_connection", refused_by_the_machine)
    file = tmp_path / "kubeconfig"
    cluster = {"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "a", "context": {"cluster": "a", "user": "a"}}
    user = {"name": "a", "user": {"token": "none"}}
    content = {"clusters": [cluster], "contexts": [context], "users": [user], "current-context": "a"}
    file.write_text(yaml.safe_dump(content))
    with closing(connect.of_file(file)[0]) as api, pytest.raises(ClusterError) as refused:
        api.get("/version")
    assert refused.value.status == 0
    assert "the cluster at https://127.0.0.1:1 doesn't answer" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "kubeconfig .* not found"), ("a: [", "it can't be read: line 1"), ("clusters: []", "it has no current context")],
    ids=["no file", "no YAML", "no context"],
)
def test_a_kubeconfig_that_cannot_be_used_is_told(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "kubeconfig"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ClusterError, match=said):
        connect.of_file(file)


class Arm:
    """ARM as far as a way into a cluster needs it."""

    def __init__(self, control_plane: ControlPlane, **properties: Any) -> None:
        self.control_plane = control_plane
        self.body: Any = {"name": "aks", "id": ID, "properties": properties}
        self.login: Any = self
        self.credential: Any = self
        self.posted: list[str] = []
        self.asked: list[str] = []

    def get(self, resource_id: str, api_version: str) -> Any:
        return self.body

    def post(self, path: str, api_version: str) -> Any:
        self.posted.append(path.rsplit("/", 1)[-1])
        text = self.control_plane.kubeconfig.read_text()
        if self.posted[-1] == "listClusterUserCredential" and not self.body["properties"].get("with_certificate"):
            content = yaml.safe_load(text)
            content["users"][0]["user"] = {"exec": {"command": "kubelogin"}}
            text = yaml.safe_dump(content)
        return {"kubeconfigs": [{"name": "x", "value": base64.b64encode(text.encode()).decode()}]}

    def get_token(self, scope: str) -> Any:
        self.asked.append(scope)
        return type("Token", (), {"token": "not-a-token", "expires_on": 4102444800})


def test_with_entra_the_login_asks_with_a_token_for_the_server_application(control_plane: ControlPlane) -> None:
    arm: Any = Arm(control_plane, aadProfile={"managed": True}, disableLocalAccounts=True)
    with closing(connect.of_cluster(arm, ID)) as api, pytest.raises(ClusterError) as refused:
        api.items("/api/v1/nodes")
    assert refused.value.status == 401  # the API server knows nobody of this token
    assert arm.asked == ["6dae42f8-4368-4678-94ff-3960e28e3630/.default"]  # once, though two requests were made
    assert arm.posted == ["listClusterUserCredential"]


def test_without_entra_the_local_account_that_arm_hands_out_is_used(control_plane: ControlPlane) -> None:
    for with_certificate, actions in (
        (True, ["listClusterUserCredential"]),
        (False, ["listClusterUserCredential", "listClusterAdminCredential"]),
    ):
        arm: Any = Arm(control_plane, with_certificate=with_certificate)
        with closing(connect.of_cluster(arm, ID)) as api:
            assert api.get("/api/v1/namespaces/default") is not None
        assert arm.posted == actions


def test_a_cluster_that_is_gone_or_stopped_is_told_before_anybody_asks_it(control_plane: ControlPlane) -> None:
    arm: Any = Arm(control_plane, powerState={"code": "Stopped"})
    with pytest.raises(ClusterError, match=f"the cluster aks is stopped; az aks start --ids {ID}"):
        connect.of_cluster(arm, ID)
    arm.body = None
    with pytest.raises(ClusterError, match="it was deleted outside the stack"):
        connect.of_cluster(arm, ID)
