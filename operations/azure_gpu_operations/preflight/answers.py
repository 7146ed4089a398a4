"""Judges the requested sizes and names by the lists of the subscription. A missing list makes an answer unknown.

Azure's own lists also decide what the catalog's lists leave open: regions, Kubernetes versions, workload profiles, sizes. The
catalog's answer is what remains where Azure wasn't asked, or gave no answer.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from azure_gpu.catalog import quotas, regions
from azure_gpu.catalog.lifecycle import WARNING_DAYS, Status
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.quotas import CountedUse
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu_operations.azure import SignIn
from azure_gpu_operations.preflight import lists
from azure_gpu_operations.preflight.fetching import Outcome
from azure_gpu_operations.preflight.lists import BatchAccount, ListKey, ListKind, NameAnswer, Offer, Permission, name_key
from azure_gpu_operations.preflight.needs import RequestedName
from azure_gpu_operations.preflight.rows import Answer, Row, of_problem, of_problems, unread

if TYPE_CHECKING:  # it loads all components
    from azure_gpu.stack.inventory import Inventory

_CHECK = "catalog"
_OPEN = (Code.NOT_LISTED, Code.NOT_IN_REGION)  # what a list lacks; an unknown size stays unknown, wherever it is sold
_OF_VERSION = "kubernetes_version"


def catalog_readers(
    login: SignIn, subscription: str, problems: Iterable[Problem], uses: Sequence[SizeUse]
) -> Mapping[ListKey, Callable[[], Any]]:
    """What has to be read for these problems and uses."""
    found: dict[ListKey, Callable[[], Any]] = {}
    for problem in problems:
        if _is_of_region(problem):
            found[ListKey(ListKind.LOCATIONS)] = partial(lists.locations, login, subscription)
        elif problem.path.endswith(_OF_VERSION):
            for region in _regions_of(problem, uses):
                key = ListKey(ListKind.KUBERNETES, region)
                found[key] = partial(lists.kubernetes_versions, login, subscription, region)
    for region in {use.region for use in uses if use.service is Service.CONTAINER_APPS}:
        found[ListKey(ListKind.PROFILES, region)] = partial(lists.profiles, login, subscription, region)
    return found


def catalog_rows(problems: Iterable[Problem], uses: Sequence[SizeUse], outcomes: Mapping[ListKey, Outcome[Any]]) -> list[Row]:
    """The catalog's problems, but for those of which Azure's lists tell; a row where they say no."""
    found: list[Row] = []
    for problem in problems:
        if _is_of_region(problem):
            found += _asked(problem, outcomes, [ListKey(ListKind.LOCATIONS)], regions.normalise(str(problem.value)))
        elif problem.path.endswith(_OF_VERSION) and problem.code is not Code.INVALID:
            keys = [ListKey(ListKind.KUBERNETES, region) for region in _regions_of(problem, uses)]
            found += _asked(problem, outcomes, keys, str(problem.value))
        elif problem.code not in _OPEN or not _offers_tell(problem, uses, outcomes):
            found.append(of_problem(problem, _CHECK))
    return found


def _is_of_region(problem: Problem) -> bool:
    """Whether it is about a region that the catalog doesn't have, and not about what a region has."""
    value = regions.normalise(str(problem.value))
    return problem.code is Code.NOT_LISTED and regions.may_be(value) and value not in regions.known()


def _regions_of(problem: Problem, uses: Sequence[SizeUse]) -> list[str]:
    """Of the pools of the cluster whose version it is."""
    cluster = problem.path.removesuffix(_OF_VERSION)
    return sorted({use.region for use in uses if use.service is Service.AKS and use.path.startswith(cluster)})


def _asked(problem: Problem, outcomes: Mapping[ListKey, Outcome[Any]], keys: Sequence[ListKey], name: str) -> list[Row]:
    """Nothing where every list has the name; the catalog's row where one is missing."""
    values = [outcomes[key].value if key in outcomes else None for key in keys]
    if not values or None in values:
        return [of_problem(problem, _CHECK)]
    # pyrefly: ignore[not-iterable]
    lacking = [str(key) for key, value in zip(keys, values, strict=True) if name not in value]
    if not lacking:
        # A version that Azure lists can still be near its end, which no list tells.
        return [of_problem(problem, _CHECK)] if problem.code is Code.RETIRING else []
    message = f"{problem.value} isn't in the list of {', '.join(lacking)} of this subscription"
    return [Row(problem.path, "offer", Answer.NOT_OFFERED, message, problem.fix)]


