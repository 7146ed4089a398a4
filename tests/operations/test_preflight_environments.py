"""What preflight says of the GPU quotas of Container Apps, which belong to one environment."""

import pytest

from azure_gpu.stack.requests import EnvironmentUse
from azure_gpu_operations.preflight.environment_quotas import Quotas, rows
from azure_gpu_operations.preflight.fetching import Outcome
from azure_gpu_operations.preflight.lists import ListKey, ListKind
from azure_gpu_operations.preflight.rows import Answer

ID = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.App/managedEnvironments/env"
USE = EnvironmentUse(environment=ID, profile="Consumption-GPU-NC8as-T4", gpus=3, path="jobs.tonight.gpu")
SHOW = "`az containerapp env list-usages --name env --resource-group rg`"


def limit(number: int) -> Quotas:
    return Quotas(there=True, limits={"managedenvironmentconsumptiont4gpus": number})


@pytest.mark.parametrize(
    ("found", "answer", "message", "fix"),
    [
        (None, Answer.UNKNOWN, "couldn't be read: GPU quotas of Container Apps environments in env", ""),
        (Quotas(there=False, limits={}), Answer.UNKNOWN, "env doesn't exist yet", "up --stack mine`, run preflight again"),
        (Quotas(there=True, limits={}), Answer.UNKNOWN, "Azure reports no limit of T4s", SHOW),
        (limit(3), Answer.OK, "3 of 3 T4s of the environment env", ""),
        (limit(0), Answer.NO_QUOTA, "jobs use up to 3 T4s at once; the limit of the environment env is 0", SHOW),
    ],
)
def test_a_quota_is_known_once_its_environment_is_there(found: Quotas | None, answer: Answer, message: str, fix: str) -> None:
    [row] = rows([USE], {ListKey(ListKind.ENVIRONMENT_QUOTAS, "env"): Outcome(found)}, "mine")
    assert (row.subject, row.check, row.answer) == ("jobs.tonight.gpu", "quota", answer)
    assert message in row.message
    assert fix in row.fix
