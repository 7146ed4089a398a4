"""Name rules against literals from Microsoft's page of name rules, not against the table."""

from hypothesis import given, strategies as st

from azure_gpu.catalog import names
from tests.support.rows import each_row

GROUP = "Microsoft.ContainerInstance/containerGroups"


@each_row(
    ("arm_type", "name"),
    [
        (GROUP, "gpucontainergroup"),
        (GROUP, "a"),
        (GROUP, "a-1-b"),
        (GROUP, "a" * 63),
        ("Microsoft.Storage/storageAccounts", "abc"),
        ("Microsoft.Storage/storageAccounts", "a1" * 12),
        ("Microsoft.ContainerRegistry/registries", "Abcd5"),
        ("Microsoft.ContainerRegistry/registries", "a" * 50),
        ("Microsoft.ContainerRegistry/registries/taskRuns", "build-1"),
        ("Microsoft.ManagedIdentity/userAssignedIdentities", "1_a-B"),
        ("Microsoft.OperationalInsights/workspaces", "logs"),
        ("Microsoft.Resources/resourceGroups", "a.b(c)_d-e"),
        ("Microsoft.Resources/resourceGroups", "ü" * 90),
        ("Microsoft.Authorization/roleAssignments", "7f951dda-4ed3-4680-a7ca-43fe172d538d"),
        (names.CONTAINER, "gpu--container"),
        ("Microsoft.App/jobs", "train-t4"),
        ("Microsoft.App/managedEnvironments", "Jobs-" + "a" * 55),
        (names.VOLUME, "batch-output-volume"),
        (names.DNS_LABEL, "frontend-site1"),
        ("Microsoft.Storage/storageAccounts/blobServices/containers", "outputs-2"),
        ("Microsoft.Storage/storageAccounts/blobServices/containers", "$root"),
        ("Microsoft.Batch/batchAccounts/pools", "Train_a100-7f3a"),
        ("Microsoft.Batch/batchAccounts/applications/versions", "411.82"),
        ("Microsoft.Compute/galleries", "lab.images_1"),
        ("Microsoft.Compute/galleries/images", "ubuntu-22.04_gpu"),
        ("Microsoft.Compute/galleries/images/versions", "2026.1121.2147483647"),
        ("microsoft.storage/STORAGEACCOUNTS", "abc"),
        ("Microsoft.Nothing/ofOurs", "whatever it is called"),
    ],
)
def test_a_name_that_azure_takes_is_no_problem(arm_type: str, name: str) -> None:
    assert names.check(arm_type, name, "here") == []


@each_row(
    ("arm_type", "name", "allowed"),
    [
        (GROUP, "", "1 to 63 characters"),
        (GROUP, "a" * 64, "1 to 63 characters"),
        (GROUP, "Upper", "lowercase"),
        (GROUP, "-a", "no hyphen at either end"),
        (GROUP, "a--b", "no two in a row"),
        (GROUP, "a_b", "hyphens"),
        ("Microsoft.Storage/storageAccounts", "ab", "3 to 24 characters"),
        ("Microsoft.Storage/storageAccounts", "a" * 25, "3 to 24 characters"),
        ("Microsoft.Storage/storageAccounts", "my-data", "lowercase letters a to z and digits"),
        ("Microsoft.ContainerRegistry/registries", "abcd", "5 to 50 characters"),
        ("Microsoft.ContainerRegistry/registries", "my-images", "letters a to z and digits"),
        ("Microsoft.ContainerRegistry/registries/taskRuns", "a_bcd", "5 to 50 characters"),
        ("Microsoft.ManagedIdentity/userAssignedIdentities", "-ab", "3 to 128 characters"),
        ("Microsoft.OperationalInsights/workspaces", "log", "4 to 63 characters"),
        ("Microsoft.OperationalInsights/workspaces", "logs-", "no hyphen at either end"),
        ("Microsoft.Resources/resourceGroups", "a.", "no period at the end"),
        ("Microsoft.Resources/resourceGroups", "a" * 91, "1 to 90 characters"),
        ("Microsoft.Authorization/roleAssignments", "reader", "exactly 36 characters: a GUID"),
        (names.CONTAINER, "gpu_container", "1 to 63 characters"),
        ("Microsoft.App/jobs", "a" * 33, "2 to 32 characters"),
        ("Microsoft.App/jobs", "Defang-website-dev", "lowercase letters"),  # DefangLabs/pulumi-defang pull request 543
        ("Microsoft.App/managedEnvironments", "a" * 61, "2 to 60 characters"),
        ("Microsoft.Storage/storageAccounts/blobServices/containers", "my--data", "no two in a row"),
        ("Microsoft.Storage/storageAccounts/blobServices/containers", "ab", "3 to 63 characters"),
        ("Microsoft.Batch/batchAccounts/pools", "a.b", "1 to 64 characters"),
        ("Microsoft.Compute/galleries", "my-gallery", "1 to 80 characters"),
        ("Microsoft.Compute/galleries/images", "gpu-", "a letter or digit at either end"),
        ("Microsoft.Compute/galleries/images/versions", "1.0", "three numbers"),
        ("Microsoft.Compute/galleries/images/versions", "1.0.2147483648", "at most 2147483647"),
        ("Microsoft.MachineLearningServices/workspaces", "ml", "3 to 33 characters"),
        ("Microsoft.MachineLearningServices/workspaces", "_team", "a letter or digit first"),
        ("Microsoft.MachineLearningServices/workspaces/computes", "gpu-2", "nothing but digits after it"),
        ("Microsoft.MachineLearningServices/workspaces/computes", "a" * 25, "3 to 24 characters"),
        ("Microsoft.KeyVault/vaults", "a" * 25, "3 to 24 characters"),
        ("Microsoft.KeyVault/vaults", "my--vault", "no two in a row"),
        (names.VOLUME, "Output", "lowercase"),
        (names.VOLUME, "output--volume", "no two in a row"),
        (names.DNS_LABEL, "site", "5 to 63 characters"),
        (names.DNS_LABEL, "my_site", "letters a to z, digits and hyphens"),
        (names.DNS_LABEL, "Front-end", "lowercase"),
        (names.DNS_LABEL, "1-front-end", "a letter first"),
    ],
)
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
