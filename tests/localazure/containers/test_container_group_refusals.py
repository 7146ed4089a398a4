"""What is refused of a container group: images out of reach, what was never sold or is sold no more, what is not imitated."""

import base64
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.localazure.containers.sdk import (
    GROUP,
    Registry,
    container,
    create,
    gpu_group,
    group_body,
    group_path,
    mounted,
    public,
    refusal,
    with_requests,
)
from tests.localazure.test_activity_log import of_group
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.in_process import InProcessAzure

SUBNET = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/n/providers/Microsoft.Network/virtualNetworks/v/subnets/s"


STORAGE = "2024-01-01"


@pytest.fixture(autouse=True)
def no_fault_is_left(azure: InProcessAzure) -> Iterator[None]:
    yield
    azure.clear_faults()


@pytest.fixture
def account(azure: EmbeddedAzure, group: str) -> Iterator[tuple[str, str]]:
    """A storage account: its name and a key."""
    name = f"st{uuid.uuid4().hex[:12]}"
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/{name}"
    azure.made(path, {"location": "westeurope", "sku": {"name": "Standard_LRS"}, "kind": "StorageV2"}, STORAGE)
    yield name, azure.post(f"{path}/listKeys", STORAGE).json()["keys"][0]["value"]
    azure.delete(path, STORAGE)


def file_volume(account: str, key: str, share: str = "results") -> dict[str, Any]:
    return {"name": "share", "azureFile": {"shareName": share, "storageAccountName": account, "storageAccountKey": key}}


@pytest.mark.usefixtures("judged")
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


@pytest.mark.usefixtures("judged")
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


def test_attached_identities_show_their_ids_and_the_groups_own_stays(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    body = group_body(registry, container(hello_reference, "wait"))
    body["identity"]["type"] = "SystemAssigned, UserAssigned"
    first = create(azure, group, "one", body)["identity"]
    assert first["userAssignedIdentities"][registry.identity]["principalId"] == registry.principal
    assert uuid.UUID(first["principalId"])
    assert create(azure, group, "one", body)["identity"] == first


SENTENCE = (
    "The updates on container group 'one' are invalid. If you are going to update the os type, restart policy, network profile, "
    "CPU, memory or GPU resources for a container group, you must delete it first and then create a new one."
)


def test_what_a_group_keeps_for_its_life_is_refused_in_the_services_words(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    k80 = {"count": 1, "sku": "K80"}

    def body(**properties: Any) -> dict[str, Any]:
        made = group_body(registry, container(hello_reference, "wait", gpu=k80), **properties)
        return {**made, "tags": {"as-of": "2019-06-01"}}

    create(azure, group, "one", body())
    changes = [
        body(restartPolicy="Always"),
        with_requests(body(), cpu=2),
        with_requests(body(), memoryInGB=2),
        with_requests(body(), gpu={"count": 2, "sku": "K80"}),
        with_requests(body(), gpu={"count": 1, "sku": "V100"}),
    ]
    for change in changes:
        status, error = refusal(azure, group, change)
        assert (status, error["code"], error["message"]) == (400, "InvalidContainerGroupUpdate", SENTENCE)
    assert create(azure, group, "one", body())["properties"]["provisioningState"] == "Succeeded"


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        ({"periodSeconds": 1}, "either exec with a command or httpGet"),
        ({"exec": {"command": ["x"]}, "httpGet": {"port": 80}}, "either exec with a command or httpGet"),
        ({"httpGet": {"port": 0}}, "1 to 65535"),
        ({"exec": {"command": ["x"]}, "periodSeconds": 0}, "periodSeconds of a probe is 0"),
    ],
)
def test_probes_that_are_wrong_are_refused(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, probe: Any, said: str
) -> None:
    for name in ("livenessProbe", "readinessProbe"):
        status, error = refusal(azure, group, group_body(registry, container(hello_reference, **{name: probe})))
        assert (status, error["target"].startswith(f"properties.containers[0].properties.{name}")) == (400, True)
        assert said in error["message"]


def test_a_limit_lies_at_or_above_the_request(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str) -> None:
    def body(limit: float) -> dict[str, Any]:
        made = group_body(registry, container(hello_reference))
        made["properties"]["containers"][0]["properties"]["resources"]["limits"] = {"memoryInGB": limit}
        return made

    assert "below its request" in refusal(azure, group, body(1))[1]["message"]
    create(azure, group, "one", body(2))


