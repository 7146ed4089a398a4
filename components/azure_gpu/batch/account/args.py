"""The arguments of a Batch account, with their defaults, and its data for pools."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NotRequired, TypedDict

import pulumi

from azure_gpu.catalog.services.batch.request import AllocationMode
from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.part import PartArgs
from azure_gpu.shared.private_network import PrivateEndpointArgs
from azure_gpu.shared.validation import OpenInput

if TYPE_CHECKING:
    from azure_gpu.catalog.quotas import BatchAccountLimits


class ApplicationArgs(TypedDict):
    """An application, whose packages are zip files for nodes. All of it is plain."""

    display_name: NotRequired[str]
    """The display name. Default: its id."""
    default_version: NotRequired[str]
    """The version for pools and tasks that set none. Azure rejects one that doesn't exist yet, so push the package first:
    `az batch application package create`. Default: none."""


class BatchAccountSettings(PartArgs):
    """A Batch account that is created, or the existing one to use; `applications` without `create` implies it."""

    account_name: NotRequired[str]
    """Plain: the name in Azure of a created one, such as that of one which the stack takes over; another name is another account.
    Default: built from project, stack and team."""
    location: NotRequired[OpenInput[str]]
    """Plain: the Azure region of the account and all its pools. Default: the stack's."""
    applications: NotRequired[Mapping[str, ApplicationArgs]]
    """Applications by id, for packages on nodes. Not in an existing account, which is never changed. Default: none."""
    private_endpoint: NotRequired[PrivateEndpointArgs]
    """The account's addresses in a network of yours, for people and for nodes; the account then has no public one. Default: none,
    and the account is reachable from everywhere, with a login by Entra."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.BATCH_ACCOUNT)]]
    """azure-native properties of the Batch account, set last and validated only by Azure; null removes one. Default: none."""


class BatchAccountArgs(BatchAccountSettings, CommonArgs):
    """Arguments of BatchAccount. A created one keeps its data in the storage account, which it accesses as the identity."""

    protect_data: NotRequired[bool]
    """Plain: whether the account is protected from deletion and replacement. Default: the foundation's, else true."""


class BatchAccountWiring(BatchAccountSettings, OfStack):
    """Arguments of BatchAccount, including the foundation's outputs. A created one keeps its data in `storage`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFacts:
    """Facts of an account for validating its pools. Those of an existing account are looked up; the defaults are those of a
    created one."""

    location: str
    allocation_mode: AllocationMode = "BatchService"
    auto_storage: bool = True  # whether a storage account is linked to it
    existing: bool = False  # others may have pools in it


class AccountOfPool(TypedDict):
    """The account of a pool."""

    name: pulumi.Input[str]
    """Wired: its name."""
    resource_group_name: pulumi.Input[str]
    """Wired: its resource group."""
    facts: AccountFacts
    """Plain: what its pools are validated against."""
    id: NotRequired[pulumi.Output[str]]
    """Wired: its ARM id, where this program creates it; unknown in a preview until it exists. Default: not created here."""
    limits: NotRequired["BatchAccountLimits"]
    """Plain: its quotas, where it was read. Default: not known."""
    provider: NotRequired[pulumi.ProviderResource | None]
    """Wired: the provider for its subscription, where that is another. Default: the pool's own."""


class BatchDependencies(TypedDict):
    """Data of a Batch account for its pools."""

    account: AccountOfPool
    """The account."""
