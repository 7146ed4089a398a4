"""Clusters of AKS: reviews that are refused, addresses that lead nowhere, and what AKS does by itself."""

import asyncio
import base64
from typing import Any, cast

import httpx
import pytest
from starlette.applications import Starlette

from azure_gpu.catalog import roles
from localazure.arm.store import Resource
from localazure.fault import parse
from localazure.kubernetes.authorization_routes import ClusterRoutes
from localazure.weather.parts import PARTS
from tests.localazure.parts import arm_id
from tests.localazure.weather.conftest import Time, on
from tests.support.embedded import SUBSCRIPTION
from tests.support.managed_clusters import CLUSTER, ArmHarness, cluster


def test_the_kubeconfig_of_a_private_cluster_leads_nowhere(arm: ArmHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arm.written, "kubeconfig", lambda key, who, form="": f"server: {arm.written.server(key)}")
    private = f"{CLUSTER}-private"
    arm.succeeded(arm.put(private, cluster(apiServerAccessProfile={"enablePrivateCluster": True})))

    def told(path: str) -> str:
        answer = arm.post(f"{path}/listClusterUserCredential").json()
        return base64.b64decode(answer["kubeconfigs"][0]["value"]).decode()

    assert "127.0.0.1" in told(private)
    on(arm, "private-clusters")
    name = arm.get(private).json()["properties"]["privateFQDN"]
    assert told(private) == f"server: https://{name}:443"
    assert "127.0.0.1" in told(CLUSTER)
    nodes = f"{CLUSTER.partition('/providers/')[0]}/providers/Microsoft.Network/virtualNetworks/nodes"
    arm.store.put(Resource(id=arm_id(f"{private}/agentPools/own"), body={"properties": {"vnetSubnetID": f"{nodes}/subnets/a"}}))
    for network, is_inside in ((f"{nodes}2", False), (nodes, True)):
        arm.services.deviations.faults = [parse({"kind": "inside", "name": network})]
        assert ("127.0.0.1" in told(private)) is is_inside


def test_a_cluster_with_a_channel_upgrades_itself_and_its_nodes(arm: ArmHarness, time: Time) -> None:
    on(arm, "own-acts")
    arm.succeeded(arm.put(CLUSTER, cluster(autoUpgradeProfile={"upgradeChannel": "patch"}, kubernetesVersion="1.35.6")))
    before = arm.get(CLUSTER).json()["properties"]
    time.move(PARTS["own-acts"].seconds)
    arm.run(asyncio.sleep(0))
    after = arm.get(CLUSTER).json()["properties"]
    assert (before["currentKubernetesVersion"], after["currentKubernetesVersion"]) == ("1.35.6", "1.35.7")
    assert after["kubernetesVersion"] == "1.35.7"
    [was], [is_now] = before["agentPoolProfiles"], after["agentPoolProfiles"]
    assert is_now["currentOrchestratorVersion"] == "1.35.7"
    assert is_now["nodeImageVersion"] > was["nodeImageVersion"]


def review(arm: ArmHarness, verb: str, resource: str) -> bool:
    """Whether Azure RBAC permits it in the namespace `lab`."""
    arm.written.__dict__["key_of_webhook"] = lambda identifier, secret: CLUSTER.lower()
    attributes = {"namespace": "lab", "verb": verb, "group": "apps" if resource != "*" else "*", "resource": resource}
    body = {"spec": {"user": "somebody", "resourceAttributes": attributes}}

    async def ask() -> httpx.Response:
        app = Starlette(routes=ClusterRoutes(arm.services, arm.backends.clusters).routes())
        async with httpx.AsyncClient(transport=httpx.ASGITransport(cast(Any, app)), base_url="https://localhost:1") as client:
            return await client.post("/kubernetes/authorization/x", json=body, headers={"authorization": "Bearer s"})

    return bool(arm.run(ask()).json()["status"]["allowed"])


def give(arm: ArmHarness, role: str) -> None:
    name = "11111111-2222-3333-4444-555555555555"
    assignment = arm_id(f"{CLUSTER}/providers/Microsoft.Authorization/roleAssignments/{name}")
    definition = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{role}"
    now = arm.services.clock.stamp()
    properties = {"principalId": "somebody", "roleDefinitionId": definition}
    arm.store.put(Resource(id=assignment, body={"properties": properties}, created_at=now, changed_at=now))


def test_a_wildcard_review_is_refused_whatever_role_one_has(arm: ArmHarness) -> None:
    give(arm, roles.AKS_RBAC_CLUSTER_ADMIN)
    assert review(arm, "*", "*")
    on(arm, "wildcard-reviews")
    assert not review(arm, "*", "*")
    assert review(arm, "create", "daemonsets")


def test_a_review_is_permitted_some_time_after_the_role_was_given(arm: ArmHarness, time: Time) -> None:
    on(arm, "role-delay")
    give(arm, roles.AKS_RBAC_CLUSTER_ADMIN)
    time.move(4)
    assert not review(arm, "create", "daemonsets")
    time.move(1)
    assert not review(arm, "create", "daemonsets")  # remembered
    assert review(arm, "create", "deployments")  # another question
    time.move(2)
    assert review(arm, "create", "daemonsets")
