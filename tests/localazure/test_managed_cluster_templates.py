"""Clusters and their pools in template deployments."""

from typing import Any

from tests.localazure.test_deployments import body, template
from tests.support.managed_clusters import CLUSTER, CLUSTERS, GROUP, ArmHarness, cluster, pool

VERSION = "2025-04-01"
DEPLOYMENT = f"{GROUP}/providers/Microsoft.Resources/deployments/main"
TYPE = "Microsoft.ContainerService/managedClusters"
A_CLUSTER = {"type": TYPE, "apiVersion": CLUSTERS, "name": "gpu", **cluster()}
A_POOL = {"type": f"{TYPE}/agentPools", "apiVersion": CLUSTERS, "name": "gpu/t4", "dependsOn": [f"[resourceId('{TYPE}', 'gpu')]"]}


def deployed(arm: ArmHarness, *resources: Any, **parts: Any) -> dict[str, Any]:
    answer = arm.put(DEPLOYMENT, body(template(*resources, **parts)), VERSION)
    assert answer.status_code in (200, 201), answer.text
    arm.ended(answer)
    return arm.get(DEPLOYMENT, VERSION).json()["properties"]


def test_a_template_makes_a_cluster_and_then_its_pool(arm: ArmHarness) -> None:
    outputs = {"group": {"type": "string", "value": f"[reference(resourceId('{TYPE}', 'gpu')).nodeResourceGroup]"}}
    found = deployed(arm, {**A_POOL, **pool()}, A_CLUSTER, outputs=outputs)
    assert found["provisioningState"] == "Succeeded", found
    assert found["outputs"]["group"]["value"] == "MC_lab_gpu_westeurope"
    assert [told[:2] for told in arm.written.told if told[0] == "pool"] == [("pool", "system"), ("pool", "t4")]
    assert [each["name"] for each in arm.get(CLUSTER).json()["properties"]["agentPoolProfiles"]] == ["system", "t4"]


def test_the_same_template_again_changes_nothing_and_what_if_tells_so(arm: ArmHarness) -> None:
    for _ in range(2):
        assert deployed(arm, A_CLUSTER, {**A_POOL, **pool()})["provisioningState"] == "Succeeded"
    assert [told[1] for told in arm.written.told if told[0] == "pool"] == ["system", "t4", "t4"]
    assert len(arm.get(CLUSTER).json()["properties"]["agentPoolProfiles"]) == 2

    def told(*resources: Any) -> dict[str, str]:
        changes = arm.post(f"{DEPLOYMENT}/whatIf", body(template(*resources)), VERSION).json()["properties"]["changes"]
        return {change["resourceId"].rsplit("/", 1)[1]: change["changeType"] for change in changes}

    assert told(A_CLUSTER, {**A_POOL, **pool()}) == {"gpu": "NoChange", "t4": "NoChange"}
    assert told(A_CLUSTER, {**A_POOL, **pool(count=2)}) == {"gpu": "NoChange", "t4": "Modify"}
