"""What is refused of a container group: images out of reach, what was never sold or is sold no more, what is not imitated."""

import uuid
from typing import Any

import pytest

from tests.localazure.containers.sdk import (
    GROUP,
    Registry,
    container,
    container_view,
    create,
    gpu_group,
    group_body,
    group_path,
    logs,
    refusal,
    wait_for,
    with_requests,
)
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

SUBNET = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/n/providers/Microsoft.Network/virtualNetworks/v/subnets/s"


def test_an_image_that_was_not_built_is_not_accessible(azure: EmbeddedAzure, registry: Registry, group: str) -> None:
    for image in (
        f"{registry.server}/hello:2",
        "nginx",
        "mcr.microsoft.com/azuredocs/aci-wordcount",
        "nobody.azurecr.local/hello:1",
    ):
        status, error = refusal(azure, group, group_body(registry, container(image)))
        expected = (
            f"The image '{image}' in container group 'one' is not accessible. Please check the image and registry credential."
        )
        assert (status, error["code"], error["message"]) == (400, "InaccessibleImage", expected)
    assert azure.get(group_path(group, "one"), GROUP).status_code == 404


def with_variable(body: dict[str, Any], **variable: str) -> dict[str, Any]:
    body["properties"]["containers"][0]["properties"]["environmentVariables"] = [variable]
    return body


def test_what_no_process_can_be_given_is_refused(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    path = "properties.containers[0].properties"
    for variable, target in (
        ({"name": "", "value": "x"}, "environmentVariables[0].name"),
        ({"name": "A=B", "value": "x"}, "environmentVariables[0].name"),
        ({"name": "A\0", "value": "x"}, "environmentVariables[0].name"),
        ({"name": "A", "value": "x\0"}, "environmentVariables[0]"),
        ({"name": "A", "secureValue": "x\0"}, "environmentVariables[0]"),
    ):
        status, error = refusal(azure, group, with_variable(group_body(registry, container(hello_reference)), **variable))
        # Azure/azure-rest-api-specs issue 19173
        code = "InvalidContainerEnvironmentVariable" if target.endswith(".name") else "InvalidRequestContent"
        assert (status, error["code"], error["target"]) == (400, code, f"{path}.{target}")
    status, error = refusal(azure, group, group_body(registry, container(hello_reference, "say", "a\0b")))
    assert (status, error["code"], error["target"]) == (400, "InvalidRequestContent", f"{path}.command")


def test_pulling_takes_an_attached_identity_with_a_role(azure: EmbeddedAzure, group: str) -> None:
    registry = Registry(azure, group, f"reg{uuid.uuid4().hex[:10]}")
    registry.build("hello", "hello:1")
    image = f"{registry.server}/hello:1"
    without_role = refusal(azure, group, group_body(registry, container(image)))[1]
    assert without_role["code"] == "InaccessibleImage"
    assert "has no role, such as AcrPull" in without_role["details"][0]["message"]
    registry.allow_pull()
    unattached = group_body(registry, container(image))
    del unattached["identity"]
    assert refusal(azure, group, unattached)[1]["code"] == "InaccessibleImage"
    uncredited = group_body(registry, container(image))
    del uncredited["properties"]["imageRegistryCredentials"]
    assert refusal(azure, group, uncredited)[1]["code"] == "InaccessibleImage"
    create(azure, group, "one", group_body(registry, container(image)))


def test_an_image_is_pulled_by_digest_too(azure: EmbeddedAzure, registry: Registry, group: str) -> None:
    run = azure.get(f"{registry.id}/taskRuns/build-one", "2019-06-01-preview").json()["properties"]["runResult"]["properties"]
    output = run["outputImages"][0]
    image = f"{output['registry']}/{output['repository']}@{output['digest']}"
    create(azure, group, "one", group_body(registry, container(image)))
    assert container_view(wait_for(azure, group, "one", "Succeeded"))["currentState"]["exitCode"] == 0


@pytest.mark.parametrize("image", ["k8s-gcrio.azureedge.net/cuda-vector-add:v0.1", "k8s.gcr.io/cuda-vector-add:v0.1"])
def test_an_image_of_the_article_runs_as_the_workload(azure: EmbeddedAzure, group: str, image: str) -> None:
    create(azure, group, "one", group_body(None, container(image)))
    wait_for(azure, group, "one", "Succeeded")
    assert logs(azure, group, "one") == "nothing asked\n"


def test_another_tag_of_the_articles_image_is_not_known(azure: EmbeddedAzure, group: str) -> None:
    assert refusal(azure, group, group_body(None, container("k8s.gcr.io/cuda-vector-add:v0.2")))[1]["code"] == "InaccessibleImage"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (gpu_group("K80", as_of="2024-01-01"), "2023-08-31"),
        (gpu_group("P100", as_of="2023-09-01"), "2023-08-31"),
        (gpu_group("V100", as_of="2025-07-15"), "2025-07-14"),
        (gpu_group("K80", 3), "1, 2, 4"),
        (gpu_group("T4"), "K80, P100, V100"),
        (gpu_group("K80", osType="Windows"), "Linux only"),
        (gpu_group("K80", priority="Spot"), "SpotPriorityContainerGroupWithGPUResourcesNotSupported"),
        (gpu_group("K80", subnetIds=[{"id": SUBNET}]), "virtual network"),
        (with_requests(gpu_group("K80"), cpu=7), "at most 6 CPU"),
        (with_requests(gpu_group("K80"), memoryInGB=57), "at most 56 GB"),
        (with_requests(group_body(None, container("k8s.gcr.io/cuda-vector-add:v0.1")), cpu=32), "at most 31 CPU"),
    ],
)
def test_what_the_service_never_sold_or_sells_no_more_is_refused(
    azure: EmbeddedAzure, group: str, body: dict[str, Any], said: str
) -> None:
    status, error = refusal(azure, group, body)
    assert status == 400
    assert said in f"{error['code']}: {error['message']}"
    assert azure.get(group_path(group, "one"), GROUP).status_code == 404


