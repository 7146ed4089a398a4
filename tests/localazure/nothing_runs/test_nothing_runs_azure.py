"""An embedded Azure on which nothing runs: everything is there as ARM shows it, and what would run is refused by name."""

import base64
import uuid
from typing import Any

import pytest
import yaml

from localazure import tls
from localazure.folder import LocalFolder
from localazure.kubernetes import control_plane
from localazure.nothing_runs.images import LOG
from tests.localazure.apps.sdk import Apps
from tests.localazure.conftest import new_group
from tests.localazure.containers.sdk import GROUP, TASK_RUN, Groups, Registry, group_state
from tests.support import batch_bodies, machines, managed_clusters, ml_resources as ml
from tests.support.embedded import EmbeddedAzure
from tests.support.in_process import InProcessAzure

NOTHING_RUNS = "This embedded Azure was started with --nothing-runs and has no "
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.fixture
def all_ports_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster is recorded with ports for a control plane, which never listens there."""
    monkeypatch.setattr(control_plane, "is_free", lambda *_: True)


def nothing_runs(answer: Any) -> bool:
    error = answer.json()["error"]
    return answer.status_code == 501 and error["code"] == "NotImplemented" and error["message"].startswith(NOTHING_RUNS)


def test_a_build_succeeds_at_once_with_tag_and_digest(azure: EmbeddedAzure, group: str) -> None:
    registry = Registry(azure, group, f"reg{uuid.uuid4().hex[:10]}")
    source = "https://github.com/any/where.git#main:x"
    assert registry.build("vector_add", "adder:1", sourceLocation=source)["status"] == "Succeeded"
    run = azure.get(f"{registry.id}/taskRuns/build-one", TASK_RUN).json()["properties"]["runResult"]["properties"]
    [image] = run["outputImages"]
    assert (image["repository"], image["tag"]) == ("adder", "1")
    assert len(image["digest"]) == len("sha256:") + 64
    link = azure.post(f"{registry.id}/runs/{run['runId']}/listLogSasUrl", TASK_RUN).json()["logLink"]
    assert LOG in azure.client.get(link).text
    registry.allow_pull()
    groups = Groups(azure, registry, group)
    groups.image = f"{registry.server}/adder@{image['digest']}"
    assert group_state(groups.create("one", groups.body(groups.container()))) == "Stopped"


def test_a_container_group_is_there_and_stopped(azure: EmbeddedAzure, group: str) -> None:
    groups = Groups(azure, None, group)
    groups.image = "ghcr.io/somebody/of-a-registry-out-of-reach:1"
    made = groups.create("one", groups.body(groups.container(), initContainers=[]))
    assert (made["properties"]["provisioningState"], group_state(made)) == ("Succeeded", "Stopped")
    path = groups.path("one")
    assert nothing_runs(azure.get(f"{path}/containers/main/logs", GROUP))
    assert nothing_runs(azure.post(f"{path}/containers/main/exec", GROUP, {"command": "sh"}))
    assert nothing_runs(azure.post(f"{path}/start", GROUP))
    changed = groups.create("one", {**groups.body(groups.container()), "tags": {"a": "b"}})
    assert (changed["tags"], group_state(changed)) == ({"a": "b"}, "Stopped")
    assert azure.delete(path, GROUP).is_success


def test_a_job_is_there_and_has_no_execution(azure: EmbeddedAzure, group: str) -> None:
    registry = Registry(azure, group, f"reg{uuid.uuid4().hex[:10]}")
    registry.allow_pull()
    apps = Apps(azure, group, "env", registry, f"{registry.server}/never-built:1")
    apps.create_environment()
    assert apps.create("job", apps.body())["properties"]["provisioningState"] == "Succeeded"
    assert nothing_runs(azure.post(f"{apps.job_path('job')}/start", "2025-01-01"))
    assert azure.get(f"{apps.job_path('job')}/executions", "2025-01-01").json()["value"] == []


def test_a_batch_pool_gets_no_node_and_takes_no_job(azure: EmbeddedAzure, group: str) -> None:
    account = batch_bodies.put_account(azure, group)
    path = f"{account['id']}/pools/train"
    body = batch_bodies.pool(scaleSettings=batch_bodies.fixed(3))
    assert azure.put(path, body, batch_bodies.API).status_code == 200

    def settled() -> dict[str, Any] | None:
        found = azure.get(path, batch_bodies.API).json()["properties"]
        return found if found["allocationState"] == "Steady" else None

    found = azure.until(settled, "the resize ends")
    assert (found["currentDedicatedNodes"], found["scaleSettings"]["fixedScale"]["targetDedicatedNodes"]) == (0, 3)
    with azure.http(headers={"Authorization": f"Bearer {azure.token('https://batch.core.windows.net/.default')}"}) as client:
        asked = {"api-version": "2024-07-01.20.0"}
        base = f"https://{account['properties']['accountEndpoint']}"
        assert client.get(f"{base}/pools/train/nodes", params=asked).json()["value"] == []
        answer = client.post(f"{base}/jobs", json={"id": "j", "poolInfo": {"poolId": "train"}}, params=asked)
    assert (answer.status_code, answer.json()["code"]) == (501, "NotImplemented")
    assert answer.json()["message"]["value"].startswith(NOTHING_RUNS)


def test_an_application_package_needs_no_upload(azure: EmbeddedAzure, group: str) -> None:
    account = batch_bodies.put_account(azure, group)["id"]
    application = f"{account}/applications/driver"
    made = azure.put(application, {"properties": {"defaultVersion": "1"}}, batch_bodies.API)
    assert made.status_code == 200, made.text
    body = batch_bodies.pool(applicationPackages=[{"id": application, "version": "2"}])
    assert azure.put(f"{account}/pools/train", body, batch_bodies.API).status_code == 200
    unknown = batch_bodies.pool(applicationPackages=[{"id": f"{account}/applications/none", "version": "2"}])
    assert azure.put(f"{account}/pools/other", unknown, batch_bodies.API).status_code == 409


@pytest.mark.usefixtures("all_ports_are_free")
def test_a_cluster_answers_whether_it_is_there_and_nothing_else(azure: EmbeddedAzure, group: str) -> None:
    tls.write_bundle(LocalFolder(azure.state))  # as a server does that listens
    path = f"{group}/providers/Microsoft.ContainerService/managedClusters/gpu"
    made = azure.made(path, managed_clusters.cluster(), managed_clusters.CLUSTERS)
    assert made["properties"]["provisioningState"] == "Succeeded"
    assert [(each["name"], each["count"]) for each in made["properties"]["agentPoolProfiles"]] == [("system", 1)]
    pool = azure.made(f"{path}/agentPools/t4", managed_clusters.pool(), managed_clusters.CLUSTERS)
    assert pool["properties"]["count"] == 1
    assert nothing_runs(azure.post(f"{path}/runCommand", managed_clusters.CLUSTERS, {"command": "kubectl version"}))
    answer = azure.post(f"{path}/listClusterUserCredential", managed_clusters.CLUSTERS).json()
    config = yaml.safe_load(base64.b64decode(answer["kubeconfigs"][0]["value"]))
    cluster = config["clusters"][0]["cluster"]
    assert b"BEGIN CERTIFICATE" in base64.b64decode(cluster["certificate-authority-data"])

    def ask(below: str, body: Any = None) -> tuple[int, Any]:
        with azure.http() as client:
            answer = client.request("POST" if body else "GET", cluster["server"] + below, json=body)
        return answer.status_code, answer.json()

    assert ask("/version")[1]["gitVersion"].startswith("v1.")
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}}
    assert ask(REVIEWS, review) == (201, {**review, "status": {"allowed": True}})
    assert ask(REVIEWS, ["no review"])[0] == 400
    status, refusal = ask("/api/v1/namespaces/default/pods")
    assert (status, refusal["kind"], refusal["message"].startswith(NOTHING_RUNS)) == (501, "Status", True)

    for action, power in (("stop", "Stopped"), ("start", "Running")):
        azure.finished(azure.post(f"{path}/{action}", managed_clusters.CLUSTERS))
        assert azure.get(path, managed_clusters.CLUSTERS).json()["properties"]["powerState"]["code"] == power
    assert azure.finished(azure.delete(path, managed_clusters.CLUSTERS))["status"] == "Succeeded"


def test_an_endpoint_takes_traffic_and_scores_nothing(azure: EmbeddedAzure, group: str) -> None:
    workspace = ml.put_workspace(azure, group)

    def put(below: str, body: dict[str, Any]) -> dict[str, Any]:
        return ml.done(azure, azure.put(f"{workspace}/{below}", body, ml.ML))

    storage = azure.get(workspace, ml.ML).json()["properties"]["storageAccount"].rsplit("/", 1)[-1]
    uri = f"{azure.url}/blob/{storage}/models/never/uploaded"
    model = put("models/tiny/versions/1", {"properties": {"modelUri": uri}})["id"]
    environment = put("environments/tiny/versions/1", {"properties": {"image": "ghcr.io/somebody/scores:1"}})["id"]
    own = {"location": ml.REGION, "identity": {"type": "SystemAssigned"}}
    endpoint = put(f"onlineEndpoints/{ml.new_name('e')}", {**own, "properties": {"authMode": "Key"}})
    body = {"endpointComputeType": "Managed", "instanceType": "Standard_DS3_v2", "model": model, "environmentId": environment}
    below = endpoint["id"].removeprefix(f"{workspace}/")
    deployment = put(f"{below}/deployments/blue", {"location": ml.REGION, "properties": body})
    assert deployment["properties"]["provisioningState"] == "Succeeded"
    put(below, {**own, "properties": {"authMode": "Key", "traffic": {"blue": 100}}})
    assert nothing_runs(azure.client.post(endpoint["properties"]["scoringUri"], json={}))
    assert nothing_runs(azure.post(f"{deployment['id']}/getLogs", ml.ML, {}))
    compute = put("computes/gpu", ml.cluster_body())
    assert compute["properties"]["provisioningState"] == "Succeeded"
    job = {"jobType": "Command", "command": "true", "computeId": compute["id"], "environmentId": environment}
    assert nothing_runs(azure.put(f"{workspace}/jobs/one", {"properties": job}, ml.ML))
    assert azure.delete(endpoint["id"], ml.ML).is_success


def test_a_machine_has_its_power_and_runs_no_script(azure: EmbeddedAzure, group: str) -> None:
    machine = machines.Network(azure, group).machine()
    assert machine.power == "running"
    script = {"commandId": "RunShellScript", "script": ["true"]}
    assert nothing_runs(azure.post(f"{machine.id}/runCommand", machines.COMPUTE, script))
    extension = {"publisher": "Microsoft.HpcCompute", "type": "NvidiaGpuDriverLinux", "typeHandlerVersion": "1.9"}
    body = {"location": machines.REGION, "properties": extension}
    assert ml.done(azure, azure.put(f"{machine.id}/extensions/driver", body, machines.COMPUTE))["id"]
    managed = {"location": machines.REGION, "properties": {"source": {"script": "exit 1"}}}
    assert ml.done(azure, azure.put(f"{machine.id}/runCommands/proof", managed, machines.COMPUTE))["id"]
    machine.act("deallocate")
    assert machine.power == "deallocated"
    machine.act("start")
    assert machine.power == "running"
    assert azure.finished(azure.delete(machine.id, machines.COMPUTE))["status"] == "Succeeded"


@pytest.mark.usefixtures("all_ports_are_free")
def test_everything_is_there_after_a_restart(own_azure: InProcessAzure) -> None:
    group = new_group(own_azure)
    path = f"{group}/providers/Microsoft.ContainerService/managedClusters/gpu"
    own_azure.made(path, managed_clusters.cluster(), managed_clusters.CLUSTERS)
    machine = machines.Network(own_azure, group).machine()
    groups = Groups(own_azure, None, group)
    groups.image = "ghcr.io/somebody/any:1"
    groups.create("one", groups.body(groups.container()))
    account = batch_bodies.put_account(own_azure, group)["id"]
    own_azure.put(f"{account}/pools/train", batch_bodies.pool(scaleSettings=batch_bodies.fixed(2)), batch_bodies.API)
    own_azure.restart()
    assert own_azure.get(path, managed_clusters.CLUSTERS).json()["properties"]["provisioningState"] == "Succeeded"
    assert machine.power == "running"
    assert group_state(groups.show("one")) == "Stopped"
    pool = own_azure.get(f"{account}/pools/train", batch_bodies.API).json()["properties"]
    assert pool["currentDedicatedNodes"] == 0
