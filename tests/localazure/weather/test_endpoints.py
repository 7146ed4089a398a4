"""Online endpoints: roles that come by themselves, operations that collide, and instances that an autoscale setting asks for."""

from typing import Any

import pytest

from azure_gpu.catalog import roles
from localazure.arm.errors import ArmError
from localazure.arm.store import Operation, Resource
from localazure.weather import conflicts, endpoint_roles, own_acts
from tests.localazure.parts import arm_id
from tests.localazure.weather.conftest import Time, on
from tests.support.embedded import SUBSCRIPTION
from tests.support.managed_clusters import ArmHarness

GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/lab"
WORKSPACE = f"{GROUP}/providers/Microsoft.MachineLearningServices/workspaces/ml"
REGISTRY = f"{GROUP}/providers/Microsoft.ContainerRegistry/registries/acr"
STORAGE = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/st"
ENDPOINT = f"{WORKSPACE}/onlineEndpoints/digits"
BLUE, GREEN = f"{ENDPOINT}/deployments/blue", f"{ENDPOINT}/deployments/green"
PRINCIPAL = "22222222-2222-3333-4444-555555555555"  # of the endpoint's own identity
OWN = {"identity": {"principalId": PRINCIPAL}}


def kept(server: ArmHarness, text: str, **body: Any) -> Resource:
    resource = Resource(id=arm_id(text), body=body)
    server.store.put(resource)
    return resource


def begun(server: ArmHarness, text: str) -> None:
    """A long operation on it is in progress."""
    operation = Operation(
        id=text, resource_key=text.lower(), resource_id=text, kind="put", status="InProgress", started_at="", as_of="2026-11-24"
    )
    server.store.put_operation(operation)


def workspace(server: ArmHarness) -> Resource:
    kept(server, REGISTRY)
    kept(server, STORAGE)
    return kept(server, WORKSPACE, properties={"containerRegistry": REGISTRY, "storageAccount": STORAGE})


def assignments(server: ArmHarness) -> set[tuple[str, str]]:
    found = server.store.of_type("Microsoft.Authorization/roleAssignments")
    return {(each.id.scope.rsplit("/", 1)[-1], each.properties["roleDefinitionId"].rsplit("/", 1)[-1]) for each in found}


def test_an_endpoint_s_own_identity_gets_three_roles_once(arm: ArmHarness) -> None:
    endpoint_roles.assign(OWN, workspace(arm), arm.services)
    assert assignments(arm) == set()
    on(arm, "endpoint-roles")
    for _ in range(2):
        endpoint_roles.assign(OWN, workspace(arm), arm.services)
    assert assignments(arm) == {
        ("acr", roles.ACR_PULL),
        ("st", roles.STORAGE_BLOB_DATA_READER),
        ("ml", roles.AZUREML_METRICS_WRITER),
    }
    endpoint_roles.assign({}, workspace(arm), arm.services)  # an endpoint with attached identities alone
    assert len(assignments(arm)) == 3


def test_the_same_role_from_somebody_else_is_refused(arm: ArmHarness) -> None:
    on(arm, "endpoint-roles")
    endpoint_roles.assign(OWN, workspace(arm), arm.services)
    endpoint = kept(arm, ENDPOINT)
    endpoint.service = OWN
    arm.store.put(endpoint)
    definition = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{roles.ACR_PULL}"
    properties = {"principalId": PRINCIPAL, "principalType": "ServicePrincipal", "roleDefinitionId": definition}
    path = f"{REGISTRY}/providers/Microsoft.Authorization/roleAssignments/11111111-2222-3333-4444-555555555555"
    answer = arm.put(path, {"properties": properties}, "2022-04-01")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "RoleAssignmentExists")


