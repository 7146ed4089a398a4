"""The default traffic split of an endpoint."""

from collections.abc import Sequence

from azure_gpu.catalog.services.machine_learning.deployments import WHOLE


def default_traffic(deployments: Sequence[str]) -> dict[str, int]:
    """Percent by deployment: a single one gets all requests, of several none gets any."""
    return {deployments[0]: WHOLE} if len(deployments) == 1 else {}
