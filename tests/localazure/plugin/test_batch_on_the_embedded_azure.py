"""Batch and galleries through the provider: a refresh finds nothing changed, and plans are as wise as the real one's."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from localazure.plugin.wire import from_struct
from tests.localazure.plugin.conftest import Engine, live
from tests.support.batch_bodies import PENDING, T4, new_name, put_identity, put_storage
from tests.support.embedded import EmbeddedAzure
from tests.support.provider_calls import details_of

ACCOUNT = "azure-native:batch:BatchAccount"
POOL = "azure-native:batch:Pool"
APPLICATION = "azure-native:batch:Application"
GALLERY = "azure-native:compute:Gallery"
IMAGE = "azure-native:compute:GalleryImage"
VERSION = "azure-native:compute:GalleryImageVersion"
HIDDEN = ("deploymentConfiguration", "userAccounts")  # of a pool: settings of extensions, passwords
HPC = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"}


def machine(**more: Any) -> dict[str, Any]:
    configuration = {"imageReference": dict(HPC), "nodeAgentSkuId": "batch.node.ubuntu 22.04", **more}
    return {"virtualMachineConfiguration": configuration}


class Stack:
    """Resources as a program declares them, one by one."""

    def __init__(self, engine: Engine, group: str) -> None:
        self.engine = engine
        self.group = group.rsplit("/", 1)[1]

    def create(self, token: str, name: str, **inputs: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """Id, checked inputs and outputs."""
        checked, failures = self.engine.check(token, {"resourceGroupName": self.group, **inputs}, name=name)
        assert failures == []
        created = self.engine.create(token, checked)
        return created.id, checked, from_struct(created.properties)


@pytest.fixture
def stack(engine: Engine, group: str) -> Stack:
    return Stack(engine, group)


@pytest.fixture
def account(stack: Stack) -> str:
    _, checked, _ = stack.create(ACCOUNT, new_name("acc")[:16], accountName=new_name())
    return str(checked["accountName"])


def full_account(azure: EmbeddedAzure, group: str) -> dict[str, Any]:
    identity = put_identity(azure, group)["id"]
    storage = put_storage(azure, group, allowSharedKeyAccess=False)["id"]
    return {
        "allowedAuthenticationModes": ["AAD", "TaskAuthenticationToken"],
        "autoStorage": {
            "storageAccountId": storage,
            "authenticationMode": "BatchAccountManagedIdentity",
            "nodeIdentityReference": {"resourceId": identity},
        },
        "identity": {"type": "UserAssigned", "userAssignedIdentities": [identity]},
        "publicNetworkAccess": "Enabled",
        "tags": {"team": "a"},
    }


def full_pool(identity: str) -> dict[str, Any]:
    registry = {"registryServer": "x.azurecr.io", "identityReference": {"resourceId": identity}}
    containers = {"type": "DockerCompatible", "containerImageNames": [], "containerRegistries": [registry]}
    extension = {
        "name": "gpu",
        "publisher": "Microsoft.HpcCompute",
        "type": "NvidiaGpuDriverLinux",
        "typeHandlerVersion": "1.10",
        "autoUpgradeMinorVersion": True,
        "settings": {"driverVersion": "latest"},
        "protectedSettings": {"secret": "4711"},
    }
    return {
        "vmSize": T4,
        "displayName": "Training",
        "deploymentConfiguration": machine(containerConfiguration=containers, extensions=[extension]),
        "identity": {"type": "UserAssigned", "userAssignedIdentities": [identity]},
        "interNodeCommunication": "Disabled",
        "metadata": [{"name": "logical", "value": "train"}],
        "networkConfiguration": {"publicIPAddressConfiguration": {"provision": "BatchManaged"}},
        "scaleSettings": {"autoScale": {"formula": PENDING, "evaluationInterval": "PT5M"}},
        "startTask": {
            "commandLine": "/bin/true",
            "environmentSettings": [{"name": "A", "value": "b"}],
            "userIdentity": {"autoUser": {"elevationLevel": "Admin", "scope": "Pool"}},
            "waitForSuccess": True,
        },
        "tags": {"expires-after": "2026-12-31"},
        "targetNodeCommunicationMode": "Simplified",
        "taskSchedulingPolicy": {"nodeFillType": "Pack"},
        "taskSlotsPerNode": 2,
        "userAccounts": [{"name": "runner", "password": "4711"}],
    }


@pytest.fixture
def cases(azure: EmbeddedAzure, group: str, stack: Stack, account: str) -> Callable[[str], dict[str, Any]]:
    """Full inputs of each type, with what has to stand before it."""

    def inputs_of(token: str) -> dict[str, Any]:
        identifier = {"publisher": "lab", "offer": "gpu", "sku": "a"}
        image = {"osType": "Linux", "osState": "Generalized", "hyperVGeneration": "V2", "identifier": identifier}
        match token:
            case "azure-native:batch:BatchAccount":
                return full_account(azure, group)
            case "azure-native:batch:Pool":
                return {"accountName": account, **full_pool(put_identity(azure, group)["id"])}
            case "azure-native:batch:Application":
                return {"accountName": account, "displayName": "Tools", "allowUpdates": True}
            case "azure-native:compute:Gallery":
                return {"description": "of the lab"}
            case "azure-native:compute:GalleryImage":
                stack.create(GALLERY, "lab", galleryName="lab")
                return {"galleryName": "lab", "tags": {"a": "b"}, **image}
            case _:
                stack.create(GALLERY, "lab", galleryName="lab")
                stack.create(IMAGE, "gpu", galleryName="lab", **image)
                source = {"source": {"id": f"{group}/providers/Microsoft.Compute/snapshots/gpu"}}
                regions = [{"name": "westeurope", "regionalReplicaCount": 1}]
                publishing = {"targetRegions": regions, "excludeFromLatest": False}
                names = {"galleryName": "lab", "galleryImageName": "gpu", "galleryImageVersionName": "1.0.0"}
                return {**names, "storageProfile": source, "publishingProfile": publishing}

    return inputs_of


@pytest.mark.parametrize(
    ("token", "edit"),
    [
        (ACCOUNT, {"tags": {"team": "b"}}),
        (POOL, {"metadata": [{"name": "logical", "value": "other"}]}),
        (APPLICATION, {"displayName": "Other tools"}),
        (GALLERY, {"description": "of another lab"}),
        (IMAGE, {"tags": {"a": "c"}}),
        (VERSION, {"tags": {"a": "c"}}),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_resource_lives_from_check_to_delete_without_false_differences(
    stack: Stack, cases: Callable[[str], dict[str, Any]], token: str, edit: dict[str, Any]
) -> None:
    live(stack.engine, token, {"resourceGroupName": stack.group, **cases(token)}, edit, hidden=HIDDEN)


def test_what_scales_by_itself_is_no_drift(stack: Stack, account: str) -> None:
    """The nodes of a pool come and go; nobody changed its declaration."""
    formula = {"autoScale": {"formula": "$TargetDedicatedNodes = 1;"}}
    declared = {"accountName": account, "vmSize": T4, "deploymentConfiguration": machine(), "scaleSettings": formula}
    resource_id, checked, outputs = stack.create(POOL, "train", **declared)
    read = stack.engine.read(POOL, resource_id, checked, {**outputs, "currentDedicatedNodes": 7})
    assert from_struct(read.properties)["currentDedicatedNodes"] != 7
    assert from_struct(read.inputs) == checked


def test_another_size_is_an_update_in_the_plan_and_refused_by_batch(stack: Stack, account: str) -> None:
    declared = {"accountName": account, "vmSize": T4, "deploymentConfiguration": machine()}
    resource_id, checked, outputs = stack.create(POOL, "train", **declared)
    news = {**checked, "vmSize": "Standard_NC8as_T4_v3"}
    assert list(stack.engine.diff(POOL, checked, news, outputs).replaces) == []
    with pytest.raises(grpc.RpcError, match='Status=400 Code="PropertyCannotBeUpdated"') as refused:
        stack.engine.update(POOL, resource_id, outputs, news)
    assert '"message": "properties.vmSize"' in details_of(refused.value)
    renamed = {**news, "poolName": "train-2"}
    assert list(stack.engine.diff(POOL, checked, renamed, outputs).replaces) == ["poolName"]


def test_what_exists_can_be_read(stack: Stack, account: str) -> None:
    found = stack.engine.invoke("azure-native:batch:getBatchAccount", resourceGroupName=stack.group, accountName=account)
    assert found["accountEndpoint"].endswith(f"/batch/{account}")
    with pytest.raises(grpc.RpcError, match="there is no resource"):
        stack.engine.invoke("azure-native:compute:getGallery", resourceGroupName=stack.group, galleryName="nowhere")


def test_names_are_the_real_providers(engine: Engine) -> None:
    pool, _ = engine.check(POOL, {"resourceGroupName": "rg", "accountName": "a"}, name="train")
    assert pool["poolName"] == "train", "below another resource a name is copied"
    account, _ = engine.check(ACCOUNT, {"resourceGroupName": "rg", "location": "westeurope"}, name="mnist")
    assert len(account["accountName"]) == len("mnist") + 8
