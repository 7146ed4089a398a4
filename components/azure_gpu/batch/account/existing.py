"""Reads an existing Batch account."""

from __future__ import annotations

from dataclasses import replace

import pulumi
from pulumi_azure_native import batch

from azure_gpu.batch.account.args import AccountOfPool
from azure_gpu.batch.account.spec import PATH, AccountFacts, BatchAccountSpec
from azure_gpu.catalog import quotas, regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.batch.request import AllocationMode
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared import existing
from azure_gpu.shared.context import known
from azure_gpu.shared.look_up import OF_STACK, AskedBy


def look_up(spec: BatchAccountSpec, asked_by: AskedBy = OF_STACK) -> tuple[AccountFacts, list[Problem]]:
    """Reads the facts of an existing account for its pools; a problem where it doesn't exist or is in another region."""
    if spec.existing is None:
        return spec.assumed, []
    path = f"{spec.context.path(PATH)}.existing"
    own = spec.context.subscription_id
    found, problems = existing.get(batch.get_batch_account, azure_types.BATCH_ACCOUNT, spec.existing, path, asked_by, own)
    if found is None:
        return spec.assumed, problems
    if regions.normalise(found.location) != spec.location:
        problems.append(_elsewhere(spec, spec.existing, found.location, path))
    facts = replace(
        spec.assumed,
        allocation_mode=_mode(found),
        auto_storage=bool(found.auto_storage and found.auto_storage.storage_account_id),
    )
    return facts, problems


def _mode(found: batch.GetBatchAccountResult) -> AllocationMode:
    return "UserSubscription" if found.pool_allocation_mode == "UserSubscription" else "BatchService"


def _elsewhere(spec: BatchAccountSpec, account: ArmId, location: str, path: str) -> Problem:
    return Problem(
        path=path,
        message=f"the account is in {location}, but its pools are set to {spec.location}",
        value=account.text,
        allowed="an account in the region of its pools",
        fix=f"add {spec.context.path(PATH)}.location: {regions.normalise(location)}, or use an account in {spec.location}",
    )


def of_id(given: pulumi.Input[str], path: str, asked_by: AskedBy, own: str) -> tuple[AccountOfPool, list[Problem]]:
    """Returns the account that a program sets by its id. With an output as the id it can't be read, and is assumed to be like one
    that this library creates."""
    text = known(given)
    parsed = arm_ids.parse(text) if text is not None else None
    parts = existing.parts(given)
    account = AccountOfPool(
        name=parts.apply(lambda each: each.name),
        resource_group_name=parsed.resource_group if parsed is not None else parts.apply(lambda each: each.resource_group),
        location="",
        allocation_mode="BatchService",
        auto_storage=True,
        existing=True,
    )
    if text is None:
        return account, []
    problems = existing.check_id(text, azure_types.BATCH_ACCOUNT, path)
    if problems or parsed is None:
        return account, problems
    found, problems = existing.get(batch.get_batch_account, azure_types.BATCH_ACCOUNT, parsed, path, asked_by, own)
    account["provider"] = asked_by.provider_at(parsed, own) if not problems else None
    if found is not None:
        account["location"] = regions.normalise(found.location)
        account["allocation_mode"] = _mode(found)
        account["auto_storage"] = bool(found.auto_storage and found.auto_storage.storage_account_id)
        if account["allocation_mode"] == "BatchService":  # the other one uses quotas of virtual machines
            account["limits"] = quotas.limits_of(parsed.name, found.location, found)
    return account, problems
