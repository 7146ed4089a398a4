"""Rules for names in Batch, and for properties that only some pools may have. The rules of the names are in `catalog.names`."""

from collections.abc import Iterator

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.services.batch.request import AllocationMode, PoolRequest
from azure_gpu.catalog.size_use import OperatingSystem


def name_problems(request: PoolRequest) -> Iterator[Problem]:
    """The names of account and pool, where they are given, and properties that this pool may not have."""
    if request.account_name:
        yield from names.check("Microsoft.Batch/batchAccounts", request.account_name, request.at("account_name"))
    if request.name:
        yield from names.check("Microsoft.Batch/batchAccounts/pools", request.name, request.at("name"))
    if request.resource_tags and request.allocation_mode is not AllocationMode.USER_SUBSCRIPTION:
        yield Problem(
            path=request.at("resource_tags"),
            message="tags on the resources behind a pool require an account in UserSubscription mode",
            value=str(request.allocation_mode),
            allowed=str(AllocationMode.USER_SUBSCRIPTION),
            fix="leave the tags out, or use an account in UserSubscription mode",
            source=str(sources.PROVIDER),
            code=Code.IMPOSSIBLE,
        )
    if request.windows_configuration and request.operating_system is OperatingSystem.LINUX:
        yield Problem(
            path=request.at("windows_configuration"),
            message="a pool of Linux nodes can't have a Windows configuration",
            value=str(request.operating_system),
            allowed="nothing",
            fix="leave it out",
            source=str(sources.PROVIDER),
            code=Code.IMPOSSIBLE,
        )