@pytest.mark.parametrize(
    ("at_work", "asked", "sentence"),
    [
        (BLUE, GREEN, "Cannot create a deployment in endpoint digits because it is in Updating provisioning state."),
        (ENDPOINT, BLUE, "Cannot create a deployment"),
        (BLUE, ENDPOINT, "An operation is already in progress on the online endpoint 'digits'"),
    ],
)
def test_one_operation_at_a_time_on_an_endpoint(arm: ArmHarness, at_work: str, asked: str, sentence: str) -> None:
    for each in (ENDPOINT, BLUE, GREEN):
        kept(arm, each)
    begun(arm, at_work)
    conflicts.check(arm_id(asked), {}, arm.services)
    on(arm, "endpoint-conflicts")
    with pytest.raises(ArmError, match=sentence) as refused:
        conflicts.check(arm_id(asked), {}, arm.services)
    assert refused.value.status == 409
    conflicts.check(arm_id(at_work), {}, arm.services)  # which ARM refuses by itself


def test_a_network_interface_waits_for_what_it_names(arm: ArmHarness) -> None:
    address = f"{GROUP}/providers/Microsoft.Network/publicIPAddresses/ip"
    interface = arm_id(f"{GROUP}/providers/Microsoft.Network/networkInterfaces/nic")
    body = {"properties": {"ipConfigurations": [{"properties": {"publicIPAddress": {"id": address}}}]}}
    kept(arm, address)
    on(arm, "network-conflicts")
    for wrong in (
        "x",
        ["x"],
        {"ipConfigurations": "x"},
        {"ipConfigurations": ["x"]},
        {"ipConfigurations": [{"properties": "x"}]},
    ):
        conflicts.check(interface, {"properties": wrong}, arm.services)
    conflicts.check(interface, body, arm.services)
    begun(arm, address)
    with pytest.raises(ArmError) as refused:
        conflicts.check(interface, body, arm.services)
    error = refused.value
    assert (error.status, error.code, error.details[0].code) == (429, "RetryableError", "ReferencedResourceNotProvisioned")
    assert error.details[0].message.endswith(
        "the last operation that updated/is updating the resource is PutPublicIpAddressOperation."
    )


def test_a_subnet_waits_for_the_others_of_its_network(arm: ArmHarness) -> None:
    subnet = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/net/subnets/"
    kept(arm, f"{subnet}one")
    on(arm, "network-conflicts")
    conflicts.check(arm_id(f"{subnet}two"), {}, arm.services)
    begun(arm, f"{subnet}one")
    conflicts.check(arm_id(f"{subnet}one"), {}, arm.services)
    with pytest.raises(ArmError) as refused:
        conflicts.check(arm_id(f"{subnet}two"), {}, arm.services)
    assert (refused.value.status, refused.value.code) == (409, "AnotherOperationInProgress")


def test_an_autoscale_setting_lifts_a_deployment_to_its_least(
    arm: ArmHarness,
    time: Time,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, int]] = []

    async def put(resource_id: str, version: str, body: Any, caller: object) -> int:
        if not asked:
            asked.append((resource_id, 0))
            raise ArmError(409, "Conflict", "An operation is in progress.")
        asked.append((resource_id, body["sku"]["capacity"]))
        return 200

    monkeypatch.setattr(arm.services.arm, "put", put)
    kept(arm, BLUE, sku={"name": "Default", "capacity": 1}, properties={})
    capacity = {"minimum": "2", "default": "2", "maximum": "4"}
    setting = f"{GROUP}/providers/Microsoft.Insights/autoscaleSettings/scale"
    kept(arm, setting, properties={"enabled": True, "targetResourceUri": BLUE, "profiles": [{"capacity": capacity}]})
    on(arm, "own-acts")

    async def begin() -> None:
        own_acts.after_autoscale(setting, arm.services)

    arm.run(begin())
    for _ in range(3):
        arm.get(GROUP, "2024-03-01")
        time.move(3)
    arm.get(GROUP, "2024-03-01")
    assert asked == [(BLUE, 0), (BLUE, 2)]
