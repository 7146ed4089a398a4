"""Multi-instance tasks over several nodes, with a real mpirun."""

import shutil
from pathlib import Path

import pytest

from azure_gpu.catalog.services.batch import mpi
from tests.localazure.batch.world import World, fixed, in_world

pytestmark = pytest.mark.slow


@in_world
async def test_a_real_mpirun_starts_a_rank_on_each_node(world: World) -> None:
    pool = await world.pool(scaleSettings=fixed(2), interNodeCommunication="Enabled")
    # Open MPI 5.0.11 misses the end of a rank that ends at once, on a busy machine in one of 200 runs, and then waits for ever.
    program = "/bin/sh -c 'sleep 1; echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE in $TMPDIR'"
    told = mpi.commands("hpcx", "Linux", program)
    task = world.task(
        world.job(pool),
        "mpi",
        told.application,
        environmentSettings=[{"name": name, "value": value} for name, value in told.environment.items()],
        multiInstanceSettings={"numberOfInstances": 2, "coordinationCommandLine": told.coordination},
    )
    info = await world.done(task)
    lines = sorted(world.output(task).splitlines())
    assert info["exitCode"] == 0, (world.folder(task) / "stderr.txt").read_text()
    assert [line.split(" in ")[0] for line in lines] == ["rank 0 of 2", "rank 1 of 2"]
    nodes = {node["id"] for node in world.pools.nodes(pool)}
    assert len(nodes) == len({line.split(" in ")[1] for line in lines}) == 2  # each node keeps its own


RING = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d of %d: sum %d\n", rank, size, sum);
  MPI_Finalize();
  return sum == size * (size + 1) / 2 ? 0 : 1;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="mpicc needs gcc")
@in_world
async def test_ranks_on_different_nodes_speak_with_each_other(world: World) -> None:
    (world.container("source") / "ring.c").write_text(RING)
    pool = await world.pool(scaleSettings=fixed(2), interNodeCommunication="Enabled")
    told = mpi.commands("hpcx", "Linux", "./ring", processes_per_node=2)
    task = world.task(
        world.job(pool),
        "mpi",
        "/bin/bash -c 'cd $AZ_BATCH_TASK_SHARED_DIR && mpicc ring.c -o ring && " + told.application.partition("'")[2],
        environmentSettings=[{"name": name, "value": value} for name, value in told.environment.items()],
        multiInstanceSettings={
            "numberOfInstances": 2,
            "coordinationCommandLine": told.coordination,
            "commonResourceFiles": [{"httpUrl": "folder:source/ring.c", "filePath": "ring.c"}],
        },
    )
    info = await world.done(task)
    assert info["exitCode"] == 0, (world.folder(task) / "stderr.txt").read_text()
    assert sorted(world.output(task).splitlines()) == [f"rank {rank} of 4: sum 10" for rank in range(4)]


@in_world
async def test_nodes_without_hpcx_in_their_image_have_no_mpirun(world: World) -> None:
    machine = {
        "imageReference": {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "latest"},
        "nodeAgentSkuId": "batch.node.ubuntu 24.04",
    }
    deployment = {"virtualMachineConfiguration": machine}
    pool = await world.pool(interNodeCommunication="Enabled", deploymentConfiguration=deployment)
    task = world.task(world.job(pool), "task", "/bin/sh -c 'echo $PATH'")
    await world.done(task)
    assert not any((Path(part) / "prterun").exists() for part in world.output(task).strip().split(":"))
