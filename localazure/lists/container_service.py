"""Microsoft.ContainerService in a region: the Kubernetes versions that clusters may have on that day."""

from typing import Any

from localazure.kinds import managed_cluster_versions
from localazure.lists.query import ListQuery


def kubernetes_versions(query: ListQuery) -> dict[str, Any]:
    return managed_cluster_versions.listed(query.as_of)
