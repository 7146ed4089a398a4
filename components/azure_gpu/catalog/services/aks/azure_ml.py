"""Rules for an AKS cluster that is to run the extension of Azure Machine Learning, checked before both exist.

`catalog.services.machine_learning.extension` has the extension's rules, which only warn: there, trusted access may still be set
up; here, the cluster is declared without it.
"""

from collections.abc import Iterator

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.machine_learning.extension import LEAST_VCPUS, PAGE, ROUTER_REPLICAS


def extension_problems(
    path: str, *, local_accounts: bool, open_to_everybody: bool, fewest_nodes: int, fewest_vcpus: int | None
) -> Iterator[Problem]:
    """All requirements of the extension that this cluster doesn't meet. `fewest_vcpus`: of all permanent nodes; None: unknown."""
    extension = "Azure Machine Learning's extension"
    if not local_accounts:
        yield _missing(
            path,
            f"{extension} requires `access.local_accounts: true`",
            "set access.local_accounts: true, or leave ml_extension out and set up trusted access",
        )
    if not open_to_everybody:
        yield _missing(
            path,
            f"{extension} is installed from outside, and this cluster's API isn't open to everybody",
            "set access.network: public, or leave ml_extension out and install the extension from inside",
        )
    if fewest_nodes < ROUTER_REPLICAS:
        yield _missing(
            path,
            f"{extension} runs {ROUTER_REPLICAS} routers on separate nodes, and the cluster always has only {fewest_nodes}",
            f"set system_pool.nodes: {ROUTER_REPLICAS}",
        )
    if fewest_vcpus is not None and fewest_vcpus < LEAST_VCPUS:
        yield _missing(
            path,
            f"{extension} requires {LEAST_VCPUS} vCPUs, and the permanent nodes have {fewest_vcpus}",
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
