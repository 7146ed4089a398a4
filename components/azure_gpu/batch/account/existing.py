"""Reads an existing Batch account."""

from __future__ import annotations

import pulumi
from pulumi_azure_native import batch

from azure_gpu.batch.account.args import AccountFacts, AccountOfPool
from azure_gpu.batch.account.spec import PATH, BatchAccountSpec
from azure_gpu.catalog import quotas, regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import arm_ids, azure_types
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
    if (region := regions.normalise(found.location)) != spec.location:
        section = spec.context.path(PATH)
        words = {"location": found.location, "spec": spec, "section": section, "region": region}
        problems.append(refused("account.in_other_region", path, spec.existing.text, **words))
    return _facts(found, spec.location), problems


def _facts(found: batch.GetBatchAccountResult, location: str) -> AccountFacts:
    return AccountFacts(
        location=location,
        allocation_mode="UserSubscription" if found.pool_allocation_mode == "UserSubscription" else "BatchService",
        auto_storage=bool(found.auto_storage and found.auto_storage.storage_account_id),
        existing=True,
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
        facts=AccountFacts(location="", existing=True),
    )
    if text is None:
        return account, []
    problems = existing.check_id(text, azure_types.BATCH_ACCOUNT, path)
    if problems or parsed is None:
        return account, problems
    found, problems = existing.get(batch.get_batch_account, azure_types.BATCH_ACCOUNT, parsed, path, asked_by, own)
    account["provider"] = asked_by.provider_at(parsed, own) if not problems else None
    if found is not None:
        account["facts"] = _facts(found, regions.normalise(found.location))
        if account["facts"].allocation_mode == "BatchService":  # the other one uses quotas of virtual machines
            account["limits"] = quotas.limits_of(parsed.name, found.location, found)
    return account, problems