def test_all_that_is_wrong_is_said_at_once(azure: EmbeddedAzure, group: str) -> None:
    body = with_requests(gpu_group("K80", 3, as_of="2024-01-01", osType="Windows"), cpu=0)
    error = refusal(azure, group, body)[1]
    assert {detail["target"] for detail in error["details"]} >= {
        "properties.containers[0].properties.resources.requests.cpu",
        "properties.containers[0].properties.resources.requests.gpu.count",
        "properties.containers[0].properties.resources.requests.gpu.sku",
        "properties.osType",
    }


def test_a_region_without_the_gpu_is_out_of_stock_in_the_services_words(azure: EmbeddedAzure, group: str) -> None:
    status, error = refusal(azure, group, {**gpu_group("P100"), "location": "northeurope"})
    assert (status, error["code"]) == (409, "ServiceUnavailable")
    assert error["message"] == (
        "The requested resource is not available in the location 'northeurope' at this moment. Please retry with a different "
        "resource request or in another location. Resource requested: '1' CPU '1.5' GB memory 'Linux' OS '1' 'P100' GPU"
    )


def test_a_request_without_memory_is_refused_with_the_services_code(azure: EmbeddedAzure, group: str) -> None:
    body = gpu_group("K80")
    del body["properties"]["containers"][0]["properties"]["resources"]
    assert refusal(azure, group, body)[1]["code"] == "ResourceSomeRequestsNotSpecified"


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"containerGroupProfile": {"id": "/p"}}, "'properties.containerGroupProfile'"),
        ({"osType": "Windows"}, "Windows containers"),
    ],
)
def test_what_is_not_imitated_is_refused_by_name(azure: EmbeddedAzure, group: str, properties: dict[str, Any], said: str) -> None:
    status, error = refusal(azure, group, group_body(None, container("k8s.gcr.io/cuda-vector-add:v0.1"), **properties))
    assert (status, error["code"]) == (501, "NotImplemented")
    assert said in error["message"]


def test_names_policies_variables_and_identities_that_are_wrong_are_refused(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    bodies = {
        "'Main'": group_body(registry, container(hello_reference, name="Main")),
        "Two containers are called 'main'": group_body(registry, container(hello_reference), container(hello_reference)),
        "restart policy 'Sometimes'": group_body(registry, container(hello_reference), restartPolicy="Sometimes"),
        "'A' is given twice": group_body(registry, container(hello_reference, environmentVariables=twice)),
        "at least one container": group_body(registry),
        "can't be parsed": group_body(registry, container("Not/An Image")),
    }
    for said, body in bodies.items():
        status, error = refusal(azure, group, body)
        assert status == 400
        assert said in error["message"]
    body = group_body(registry, container(hello_reference))
    body["identity"]["userAssignedIdentities"] = {f"{registry.identity}2": {}}
    assert refusal(azure, group, body)[1]["code"] == "FailedIdentityOperation"


def test_logs_go_to_a_workspace_that_is_there_with_a_key_that_is_right(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    workspace = f"{group}/providers/Microsoft.OperationalInsights/workspaces/logs"
    made = azure.put(workspace, {"location": "westeurope"}, "2023-09-01").raise_for_status().json()
    key = azure.post(f"{workspace}/sharedKeys", "2023-09-01").raise_for_status().json()["primarySharedKey"]
    customer = made["properties"]["customerId"]

    def body(workspace_id: str, workspace_key: str) -> dict[str, Any]:
        analytics = {"workspaceId": workspace_id, "workspaceKey": workspace_key}
        return group_body(registry, container(hello_reference), diagnostics={"logAnalytics": analytics})

    assert "no Log Analytics workspace" in refusal(azure, group, body(str(uuid.uuid4()), key))[1]["message"]
    assert "isn't a key" in refusal(azure, group, body(customer, "bm90IHRoZSBrZXk="))[1]["message"]
    created = create(azure, group, "one", body(customer, key))
    assert created["properties"]["diagnostics"]["logAnalytics"] == {"workspaceId": customer}
