"""The arguments of a budget, with their defaults."""

from collections.abc import Sequence
from typing import Annotated, NotRequired, TypedDict

from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import OpenInput

DEFAULT_WARN_AT = (80, 100)
DEFAULT_FORECAST_AT = (100,)
# Where nobody else is told. Azure takes roles alone, although its description asks for an address or an action group: Azure/
# terraform-azurerm-lz-vending issue 394 (2024-08-09). Who has a role by a group got no mail: Azure/Azure-Landing-Zones issue 4152
# (2026-05-01).
DEFAULT_ROLES = ("Owner",)


class BudgetSettings(TypedDict):
    """What a month may cost, and who is told. It stops nothing: Azure sends mails some hours after costs have come, and what runs
    goes on."""

    monthly_usd: float
    """Plain: what all of the stack may cost in a calendar month, in USD. Azure counts in the currency of the billing account: set
    `billing_amount` where that is another."""
    billing_amount: NotRequired[float]
    """Plain: the same in the currency of the billing account, which the budget in Azure gets. Default: the number of
    `monthly_usd`."""
    warn_at: NotRequired[Sequence[int]]
    """Plain: percentages of the budget; Azure tells when the month's cost has passed one. With those of `forecast_at` at most 5.
    Default: 80 and 100."""
    forecast_at: NotRequired[Sequence[int]]
    """Plain: percentages of the budget; Azure tells when it expects the month to end above one. Default: 100."""
    emails: NotRequired[Sequence[OpenInput[str]]]
    """Addresses that are told, at most 50. Anybody who reads the stack file or the state reads them. Default: none."""
    contact_roles: NotRequired[Sequence[str]]
    """Plain: roles in Azure whose holders are told; of those who have a role by a group it is reported that they get no mail.
    Default: Owner, where neither `emails` nor `action_groups` are set; else none."""
    action_groups: NotRequired[Sequence[OpenInput[str]]]
    """ARM ids of action groups of Azure Monitor, at most 50, such as one whose runbook stops machines. Default: none."""
    resource_groups: NotRequired[Sequence[OpenInput[str]]]
    """Names of further resource groups of the subscription whose costs count, such as `node_resource_group` of a cluster. With
    one, the budget is the subscription's, filtered by these groups and the stack's, and needs the right to write budgets there;
    `[]` leaves it with the stack's group. Default: none; of a stack file, those of the nodes of clusters that it creates."""
    budget_name: NotRequired[str]
    """Plain: the name in Azure; another name is another budget. Default: made of project, stack and team."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.BUDGET)]]
    """azure-native properties of the budget, set last and judged only by Azure; null removes one. Default: none."""


class BudgetArgs(BudgetSettings, CommonArgs):
    """What a month may cost, who is told, and the resource group whose costs count."""


class BudgetWiring(BudgetSettings, OfStack):
    """The same, wired to what it needs."""
