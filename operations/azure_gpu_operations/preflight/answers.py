"""Judges the requested sizes and names by the lists of the subscription. A missing list makes an answer unknown."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from azure_gpu.catalog import quotas
from azure_gpu.catalog.lifecycle import WARNING_DAYS, Status
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.quotas import CountedUse
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu_operations.preflight.fetching import Outcome
from azure_gpu_operations.preflight.lists import BatchAccount, ListKey, ListKind, NameAnswer, Offer, Permission, name_key
from azure_gpu_operations.preflight.needs import RequestedName
from azure_gpu_operations.preflight.rows import Answer, Row, of_problems, unread
from azure_gpu_operations.preflight.settled import offer_key

ASSIGN_ROLES = "Microsoft.Authorization/roleAssignments/write"
WRITE_BUDGETS = "Microsoft.Consumption/budgets/write"
_REGISTERED = "registered"

Outcomes = Mapping[ListKey, Outcome[Any]]


def registrations(outcomes: Outcomes, namespaces: Iterable[str]) -> list[Row]:
    """One row per resource provider."""
    outcome: Outcome[dict[str, str]] = outcomes[ListKey(ListKind.PROVIDERS)]
    rows: list[Row] = []
    for namespace in namespaces:
        if outcome.value is None:
            rows.append(unread(namespace, "registration", ListKey(ListKind.PROVIDERS)))
            continue
        state = outcome.value.get(namespace.lower(), "not there")
        if state.lower() == _REGISTERED:
            rows.append(Row(subject=namespace, check="registration", answer=Answer.OK, message="registered"))
        else:
            rows.append(
                Row(
                    subject=namespace,
                    check="registration",
                    answer=Answer.NOT_REGISTERED,
                    message=f"resource provider {namespace} is {state} in the subscription",
                    fix=f"`az provider register --namespace {namespace}`",
                )
            )
    return rows


def rights(outcomes: Outcomes, scope: str) -> list[Row]:
    """Whether roles may be assigned, which a stack does so that its identity can pull images."""
    outcome: Outcome[list[Permission]] = outcomes[ListKey(ListKind.RIGHTS)]
    if outcome.value is None:
        return [unread(scope, "assign roles", ListKey(ListKind.RIGHTS))]
    if any(allows(permission, ASSIGN_ROLES) for permission in outcome.value):
        return [Row(subject=scope, check="assign roles", answer=Answer.OK, message="this login can assign roles")]
    return [
        Row(
            subject=scope,
            check="assign roles",
            answer=Answer.NO_RIGHT,
            message=f"this login can't assign roles: none of its roles allows {ASSIGN_ROLES}",
            fix="request the role Role Based Access Control Administrator or Owner, or set `assign_roles: false`, which prints "
            "the commands for an administrator",
        )
    ]


def budget_rights(outcome: Outcome[list[Permission]], scope: str, *, of_subscription: bool) -> list[Row]:
    """Whether a budget may be made. `of_subscription`: it is filtered by resource groups."""
    check, otherwise = "write budgets", "or set `budget.in_azure: false`, so that only `operations review` uses it"
    if of_subscription:
        otherwise = f"or set `budget.resource_groups: []`, so that it covers only the stack's resource group, {otherwise}"
    if outcome.value is None:
        return [unread(scope, check, ListKey(ListKind.RIGHTS))]
    if any(allows(permission, WRITE_BUDGETS) for permission in outcome.value):
        return [Row(subject=scope, check=check, answer=Answer.OK, message="this login can create the stack's budget")]
    return [
        Row(
            subject=scope,
            check=check,
            answer=Answer.NO_RIGHT,
            message=f"this login can't create the stack's budget: none of its roles allows {WRITE_BUDGETS}",
            fix=f"request the role Cost Management Contributor, Contributor or Owner, {otherwise}",
        )
    ]


def allows(permission: Permission, action: str) -> bool:
    """Whether one role's actions, less those that it takes away, have this one. * stands for anything."""
    return _any(permission.actions, action) and not _any(permission.not_actions, action)


def offers(outcomes: Outcomes, needs: Iterable[SizeUse], as_of: date) -> list[Row]:
    """Whether each size is sold to this subscription there; where it is, what is never known beforehand: capacity."""
    rows: list[Row] = []
    for need in needs:
        row = _offer(outcomes, need, as_of)
        rows.append(row)
        if row.answer in (Answer.OK, Answer.RETIRING):
            rows.append(
                Row(
                    subject=need.path,
                    check="capacity",
                    answer=Answer.NO_CAPACITY_KNOWN,
                    message="free capacity is known only when a machine starts",
                )
            )
    return rows


