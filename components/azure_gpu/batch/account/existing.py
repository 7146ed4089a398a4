"""Reads an existing Batch account."""

from dataclasses import replace

from pulumi_azure_native import batch

from azure_gpu.batch.account.spec import PATH, AccountFacts, BatchAccountSpec
from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.batch.request import AllocationMode
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared import existing


def look_up(spec: BatchAccountSpec) -> tuple[AccountFacts, list[Problem]]:
    """What pools are judged by, read from an existing account, with a problem where it isn't there or lies elsewhere."""
    if spec.existing is None:
        return spec.assumed, []
    path = f"{PATH}.existing"
    found, problems = existing.read(
        lambda group, name: batch.get_batch_account(resource_group_name=group, account_name=name),
        azure_types.BATCH_ACCOUNT,
        spec.existing,
        path,
    )
    if found is None:
        return spec.assumed, problems
    if regions.normalise(found.location) != spec.location:
        problems.append(_elsewhere(spec, spec.existing, found.location, path))
    facts = replace(
        spec.assumed,
        allocation_mode=AllocationMode(found.pool_allocation_mode),
        auto_storage=bool(found.auto_storage and found.auto_storage.storage_account_id),
    )
    return facts, problems


def _elsewhere(spec: BatchAccountSpec, account: ArmId, location: str, path: str) -> Problem:
    return Problem(
        path=path,
        message=f"this account is in {location}, and pools are to be in {spec.location}",
        value=account.text,
        allowed="an account in the region of its pools",
        fix=f"add {PATH}.location: {regions.normalise(location)}, or name an account in {spec.location}",
    )