def _offers_tell(problem: Problem, uses: Sequence[SizeUse], outcomes: Mapping[ListKey, Outcome[Any]]) -> bool:
    """Whether each use that it is about has an answer of Azure, which is a row of its own."""
    about = [use for use in uses if problem.path in (use.path, use.region_path)]
    return bool(about) and all(
        (outcome := outcomes.get(offer_key(use))) is not None and outcome.value is not None for use in about
    )


_LISTS = {
    Service.BATCH: ListKind.BATCH_SIZES,
    Service.ML_COMPUTE: ListKind.ML_SIZES,
    Service.ML_ENDPOINT: ListKind.ML_SIZES,
    Service.CONTAINER_APPS: ListKind.PROFILES,
}


def offer_key(use: SizeUse) -> ListKey:
    """The list that tells whether a use is offered."""
    return ListKey(_LISTS.get(use.service, ListKind.SIZES), use.region)


ASSIGN_ROLES = "Microsoft.Authorization/roleAssignments/write"
WRITE_LOCKS = "Microsoft.Authorization/locks/write"
ADD_TO_SCOPES = "Microsoft.Insights/privateLinkScopes/scopedResources/write"
WRITE_BUDGETS = "Microsoft.Consumption/budgets/write"
_REGISTERED = "registered"

Outcomes = Mapping[ListKey, Outcome[Any]]


def registrations(outcomes: Outcomes, namespaces: Iterable[str]) -> list[Row]:
    """One row per resource provider."""
    key, check = ListKey(ListKind.PROVIDERS), "registration"
    found: dict[str, str] | None = outcomes[key].value
    if found is None:
        return [unread(namespace, check, key) for namespace in namespaces]
    rows: list[Row] = []
    for namespace in namespaces:
        state = found.get(namespace.lower(), "not there")
        if state.lower() == _REGISTERED:
            rows.append(Row(namespace, check, Answer.OK, "registered"))
        else:
            message = f"resource provider {namespace} is {state} in the subscription"
            fix = f"`az provider register --namespace {namespace}`"
            rows.append(Row(namespace, check, Answer.NOT_REGISTERED, message, fix))
    return rows


def rights(outcomes: Outcomes, scope: str) -> Row:
    """Whether roles may be assigned, which a stack does so that its identity can pull images."""
    fix = "request the role Role Based Access Control Administrator or Owner, or set `assign_roles: false`, which prints "
    fix += "the commands for an administrator"
    return _right(outcomes[ListKey(ListKind.RIGHTS)], ASSIGN_ROLES, scope, "assign roles", "assign roles", fix)


def lock_rights(outcomes: Outcomes, scope: str) -> Row:
    """Whether what holds data may be locked. Source: Microsoft Learn, azure-resource-manager/management/lock-resources."""
    fix = "request the role Owner or User Access Administrator, or remove `lock_data`"
    return _right(outcomes[ListKey(ListKind.RIGHTS)], WRITE_LOCKS, scope, "write locks", "lock what holds data", fix)


def key_rights(outcome: Outcome[list[Permission]], scope: str) -> Row:
    """Whether the stack's identity may be given the role on the key that encrypts data."""
    fix = "request the role User Access Administrator on the key, or set `assign_roles: false`, which prints the command"
    return _right(outcome, ASSIGN_ROLES, scope, "assign roles", "assign the role on the key", fix)


def scope_rights(outcome: Outcome[list[Permission]], scope: str) -> Row:
    """Whether log workspace and Application Insights may be added to the company's private link scope."""
    fix = "request the role Monitoring Contributor on the scope"
    return _right(outcome, ADD_TO_SCOPES, scope, "private link scope", "add resources to the private link scope", fix)