def quota_rows(
    outcomes: Outcomes,
    needs: Sequence[SizeUse],
    batch_account: str = "",
    beside: Sequence[CountedUse] = (),
    ml_beside: Sequence[CountedUse] = (),
) -> list[Row]:
    """The three kinds of quota, each over all needs that draw from it. `beside`: machines without a GPU, of clusters and of Azure
    Machine Learning."""
    batch = [need for need in needs if need.service is Service.BATCH]
    rows, in_subscription = _batch_quotas(outcomes, batch, batch_account)
    compute = [need for need in needs if need.service in quotas.FROM_COMPUTE] + in_subscription
    learning = [need for need in needs if need.service in quotas.FROM_MACHINE_LEARNING]
    for drawn, what, counted in ((compute, ListKind.COMPUTE_QUOTAS, beside), (learning, ListKind.ML_QUOTAS, ml_beside)):
        for region in dict.fromkeys([*(need.region for need in drawn), *(each.use.region for each in counted)]):
            here = [need for need in drawn if need.region == region]
            more = [each for each in counted if each.use.region == region]
            key = ListKey(what, region)
            outcome = outcomes[key]
            shown = [*here, *(each.use for each in more)]
            if outcome.value is None:
                rows += [unread(need.path, "quota", key) for need in shown]
            elif what is ListKind.ML_QUOTAS:
                rows += _fitting(shown, quotas.machine_learning_problems(here, [outcome.value], beside=more), str(key))
            else:
                rows += _fitting(shown, quotas.compute_problems(here, [outcome.value], beside=more), str(key))
    return rows


def names(outcomes: Outcomes, requested: Iterable[RequestedName]) -> list[Row]:
    """One row per name."""
    rows: list[Row] = []
    for each in requested:
        outcome: Outcome[NameAnswer] = outcomes[name_key(each)]
        subject = f"--name {each.kind}={each.name}"
        if outcome.value is None:
            rows.append(unread(subject, "name", name_key(each)))
        elif outcome.value.available:
            rows.append(Row(subject=subject, check="name", answer=Answer.OK, message="the name is available"))
        elif each.kept:
            message = (
                f"{outcome.value.message or 'the name is taken'}; possibly by a resource that the stack kept, which `up` adopts"
            )
            rows.append(_unknown(subject, "name", message))
        else:
            rows.append(
                Row(
                    subject=subject,
                    check="name",
                    answer=Answer.NAME_TAKEN,
                    message=outcome.value.message or "the name is taken",
                    fix="choose another name",
                )
            )
    return rows


def _offer(outcomes: Outcomes, need: SizeUse, as_of: date) -> Row:
    key = offer_key(need)
    outcome = outcomes[key]
    if outcome.value is None:
        return unread(need.path, "offer", key)
    size = SIZES.find(need.size)
    name = (size.name if size else need.size if need.service is Service.CONTAINER_APPS else normalise(need.size)).lower()
    if name not in outcome.value:
        message = f"{need.size} isn't in the {key} offered to this subscription"
        if size and size.lifecycle.status(as_of, need.region) is Status.RETIRED:
            return Row(subject=need.path, check="offer", answer=Answer.RETIRED, message=f"{message}: it is retired")
        return _not_offered(need, message, "choose another region or size")
    if need.service is Service.BATCH:
        return _until(need, outcome.value[name], as_of)
    if key.what is ListKind.SIZES:
        return _restricted(need, outcome.value[name])
    return _offered(need, f"offered in {need.region}")


def _restricted(need: SizeUse, offer: Offer) -> Row:
    free = [zone for zone in offer.zones if zone not in offer.restricted_zones]
    if offer.restricted or (offer.zones and not free):
        reason = offer.restricted or f"restricted in every zone: {', '.join(offer.zones)}"
        message = f"{need.size} is restricted for this subscription in {need.region} ({reason})"
        return _not_offered(need, message, "ask Azure support to lift the restriction, or choose another region or size")
    if need.spot and not offer.spot:
        return _not_offered(need, f"{need.region} doesn't offer {need.size} as Spot", "omit :spot, or choose another size")
    if offer.restricted_zones:
        closed = ", ".join(offer.restricted_zones)
        return _offered(need, f"offered in {need.region}, zones {', '.join(free)}; restricted for you in zones {closed}")
    zones = f"zones {', '.join(free)}" if free else "without zones"
    return _offered(need, f"offered in {need.region}, {zones}")