def test_zones_spot_and_diagnostics_are_taken(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str) -> None:
    body = {**group_body(registry, container(hello_reference)), "zones": ["2"]}
    assert create(azure, group, "one", body)["zones"] == ["2"]
    assert refusal(azure, group, {**body, "zones": ["7"]}, "two")[0] == 400
    spot = create(azure, group, "three", group_body(registry, container(hello_reference), priority="Spot"))
    assert spot["properties"]["priority"] == "Spot"
    inbound = group_body(registry, container(hello_reference, ports=[{"port": 80}]), priority="Spot", ipAddress=public(80))
    assert refusal(azure, group, inbound, "four")[1]["code"] == "SpotPriorityContainerGroupNotSupportedForInboundConnectivity"


def test_a_share_takes_an_account_that_is_there_and_its_key(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, account: tuple[str, str]
) -> None:
    for volume, code in (
        (file_volume("nobody123", account[1]), "CannotAccessStorageAccount"),
        (file_volume(account[0], base64.b64encode(b"wrong").decode()), "InvalidStorageAccountKey"),
        (file_volume(*account, share="A/../b"), "InvalidRequestContent"),
    ):
        body = group_body(registry, container(hello_reference, volumeMounts=mounted("share", "/x")), volumes=[volume])
        status, error = refusal(azure, group, body)
        assert (status, error["code"]) == (400, code)
        assert account[1] not in str(error)


@pytest.mark.parametrize(
    ("volumes", "mounts", "said"),
    [
        ([], mounted("v", "/x"), "a volume of the group"),
        ([{"name": "v"}], [], "exactly one of"),
        ([{"name": "v", "emptyDir": {}, "secret": {"a": "YQ=="}}], [], "exactly one of"),
        ([{"name": "v", "emptyDir": {}}] * 2, [], "Two volumes are called 'v'"),
        ([{"name": "v", "secret": {"a": "not base64!"}}], [], "isn't base64"),
        ([{"name": "v", "secret": {"../a": "YQ=="}}], [], "isn't a valid file name"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "x"), "absolute path"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "/a:b"), "without a colon"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "/a/../../b"), "without '..'"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "/."), "absolute path below /"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "//a"), "absolute path below /"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "/"), "absolute path below /"),
        ([{"name": "v", "emptyDir": {}}], mounted("v", "/x") + mounted("v", "/x/"), "two volumes at"),
        ([{"name": f"v{number}", "emptyDir": {}} for number in range(21)], [], "at most 20 volumes"),
        ([{"name": "v", "gitRepo": {"repository": "x", "directory": "../y"}}], [], "outside of the volume"),
    ],
)
def test_volumes_that_are_wrong_are_refused(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str, volumes: Any, mounts: Any, said: str
) -> None:
    body = group_body(registry, container(hello_reference, volumeMounts=mounts), volumes=volumes)
    status, error = refusal(azure, group, body)
    assert status == 400
    assert said in error["message"]


def test_no_capacity(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str) -> None:
    body = group_body(registry, container(hello_reference))
    create(azure, group, "there", body)
    assert azure.command("fault", "capacity", "westeurope").returncode == 0
    status, error = refusal(azure, group, body)
    assert (status, error["code"]) == (409, "ServiceUnavailable")
    assert error["message"] == (
        "The requested resource is not available in the location 'westeurope' at this moment. Please retry with a "
        "different resource request or in another location. Resource requested: '1' CPU '1.5' GB memory 'Linux' OS"
    )
    create(azure, group, "there", body)
    create(azure, group, "one", {**body, "location": "northeurope"})
    assert "ServiceUnavailable" in of_group(azure, group)[0]["properties"]["statusMessage"]


def test_a_quota_that_is_reached(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str) -> None:
    body = {**group_body(registry, container(hello_reference)), "location": "norwayeast"}
    assert azure.command("fault", "quota", "aci", "norwayeast", "StandardCores", "10", "--used", "9").returncode == 0
    create(azure, group, "one", body)
    status, error = refusal(azure, group, body, "two")
    assert (status, error["code"]) == (409, "ContainerGroupQuotaReached")
    assert error["message"] == (
        "Resource type 'Microsoft.ContainerInstance/containerGroups' container group quota 'StandardCores' exceeded in region "
        "'norwayeast'. Limit: '10', Usage: '10' Requested: '1'."
    )
