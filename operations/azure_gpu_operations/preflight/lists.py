"""The lists that preflight reads of a subscription, as plain values: one reading function per list, by its key."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date
from enum import Enum, StrEnum
from functools import partial
from typing import Any, NamedTuple

from azure.mgmt.batch import BatchManagementClient
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.machinelearningservices import MachineLearningServicesMgmtClient
from azure.mgmt.resource.resources import ResourceManagementClient

from azure_gpu.catalog import listed, regions
from azure_gpu.catalog.quotas import (
    FROM_COMPUTE,
    FROM_MACHINE_LEARNING,
    BatchAccountLimits,
    Limit,
    PoolUse,
    RegionLimits,
    limits_of,
)
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu_operations.azure import SignIn, get_document, get_list, management_client, post_document
from azure_gpu_operations.machine_learning import usages
from azure_gpu_operations.preflight.fetching import retries
from azure_gpu_operations.preflight.needs import NamedKind, RequestedName

PERMISSIONS_VERSION = "2022-04-01"
LOCATIONS_VERSION, KUBERNETES_VERSION, PROFILES_VERSION = "2022-12-01", "2025-09-01", "2025-07-01"
_TOTAL, _SPOT = "cores", "lowPriorityCores"  # what the compute service calls its totals
# Where a name is asked for, the type that it is for, and the API version. A vault's name is taken in all of Azure, also by one
# that was deleted and can be brought back.
_NAMES = {
    NamedKind.STORAGE: ("Microsoft.Storage", "storageAccounts", "2024-01-01"),
    NamedKind.REGISTRY: ("Microsoft.ContainerRegistry", "registries", "2023-07-01"),
    NamedKind.BATCH: ("Microsoft.Batch/locations/{region}", "batchAccounts", "2024-07-01"),
    NamedKind.VAULT: ("Microsoft.KeyVault", "vaults", "2024-11-01"),
}


class ListKind(StrEnum):
    """The kinds of lists, as a person reads them."""

    PROVIDERS = "registrations of resource providers"
    RIGHTS = "rights"
    SIZES = "VM sizes"
    COMPUTE_QUOTAS = "vCPU quotas"
    BATCH_SIZES = "VM sizes of Batch"
    ENVIRONMENT_QUOTAS = "GPU quotas of Container Apps environments"
    BATCH_ACCOUNT_QUOTA = "number of Batch accounts allowed"
    BATCH_ACCOUNTS = "Batch accounts"
    ML_SIZES = "VM sizes of Azure Machine Learning"
    ML_QUOTAS = "vCPU quotas of Azure Machine Learning"
    PACKAGES = "application packages of Batch"
    FEATURES = "registrations of features"
    DELETED_LOGS = "deleted log workspaces"
    LOCATIONS = "locations"
    KUBERNETES = "Kubernetes versions of AKS"
    PROFILES = "workload profiles of Container Apps"
    PRICES = "prices"
    NAME = "name"


QUOTAS = (
    ListKind.COMPUTE_QUOTAS,
    ListKind.BATCH_ACCOUNT_QUOTA,
    ListKind.BATCH_ACCOUNTS,
    ListKind.ML_QUOTAS,
)


class ListKey(NamedTuple):
    """One list."""

    what: ListKind
    place: str = ""  # a region; for a name, what it is for and the name itself

    def __str__(self) -> str:
        if self.what is ListKind.NAME:
            return f"{self.what} {self.place}"
        return f"{self.what} in {self.place}" if self.place else str(self.what)


def name_key(requested: RequestedName) -> ListKey:
    return ListKey(ListKind.NAME, f"{requested.kind}={requested.name}")


class Permission(NamedTuple):
    """The permissions of one role assignment: actions with wildcards, and excluded actions."""

    actions: tuple[str, ...]
    not_actions: tuple[str, ...]


class Offer(NamedTuple):
    """One size in one region."""

    zones: tuple[str, ...] = ()  # that sell it; none: the region has no zones for it
    restricted: str = ""  # why this subscription can't have it in the region; empty: it can
    restricted_zones: tuple[str, ...] = ()
    spot: bool = True


class BatchAccount(NamedTuple):
    limits: BatchAccountLimits
    in_subscription: bool  # pools are allocated in the user's subscription, whose quotas count


class NameAnswer(NamedTuple):
    available: bool
    message: str


def readers(
    login: SignIn,
    subscription_id: str,
    uses: Iterable[SizeUse],
    requested_names: Iterable[RequestedName] = (),
    group: str = "",
    own: Collection[str] = (),
) -> Mapping[ListKey, Callable[[], Any]]:
    """What has to be read for these uses. `group` is an existing resource group whose rights count instead of all, `own` are the
    ids of what the stack has already."""

    def client(kind: Callable[..., Any]) -> Any:
        return management_client(kind, login, subscription_id, retries())

    found: dict[ListKey, Callable[[], Any]] = {
        ListKey(ListKind.PROVIDERS): partial(_providers, client(ResourceManagementClient)),
        ListKey(ListKind.RIGHTS): partial(rights, login, subscription_id, group),
    }
    compute, batch, learning = (
        client(ComputeManagementClient),
        client(BatchManagementClient),
        client(MachineLearningServicesMgmtClient),
    )
    for use in uses:
        region = use.region
        if use.service in FROM_COMPUTE or use.service is Service.BATCH:
            # Batch accounts that allocate in the user's subscription use its quotas; which do shows only in their list.
            found[ListKey(ListKind.COMPUTE_QUOTAS, region)] = partial(_compute_quotas, compute, region)
        if use.service in FROM_COMPUTE:
            found[ListKey(ListKind.SIZES, region)] = partial(_sizes, compute, region)
        elif use.service is Service.BATCH:
            found[ListKey(ListKind.BATCH_SIZES, region)] = partial(_batch_sizes, batch, region)
            found[ListKey(ListKind.BATCH_ACCOUNT_QUOTA, region)] = partial(_batch_account_quota, batch, region)
            found[ListKey(ListKind.BATCH_ACCOUNTS)] = partial(batch_accounts, batch, own)
        elif use.service in FROM_MACHINE_LEARNING:
            found[ListKey(ListKind.ML_SIZES, region)] = partial(_ml_sizes, learning, region)
            found[ListKey(ListKind.ML_QUOTAS, region)] = partial(_ml_quotas, learning, region)
    for requested in requested_names:
        found[name_key(requested)] = partial(_name, login, subscription_id, requested)
    return found


def _providers(client: ResourceManagementClient) -> dict[str, str]:
    """Registration states by namespace in lower case."""
    return {str(each.namespace).lower(): _text(each.registration_state) for each in client.providers.list()}


def locations(login: SignIn, subscription_id: str) -> frozenset[str]:
    """The regions that the subscription may use."""
    return _names(get_list(f"/subscriptions/{subscription_id}/locations", LOCATIONS_VERSION, login, retries()))


def kubernetes_versions(login: SignIn, subscription_id: str, region: str) -> frozenset[str]:
    """Minor versions and their patches."""
    path = f"/subscriptions/{subscription_id}/providers/Microsoft.ContainerService/locations/{region}/kubernetesVersions"
    rows = get_document(path, KUBERNETES_VERSION, login, retries())["values"]
    return frozenset({str(row["version"]) for row in rows} | {patch for row in rows for patch in row.get("patchVersions") or ()})


def profiles(login: SignIn, subscription_id: str, region: str) -> frozenset[str]:
    """Types of workload profiles that environments of Container Apps may have."""
    path = f"/subscriptions/{subscription_id}/providers/Microsoft.App/locations/{region}"
    path += "/availableManagedEnvironmentsWorkloadProfileTypes"
    return _names(get_list(path, PROFILES_VERSION, login, retries()))


def of_regions(
    login: SignIn, subscription_id: str, places: Iterable[str]
) -> Mapping[tuple[listed.Azure, str], Callable[[], Collection[str]]]:
    """Readers of the lists that the catalog keeps of each region."""
    compute = management_client(ComputeManagementClient, login, subscription_id, retries())
    batch = management_client(BatchManagementClient, login, subscription_id, retries())
    learning = management_client(MachineLearningServicesMgmtClient, login, subscription_id, retries())
    found: dict[tuple[listed.Azure, str], Callable[[], Collection[str]]] = {}
    for place in places:
        found["VM sizes", place] = partial(_sizes, compute, place)
        found["VM sizes of Batch", place] = partial(_batch_sizes, batch, place)
        found["VM sizes of Azure Machine Learning", place] = partial(_ml_sizes, learning, place)
        found["Kubernetes versions of AKS", place] = partial(kubernetes_versions, login, subscription_id, place)
        found["workload profiles of Container Apps", place] = partial(profiles, login, subscription_id, place)
    return found


def _names(rows: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(str(row["name"]).lower() for row in rows)


def rights(login: SignIn, subscription_id: str, group: str = "") -> list[Permission]:
    """The permissions of this login in a subscription, or in one of its resource groups."""
    scope = f"/subscriptions/{subscription_id}" + (f"/resourcegroups/{group}" if group else "")
    rows = get_list(f"{scope}/providers/Microsoft.Authorization/permissions", PERMISSIONS_VERSION, login, retries())
    return [Permission(tuple(row.get("actions") or ()), tuple(row.get("notActions") or ())) for row in rows]


def _sizes(client: ComputeManagementClient, region: str) -> dict[str, Offer]:
    """Offers by size in lower case."""
    rows = client.resource_skus.list(filter=f"location eq '{region}'")
    return {str(row.name).lower(): _offer(row, region) for row in rows if row.resource_type == "virtualMachines"}


def _offer(row: Any, region: str) -> Offer:
    here = [info for info in row.location_info or () if regions.normalise(info.location or "") == region]
    whole = [each for each in row.restrictions or () if _text(each.type) == "Location"]
    zonal = [each for each in row.restrictions or () if _text(each.type) == "Zone" and each.restriction_info]
    capabilities = {each.name: each.value for each in row.capabilities or ()}
    return Offer(
        zones=tuple(sorted(zone for info in here for zone in info.zones or ())),
        restricted=_text(whole[0].reason_code or "restricted") if whole else "",
        restricted_zones=tuple(sorted({zone for each in zonal for zone in each.restriction_info.zones or ()})),
        spot=capabilities.get("LowPriorityCapable", "True").lower() == "true",
    )


def _compute_quotas(client: ComputeManagementClient, region: str) -> RegionLimits:
    rows = [Limit(str(row.name.value), row.limit, row.current_value) for row in client.usage.list(region)]
    return RegionLimits(
        region=region,
        families=tuple(row for row in rows if row.name not in (_TOTAL, _SPOT)),
        total=next((row for row in rows if row.name == _TOTAL), None),
        spot=next((row for row in rows if row.name == _SPOT), None),
    )


def _batch_sizes(client: BatchManagementClient, region: str) -> dict[str, date | None]:
    """Batch's end-of-life dates, by size in lower case."""
    rows = client.location.list_supported_virtual_machine_skus(region)
    ends = ((str(row.name).lower(), row.batch_support_end_of_life) for row in rows)
    return {name: end.date() if end else None for name, end in ends}


