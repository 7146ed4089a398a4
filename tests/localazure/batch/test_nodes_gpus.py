"""`nvidia-smi` on a node, where its pool has a driver."""

from typing import Any

import pytest

from tests.localazure.batch.world import World, in_world

pytestmark = pytest.mark.slow

HPC = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"}
PLAIN = {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "latest"}
EXTENSION = {
    "name": "driver",
    "publisher": "Microsoft.HpcCompute",
    "type": "NvidiaGpuDriverLinux",
    "typeHandlerVersion": "1.11",
    "autoUpgradeMinorVersion": True,
}
ASKED = "/bin/sh -c 'nvidia-smi --query-gpu=name,memory.total --format=csv,noheader || echo missing'"


def deployment(image: dict[str, str], **machine: Any) -> dict[str, Any]:
    ubuntu = "22.04" if image is HPC else "24.04"
    agent = f"batch.node.ubuntu {ubuntu}"
    return {"virtualMachineConfiguration": {"imageReference": image, "nodeAgentSkuId": agent, **machine}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (deployment(HPC), "Tesla T4, 15360 MiB"),
        (deployment(PLAIN, extensions=[EXTENSION]), "Tesla T4, 15360 MiB"),
        (deployment(PLAIN), "missing"),
    ],
    ids=["image", "extension", "none"],
)
@in_world
async def test_a_task_sees_the_gpu_of_its_node_where_there_is_a_driver(world: World, given: Any, expected: str) -> None:
    pool = await world.pool(deploymentConfiguration=given)
    task = world.task(world.job(pool), "task", ASKED)
    await world.done(task)
    assert world.output(task).strip() == expected
