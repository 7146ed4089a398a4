"""Deployments of custom containers: an image of the stack's own registry, on managed machines and as pods of a cluster."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.localazure.conftest import new_group
from tests.localazure.ml.online_images import Images
from tests.localazure.ml.online_world import Load
from tests.support import kubernetes, ml_resources as ml
from tests.support.embedded import ServedAzure, until

AKS = "2025-09-01"


@pytest.fixture(scope="module")
def world(azure: ServedAzure) -> Iterator[Images]:
    made = Images(azure, new_group(azure))
    yield made
    answer = azure.delete(made.group, "2024-03-01")
    assert azure.finished(answer)["status"] == "Succeeded"


def test_an_image_is_pulled_by_the_endpoints_identity_and_asked_at_its_own_routes(world: Images) -> None:
    one = world.endpoint()
    error = one.failure("blue", **world.custom())
    assert "It needs the role AcrPull on the registry" in error["message"]
    world.let_pull(world.identity["properties"]["principalId"])
    settings = {"requestSettings": {"maxConcurrentRequestsPerInstance": 5}}
    one.deploy("blue", instances=2, **world.custom(**settings, environmentVariables={"WEIGHTS": "unused"}))
    one.share(blue=100)
    with one.client() as client:
        answers = [client.post(one.uri, json={}).json() for _ in range(6)]
    assert {(each["answer"], each["weights"], each["path"]) for each in answers} == {("blue", "one", "/predict")}


@pytest.mark.parametrize(
    ("conda", "words"),
    [
        pytest.param("dependencies: [python=3.11, {pip: [no-such-package-here==9]}]", "no-such-package-here", id="no package"),
        pytest.param("dependencies: [python=3.11]", "azureml-inference-server-http is missing", id="no server"),
    ],
)
def test_an_environment_that_can_not_be_made_is_an_image_build_failure(world: Images, conda: str, words: str) -> None:
    one = world.endpoint()
    environment = world.put_environment(f"broken-{uuid.uuid4().hex[:8]}", condaFile=conda)
    error = one.failure("blue", environmentId=environment)
    assert error["code"] == "ImageBuildFailure"
    assert words in error["message"]


class OnCluster:
    """A cluster with the extension, attached to the workspace."""

    def __init__(self, world: Images) -> None:
        azure = world.azure
        self.id = f"{world.group}/providers/Microsoft.ContainerService/managedClusters/shared"
        system = {"name": "system", "mode": "System", "count": 1, "vmSize": "Standard_D4s_v5", "osType": "Linux"}
        properties = {"dnsPrefix": "shared", "agentPoolProfiles": [{**system, "type": "VirtualMachineScaleSets"}]}
        body = {"location": ml.REGION, "identity": {"type": "SystemAssigned"}, "properties": properties}
        cluster = ml.done(azure, azure.put(self.id, body, AKS))
        world.let_pull(cluster["properties"]["identityProfile"]["kubeletidentity"]["objectId"])
        settings = {
            "enableInference": "True",
            "inferenceRouterServiceType": "clusterIP",
            "inferenceRouterHA": "False",
            "allowInsecureConnections": "True",
        }
        extension = {"extensionType": "Microsoft.AzureML.Kubernetes", "configurationSettings": settings}
        path = f"{self.id}/providers/Microsoft.KubernetesConfiguration/extensions/azureml"
        ml.done(azure, azure.put(path, {"properties": extension}, "2023-05-01"))
        types = {
            "small": {"resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}},
            "gpu": {"resources": {"requests": {"cpu": "100m"}, "limits": {"nvidia.com/gpu": "1"}}},
        }
        inner = {"namespace": "default", "defaultInstanceType": "small", "instanceTypes": types}
        compute = {"computeType": "Kubernetes", "resourceId": self.id, "properties": inner}
        answer = azure.put(f"{world.workspace}/computes/shared", {"location": ml.REGION, "properties": compute}, ml.ML)
        self.compute = ml.done(azure, answer)["id"]


@pytest.fixture(scope="module")
def cluster(world: Images) -> OnCluster:
    kubernetes.needed()
    return OnCluster(world)


def on_kubernetes(world: Images, **properties: Any) -> dict[str, Any]:
    given = {"endpointComputeType": "Kubernetes", "instanceType": "small", "environmentVariables": {"WEIGHTS": "unused"}}
    return world.custom(**{**given, **properties})


@pytest.mark.slow
def test_an_endpoint_on_a_cluster_is_served_by_pods(world: Images, cluster: OnCluster) -> None:
    one = world.endpoint(compute=cluster.compute)
    assert "endpointComputeType Kubernetes" in ml.refused(one.try_deploy("blue"))[2]
    one.deploy("blue", instances=2, **on_kubernetes(world))
    one.deploy("conda", endpointComputeType="Kubernetes", instanceType="small")
    one.share(blue=100)
    with one.client() as client:
        answer = client.post(one.uri, json={"echo": 7}, headers={"azureml-model-deployment": "conda"}).json()
        assert (answer["answer"], answer["weights"], answer["echo"]) == ("conda", "one", 7)
        answers = [client.post(one.uri, json={}).json() for _ in range(20)]
        assert {(each["answer"], each["weights"], each["path"]) for each in answers} == {("blue", "one", "/predict")}
        assert len({each["pid"] for each in answers}) == 2
        assert client.post(one.uri.replace("/score", "/none"), json={}).status_code == 200  # its POSTs answer everywhere
        assert client.get(one.uri.replace("/score", "/none")).status_code == 404  # and isn't told as a model error
    with Load(one, clients=2) as load:
        one.deploy("blue", instances=1, **on_kubernetes(world, environmentVariables={"WEIGHTS": "unused", "ANSWER": "newer"}))
        load.more()
    assert {answer for status, answer in load.answers if status == 200} == {"blue", "newer"}
    assert set(load.statuses()) == {200}
    assert isinstance(world.azure, ServedAzure)
    world.azure.kill9()
    world.azure.start()
    one.azure = world.azure
    with one.client() as client:
        until(lambda: client.post(one.uri, json={}).status_code == 200, "it answers after a restart")
    assert one.log("blue").startswith("Instance status")
    one.share()
    one.delete("blue")


@pytest.mark.slow
def test_pods_that_do_not_run_fail_a_deployment_in_the_services_words(world: Images, cluster: OnCluster) -> None:
    one = world.endpoint(compute=cluster.compute)
    crash = on_kubernetes(world, environmentVariables={"WEIGHTS": "unused", "CRASH": "1"})
    error = one.failure("blue", **crash)
    assert error["code"] == "DeploymentCrashLoopBackOff"
    assert "told to crash" in error["message"]
    one.delete("blue")
    probe = {"readinessProbe": {"initialDelay": "PT1S", "period": "PT1S", "failureThreshold": 3}}
    error = one.failure("blue", **on_kubernetes(world, instanceType="gpu", **probe))
    assert error["code"] == "OutOfQuota"
    assert "Kubernetes unschedulable" in error["message"]
    one.delete("blue")
    mirrored = world.try_endpoint(one.name, compute=cluster.compute, mirrorTraffic={"blue": 10})
    assert mirrored.status_code == 400
