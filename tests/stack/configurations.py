"""Configurations of the tests' stacks: small, and each time the caller's own."""

from typing import Any

from tests.support.embedded import ServedAzure


def with_gpu_group(azure: ServedAzure, count: int = 1, **group: Any) -> dict[str, Any]:
    """A stack with everything that a foundation has, and one group that adds vectors on K80s, at a date when Azure sold them."""
    return {
        "team": "tests",
        "location": "eastus",
        "as_of": "2019-06-01",
        "foundation": dict.fromkeys(["resource_group", "identity", "registry", "log_workspace", "storage"], "create"),
        "image_source": f"{azure.url}/checkout.git#HEAD",
        "container_groups": {
            "adder": {
                "workload": "vector_add",
                "cpu": 1,
                "memory_in_gb": 1.5,
                "gpu": {"count": count, "sku": "K80"},
                "expires_after": "2019-06-30",
                **group,
            }
        },
    }


def with_sample_job(**job: Any) -> dict[str, Any]:
    """A stack with a resource group and one job that runs Microsoft's sample: nothing to build, so it is up soon."""
    return {
        "team": "tests",
        "location": "eastus",
        "as_of": "2026-11-21",
        "jobs": {"adder": {"expires_after": "2026-11-30", **job}},
    }


def with_pool(**pool: Any) -> dict[str, Any]:
    """A stack with a Batch account and one pool, without what else a foundation has: it is up soon."""
    return {
        "team": "tests",
        "location": "eastus",
        "as_of": "2026-11-21",
        "foundation": dict.fromkeys(["identity", "storage"], "create"),
        "batch_account": "create",
        "pools": {"gpus": {"size": "Standard_NC4as_T4_v3", "expires_after": "2026-11-30", **pool}},
    }


def with_cluster(**pool: Any) -> dict[str, Any]:
    """A stack with an AKS cluster: a system node, and a pool of T4s that four pods share each, without a node at first."""
    sharing = {"strategy": "time-slicing", "replicas": 4}
    t4 = {"size": "Standard_NC4as_T4_v3", "max_nodes": 2, "sharing": sharing, **pool}
    return {
        "team": "tests",
        "location": "eastus",
        "as_of": "2026-11-21",
        "foundation": dict.fromkeys(["resource_group", "identity", "log_workspace"], "create"),
        "clusters": {"shared": {"gpu_pools": {"t4": t4}, "expires_after": "2026-11-30"}},
    }


def with_ml(workspace: dict[str, Any] | None = None, **compute: Any) -> dict[str, Any]:
    """A stack with an Azure Machine Learning workspace and machines with a T4 in it, without one at first."""
    t4 = {"size": "Standard_NC4as_T4_v3", "expires_after": "2026-11-30", **compute}
    return {
        "team": "tests",
        "location": "eastus",
        "as_of": "2026-11-21",
        "foundation": dict.fromkeys(["resource_group", "identity", "log_workspace", "storage"], "create"),
        "ml_workspace": {"computes": {"t4": t4}, **(workspace or {})},
    }
