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
# Where no other recipients are set. Azure accepts only roles, although its description requires an address or an action group:
# Azure/terraform-azurerm-lz-vending issue 394 (2024-08-09). Members of a group with the role got no mail:
# Azure/Azure-Landing-Zones issue 4152 (2026-05-01).
DEFAULT_ROLES = ("Owner",)


class BudgetSettings(TypedDict):
    """A monthly budget with its recipients. It stops nothing: Azure sends mails some hours after costs occurred, and resources
    keep running."""

    monthly_usd: float
    """Plain: the budget of the stack for a calendar month, in USD. Azure counts in the currency of the billing account: set
    `billing_amount` if that is another."""
    billing_amount: NotRequired[float]
    """Plain: the amount of the budget in Azure, in the currency of the billing account. Default: the number of `monthly_usd`."""
    warn_at: NotRequired[Sequence[int]]
    """Plain: percentages of the budget at which Azure notifies by actual cost. At most 5 together with `forecast_at`. Default: 80
    and 100."""
    forecast_at: NotRequired[Sequence[int]]
    """Plain: percentages of the budget at which Azure notifies by forecasted cost. Default: 100."""
    emails: NotRequired[Sequence[OpenInput[str]]]
    """Mail addresses of recipients, at most 50, stored in plain text. Default: none."""
    contact_roles: NotRequired[Sequence[str]]
    """Plain: Azure roles whose members are recipients; members by a group reportedly get no mail. Default: Owner, where neither
    `emails` nor `action_groups` are set; else none."""
    action_groups: NotRequired[Sequence[OpenInput[str]]]
    """ARM ids of action groups of Azure Monitor, at most 50, such as one whose runbook stops machines. Default: none."""
    resource_groups: NotRequired[Sequence[OpenInput[str]]]
    """Names of further resource groups of the subscription to include, such as `node_resource_group` of a cluster. With one, the
    budget's scope is the subscription, filtered by these groups and the stack's, and requires permission to write budgets there;
    `[]` limits it to the stack's group. Default: none; in a stack file, the node resource groups of clusters that it creates."""
    budget_name: NotRequired[str]
    """Plain: the name in Azure; another name is another budget. Default: built from project, stack and team."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.BUDGET)]]
    """azure-native properties of the budget, set last and validated only by Azure; null removes one. Default: none."""


class BudgetArgs(BudgetSettings, CommonArgs):
    """Arguments of Budget."""


class BudgetWiring(BudgetSettings, OfStack):
    """Arguments of Budget, including the foundation's outputs."""
