import pulumi

from azure_gpu import Budget, Foundation

foundation = Foundation("base", location="westeurope")
budget = Budget("spend", foundation=foundation, monthly_usd=500, emails=["team@example.com"])
pulumi.export("budget", budget.budget_id)
