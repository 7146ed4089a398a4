"""A budget: what a month of the stack may cost, after which Azure tells people. It stops nothing.

It is a Consumption budget of the stack's resource group and of all that is in it; of a group that exists, what others have there
counts too. Nodes of a cluster lie in another group, which has to be named; then the budget is the subscription's, filtered by
these groups. What services make beside it in groups of their own doesn't count.

It starts with the month in which it is created, and keeps that start: Azure refuses an earlier one, and any other one afterwards.
Whoever deploys needs `Microsoft.Consumption/budgets/write` on the group or the subscription, as Owner, Contributor and Cost
Management Contributor have. Azure has budgets for Enterprise Agreements, Microsoft Customer Agreements and what is bought on the
web; a subscription of another offer is refused, and a new one may be for 48 hours. Azure compares every 24 hours, with costs that
are hours old themselves. Left out: budgets of a quarter or a year, filters by tags, which not every cost carries.
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
from azure_gpu.foundation import common
from azure_gpu.shared import overrides, patience
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.wired import Wired, together

_Wired = Wired[BudgetWiring, BudgetSpec]


class Budget(pulumi.ComponentResource):
    """A budget. Raises `Refused` where its arguments can't be had."""

    budget_id: pulumi.Output[str]
    """ARM id of the budget."""
    budget_name: pulumi.Output[str]
    """Its name in Azure."""

    @overload
    def __init__(self, name: str, args: BudgetArgs, opts: pulumi.ResourceOptions | None = None) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[BudgetArgs]) -> None: ...

    @overload
    def __init__(self, name: str, args: _Wired, opts: pulumi.ResourceOptions | None = None) -> None: ...

    def __init__(
        self,
        name: str,
        args: BudgetArgs | _Wired | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **kw: Any,
    ) -> None:
        """`args`, or its keys as keywords. Every problem of theirs is raised as one `Refused`, before anything is declared."""
        wired = args if isinstance(args, Wired) else _wired(name, together(args, kw), opts)
        spec = wired.spec or _decided(wired)
        super().__init__("azuregpu:index:Budget", name, None, opts)
        wiring = wired.args
        group = wiring["resource_group_name"]
        subscription = f"/subscriptions/{spec.context.subscription_id}"
        budget = consumption.Budget(
            f"{name}-budget",
            budget_name=spec.name,
            scope=subscription if spec.of_subscription else pulumi.Output.concat(subscription, "/resourceGroups/", group),
            category=consumption.CategoryType.COST,
            amount=spec.amount,
            time_grain=consumption.TimeGrainType.MONTHLY,
            # Without an end: Azure sets one, ten years later.
            time_period=consumption.BudgetTimePeriodArgs(start_date=f"{spec.start.isoformat()}T00:00:00Z"),
            filter=_filter([group, *spec.beside]) if spec.of_subscription else None,
            notifications={_key(each): _notification(each, spec) for each in spec.thresholds},
            # The month of the first `up`. A new budget, for another scope or name, starts with the month of its own.
            opts=pulumi.ResourceOptions(
                parent=self,
                ignore_changes=["timePeriod.startDate"],
                hooks=patience.hooks(self),
                transformations=overrides.applied(wiring.get("overrides"), self),
            ),
        )
        self.budget_id = budget.id
        self.budget_name = budget.name
        self.register_outputs({"budget_id": self.budget_id, "budget_name": self.budget_name})


def _filter(groups: list[pulumi.Input[str]]) -> consumption.BudgetFilterArgs:
    of_groups = consumption.BudgetComparisonExpressionArgs(name="ResourceGroupName", operator="In", values=groups)
    return consumption.BudgetFilterArgs(dimensions=of_groups)


def _key(threshold: Threshold) -> str:
    """As the portal names them. Azure makes the first letter a small one, and never changes the type of a threshold that is
    there: Azure/azure-powershell, the recorded session TestBudgetAtResourceGroupLevel (2018-06-12);
    Azure/azure-rest-api-specs issue 16240 (2021-09-30)."""
    return f"{'forecasted' if threshold.forecast else 'actual'}_GreaterThan_{threshold.percent}_Percent"


def _notification(threshold: Threshold, spec: BudgetSpec) -> consumption.NotificationArgs:
    return consumption.NotificationArgs(
        enabled=True,
        operator=consumption.OperatorType.GREATER_THAN,
        threshold=threshold.percent,
        threshold_type=consumption.ThresholdType.FORECASTED if threshold.forecast else consumption.ThresholdType.ACTUAL,
        contact_emails=list(spec.emails),  # Azure wants the list, also where roles alone are told
        contact_roles=list(spec.contact_roles),
        contact_groups=list(spec.action_groups),
    )


def _wired(name: str, given: object, opts: pulumi.ResourceOptions | None) -> _Wired:
    """What a program describes."""
    return common.take(Budget, name, BudgetArgs, given, opts)


def _decided(wired: _Wired) -> BudgetSpec:
    """What the arguments ask for. Raises `Refused` with every reason against it."""
    args = wired.args
    context, stack_problems = resolve_stack(args["stack"], pulumi.get_project(), pulumi.get_stack())
    spec, problems = resolve(args, context)
    wired.refuse([*stack_problems, *problems])
    return spec
