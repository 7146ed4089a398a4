"""What an AKS cluster has to have for the extension of Azure Machine Learning, said before either is there.

In: how the cluster is to be. Out: problems. What the extension itself takes is in `catalog.services.machine_learning.extension`,
which only warns: who may still set trusted access up is nobody's to know there. Here a cluster is declared that doesn't have it.
"""

from collections.abc import Iterator

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.machine_learning.extension import LEAST_VCPUS, PAGE, ROUTER_REPLICAS


def extension_problems(
    path: str, *, local_accounts: bool, open_to_everybody: bool, fewest_nodes: int, fewest_vcpus: int | None
) -> Iterator[Problem]:
    """Every need of the extension that this cluster doesn't meet. `fewest_vcpus`: of all nodes that stay; None: not known."""
    extension = "Azure Machine Learning's extension"
    if not local_accounts:
        yield _missing(
            path,
            f"{extension} wants the cluster's local accounts, and this one has none",
            "write access.local_accounts: true, or leave ml_extension out and set trusted access up",
        )
    if not open_to_everybody:
        yield _missing(
            path,
            f"{extension} is put on from outside, where this cluster's API answers to nobody or to your ranges alone",
            "write access.network: public, or leave ml_extension out and put the extension on from inside",
        )
    if fewest_nodes < ROUTER_REPLICAS:
        yield _missing(
            path,
            f"{extension} runs its router {ROUTER_REPLICAS} times, each on a node of its own, and {fewest_nodes} stay here",
            f"write system_pool.nodes: {ROUTER_REPLICAS}",
        )
    if fewest_vcpus is not None and fewest_vcpus < LEAST_VCPUS:
        yield _missing(
            path,
            f"{extension} wants {LEAST_VCPUS} vCPUs, and the nodes that stay have {fewest_vcpus}",
            "choose larger machines for the system pool",
        )


def _missing(path: str, message: str, fix: str) -> Problem:
    return Problem(
        path=path,
        message=message,
        value=True,
        allowed="a cluster with local accounts, open to everybody, of three nodes",
        fix=fix,
        source=str(PAGE),
        code=Code.IMPOSSIBLE,
    )
