"""What the lists say of what is wanted, list by list.

In: outcomes of the lists, needs, names, and the namespaces that are used. Out: rows. A list that is missing makes an answer
unknown, never good and never bad.
"""

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
from azure_gpu_operations.preflight.lists import BatchAccount, Key, NameAnswer, Offer, Permission, What, name_key
from azure_gpu_operations.preflight.needs import WantedName
from azure_gpu_operations.preflight.rows import Answer, Row, of_problems, unread

ASSIGN_ROLES = "Microsoft.Authorization/roleAssignments/write"
WRITE_BUDGETS = "Microsoft.Consumption/budgets/write"
_REGISTERED = "registered"

Outcomes = Mapping[Key, Outcome[Any]]


def registrations(outcomes: Outcomes, namespaces: Iterable[str]) -> list[Row]:
    """One row per resource provider."""
    outcome: Outcome[dict[str, str]] = outcomes[Key(What.PROVIDERS)]
    rows: list[Row] = []
    for namespace in namespaces:
        if outcome.value is None:
            rows.append(unread(namespace, "registration", Key(What.PROVIDERS)))
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
                    message=f"the subscription's registration for {namespace} is {state}",
                    fix=f"`az provider register --namespace {namespace}`",
                )
            )
    return rows


def rights(outcomes: Outcomes, scope: str) -> list[Row]:
    """Whether roles may be assigned, which a stack does so that its identity can pull images."""
    outcome: Outcome[list[Permission]] = outcomes[Key(What.RIGHTS)]
    if outcome.value is None:
        return [unread(scope, "assign roles", Key(What.RIGHTS))]
    if any(allows(permission, ASSIGN_ROLES) for permission in outcome.value):
        return [Row(subject=scope, check="assign roles", answer=Answer.OK, message="this login may assign roles")]
    return [
        Row(
            subject=scope,
            check="assign roles",
            answer=Answer.NO_RIGHT,
            message=f"this login may not assign roles: none of its own allows {ASSIGN_ROLES}",
            fix="ask for the role Role Based Access Control Administrator or Owner, or set assign_roles to false, which prints "
            "the commands for an administrator",
        )
    ]


