"""`BudgetSpec`: the resolved arguments of a budget, with their validation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import pulumi

from azure_gpu.budget.args import DEFAULT_FORECAST_AT, DEFAULT_ROLES, DEFAULT_WARN_AT, BudgetSettings
from azure_gpu.catalog import names
from azure_gpu.catalog.budgets import MOST_CONTACTS, MOST_NOTIFICATIONS, MOST_PERCENT
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.mail_address import is_address
from azure_gpu.shared.context import Context, known

PATH = "budget"  # in a stack file
ACTION_GROUP = "Microsoft.Insights/actionGroups"


class Threshold(NamedTuple):
    """A threshold for a notification."""

    percent: int  # of the budget
    forecast: bool  # by forecasted cost; else by actual cost


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSpec:
    """The resolved arguments."""

    context: Context
    name: str
    monthly_usd: float
    amount: float  # in the currency of the billing account
    thresholds: tuple[Threshold, ...]
    emails: tuple[pulumi.Input[str], ...]
    contact_roles: tuple[str, ...]
    action_groups: tuple[pulumi.Input[str], ...]
    beside: tuple[pulumi.Input[str], ...]  # names of resource groups beside the stack's

    @property
    def of_subscription(self) -> bool:
        """Whether the budget's scope is the subscription, filtered by groups; else it is the resource group."""
        return bool(self.beside)

    @property
    def start(self) -> date:
        """The first day of the month: Azure rejects an earlier one for a new budget, and any later change."""
        return self.context.today.replace(day=1)


def resolve(args: BudgetSettings, context: Context) -> tuple[BudgetSpec, list[Problem]]:
    """Resolves and validates the arguments. Pure."""
    path = context.path(PATH)
    has_recipients = "emails" in args or "action_groups" in args
    thresholds = (
        *(Threshold(percent, forecast=False) for percent in args.get("warn_at", DEFAULT_WARN_AT)),
        *(Threshold(percent, forecast=True) for percent in args.get("forecast_at", DEFAULT_FORECAST_AT)),
    )
    spec = BudgetSpec(
        context=context,
        name=args.get("budget_name") or context.name(azure_types.BUDGET.arm_type, ""),
        monthly_usd=args["monthly_usd"],
        amount=args.get("billing_amount", args["monthly_usd"]),
        thresholds=thresholds,
        emails=tuple(args.get("emails", ())),
        contact_roles=tuple(args.get("contact_roles", () if has_recipients else DEFAULT_ROLES)),
        action_groups=tuple(args.get("action_groups", ())),
        beside=tuple(dict.fromkeys(args.get("resource_groups", ()))),
    )
    return spec, [*_amounts(args, path), *_percentages(args, spec, path), *_contacts(spec, path), *_names(args, path)]


def _amounts(args: BudgetSettings, path: str) -> Iterator[Problem]:
    given = {"monthly_usd": args["monthly_usd"], "billing_amount": args.get("billing_amount")}
    for key, amount in given.items():
        if amount is not None and amount <= 0:
            yield refused("budget.amount", f"{path}.{key}", amount)


def _percentages(args: BudgetSettings, spec: BudgetSpec, path: str) -> Iterator[Problem]:
    for key in ("warn_at", "forecast_at"):
        # pyrefly: ignore[bad-assignment]
        given: Sequence[int] = args.get(key, ())
        for index, percent in enumerate(given):
            here = f"{path}.{key}[{index}]"
            if not 1 <= percent <= MOST_PERCENT:
                yield refused("budget.percentage", here, percent, most=MOST_PERCENT)
            elif percent in given[:index]:
                yield refused("budget.percentage_twice", here, percent)
    if len(spec.thresholds) > MOST_NOTIFICATIONS:
        here = f"{path}.{'warn_at' if 'warn_at' in args else 'forecast_at'}"
        less = "" if "forecast_at" in args else ", or write forecast_at: []"
        yield refused("budget.thresholds", here, len(spec.thresholds), most=MOST_NOTIFICATIONS, less=less)


def _contacts(spec: BudgetSpec, path: str) -> Iterator[Problem]:
    for key, given in (("emails", spec.emails), ("action_groups", spec.action_groups)):
        if len(given) > MOST_CONTACTS:
            fix = "use the address of a mailing list" if key == "emails" else "remove some"
            yield refused("budget.recipients", f"{path}.{key}", len(given), fix=fix, most=MOST_CONTACTS)
    for index, address in enumerate(spec.emails):
        text = known(address)
        if text is not None and not is_address(text):
            yield refused("budget.mail_address", f"{path}.emails[{index}]", text)
    for index, group in enumerate(spec.action_groups):
        text = known(group)
        found = arm_ids.parse(text) if text is not None else None
        if text is not None and (found is None or not found.is_type(ACTION_GROUP)):
            yield refused("budget.action_group", f"{path}.action_groups[{index}]", text)
    for index, role in enumerate(spec.contact_roles):
        if not role.strip():
            yield refused("budget.role", f"{path}.contact_roles[{index}]", role)
    if spec.thresholds and not (spec.emails or spec.action_groups or spec.contact_roles):
        yield refused("budget.no_recipients", path)


def _names(args: BudgetSettings, path: str) -> Iterator[Problem]:
    if "budget_name" in args:
        yield from names.check(azure_types.BUDGET.arm_type, args["budget_name"], f"{path}.budget_name")
    for index, group in enumerate(args.get("resource_groups", ())):
        text = known(group)
        if text is not None:
            yield from names.check(azure_types.RESOURCE_GROUP.arm_type, text, f"{path}.resource_groups[{index}]")