def _until(need: SizeUse, end: date | None, as_of: date) -> Row:
    """Batch has an end-of-life date per size."""
    if end is None:
        return _offered(need, f"offered in {need.region}")
    if end < as_of:
        message = f"Batch retired {need.size} on {end.isoformat()}"
        return Row(subject=need.path, check="offer", answer=Answer.RETIRED, message=message)
    near = (end - as_of).days <= WARNING_DAYS
    message = f"offered in {need.region}; Batch retires it on {end.isoformat()}"
    return Row(subject=need.path, check="offer", answer=Answer.RETIRING if near else Answer.OK, message=message)


def _batch_quotas(outcomes: Outcomes, needs: Sequence[SizeUse], requested: str) -> tuple[list[Row], list[SizeUse]]:
    """Rows, and the needs that draw from the subscription's quotas because their account allocates there."""
    rows: list[Row] = []
    in_subscription: list[SizeUse] = []
    for region in dict.fromkeys(need.region for need in needs):
        here = [need for need in needs if need.region == region]
        outcome: Outcome[list[BatchAccount]] = outcomes[ListKey(ListKind.BATCH_ACCOUNTS)]
        if outcome.value is None:
            rows += [unread(need.path, "quota", ListKey(ListKind.BATCH_ACCOUNTS)) for need in here]
            continue
        there = [account for account in outcome.value if account.limits.region == region]
        chosen = [account for account in there if not requested or account.limits.account.lower() == requested.lower()]
        if not chosen:
            rows += _new_account(outcomes, here, region, len(there))
        elif len(chosen) > 1:
            choices = ", ".join(sorted(account.limits.account for account in chosen))
            message = f"{region} has several Batch accounts with separate quotas: {choices}"
            rows += [_unknown(need.path, "quota", message, "set --batch-account") for need in here]
        elif chosen[0].in_subscription:
            in_subscription += here
        else:
            limits = chosen[0].limits
            rows += _fitting(
                here,
                quotas.batch_problems(here, limits, new_pools=_pools(here)),
                f"Batch account {limits.account}",
            )
    return rows, in_subscription


def _pools(needs: Sequence[SizeUse]) -> int:
    """A pool with both kinds of nodes is two needs, written at the same place."""
    by_kind = Counter((need.path, need.spot) for need in needs)
    return sum(max(by_kind[path, False], by_kind[path, True]) for path in {need.path for need in needs})


def _new_account(outcomes: Outcomes, needs: Sequence[SizeUse], region: str, accounts: int) -> list[Row]:
    """The region has no account: one must be created, and its quotas are known only then."""
    key = ListKey(ListKind.BATCH_ACCOUNT_QUOTA, region)
    outcome: Outcome[int] = outcomes[key]
    if outcome.value is None:
        rows = [unread(needs[0].path, "quota", key)]
    else:
        found = quotas.account_problems(region, accounts, outcome.value, path=needs[0].path)
        rows = _fitting(needs[:1], found, f"{accounts} of {outcome.value} Batch accounts in {region}")
    message = f"the vCPU quotas of a new Batch account in {region} are known only after it exists, and can be 0"
    fix = (
        "create the account with `up`, run preflight again, and request the missing quota; `keep: true` of batch_account "
        "keeps it when the stack is destroyed"
    )
    return rows + [_unknown(need.path, "quota", message, fix) for need in needs]


def _fitting(needs: Sequence[SizeUse], found: Sequence[Problem], what: str) -> list[Row]:
    """Rows of the problems; if there are none, a row per need that all of them fit."""
    if found:
        return of_problems(found, "quota")
    return [Row(subject=need.path, check="quota", answer=Answer.OK, message=f"within {what}") for need in needs]


def _offered(need: SizeUse, message: str) -> Row:
    return Row(subject=need.path, check="offer", answer=Answer.OK, message=message)


def _not_offered(need: SizeUse, message: str, fix: str) -> Row:
    return Row(subject=need.path, check="offer", answer=Answer.NOT_OFFERED, message=message, fix=fix)


def _unknown(subject: str, check: str, message: str, fix: str = "") -> Row:
    return Row(subject=subject, check=check, answer=Answer.UNKNOWN, message=message, fix=fix)


def _any(patterns: Iterable[str], action: str) -> bool:
    return any(
        re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), action, re.IGNORECASE) for pattern in patterns
    )
