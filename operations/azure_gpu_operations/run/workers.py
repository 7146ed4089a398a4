"""A group of workers: the number of nodes of a run (--nodes), and of GPUs per node (--gpus).

Services that support only one node reject more here; the available nodes and GPUs are checked by the service. Every service
starts the same program on each node with `TF_CONFIG`, so that programs don't depend on the service:
https://www.tensorflow.org/guide/distributed_training#setting_up_the_tf_config_environment_variable
"""

from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.batch.mpi import MOST_NODES
from azure_gpu.kubernetes.worker_group import MOST_WORKERS
from azure_gpu_operations.run.protocol import AKS, BATCH, EDGE, JOB, LOCAL, ML_CLUSTER, VM

MOST_GPUS = 16  # of one node, the maximum of all sizes
# Maximum number of nodes of one run, by service. For Azure ML it is that of an MPI run on a cluster, "100 nodes"
# (Microsoft Learn, machine-learning/how-to-manage-quotas, 2026-01-27); a limit for TensorFlow isn't documented.
MOST = {
    BATCH: MOST_NODES["BatchService"],
    ML_CLUSTER: 100,
    AKS: MOST_WORKERS,
    EDGE: MOST_WORKERS,
}
_TAKE_GPUS = (BATCH, AKS, EDGE, ML_CLUSTER)
_NO_GPU = "-1"  # matches no device; some programs ignore an empty variable
_ONE_NODE = {
    JOB: "a Container Apps job runs in one container",
    VM: "a run uses only one virtual machine",
    LOCAL: "a local run uses only this machine",
}


class Group(NamedTuple):
    """Workers that start and end together, one per node."""

    nodes: int = 1
    gpus: int | None = None  # per node; None: the service's default, all of a whole node

    @property
    def is_several(self) -> bool:
        return self.nodes > 1

    @property
    def devices(self) -> dict[str, str]:
        """The variable that limits a program to the first GPUs of a whole node."""
        if self.gpus is None:
            return {}
        return {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(self.gpus))) or _NO_GPU}


def group(nodes: int | None, gpus: int | None) -> Group:
    """From --nodes and --gpus; None: not given."""
    return Group(1 if nodes is None else nodes, gpus)


def problems(nodes: int | None, gpus: int | None, place: str) -> list[Problem]:
    """Problems on this service. One node is allowed everywhere."""
    found: list[Problem] = []
    if nodes is not None and nodes > 1 and place in _ONE_NODE:
        fix = f"remove it, or use {' or '.join(f'--on {each}' for each in MOST)}"
        found.append(Problem("--nodes", _ONE_NODE[place], value=nodes, allowed="1", fix=fix, code=Code.IMPOSSIBLE))
    elif nodes is not None and not 1 <= nodes <= MOST.get(place, nodes):
        allowed = f"1 to {MOST[place]}, the maximum for one run there" if place in MOST else "1"
        found.append(Problem("--nodes", "out of range", value=nodes, allowed=allowed))
    if gpus is not None and place not in _TAKE_GPUS:
        fix = f"remove it, or use --on {_TAKE_GPUS[0]}"
        where = " and ".join(f"--on {each}" for each in _TAKE_GPUS)
        found.append(Problem("--gpus", f"only supported with {where}", value=gpus, fix=fix))
    elif gpus is not None and not 0 <= gpus <= MOST_GPUS:
        found.append(Problem("--gpus", "out of range", value=gpus, allowed=f"0 to {MOST_GPUS}"))
    return found
