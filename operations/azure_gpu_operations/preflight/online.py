"""Checks a stack and needs against a subscription, reading all lists at once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from azure.core.exceptions import AzureError
from requests.exceptions import RequestException

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.quotas import CountedUse
from azure_gpu.catalog.size_use import TAKES_SIZES, Service, SizeUse
from azure_gpu_operations.azure import SignIn, sign_in
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.preflight import answers, deleted_logs, environment_quotas, features, lists, packages, settled
from azure_gpu_operations.preflight.fetching import LIMIT_SECONDS, SharedCredential, fetch, retries
from azure_gpu_operations.preflight.needs import RequestedName
from azure_gpu_operations.preflight.rows import Row, of_problems

if TYPE_CHECKING:  # it loads all components, and `--help` needs none
    from azure_gpu.stack.inventory import EnvironmentUse, MachinesUse, PackageUse

NO_SUBSCRIPTION = (
    "no subscription: set azure-native:subscriptionId in the stack's configuration, or ARM_SUBSCRIPTION_ID "
    "(`az account show --query id`)"
)


@dataclass(frozen=True, slots=True)
class OnlineResult:
    rows: tuple[Row, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])


def ask(
    connection: Connection,
    requested: Sequence[SizeUse],
    as_of: date,
    *,
    namespaces: Sequence[str] = (),
    assigns_roles: bool = True,
    names: Sequence[RequestedName] = (),
    group: str = "",
    batch_account: str = "",
    own: Collection[str] = (),
    system_pools: "Sequence[MachinesUse]" = (),
    ml_machines: "Sequence[MachinesUse]" = (),
    requested_packages: "Sequence[PackageUse]" = (),
    environments: "Sequence[EnvironmentUse]" = (),
    batch_account_id: str = "",
    log_workspace: str = "",
    region: str = "",
    stack: str = "",
    makes_budget: bool = False,
    budget_of_subscription: bool = False,
    problems: Sequence[Problem] = (),
    limit_seconds: float = LIMIT_SECONDS,
) -> OnlineResult:
    """Never raises for what Azure does.

    Args:
        problems: the catalog's, of which Azure decides what it can.
        namespaces: those of resource providers.
        group: an existing resource group.
        own: the ids of what the stack has.
        log_workspace: the id of the one that will be created in `region`.
    """
    login = reached(connection)
    if isinstance(login, str):
        return OnlineResult(rows=tuple(of_problems(problems, "catalog")), missing={"everything": login})
    login = replace(login, credential=SharedCredential(login.credential))
    listed = (*TAKES_SIZES, Service.CONTAINER_APPS)
    sized = [use for use in requested if use.service in listed]  # of the others, no list tells what is offered
    beside = [_counted(pool, Service.AKS) for pool in system_pools if pool.vcpus is not None]
    ml_beside = [_counted(each, Service.ML_ENDPOINT) for each in ml_machines if each.vcpus is not None]
    all_uses = [*requested, *(each.use for each in (*beside, *ml_beside))]
    readers = dict(lists.readers(login, connection.subscription_id, all_uses, names, group, own))
    readers |= settled.readers(login, connection.subscription_id, problems, requested)
    held = lists.ListKey(lists.ListKind.PACKAGES)
    if requested_packages:
        readers[held] = partial(packages.states, login, batch_account_id, requested_packages, retries())
    flag = lists.ListKey(lists.ListKind.FEATURES)
    with_feature = features.needing(requested)
    if with_feature:
        readers[flag] = partial(features.state, login, connection.subscription_id, retries())
    readers |= environment_quotas.readers(login, environments)
    readers |= deleted_logs.readers(login, connection.subscription_id, log_workspace)
    of_budget = lists.ListKey(lists.ListKind.RIGHTS)
    if makes_budget and budget_of_subscription and group:  # a role on the group doesn't include it
        of_budget = lists.ListKey(lists.ListKind.RIGHTS, f"subscription {connection.subscription_id}")
        readers[of_budget] = partial(lists.rights, login, connection.subscription_id)
    outcomes = fetch(readers, limit_seconds=limit_seconds)
    scope = f"resource group {group}" if group else f"subscription {connection.subscription_id}"
    rows = [
        *settled.rows(problems, requested, outcomes),
        *answers.registrations(outcomes, namespaces),
        *(answers.rights(outcomes, scope) if assigns_roles else ()),
        *(
            answers.budget_rights(outcomes[of_budget], of_budget.place or scope, of_subscription=budget_of_subscription)
            if makes_budget
            else ()
        ),
        *answers.offers(outcomes, sized, as_of),
        *features.rows(with_feature, outcomes[flag].value if with_feature else None),
        *answers.quota_rows(outcomes, requested, batch_account, beside, ml_beside),
        *environment_quotas.rows(environments, outcomes, stack),
        *answers.names(outcomes, names),
        *deleted_logs.rows(log_workspace, region, outcomes),
        *(packages.rows(requested_packages, outcomes[held].value, batch_account_id, stack) if requested_packages else ()),
    ]
    return OnlineResult(
        rows=tuple(rows),
        missing={str(key): outcome.missing for key, outcome in outcomes.items() if outcome.missing},
        seconds={str(key): outcome.seconds for key, outcome in outcomes.items()},
    )


def reached(connection: Connection) -> SignIn | str:
    """The login; or why there is none, as a text."""
    if not connection.subscription_id:
        return NO_SUBSCRIPTION
    try:
        return sign_in(connection)
    except (AzureError, RequestException, OSError, ValueError, KeyError) as error:
        return f"{connection.metadata_host or 'Azure'} can't be reached: {error}"


def _counted(pool: "MachinesUse", service: Service) -> CountedUse:
    use = SizeUse(service, pool.size, pool.region, pool.path, pool.path, pool.nodes)
    return CountedUse(use, pool.family, (pool.vcpus or 0) * pool.nodes)
