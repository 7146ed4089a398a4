"""An embedded Azure on which nothing runs: everything is there as ARM shows it, and what would run is refused by name."""

import base64
import json
import ssl
import subprocess
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from localazure.nothing_runs.images import LOG
from tests.localazure.apps.sdk import Apps
from tests.localazure.conftest import new_group
from tests.localazure.containers.sdk import GROUP, TASK_RUN, Registry, container, create, group_body, group_path, group_state
from tests.support import batch_bodies, machines, managed_clusters, ml_resources as ml
from tests.support.embedded import ServedAzure, until

NOTHING_RUNS = "This embedded Azure was started with --nothing-runs and has no "
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.fixture
def group(still_azure: ServedAzure) -> str:
    return new_group(still_azure)


@pytest.fixture
def own_still_azure(tmp_path: Path) -> Iterator[ServedAzure]:
    server = ServedAzure(tmp_path / "state", nothing_runs=True)
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def no_process(still_azure: ServedAzure) -> Iterator[None]:
    """No test makes the shared server start a process."""
    yield
    listed = ["ps", "-eww", "-o", "ppid=,args="]
    shown = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    children = [line for line in shown.splitlines() if line.split(maxsplit=1)[0] == str(still_azure.pid)]
    assert children == []


def nothing_runs(answer: Any) -> bool:
    error = answer.json()["error"]
    return answer.status_code == 501 and error["code"] == "NotImplemented" and error["message"].startswith(NOTHING_RUNS)


def test_status_says_so(still_azure: ServedAzure) -> None:
    done = still_azure.command("status")
    assert done.stdout.endswith("in calm weather, with --nothing-runs\n")
    assert still_azure.command("start", "--nothing-runs").returncode == 0
    assert "rough" in still_azure.command("start", "--weather", "rough").stderr


def test_a_build_succeeds_at_once_with_tag_and_digest(still_azure: ServedAzure, group: str) -> None:
    registry = Registry(still_azure, group, f"reg{uuid.uuid4().hex[:10]}")
    assert (
        registry.build("vector_add", "adder:1", sourceLocation="https://github.com/any/where.git#main:x")["status"] == "Succeeded"
    )
    run = still_azure.get(f"{registry.id}/taskRuns/build-one", TASK_RUN).json()["properties"]["runResult"]["properties"]
    [image] = run["outputImages"]
    assert (image["repository"], image["tag"]) == ("adder", "1")
    assert len(image["digest"]) == len("sha256:") + 64
    link = still_azure.post(f"{registry.id}/runs/{run['runId']}/listLogSasUrl", TASK_RUN).json()["logLink"]
    assert LOG in still_azure.client.get(link).text
    registry.allow_pull()
    by_digest = f"{registry.server}/adder@{image['digest']}"
    assert group_state(create(still_azure, group, "one", group_body(registry, container(by_digest)))) == "Stopped"


def test_who_may_not_pull_is_refused_as_ever(still_azure: ServedAzure, group: str) -> None:
    registry = Registry(still_azure, group, f"reg{uuid.uuid4().hex[:10]}")
    body = group_body(registry, container(f"{registry.server}/any:1"))
    refused = still_azure.put(group_path(group, "one"), body, GROUP)
    assert refused.json()["error"]["code"] == "InaccessibleImage"


def test_a_container_group_is_there_and_stopped(still_azure: ServedAzure, group: str) -> None:
    first = container("ghcr.io/somebody/of-a-registry-out-of-reach:1")
    made = create(still_azure, group, "one", group_body(None, first, initContainers=[]))
    assert made["properties"]["provisioningState"] == "Succeeded"
    assert group_state(made) == "Stopped"
    path = group_path(group, "one")
    assert nothing_runs(still_azure.get(f"{path}/containers/main/logs", GROUP))
    assert nothing_runs(still_azure.post(f"{path}/containers/main/exec", GROUP, {"command": "sh"}))
    assert nothing_runs(still_azure.post(f"{path}/start", GROUP))
    changed = create(still_azure, group, "one", {**group_body(None, first), "tags": {"a": "b"}})
    assert (changed["tags"], group_state(changed)) == ({"a": "b"}, "Stopped")
    assert still_azure.delete(path, GROUP).is_success


def test_a_job_is_there_and_has_no_execution(still_azure: ServedAzure, group: str) -> None:
    registry = Registry(still_azure, group, f"reg{uuid.uuid4().hex[:10]}")
    registry.allow_pull()
    apps = Apps(still_azure, group, "env", registry, f"{registry.server}/never-built:1")
    apps.create_environment()
    assert apps.create("job", apps.body())["properties"]["provisioningState"] == "Succeeded"
    answer = still_azure.post(f"{apps.job_path('job')}/start", "2025-01-01")
    assert nothing_runs(answer)
    assert still_azure.get(f"{apps.job_path('job')}/executions", "2025-01-01").json()["value"] == []


