"""`BudgetSpec`: the resolved arguments of a budget, with their validation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import pulumi

from azure_gpu.budget.args import DEFAULT_FORECAST_AT, DEFAULT_ROLES, DEFAULT_WARN_AT, BudgetSettings
from azure_gpu.catalog import names
from azure_gpu.catalog.budgets import MOST_CONTACTS, MOST_NOTIFICATIONS, MOST_PERCENT, SPECIFICATION
from azure_gpu.catalog.problems import Problem
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
    given = {
        "monthly_usd": args["monthly_usd"],
        **({"billing_amount": args["billing_amount"]} if "billing_amount" in args else {}),
    }
    for key, amount in given.items():
        if amount <= 0:
            yield Problem(
                path=f"{path}.{key}",
                message="must be above 0",
                value=amount,
                allowed="a number above 0",
                fix="set the amount for a month, or remove the budget",
            )


def _percentages(args: BudgetSettings, spec: BudgetSpec, path: str) -> Iterator[Problem]:
    for key in ("warn_at", "forecast_at"):
        # pyrefly: ignore[bad-assignment]
        given: Sequence[int] = args.get(key, ())
        for index, percent in enumerate(given):
            here = f"{path}.{key}[{index}]"
            if not 1 <= percent <= MOST_PERCENT:
                allowed, fix = f"1 to {MOST_PERCENT}", "write a percentage of the budget, such as 80"
                yield Problem(here, "not a valid percentage", percent, allowed, fix, source=str(SPECIFICATION))
            elif percent in given[:index]:
                yield Problem(here, "duplicate percentage", percent, "each once", "remove it")
    if len(spec.thresholds) > MOST_NOTIFICATIONS:
        yield Problem(
            path=f"{path}.{'warn_at' if 'warn_at' in args else 'forecast_at'}",
            message="too many thresholds; those of warn_at and of forecast_at count together",
            value=len(spec.thresholds),
            allowed=f"{MOST_NOTIFICATIONS} at most",
            fix="remove some" if "forecast_at" in args else "remove some, or write forecast_at: []",
            source=str(SPECIFICATION),
        )


def _contacts(spec: BudgetSpec, path: str) -> Iterator[Problem]:
    for key, given in (("emails", spec.emails), ("action_groups", spec.action_groups)):
        if len(given) > MOST_CONTACTS:
            yield Problem(
                path=f"{path}.{key}",
                message="too many recipients for a notification",
                value=len(given),
                allowed=f"{MOST_CONTACTS} at most",
                fix="use the address of a mailing list" if key == "emails" else "remove some",
                source=str(SPECIFICATION),
            )
    for index, address in enumerate(spec.emails):
        text = known(address)
        if text is not None and not is_address(text):
            here = f"{path}.emails[{index}]"
            yield Problem(
                here, "not a valid mail address", text, "one address, such as team@example.com", "write one address per entry"
            )
    for index, group in enumerate(spec.action_groups):
        text = known(group)
        found = arm_ids.parse(text) if text is not None else None
        if text is not None and (found is None or not found.is_type(ACTION_GROUP)):
            yield Problem(
                path=f"{path}.action_groups[{index}]",
                message="not a valid action group id",
                value=text,
                allowed=f"/subscriptions/<id>/resourceGroups/<group>/providers/{ACTION_GROUP}/<name>",
                fix="copy one from `az monitor action-group list --query [].id`",
            )
    for index, role in enumerate(spec.contact_roles):
        if not role.strip():
            yield Problem(f"{path}.contact_roles[{index}]", "must not be empty", role, "a role, such as Owner", "write one")
    if spec.thresholds and not (spec.emails or spec.action_groups or spec.contact_roles):
        yield Problem(
            path=path,
            message="no recipients: every list that is set is empty",
            allowed="emails, contact_roles or action_groups with an entry; with none of the three, owners are notified",
            fix="remove the empty lists, or write warn_at: [] and forecast_at: [] for a budget without notifications",
        )


def _names(args: BudgetSettings, path: str) -> Iterator[Problem]:
    if "budget_name" in args:
        yield from names.check(azure_types.BUDGET.arm_type, args["budget_name"], f"{path}.budget_name")
    for index, group in enumerate(args.get("resource_groups", ())):
        text = known(group)
        if text is not None:
            yield from names.check(azure_types.RESOURCE_GROUP.arm_type, text, f"{path}.resource_groups[{index}]")
