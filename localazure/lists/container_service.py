"""Microsoft.ContainerService in a region: the Kubernetes versions that clusters may have on that day."""

from typing import Any

from localazure.kinds import managed_cluster_versions
from localazure.lists.asked import Asked


def kubernetes_versions(asked: Asked) -> dict[str, Any]:
    return managed_cluster_versions.listed(asked.as_of)