def _batch_account_quota(client: BatchManagementClient, region: str) -> int | None:
    return client.location.get_quotas(region).account_quota


def batch_accounts(client: BatchManagementClient, own: Collection[str] = ()) -> list[BatchAccount]:
    """Every account of the subscription, with its quotas and what its pools hold; those with the ids `own` are asked for anew."""
    return [_batch_account(client, each, {id_.lower() for id_ in own}) for each in client.batch_account.list()]


def _batch_account(client: BatchManagementClient, account: Any, own: Collection[str]) -> BatchAccount:
    group = str(account.id).split("/")[4]
    return BatchAccount(
        limits_of(account.name, account.location or "", account)._replace(
            pool_quota=account.pool_quota,
            pools=tuple(
                _pool(each) for each in client.pool.list_by_batch_account(group, account.name) if str(each.id).lower() not in own
            ),
        ),
        in_subscription=_text(account.pool_allocation_mode) == "UserSubscription",
    )


def _pool(pool: Any) -> PoolUse:
    fixed = pool.scale_settings.fixed_scale if pool.scale_settings else None
    return PoolUse(
        pool.vm_size or "",
        max(pool.current_dedicated_nodes or 0, (fixed.target_dedicated_nodes or 0) if fixed else 0),
        max(pool.current_low_priority_nodes or 0, (fixed.target_low_priority_nodes or 0) if fixed else 0),
    )


