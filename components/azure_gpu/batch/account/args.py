"""The arguments of a Batch account, with their defaults, and what it offers to its pools."""

from collections.abc import Mapping
from typing import Annotated, NotRequired, TypedDict

import pulumi

from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.part import PartArgs
from azure_gpu.shared.validation import OpenInput


class ApplicationArgs(TypedDict):
    """An application, whose packages are zip files that nodes get. All of it is plain."""

    display_name: NotRequired[str]
    """What people read. Default: its id."""
    default_version: NotRequired[str]
    """The version that a pool or a task gets that names none. Azure refuses one that isn't there yet, so push the package first:
    `python -m operations package push`. Default: none."""


class BatchAccountSettings(PartArgs):
    """A Batch account that is created, or the existing one to use; `applications` alone is enough to create one."""

    account_name: NotRequired[str]
    """Plain: the name in Azure of one that is created, such as that of one which the stack takes over; another name is another
    account. Default: made of project, stack and team."""
    location: NotRequired[OpenInput[str]]
    """Plain: the Azure region of the account, which all its pools are in. Default: the stack's."""
    applications: NotRequired[Mapping[str, ApplicationArgs]]
    """Applications by id, for packages that nodes get. Not in an existing account, which is never changed. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.BATCH_ACCOUNT)]]
    """azure-native properties of the Batch account, set last and judged only by Azure; null removes one. Default: none."""


class BatchAccountArgs(BatchAccountSettings, CommonArgs):
    """A Batch account, and where it belongs. One that is created keeps its data in the storage account, as the identity."""


class BatchAccountWiring(BatchAccountSettings, OfStack):
    """The same, wired to what it needs. One that is created keeps its data in `storage`, as `identity_id`."""


class AccountOfPool(TypedDict):
    """The account that a pool is in."""

    name: pulumi.Input[str]
    """Wired: its name."""
    resource_group_name: pulumi.Input[str]
    """Wired: the resource group that it is in."""
    location: str
    """Plain: its region."""
    allocation_mode: str
    """Plain: in whose subscription its machines are, BatchService or UserSubscription."""
    auto_storage: bool
    """Plain: whether a storage account is linked to it."""
    existing: bool
    """Plain: true where the account isn't the stack's own and others may have pools in it."""
    provider: NotRequired[pulumi.ProviderResource | None]
    """Wired: the provider of the subscription that it is in, where that is another. Default: the pool's own."""


class BatchSurroundings(TypedDict):
    """What a Batch account offers to the pools in it."""

    account: AccountOfPool
    """The account."""
