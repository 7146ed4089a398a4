"""Checks feature flags of a subscription that some AKS pools require."""

from collections.abc import Sequence

from azure.core.pipeline.policies import RetryPolicy

from azure_gpu.catalog.services.aks.pools import INFINIBAND_FEATURE
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu_operations.azure import SignIn, get_document
from azure_gpu_operations.preflight.rows import Answer, Row

NAMESPACE = "Microsoft.ContainerService"
API_VERSION = "2021-07-01"
_REGISTERED = "registered"


def needing(uses: Sequence[SizeUse]) -> list[SizeUse]:
    """The pools of AKS on machines with GPUs and InfiniBand."""
    found: list[SizeUse] = []
    for use in uses:
        size = SIZES.find(use.size) if use.service is Service.AKS else None
        if size is not None and size.rdma and size.gpu is not None:
            found.append(use)
    return found


def state(login: SignIn, subscription_id: str, retries: RetryPolicy) -> str:
    """The feature's state in Azure's spelling: Registered, NotRegistered, Pending, …"""
    path = f"/subscriptions/{subscription_id}/providers/Microsoft.Features/providers/{NAMESPACE}/features/{INFINIBAND_FEATURE}"
    return str(get_document(path, API_VERSION, login, retries)["properties"]["state"])


def rows(uses: Sequence[SizeUse], found: str | None) -> list[Row]:
    """`found` None: the list is missing."""
    return [_row(use, found) for use in uses]


def _row(use: SizeUse, found: str | None) -> Row:
    check = f"feature {INFINIBAND_FEATURE}"
    if found is None:
        message = f"the registration of feature {INFINIBAND_FEATURE} couldn't be read"
        return Row(use.path, check, Answer.UNKNOWN, message)
    if found.lower() == _REGISTERED:
        return Row(use.path, check, Answer.OK, "registered")
    return Row(
        use.path,
        check,
        Answer.NOT_REGISTERED,
        f"InfiniBand between nodes of {use.size} requires this feature, which is {found}",
        fix=f"`az feature register --namespace {NAMESPACE} --name {INFINIBAND_FEATURE}`, wait until it is Registered, then "
        f"`az provider register --namespace {NAMESPACE}`",
    )
