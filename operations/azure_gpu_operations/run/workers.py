"""A group of workers: on how many nodes a run goes at once, and how many GPUs each of them has.

In: the words of `--nodes` and `--gpus`, the place of `--on`. Out: a `Group`, and problems that show without asking anybody: a
service that runs one node alone refuses a second one here, and how many nodes and GPUs there are is the service's own to say.
Every service starts the same program on each node and tells it of the others by `TF_CONFIG` alone, so that a program knows no
service: https://www.tensorflow.org/guide/distributed_training#setting_up_the_tf_config_environment_variable
"""

from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.batch.mpi import MOST_NODES
from azure_gpu.catalog.services.batch.request import AllocationMode
from azure_gpu.kubernetes.worker_group import MOST_WORKERS
from azure_gpu_operations.clusters.places import AKS, EDGE

JOB, BATCH, LOCAL, VM, ML_CLUSTER = "job", "batch", "local", "vm", "cluster"
PLACES = (LOCAL, JOB, BATCH, AKS, EDGE, VM, ML_CLUSTER)
MOST_GPUS = 16  # of one node: no size has more
# The most nodes of one run, by the places that run on several. Of Azure ML it is that of an MPI run on a cluster, "100 nodes"
# (Microsoft Learn, machine-learning/how-to-manage-quotas, 2026-01-27), which of TensorFlow nothing says.
MOST = {
    BATCH: MOST_NODES[AllocationMode.BATCH_SERVICE],
    ML_CLUSTER: 100,
    AKS: MOST_WORKERS,
    EDGE: MOST_WORKERS,
}
_TAKE_GPUS = (BATCH, AKS, EDGE, ML_CLUSTER)
_NO_GPU = "-1"  # no device has this number, and an empty variable is taken for one that isn't set by some
_ONE_NODE = {
    JOB: "a run of a Container Apps job is one container",
    VM: "a run on a virtual machine is on that machine alone",
    LOCAL: "a run here is on this machine alone",
}


class Group(NamedTuple):
    """Workers that start and end together, each on a node of its own."""

    nodes: int = 1
    gpus: int | None = None  # of each; None: nobody has said, so what the service gives: of a whole node all that it has

    @property
    def is_several(self) -> bool:
        return self.nodes > 1

    @property
    def devices(self) -> dict[str, str]:
        """The variable by which a program on a whole node sees fewer GPUs than the node has: the first ones."""
        if self.gpus is None:
            return {}
        return {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(self.gpus))) or _NO_GPU}


def group(nodes: int | None, gpus: int | None) -> Group:
    """Of the words of the command line; None is one that isn't given."""
    return Group(1 if nodes is None else nodes, gpus)


def problems(nodes: int | None, gpus: int | None, place: str) -> list[Problem]:
    """What is wrong with them at that place. One node is what every place has, so that it may be written everywhere."""
    found: list[Problem] = []
    if nodes is not None and nodes > 1 and place in _ONE_NODE:
        fix = f"leave it out, or write {' or '.join(f'--on {each}' for each in MOST)}"
        found.append(Problem("--nodes", _ONE_NODE[place], value=nodes, allowed="1", fix=fix, code=Code.IMPOSSIBLE))
    elif nodes is not None and not 1 <= nodes <= MOST.get(place, nodes):
        allowed = f"1 to {MOST[place]}, the most nodes of one run there" if place in MOST else "1"
        found.append(Problem("--nodes", "it is out of range", value=nodes, allowed=allowed))
    if gpus is not None and place not in _TAKE_GPUS:
        fix = f"leave it out, or write --on {_TAKE_GPUS[0]}"
        where = " and ".join(f"--on {each}" for each in _TAKE_GPUS)
        found.append(Problem("--gpus", f"only {where} takes it", value=gpus, fix=fix))
    elif gpus is not None and not 0 <= gpus <= MOST_GPUS:
        found.append(Problem("--gpus", "it is out of range", value=gpus, allowed=f"0 to {MOST_GPUS}"))
    return found
