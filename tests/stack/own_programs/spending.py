"""A budget in somebody's program, on whatever day it is run."""

from datetime import datetime, tzinfo

import pulumi
import pulumi_azure_native as azure_native

from azure_gpu import Budget, BudgetArgs
from azure_gpu.shared import program

config = pulumi.Config()


class Day(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Day":
        return cls.fromisoformat(config.require("day")).replace(tzinfo=tz)


program.datetime = Day  # the clock of this program alone
provider = azure_native.Provider("azure", **config.require_object("login"))
ours = pulumi.ResourceOptions(provider=provider)
group = azure_native.resources.ResourceGroup("group", location="eastus", opts=ours)
args: BudgetArgs = {"resource_group_name": group.name, "monthly_usd": config.require_float("monthly")}
if name := config.get("budget_name"):
    args["budget_name"] = name
budget = Budget("spend", args, pulumi.ResourceOptions(providers=[provider]))
pulumi.export("budget", budget.budget_id)