def test_a_batch_pool_gets_no_node_and_takes_no_job(still_azure: ServedAzure, group: str) -> None:
    account = batch_bodies.put_account(still_azure, group)
    path = f"{account['id']}/pools/train"
    body = batch_bodies.pool(scaleSettings=batch_bodies.fixed(3))
    assert still_azure.put(path, body, batch_bodies.API).status_code == 200

    def settled() -> dict[str, Any] | None:
        found = still_azure.get(path, batch_bodies.API).json()["properties"]
        return found if found["allocationState"] == "Steady" else None

    found = until(settled, "the resize ends")
    assert (found["currentDedicatedNodes"], found["scaleSettings"]["fixedScale"]["targetDedicatedNodes"]) == (0, 3)
    with still_azure.http(
        headers={"Authorization": f"Bearer {still_azure.token('https://batch.core.windows.net/.default')}"}
    ) as client:
        asked = {"api-version": "2024-07-01.20.0"}
        base = f"https://{account['properties']['accountEndpoint']}"
        assert client.get(f"{base}/pools/train/nodes", params=asked).json()["value"] == []
        answer = client.post(f"{base}/jobs", json={"id": "j", "poolInfo": {"poolId": "train"}}, params=asked)
    assert (answer.status_code, answer.json()["code"]) == (501, "NotImplemented")
    assert answer.json()["message"]["value"].startswith(NOTHING_RUNS)


def test_an_application_package_needs_no_upload(still_azure: ServedAzure, group: str) -> None:
    account = batch_bodies.put_account(still_azure, group)["id"]
    application = f"{account}/applications/driver"
    made = still_azure.put(application, {"properties": {"defaultVersion": "1"}}, batch_bodies.API)
    assert made.status_code == 200, made.text
    body = batch_bodies.pool(applicationPackages=[{"id": application, "version": "2"}])
    assert still_azure.put(f"{account}/pools/train", body, batch_bodies.API).status_code == 200
    unknown = batch_bodies.pool(applicationPackages=[{"id": f"{account}/applications/none", "version": "2"}])
    assert still_azure.put(f"{account}/pools/other", unknown, batch_bodies.API).status_code == 409


def test_a_cluster_answers_whether_it_is_there_and_nothing_else(still_azure: ServedAzure, group: str) -> None:
    path = f"{group}/providers/Microsoft.ContainerService/managedClusters/gpu"
    made = still_azure.made(path, managed_clusters.cluster(), managed_clusters.CLUSTERS)
    assert made["properties"]["provisioningState"] == "Succeeded"
    assert [(each["name"], each["count"]) for each in made["properties"]["agentPoolProfiles"]] == [("system", 1)]
    pool = still_azure.made(f"{path}/agentPools/t4", managed_clusters.pool(), managed_clusters.CLUSTERS)
    assert pool["properties"]["count"] == 1
    answer = still_azure.post(f"{path}/listClusterUserCredential", managed_clusters.CLUSTERS).json()
    config = yaml.safe_load(base64.b64decode(answer["kubeconfigs"][0]["value"]))
    cluster = config["clusters"][0]["cluster"]
    trust = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())

    def ask(below: str, body: Any = None) -> tuple[int, Any]:
        data = json.dumps(body).encode() if body else None
        try:
            with urllib.request.urlopen(urllib.request.Request(cluster["server"] + below, data), context=trust) as found:
                return found.status, json.load(found)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    assert ask("/version")[1]["gitVersion"].startswith("v1.")
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}}
    assert ask(REVIEWS, review) == (201, {**review, "status": {"allowed": True}})
    assert ask(REVIEWS, ["no review"])[0] == 400
    status, refusal = ask("/api/v1/namespaces/default/pods")
    assert (status, refusal["kind"], refusal["message"].startswith(NOTHING_RUNS)) == (501, "Status", True)

    for action, power in (("stop", "Stopped"), ("start", "Running")):
        still_azure.finished(still_azure.post(f"{path}/{action}", managed_clusters.CLUSTERS))
        assert still_azure.get(path, managed_clusters.CLUSTERS).json()["properties"]["powerState"]["code"] == power
    assert still_azure.finished(still_azure.delete(path, managed_clusters.CLUSTERS))["status"] == "Succeeded"


