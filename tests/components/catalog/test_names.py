"""Name rules against literals from Microsoft's page of name rules, not against the table."""

from hypothesis import given, strategies as st

from azure_gpu.catalog import names
from tests.support.tables import of_table

GROUP = "Microsoft.ContainerInstance/containerGroups"


@of_table("arm_type", "name")
def test_a_name_that_azure_takes_is_no_problem(arm_type: str, name: str) -> None:
    assert names.check(arm_type, name, "here") == []


@of_table("arm_type", "name", "allowed")
def test_a_name_that_azure_refuses_is_one_problem(arm_type: str, name: str, allowed: str) -> None:
    [problem] = names.check(arm_type, name, "container_groups.train.group_name")
    assert problem.path == "container_groups.train.group_name"
    assert problem.value == name
    assert allowed in problem.allowed
    assert problem.fix
    assert problem.source


@given(arm_type=st.sampled_from(sorted(names.RULES)), name=st.text(max_size=200))
def test_a_suggested_name_is_always_one_that_azure_takes(arm_type: str, name: str) -> None:
    for problem in names.check(arm_type, name, "here"):
        if problem.fix.startswith("write '"):
            assert names.check(arm_type, problem.fix.removeprefix("write '").removesuffix("'"), "here") == []


def test_the_names_that_are_unique_in_all_of_azure_are_those_of_public_hosts() -> None:
    unique = {arm_type for arm_type, rule in names.RULES.items() if rule.globally_unique}
    assert unique == {
        "Microsoft.Batch/batchAccounts",  # in its region
        "Microsoft.ContainerRegistry/registries",
        "Microsoft.KeyVault/vaults",
        "Microsoft.MachineLearningServices/workspaces/onlineEndpoints",  # in its region
        "Microsoft.Storage/storageAccounts",
    }