def budget_rights(outcome: Outcome[list[Permission]], scope: str, taken: "Inventory") -> Row:
    """Whether a budget may be made. One of the subscription is filtered by resource groups."""
    otherwise = "or set `budget.in_azure: false`, so that only `operations review` uses it"
    if taken.budget_of_subscription:
        otherwise = f"or set `budget.resource_groups: []`, so that it covers only the stack's resource group, {otherwise}"
    fix = f"request the role Cost Management Contributor, Contributor or Owner, {otherwise}"
    return _right(outcome, WRITE_BUDGETS, scope, "write budgets", "create the stack's budget", fix)


def _right(outcome: Outcome[list[Permission]], action: str, scope: str, check: str, may: str, fix: str) -> Row:
    if outcome.value is None:
        return unread(scope, check, ListKey(ListKind.RIGHTS))
    if any(allows(permission, action) for permission in outcome.value):
        return Row(scope, check, Answer.OK, f"this login can {may}")
    return Row(scope, check, Answer.NO_RIGHT, f"this login can't {may}: none of its roles allows {action}", fix)


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
            message = "free capacity is known only when a machine starts"
            rows.append(Row(need.path, "capacity", Answer.NO_CAPACITY_KNOWN, message))
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
    for drawn, what, counted, problems in (
        (compute, ListKind.COMPUTE_QUOTAS, beside, quotas.compute_problems),
        (learning, ListKind.ML_QUOTAS, ml_beside, quotas.machine_learning_problems),
    ):
        for region in dict.fromkeys([*(need.region for need in drawn), *(each.use.region for each in counted)]):
            here = [need for need in drawn if need.region == region]
            more = [each for each in counted if each.use.region == region]
            key = ListKey(what, region)
            outcome = outcomes[key]
            shown = [*here, *(each.use for each in more)]
            if outcome.value is None:
                rows += [unread(need.path, "quota", key) for need in shown]
            else:
                rows += _fitting(shown, problems(here, [outcome.value], beside=more), str(key))
    return rows


def names(outcomes: Outcomes, requested: Iterable[RequestedName]) -> list[Row]:
    """One row per name."""
    return [_name(each, outcomes[name_key(each)].value) for each in requested]


def _name(requested: RequestedName, found: NameAnswer | None) -> Row:
    subject, check = f"--name {requested.kind}={requested.name}", "name"
    if found is None:
        return unread(subject, check, name_key(requested))
    if found.available:
        return Row(subject, check, Answer.OK, "the name is available")
    message = found.message or "the name is taken"
    if requested.kept:
        return Row(subject, check, Answer.UNKNOWN, f"{message}; possibly by a resource that the stack kept, which `up` adopts")
    return Row(subject, check, Answer.NAME_TAKEN, message, "choose another name")


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
            return Row(need.path, "offer", Answer.RETIRED, f"{message}: it is retired")
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
        return Row(need.path, "offer", Answer.RETIRED, message)
    near = (end - as_of).days <= WARNING_DAYS
    message = f"offered in {need.region}; Batch retires it on {end.isoformat()}"
    return Row(need.path, "offer", Answer.RETIRING if near else Answer.OK, message)


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
            rows += [Row(need.path, "quota", Answer.UNKNOWN, message, "set --batch-account") for need in here]
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
    message = f"{region} has no Batch account, and {quotas.NEW_ACCOUNT}"
    fix = (
        f"create the account with `up`, run preflight again, and request the missing quota {quotas.ACCOUNT_REQUEST}; "
        "`keep: true` of batch_account keeps it when the stack is destroyed"
    )
    return rows + [Row(need.path, "quota", Answer.UNKNOWN, message, fix) for need in needs]


def _fitting(needs: Sequence[SizeUse], found: Sequence[Problem], what: str) -> list[Row]:
    """Rows of the problems; if there are none, a row per need that all of them fit."""
    if found:
        return of_problems(found, "quota")
    return [Row(need.path, "quota", Answer.OK, f"within {what}") for need in needs]


def _offered(need: SizeUse, message: str) -> Row:
    return Row(need.path, "offer", Answer.OK, message)


def _not_offered(need: SizeUse, message: str, fix: str) -> Row:
    return Row(need.path, "offer", Answer.NOT_OFFERED, message, fix)


def _any(patterns: Iterable[str], action: str) -> bool:
    return any(
        re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), action, re.IGNORECASE) for pattern in patterns
    )