def test_kubelogin_is_there_and_hands_out_a_token(still_azure: ServedAzure) -> None:
    done = subprocess.run([still_azure.state / "still" / "kubelogin", "get-token"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["status"]["token"]
    config = yaml.safe_load((still_azure.state / "still" / "kubeconfig").read_text())
    assert still_azure.client.get(config["clusters"][0]["cluster"]["server"] + "/version").status_code == 200


def test_an_endpoint_takes_traffic_and_scores_nothing(still_azure: ServedAzure, group: str) -> None:
    workspace = ml.put_workspace(still_azure, group)

    def put(below: str, body: dict[str, Any]) -> dict[str, Any]:
        return ml.done(still_azure, still_azure.put(f"{workspace}/{below}", body, ml.ML))

    storage = still_azure.get(workspace, ml.ML).json()["properties"]["storageAccount"].rsplit("/", 1)[-1]
    uri = f"{still_azure.url}/blob/{storage}/models/never/uploaded"
    model = put("models/tiny/versions/1", {"properties": {"modelUri": uri}})["id"]
    environment = put("environments/tiny/versions/1", {"properties": {"image": "ghcr.io/somebody/scores:1"}})["id"]
    own = {"location": ml.REGION, "identity": {"type": "SystemAssigned"}}
    endpoint = put(f"onlineEndpoints/{ml.new_name('e')}", {**own, "properties": {"authMode": "Key"}})
    body = {"endpointComputeType": "Managed", "instanceType": "Standard_DS3_v2", "model": model, "environmentId": environment}
    below = endpoint["id"].removeprefix(f"{workspace}/")
    deployment = put(f"{below}/deployments/blue", {"location": ml.REGION, "properties": body})
    assert deployment["properties"]["provisioningState"] == "Succeeded"
    put(below, {**own, "properties": {"authMode": "Key", "traffic": {"blue": 100}}})
    assert nothing_runs(still_azure.client.post(endpoint["properties"]["scoringUri"], json={}))
    assert nothing_runs(still_azure.post(f"{deployment['id']}/getLogs", ml.ML, {}))
    compute = put("computes/gpu", ml.cluster_body())
    assert compute["properties"]["provisioningState"] == "Succeeded"
    job = {"jobType": "Command", "command": "true", "computeId": compute["id"], "environmentId": environment}
    assert nothing_runs(still_azure.put(f"{workspace}/jobs/one", {"properties": job}, ml.ML))
    assert still_azure.delete(endpoint["id"], ml.ML).is_success


def test_a_machine_has_its_power_and_runs_no_script(still_azure: ServedAzure, group: str) -> None:
    machine = machines.Network(still_azure, group).machine()
    assert machine.power == "running"
    script = {"commandId": "RunShellScript", "script": ["true"]}
    assert nothing_runs(still_azure.post(f"{machine.id}/runCommand", machines.COMPUTE, script))
    extension = {"publisher": "Microsoft.Azure.Extensions", "type": "CustomScript", "typeHandlerVersion": "2.1"}
    body = {"location": machines.REGION, "properties": {**extension, "settings": {"commandToExecute": "exit 1"}}}
    assert ml.done(still_azure, still_azure.put(f"{machine.id}/extensions/script", body, machines.COMPUTE))["id"]
    managed = {"location": machines.REGION, "properties": {"source": {"script": "exit 1"}}}
    assert ml.done(still_azure, still_azure.put(f"{machine.id}/runCommands/proof", managed, machines.COMPUTE))["id"]
    machine.act("deallocate")
    assert machine.power == "deallocated"
    machine.act("start")
    assert machine.power == "running"
    assert still_azure.finished(still_azure.delete(machine.id, machines.COMPUTE))["status"] == "Succeeded"


@pytest.mark.slow
def test_blobs_are_kept_once_somebody_uploads_one(own_still_azure: ServedAzure) -> None:
    group = new_group(own_still_azure)
    account = ml.put_storage(own_still_azure, group)
    containers = f"{account}/blobServices/default/containers"
    own_still_azure.made(f"{containers}/before", {}, ml.STORAGE)
    assert not (own_still_azure.state / "blobs").exists()
    name = account.rsplit("/", 1)[-1]
    headers = {
        "authorization": f"Bearer {own_still_azure.token('https://storage.azure.com/.default')}",
        "x-ms-version": "2023-11-03",
    }
    with own_still_azure.http(headers=headers) as client:
        sent = client.put(f"/blob/{name}/before/one", content=b"x", headers={"x-ms-blob-type": "BlockBlob"})
        assert sent.status_code == 201, sent.text
        own_still_azure.made(f"{containers}/after", {}, ml.STORAGE)
        sent = client.put(f"/blob/{name}/after/one", content=b"x", headers={"x-ms-blob-type": "BlockBlob"})
        assert sent.status_code == 201, sent.text


@pytest.mark.slow
def test_everything_is_there_after_a_restart(own_still_azure: ServedAzure) -> None:
    group = new_group(own_still_azure)
    path = f"{group}/providers/Microsoft.ContainerService/managedClusters/gpu"
    own_still_azure.made(path, managed_clusters.cluster(), managed_clusters.CLUSTERS)
    machine = machines.Network(own_still_azure, group).machine()
    create(own_still_azure, group, "one", group_body(None, container("ghcr.io/somebody/any:1")))
    account = batch_bodies.put_account(own_still_azure, group)["id"]
    own_still_azure.put(f"{account}/pools/train", batch_bodies.pool(scaleSettings=batch_bodies.fixed(2)), batch_bodies.API)
    own_still_azure.restart()
    assert own_still_azure.get(path, managed_clusters.CLUSTERS).json()["properties"]["provisioningState"] == "Succeeded"
    assert machine.power == "running"
    assert group_state(own_still_azure.get(group_path(group, "one"), GROUP).json()) == "Stopped"
    pool = own_still_azure.get(f"{account}/pools/train", batch_bodies.API).json()["properties"]
    assert pool["currentDedicatedNodes"] == 0
