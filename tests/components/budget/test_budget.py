"""A budget of a program's own: where it lies, whom it tells, and what is known only while resources are created."""

from typing import Any

import pulumi
import pytest

from azure_gpu import Budget, Foundation
from azure_gpu.budget.spec import resolve
from azure_gpu.catalog import error_fixes
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.refusal import Refused
from azure_gpu.stack import inventory
from tests.components.recording import PROJECT, STACK, SUBSCRIPTION, Recorded, declare
from tests.components.settings_of import STACK_ARGS, TODAY, configuration
from tests.components.test_constructors import LOOK_UPS

TOKEN = "azure-native:consumption:Budget"


def declared(build: Any) -> Recorded:
    return declare(build, lookups=LOOK_UPS)


def test_two_budgets_of_a_program_have_two_names_and_lie_where_each_belongs() -> None:
    def build() -> None:
        Budget("mine", resource_group_name="mine", monthly_usd=5)
        Budget("ours", foundation=Foundation("base", location="westeurope"), monthly_usd=5.5)

    recorded = declared(build)
    mine, ours = recorded.named("mine-budget"), recorded.named("ours-budget")
    assert mine.inputs["budgetName"] != ours.inputs["budgetName"]
    group = recorded.one("azure-native:resources:ResourceGroup").inputs["resourceGroupName"]
    assert [each.inputs["scope"] for each in (mine, ours)] == [
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{name}" for name in ("mine", group)
    ]


def test_groups_and_recipients_may_be_outputs() -> None:
    def build() -> None:
        later = pulumi.Output.from_input("later")
        Budget("spend", {"monthly_usd": 5, "resource_group_name": later, "resource_groups": [later, "theirs"], "emails": [later]})

    inputs = declared(build).one(TOKEN).inputs
    assert inputs["scope"] == f"/subscriptions/{SUBSCRIPTION}"
    assert inputs["filter"]["dimensions"]["values"] == ["later", "later", "theirs"]
    assert {tuple(each["contactEmails"]) for each in inputs["notifications"].values()} == {("later",)}


def test_all_problems_are_raised_together_and_nothing_is_declared() -> None:
    def build() -> None:
        with pytest.raises(Refused) as refused:
            Budget("spend", resource_group_name="mine", monthly_usd=-1, emails=["nobody"], warn_at=[80, 80])
        told = str(refused.value)
        for path in ("monthly_usd: ", "emails[0]: ", "warn_at[1]: "):
            assert f'Budget("spend").{path}' in told

    assert declared(build).registrations == []


@pytest.mark.parametrize(
    ("said", "roles"),
    [
        ({}, ["Owner"]),
        ({"emails": ["a@example.com"]}, []),
        ({"contact_roles": ["Contributor"]}, ["Contributor"]),
        ({"emails": ["a@example.com"], "contact_roles": ["Owner"]}, ["Owner"]),
    ],
    ids=["nobody", "an address", "a role", "both"],
)
def test_owners_are_told_where_nobody_else_is(said: dict[str, Any], roles: list[str]) -> None:
    context, _ = resolve_stack(STACK_ARGS, PROJECT, STACK)
    # pyrefly: ignore[bad-unpacking]
    spec, problems = resolve({"monthly_usd": 5, **said}, context)
    assert problems == []
    assert list(spec.contact_roles) == roles


@pytest.mark.parametrize(("today", "start"), [("2026-12-01", "2026-12-01"), ("2026-12-31", "2026-12-01")])
def test_it_starts_with_the_month_of_the_run_whatever_the_stack_is_judged_at(today: str, start: str) -> None:
    context, _ = resolve_stack({**STACK_ARGS, "today": today, "as_of": "2019-06-15"}, PROJECT, STACK)
    assert resolve({"monthly_usd": 5}, context)[0].start.isoformat() == start


def test_a_budget_that_tells_nobody_on_purpose_is_taken() -> None:
    context, _ = resolve_stack(STACK_ARGS, PROJECT, STACK)
    spec, problems = resolve({"monthly_usd": 5, "warn_at": [], "forecast_at": [], "contact_roles": []}, context)
    assert (problems, spec.thresholds) == ([], ())


def test_of_an_offer_without_budgets_it_is_told_what_to_write() -> None:
    """The service's own sentence: Azure/azure-powershell issue 11642 (2021-05-03)."""
    said = (
        "Status=400 Code=400 Message=Cost Management supports only Enterprise Agreement, Web direct and Microsoft Customer "
        "Agreement offer types. Subscription 11111111-2222-3333-4444-555555555555 is not associated with a valid offer type."
    )
    assert "budget.in_azure: false" in error_fixes.fix(said)


def test_an_inventory_has_the_amount_and_what_azure_gets_of_it() -> None:
    def taken(**budget: Any) -> inventory.Inventory:
        said = {"budget": {"monthly_usd": 500, **budget}} if budget.pop("is_there", True) else {}
        return inventory.take(configuration(said), PROJECT, STACK, TODAY)

    def budgets(found: inventory.Inventory) -> list[str]:
        return [each.path for each in found.names if each.path == "budget"]

    assert (taken(is_there=False).monthly_budget, taken(is_there=False).budget_in_azure) == (None, False)
    here = taken()
    assert (here.monthly_budget, here.budget_in_azure, here.budget_of_subscription, budgets(here)) == (
        500,
        True,
        False,
        ["budget"],
    )
    cluster = {"gpu_pools": {"t4": {"size": "Standard_NC4as_T4_v3"}}, "expires_after": "2026-12-31"}
    for budget, of_subscription in (({}, True), ({"resource_groups": []}, False)):
        said = {"budget": {"monthly_usd": 500, **budget}, "clusters": {"shared": cluster}}
        assert inventory.take(configuration(said), PROJECT, STACK, TODAY).budget_of_subscription is of_subscription
    there = taken(in_azure=False, resource_groups=["nodes"])
    assert (there.monthly_budget, there.budget_in_azure, there.budget_of_subscription, budgets(there)) == (500, False, True, [])
