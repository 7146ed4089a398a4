"""What nodes share with what lies around them: containers of a task on several nodes, and the endpoint of a closed account."""

from pathlib import Path
from typing import Any

import pytest

from localazure.batch.model import PoolKey
from tests.localazure.batch.software import ACCOUNT_ID, BY_IDENTITY, GROUP, IDENTITY, IMAGE, TOOL, put, registry
from tests.localazure.batch.world import ACCOUNT, World, fixed, in_world, pool_body

pytestmark = pytest.mark.slow


def in_containers(world_pool: dict[str, Any], **configuration: Any) -> dict[str, Any]:
    machine = world_pool["properties"]["deploymentConfiguration"]["virtualMachineConfiguration"]
    return {"virtualMachineConfiguration": {**machine, "containerConfiguration": {"type": "DockerCompatible", **configuration}}}


@in_world
async def test_what_the_coordination_command_starts_in_a_container_goes_on_in_it_until_the_task_ends(
    world: World, tmp_path: Path
) -> None:
    await registry(world, tmp_path)
    body = pool_body(scaleSettings=fixed(2), interNodeCommunication="Enabled")
    body["properties"]["deploymentConfiguration"] = in_containers(body, containerRegistries=[BY_IDENTITY])
    await world.put_pool("pool", {**body, "identity": IDENTITY})
    pool = PoolKey(ACCOUNT, "pool")
    await world.all_in(pool, "idle")
    background = "(until [ -e $SAID.go ]; do sleep 0.02; done; cat tool.sh > $SAID.new; mv $SAID.new $SAID.read; sleep 300) &"
    coordination = f"-c '[ $AZ_BATCH_IS_CURRENT_NODE_MASTER = true ] && touch here || {{ {background} }}; hostname -I'"
    application = "-c 'ls here; hostname -I; touch $SAID.go; until [ -e $SAID.read ]; do sleep 0.02; done'"
    options = "--entrypoint /bin/sh --network host"
    task = world.task(
        world.job(pool),
        "task",
        application,
        environmentSettings=[{"name": "SAID", "value": str(tmp_path / "said")}],
        containerSettings={"imageName": IMAGE, "containerRunOptions": options, "workingDirectory": "containerImageDefault"},
        multiInstanceSettings={"numberOfInstances": 2, "coordinationCommandLine": coordination},
    )
    info = await world.done(task)
    assert info["exitCode"] == 0, (world.folder(task) / "stderr.txt").read_text()
    addresses = {node["id"]: node["ipAddress"] for node in world.pools.nodes(pool)}
    first, other = (addresses[each["nodeInfo"]["nodeId"]] for each in world.pools.subtasks(task))
    assert world.output(task) == f"{first}\nhere\n{first}\n", "both commands ran in one container, on a node with this address"
    assert (tmp_path / "said.read").read_text() == TOOL
    for subtask in world.pools.subtasks(task):
        node = subtask["nodeInfo"]["nodeId"]
        root = world.pools.node_folder(pool, node)
        assert root is not None
        assert list((root / "volatile" / "containers").iterdir()) == []
        lines = (root / subtask["nodeInfo"]["taskRootDirectory"] / "stdout.txt").read_text().splitlines()
        assert lines[0] == addresses[node]
    assert first != other


# The way to the account


@pytest.mark.parametrize("group", ["nodeManagement", "batchAccount", ""])
@in_world
async def test_nodes_of_a_closed_account_need_a_name_of_their_endpoint_in_a_zone(world: World, group: str) -> None:
    """By policy only the account's endpoint has one. `group`: of the endpoint that is in a zone; none is if it is empty."""
    put(world, ACCOUNT_ID, {"location": "westeurope", "properties": {"publicNetworkAccess": "Disabled"}})
    for each in ("nodeManagement", "batchAccount"):
        endpoint = f"{GROUP}/providers/Microsoft.Network/privateEndpoints/{each}"
        linked = {"properties": {"privateLinkServiceId": ACCOUNT_ID, "groupIds": [each]}}
        put(world, endpoint, {"location": "westeurope", "properties": {"privateLinkServiceConnections": [linked]}})
        if each == group:
            configs = [{"name": "zone-1", "properties": {"privateDnsZoneId": "/zone"}}]
            put(world, f"{endpoint}/privateDnsZoneGroups/default", {"properties": {"privateDnsZoneConfigs": configs}})
    pool = await world.pool(ready=False)
    await world.until(lambda: set(world.states(pool)) & {"idle", "unusable"}, lambda: f"a node is up: {world.states(pool)}")
    assert world.states(pool) == ["idle" if group == "nodeManagement" else "unusable"]
    if group != "nodeManagement":
        (error,) = world.pools.nodes(pool)[0]["errors"]
        assert error["code"] == "NodeNotReady"
