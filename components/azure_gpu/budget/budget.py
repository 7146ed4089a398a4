"""A monthly budget of the stack, at which Azure notifies people. It stops nothing.

It is a Consumption budget of the stack's resource group with everything in it, including resources of others in an existing
group. Nodes of a cluster are in another group, which must be listed; the budget's scope is then the subscription, filtered by
these groups. Resources that services create in further groups aren't included.

It starts with the month in which it is created, and keeps that start: Azure rejects an earlier one, and any later change.
Deploying it requires `Microsoft.Consumption/budgets/write` on the group or the subscription, which Owner, Contributor and Cost
Management Contributor have. Azure supports budgets for Enterprise Agreements, Microsoft Customer Agreements and web purchases; it
rejects them for subscriptions of other offers, and for new ones possibly for 48 hours. Azure evaluates budgets every 24 hours,
with costs that are hours old. Not included: budgets of a quarter or a year, and filters by tags, which not every cost has.
"""

# Sources of the above: Microsoft Learn, cost-management-billing/costs/tutorial-acm-create-budgets (2020-05-27, and as quoted on
# 2026-04-23): stops nothing, who may, 48 hours, 24 hours; Azure/azure-powershell issue 11642 (2021-05-03), the service's own
# refusal: offers; Azure/azure-rest-api-specs, Microsoft.Consumption/budgets 2024-08-01, and what Azure answers, as
# jpsnover/ai-triad-research pull request 1697 (2026-09-01) and hashicorp/terraform-provider-azurerm pull request 12121
# (2021-06-09) quote it: the start.

from __future__ import annotations

from typing import Any, Unpack, overload

import pulumi
from pulumi_azure_native import consumption

from azure_gpu.budget.args import BudgetArgs, BudgetWiring
from azure_gpu.budget.spec import BudgetSpec, Threshold, resolve
from azure_gpu.catalog.problems import Problem
from azure_gpu.foundation import common
from azure_gpu.shared import overrides, retry_hooks
from azure_gpu.shared.component import Component
from azure_gpu.shared.context import Context
from azure_gpu.shared.wired import Wired


class Budget(Component[BudgetArgs, BudgetWiring, BudgetSpec]):
    """A budget. Raises `Refused` for invalid arguments."""

    budget_id: pulumi.Output[str]
    """ARM id of the budget."""
    budget_name: pulumi.Output[str]
    """Its name in Azure."""

    @overload
    def __init__(
        self, name: str, args: BudgetArgs | Wired[BudgetWiring, BudgetSpec], opts: pulumi.ResourceOptions | None = None
    ) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[BudgetArgs]) -> None: ...

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)

    _wire = staticmethod(common.wire)

    def _resolve(self, args: BudgetWiring, context: Context) -> tuple[BudgetSpec, list[Problem]]:
        return resolve(args, context)

    def _declare(self, spec: BudgetSpec) -> None:
        group = self._args["resource_group_name"]
        subscription = f"/subscriptions/{spec.context.subscription_id}"
        budget = consumption.Budget(
            f"{self._name}-budget",
            budget_name=spec.name,
            scope=subscription if spec.of_subscription else pulumi.Output.concat(subscription, "/resourceGroups/", group),
            category=consumption.CategoryType.COST,
            amount=spec.amount,
            time_grain=consumption.TimeGrainType.MONTHLY,
            # Without an end, Azure sets one ten years later.
            time_period=consumption.BudgetTimePeriodArgs(start_date=f"{spec.start.isoformat()}T00:00:00Z"),
            filter=_filter([group, *spec.beside]) if spec.of_subscription else None,
            notifications={_key(each): _notification(each, spec) for each in spec.thresholds},
            # Keeps the month of the first `up`. A new budget, for another scope or name, starts with its own month.
            opts=pulumi.ResourceOptions(
                parent=self,
                ignore_changes=["timePeriod.startDate"],
                hooks=retry_hooks.hooks(self),
                transformations=overrides.applied(self._args.get("overrides"), self),
            ),
        )
        self.budget_id = budget.id
        self.budget_name = budget.name


def _filter(groups: list[pulumi.Input[str]]) -> consumption.BudgetFilterArgs:
    of_groups = consumption.BudgetComparisonExpressionArgs(name="ResourceGroupName", operator="In", values=groups)
    return consumption.BudgetFilterArgs(dimensions=of_groups)


def _key(threshold: Threshold) -> str:
    """Returns the key of a notification, as the portal names it. Azure lowercases the first letter, and never changes the type of
    an existing threshold: Azure/azure-powershell, the recorded session TestBudgetAtResourceGroupLevel (2018-06-12);
    Azure/azure-rest-api-specs issue 16240 (2021-09-30)."""
    return f"{'forecasted' if threshold.forecast else 'actual'}_GreaterThan_{threshold.percent}_Percent"


def _notification(threshold: Threshold, spec: BudgetSpec) -> consumption.NotificationArgs:
    return consumption.NotificationArgs(
        enabled=True,
        operator=consumption.OperatorType.GREATER_THAN,
        threshold=threshold.percent,
        threshold_type=consumption.ThresholdType.FORECASTED if threshold.forecast else consumption.ThresholdType.ACTUAL,
        contact_emails=list(spec.emails),  # Azure requires the list, even if it is empty
        contact_roles=list(spec.contact_roles),
        contact_groups=list(spec.action_groups),
    )