def budget_rights(outcome: Outcome[list[Permission]], scope: str, *, of_subscription: bool) -> list[Row]:
    """Whether a budget may be made. `of_subscription`: it is filtered by resource groups."""
    check, otherwise = "write budgets", "or set budget.in_azure: false, with which it counts for `operations review` alone"
    if of_subscription:
        otherwise = f"or write budget.resource_groups: [], which leaves it with the stack's resource group, {otherwise}"
    if outcome.value is None:
        return [unread(scope, check, Key(What.RIGHTS))]
    if any(allows(permission, WRITE_BUDGETS) for permission in outcome.value):
        return [Row(subject=scope, check=check, answer=Answer.OK, message="this login may make the stack's budget")]
    return [
        Row(
            subject=scope,
            check=check,
            answer=Answer.NO_RIGHT,
            message=f"this login may not make the stack's budget: none of its own roles allows {WRITE_BUDGETS}",
            fix=f"ask for the role Cost Management Contributor, Contributor or Owner, {otherwise}",
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
                    message="Azure tells whether machines are free only when they start",
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
    for drawn, what, counted in ((compute, What.COMPUTE_QUOTAS, beside), (learning, What.ML_QUOTAS, ml_beside)):
        for region in dict.fromkeys([*(need.region for need in drawn), *(each.use.region for each in counted)]):
            here = [need for need in drawn if need.region == region]
            more = [each for each in counted if each.use.region == region]
            key = Key(what, region)
            outcome = outcomes[key]
            shown = [*here, *(each.use for each in more)]
            if outcome.value is None:
                rows += [unread(need.path, "quota", key) for need in shown]
            elif what is What.ML_QUOTAS:
                rows += _fitting(shown, quotas.machine_learning_problems(here, [outcome.value], beside=more), str(key))
            else:
                rows += _fitting(shown, quotas.compute_problems(here, [outcome.value], beside=more), str(key))
    return rows


def names(outcomes: Outcomes, wanted: Iterable[WantedName]) -> list[Row]:
    """One row per name."""
    rows: list[Row] = []
    for each in wanted:
        outcome: Outcome[NameAnswer] = outcomes[name_key(each)]
        subject = f"--name {each.kind}={each.name}"
        if outcome.value is None:
            rows.append(unread(subject, "name", name_key(each)))
        elif outcome.value.available:
            rows.append(Row(subject=subject, check="name", answer=Answer.OK, message="the name is free"))
        elif each.kept:
            message = f"{outcome.value.message or 'the name is taken'}; it may be what the stack has kept, which `up` takes in"
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
    what = {Service.BATCH: What.BATCH_SIZES, Service.ML_COMPUTE: What.ML_SIZES, Service.ML_ENDPOINT: What.ML_SIZES}
    key = Key(what.get(need.service, What.SIZES), need.region)
    outcome = outcomes[key]
    if outcome.value is None:
        return unread(need.path, "offer", key)
    size = SIZES.find(need.size)
    name = (size.name if size else normalise(need.size)).lower()
    if name not in outcome.value:
        message = f"{need.size} isn't among the {key} that this subscription is offered"
        if size and size.lifecycle.status(as_of, need.region) is Status.RETIRED:
            return Row(subject=need.path, check="offer", answer=Answer.RETIRED, message=f"{message}: it is retired")
        return _not_offered(need, message, "choose another region or size")
    if need.service is Service.BATCH:
        return _until(need, outcome.value[name], as_of)
    if key.what is What.SIZES:
        return _restricted(need, outcome.value[name])
    return _offered(need, f"one of the {key}")


def _restricted(need: SizeUse, offer: Offer) -> Row:
    free = [zone for zone in offer.zones if zone not in offer.restricted_zones]
    if offer.restricted or (offer.zones and not free):
        reason = offer.restricted or f"restricted in every zone: {', '.join(offer.zones)}"
        message = f"{need.region} sells {need.size}, but not to this subscription ({reason})"
        return _not_offered(need, message, "ask Azure support to lift the restriction, or choose another region or size")
    if need.spot and not offer.spot:
        return _not_offered(need, f"{need.region} doesn't sell {need.size} as Spot", "leave :spot out, or choose another size")
    if offer.restricted_zones:
        closed = ", ".join(offer.restricted_zones)
        return _offered(need, f"offered in {need.region}, zones {', '.join(free)}; not to this subscription in zones {closed}")
    zones = f"zones {', '.join(free)}" if free else "without zones"
    return _offered(need, f"offered in {need.region}, {zones}")


def _until(need: SizeUse, end: date | None, as_of: date) -> Row:
    """Batch says of each size when it gives it up."""
    if end is None:
        return _offered(need, f"one of the sizes of Batch in {need.region}")
    if end < as_of:
        message = f"Batch gave {need.size} up on {end.isoformat()}"
        return Row(subject=need.path, check="offer", answer=Answer.RETIRED, message=message)
    near = (end - as_of).days <= WARNING_DAYS
    message = f"offered in {need.region}; Batch gives it up on {end.isoformat()}"
    return Row(subject=need.path, check="offer", answer=Answer.RETIRING if near else Answer.OK, message=message)


def _batch_quotas(outcomes: Outcomes, needs: Sequence[SizeUse], wanted: str) -> tuple[list[Row], list[SizeUse]]:
    """Rows, and the needs that draw from the subscription's quotas because their account allocates there."""
    rows: list[Row] = []
    in_subscription: list[SizeUse] = []
    for region in dict.fromkeys(need.region for need in needs):
        here = [need for need in needs if need.region == region]
        outcome: Outcome[list[BatchAccount]] = outcomes[Key(What.BATCH_ACCOUNTS)]
        if outcome.value is None:
            rows += [unread(need.path, "quota", Key(What.BATCH_ACCOUNTS)) for need in here]
            continue
        there = [account for account in outcome.value if account.limits.region == region]
        chosen = [account for account in there if not wanted or account.limits.account.lower() == wanted.lower()]
        if not chosen:
            rows += _new_account(outcomes, here, region, len(there))
        elif len(chosen) > 1:
            choices = ", ".join(sorted(account.limits.account for account in chosen))
            message = f"{region} has several Batch accounts, each with quotas of its own: {choices}"
            rows += [_unknown(need.path, "quota", message, "name one with --batch-account") for need in here]
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
    """No account is there: it has to be made, and what it may then use shows afterwards."""
    key = Key(What.BATCH_ACCOUNT_QUOTA, region)
    outcome: Outcome[int] = outcomes[key]
    if outcome.value is None:
        rows = [unread(needs[0].path, "quota", key)]
    else:
        found = quotas.account_problems(region, accounts, outcome.value, path=needs[0].path)
        rows = _fitting(needs[:1], found, f"{accounts} of {outcome.value} Batch accounts in {region}")
    message = f"the vCPU quotas of a new Batch account in {region} are known once it is there; they can be 0"
    fix = (
        "create the account by `up`, run preflight again, and request what this account lacks; `keep: true` of batch_account "
        "keeps it when the stack is destroyed"
    )
    return rows + [_unknown(need.path, "quota", message, fix) for need in needs]


def _fitting(needs: Sequence[SizeUse], found: Sequence[Problem], what: str) -> list[Row]:
    """The problems; where there are none, a row that says that all of these needs fit together."""
    if found:
        return of_problems(found, "quota")
    return [Row(subject=need.path, check="quota", answer=Answer.OK, message=f"fits: {what}") for need in needs]


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
