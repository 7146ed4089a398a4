"""Checks a stack and needs against a subscription, reading all lists at once."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from azure.core.exceptions import AzureError
from requests.exceptions import RequestException

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.quotas import CountedUse
from azure_gpu.catalog.size_use import TAKES_SIZES, Service, SizeUse
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu_operations.azure import SignIn, sign_in
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.preflight import answers, deleted_logs, environment_quotas, features, lists, packages, prices
from azure_gpu_operations.preflight.fetching import LIMIT_SECONDS, SharedCredential, fetch
from azure_gpu_operations.preflight.lists import ListKey, ListKind
from azure_gpu_operations.preflight.needs import RequestedName, names_of, namespaces_of, region_of
from azure_gpu_operations.preflight.report import Report
from azure_gpu_operations.preflight.rows import of_problems

if TYPE_CHECKING:  # it loads all components, and `--help` needs none
    from azure_gpu.stack.inventory import Inventory
    from azure_gpu.stack.requests import MachinesUse

NO_SUBSCRIPTION = (
    "no subscription: set azure-native:subscriptionId in the stack's configuration, or ARM_SUBSCRIPTION_ID "
    "(`az account show --query id`)"
)


LISTED = (*TAKES_SIZES, Service.CONTAINER_APPS)  # of other services, no list tells what is offered


def ask(
    connection: Connection,
    taken: "Inventory",
    *,
    requested: Sequence[SizeUse] = (),
    names: Sequence[RequestedName] = (),
    own: Collection[str] = (),
    batch_account: str = "",
    stack: str = "",
    problems: Sequence[Problem] = (),
    limit_seconds: float = LIMIT_SECONDS,
) -> Report:
    """Never raises for what Azure does.

    Args:
        taken: what the stack needs; nothing without one.
        requested, names: of the command line, beside the stack's.
        own: the ids of what the stack has. A name that it holds itself isn't free, and needn't be.
        problems: the catalog's, of which Azure decides what it can.
    """
    login = reached(connection)
    if isinstance(login, str):
        rows = tuple(of_problems(problems, "catalog"))
        return Report(as_of=taken.day, rows=rows, missing={"everything": login}, subscription=connection.subscription_id)
    login, subscription = replace(login, credential=SharedCredential(login.credential)), connection.subscription_id
    uses = [*taken.uses, *requested]
    existing = {resource_id.rsplit("/", 1)[-1] for resource_id in own}
    wanted = [*names, *(name for name in names_of(taken) if name.name not in existing)]
    account_id = taken.batch_account_id or _batch_account(own)
    logs = "" if taken.log_workspace.lower() in {each.lower() for each in own} else taken.log_workspace
    of_clusters, of_learning = beside(taken), ml_beside(taken)
    all_uses = [*uses, *(each.use for each in (*of_clusters, *of_learning))]
    of_budget = of_key = of_scope = ListKey(ListKind.RIGHTS)
    readers = {
        **lists.readers(login, subscription, all_uses, wanted, taken.group, own),
        **answers.catalog_readers(login, subscription, problems, uses),
        **environment_quotas.readers(login, taken.environments),
        **deleted_logs.readers(login, subscription, logs),
        **prices.readers(connection, uses),
        **packages.readers(login, account_id, taken.packages),
        **features.readers(login, subscription, uses),
    }
    if taken.budget_in_azure and taken.budget_of_subscription and taken.group:  # a role on the group doesn't include it
        of_budget = ListKey(ListKind.RIGHTS, f"subscription {subscription}")
        readers[of_budget] = partial(lists.rights, login, subscription)
    if (key := arm_ids.parse(taken.key)) is not None:
        of_key = ListKey(ListKind.RIGHTS, f"resource group {key.resource_group}, which the key is in")
        readers[of_key] = partial(lists.rights, login, key.subscription, key.resource_group)
    if (link_scope := arm_ids.parse(taken.link_scope)) is not None:
        of_scope = ListKey(ListKind.RIGHTS, f"resource group {link_scope.resource_group}, which the private link scope is in")
        readers[of_scope] = partial(lists.rights, login, link_scope.subscription, link_scope.resource_group)
    outcomes = fetch(readers, limit_seconds=limit_seconds)
    scope = f"resource group {taken.group}" if taken.group else f"subscription {subscription}"
    rows = [
        *answers.catalog_rows(problems, uses, outcomes),
        *answers.registrations(outcomes, namespaces_of(taken, requested)),
        *([answers.rights(outcomes, scope)] if taken.assigns_roles else ()),
        *([answers.lock_rights(outcomes, scope)] if taken.locks_data else ()),
        *([answers.key_rights(outcomes[of_key], of_key.place)] if taken.key else ()),
        *([answers.scope_rights(outcomes[of_scope], of_scope.place)] if taken.link_scope else ()),
        *([answers.budget_rights(outcomes[of_budget], of_budget.place or scope, taken)] if taken.budget_in_azure else ()),
        *answers.offers(outcomes, [use for use in uses if use.service in LISTED], taken.day),
        *features.rows(uses, outcomes),
        *answers.quota_rows(outcomes, uses, batch_account or taken.batch_account, of_clusters, of_learning),
        *environment_quotas.rows(taken.environments, outcomes, stack),
        *prices.rows(uses, outcomes, taken.day),
        *answers.names(outcomes, wanted),
        *deleted_logs.rows(logs, region_of(taken), outcomes),
        *packages.rows(taken.packages, outcomes, account_id),
    ]
    # Where a price isn't read, there is the catalog's.
    lasting = {key: each for key, each in outcomes.items() if key.what is not ListKind.PRICES or each.value is not None}
    return Report(
        as_of=taken.day,
        rows=tuple(rows),
        subscription=subscription,
        missing={str(key): outcome.missing for key, outcome in lasting.items() if outcome.missing},
        seconds={str(key): outcome.seconds for key, outcome in lasting.items()},
    )


def _batch_account(own: Iterable[str]) -> str:
    """The Batch account among these ids; "" where there is none."""
    parsed = ((each, arm_ids.parse(each)) for each in own)
    return next((each for each, id_ in parsed if id_ is not None and id_.is_type(azure_types.BATCH_ACCOUNT.arm_type)), "")


def reached(connection: Connection) -> SignIn | str:
    """The login; or why there is none, as a text."""
    if not connection.subscription_id:
        return NO_SUBSCRIPTION
    try:
        return sign_in(connection)
    except (AzureError, RequestException, OSError, ValueError, KeyError) as error:
        return f"{connection.metadata_host or 'Azure'} can't be reached: {error}"


def beside(taken: "Inventory") -> list[CountedUse]:
    """The machines without a GPU of clusters, which draw from the same quotas."""
    return [_counted(pool, Service.AKS) for pool in taken.system_pools if pool.vcpus is not None]


def ml_beside(taken: "Inventory") -> list[CountedUse]:
    """The same of Azure Machine Learning."""
    return [_counted(each, Service.ML_ENDPOINT) for each in taken.ml_machines if each.vcpus is not None]


def _counted(pool: "MachinesUse", service: Service) -> CountedUse:
    use = SizeUse(service, pool.size, pool.region, pool.path, pool.path, pool.nodes)
    return CountedUse(use, pool.family, (pool.vcpus or 0) * pool.nodes)