def _ml_sizes(client: MachineLearningServicesMgmtClient, region: str) -> frozenset[str]:
    """Names in lower case. The client reads the list under a name that the service has changed since."""
    answer = client.virtual_machine_sizes.list(region)
    later: list[dict[str, Any]] = (answer.additional_properties or {}).get("value") or []
    names = [*(str(size.name) for size in answer.aml_compute or ()), *(str(size["name"]) for size in later)]
    return frozenset(name.lower() for name in names)


def _ml_quotas(client: MachineLearningServicesMgmtClient, region: str) -> RegionLimits:
    rows = [
        (str(row.type), Limit(str(row.name.value) if row.name else "", row.limit or 0, row.current_value))
        for row in client.usages.list(region)
    ]
    return usages.limits_of(region, rows)


def _name(login: SignIn, subscription_id: str, requested: RequestedName) -> NameAnswer:
    place, kind, version = _NAMES[requested.kind]
    path = f"/subscriptions/{subscription_id}/providers/{place.format(region=requested.region)}/checkNameAvailability"
    body = {"name": requested.name, "type": f"{place.partition('/')[0]}/{kind}"}
    answer = post_document(path, version, body, login, retries())
    return NameAnswer(bool(answer.get("nameAvailable")), str(answer.get("message") or answer.get("reason") or ""))


def _text(value: Any) -> str:
    """The text of a value that a client returns as an enumeration or, if unknown, as text."""
    return str(value.value if isinstance(value, Enum) else value)
