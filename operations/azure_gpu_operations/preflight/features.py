"""Checks feature flags of a subscription that some AKS pools require."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from azure_gpu.catalog.services.aks.pools import INFINIBAND_FEATURE
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu_operations.azure import SignIn, get_document
from azure_gpu_operations.preflight.fetching import Outcome, retries
from azure_gpu_operations.preflight.lists import ListKey, ListKind
from azure_gpu_operations.preflight.rows import Answer, Row

NAMESPACE = "Microsoft.ContainerService"
API_VERSION = "2021-07-01"
_REGISTERED = "registered"
_KEY = ListKey(ListKind.FEATURES)


def needing(uses: Sequence[SizeUse]) -> list[SizeUse]:
    """The pools of AKS on machines with GPUs and InfiniBand."""
    sized = [(use, SIZES.find(use.size)) for use in uses if use.service is Service.AKS]
    return [use for use, size in sized if size is not None and size.rdma and size.gpu is not None]


def readers(login: SignIn, subscription_id: str, uses: Sequence[SizeUse]) -> dict[ListKey, Callable[[], Any]]:
    """One, where a pool needs the feature."""
    return {_KEY: partial(_state, login, subscription_id)} if needing(uses) else {}


def rows(uses: Sequence[SizeUse], outcomes: Mapping[ListKey, Outcome[Any]]) -> list[Row]:
    """One for each pool that needs it."""
    return [_row(use, outcomes[_KEY].value) for use in needing(uses)]


def _state(login: SignIn, subscription_id: str) -> str:
    """In Azure's spelling: Registered, NotRegistered, Pending, …"""
    path = f"/subscriptions/{subscription_id}/providers/Microsoft.Features/providers/{NAMESPACE}/features/{INFINIBAND_FEATURE}"
    return str(get_document(path, API_VERSION, login, retries())["properties"]["state"])


def _row(use: SizeUse, found: str | None) -> Row:
    check = f"feature {INFINIBAND_FEATURE}"
    if found is None:
        return Row(use.path, check, Answer.UNKNOWN, f"the registration of {check} couldn't be read")
    if found.lower() == _REGISTERED:
        return Row(use.path, check, Answer.OK, "registered")
    message = f"InfiniBand between nodes of {use.size} requires this feature, which is {found}"
    fix = f"`az feature register --namespace {NAMESPACE} --name {INFINIBAND_FEATURE}`, wait until it is Registered, then "
    return Row(use.path, check, Answer.NOT_REGISTERED, message, f"{fix}`az provider register --namespace {NAMESPACE}`")
