"""Physical names at the limits of every type that has a rule."""

import pytest
from hypothesis import example, given, strategies as st

from azure_gpu.catalog.names import RULES
from azure_gpu.shared.naming import physical_name

WORDS = st.lists(st.text(max_size=100), min_size=1, max_size=4)
PLAIN_WORD = st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=100)
# Names that aren't made of words: the provider makes GUIDs, people number versions, AKS knows three schedules.
NOT_OF_WORDS = {
    "Microsoft.Authorization/roleAssignments",
    "Microsoft.Compute/galleries/images/versions",
    "Microsoft.Storage/storageAccounts/blobServices",
    "Microsoft.ContainerService/managedClusters/maintenanceConfigurations",
}
TYPES = sorted(RULES.keys() - NOT_OF_WORDS)


@given(arm_type=st.sampled_from(TYPES), words=WORDS)
@example(arm_type="Microsoft.MachineLearningServices/workspaces/computes", words=["\x940l3X10;»KJÂ\U00080657\U00038d8b0"])
def test_every_name_is_one_that_azure_takes(arm_type: str, words: list[str]) -> None:
    name = physical_name(arm_type, words, subscription_id="s")
    rule = RULES[arm_type]
    assert rule.shortest <= len(name) <= rule.longest
    assert rule.pattern.fullmatch(name)


@given(arm_type=st.sampled_from(TYPES), words=WORDS)
def test_the_same_words_always_lead_to_the_same_name(arm_type: str, words: list[str]) -> None:
    assert physical_name(arm_type, words) == physical_name(arm_type, words)


@given(arm_type=st.sampled_from(TYPES), one=st.lists(PLAIN_WORD, min_size=4, max_size=4), other=PLAIN_WORD, at=st.integers(0, 3))
def test_different_words_lead_to_different_names(arm_type: str, one: list[str], other: str, at: int) -> None:
    two = [*one[:at], other, *one[at + 1 :]]
    assert (physical_name(arm_type, one) == physical_name(arm_type, two)) == (one == two)


@pytest.mark.parametrize(
    ("arm_type", "words", "name"),
    [
        ("Microsoft.Resources/resourceGroups", ["azure-gpu", "vision", "dev"], "azure-gpu-vision-dev"),
        ("Microsoft.ContainerInstance/containerGroups", ["azure-gpu", "vision", "dev", "train"], "azure-gpu-vision-dev-train"),
        ("Microsoft.Storage/storageAccounts", ["azure-gpu", "vision", "dev"], "visiondev"),
        ("Microsoft.ContainerRegistry/registries", ["azure-gpu", "vision", "dev"], "azuregpuvisiondev"),
    ],
)
def test_names_carry_team_and_stack(arm_type: str, words: list[str], name: str) -> None:
    made = physical_name(arm_type, words, subscription_id="11111111-2222-3333-4444-555555555555")
    assert made.removesuffix(made[-8:]) == name or made == name


@pytest.mark.parametrize("arm_type", ["Microsoft.Storage/storageAccounts", "Microsoft.ContainerRegistry/registries"])
def test_a_name_unique_in_all_of_azure_differs_by_subscription(arm_type: str) -> None:
    words = ["azure-gpu", "vision", "dev"]
    assert physical_name(arm_type, words, subscription_id="one") != physical_name(arm_type, words, subscription_id="two")


def test_a_container_group_of_63_characters_keeps_its_name_and_one_of_64_is_cut() -> None:
    longest = "a" * 63
    assert physical_name("Microsoft.ContainerInstance/containerGroups", [longest]) == longest
    cut = physical_name("Microsoft.ContainerInstance/containerGroups", [longest + "a"])
    assert len(cut) == 63
    assert cut.startswith("a" * 54 + "-")


def test_a_name_that_has_to_begin_with_a_letter_does_and_stays_within_its_limit() -> None:
    job = "Microsoft.App/jobs"  # at most 32 characters, a letter first
    assert physical_name(job, ["azure-gpu", "vision", "dev", "train"]) == "azure-gpu-vision-dev-train"
    digits = physical_name(job, ["azure-gpu", "vision", "dev", "2nd-training-of-the-night"])
    assert digits.startswith("n2nd-training-of-the-ni")
    assert len(digits) == 32
    assert physical_name(job, ["1"]).startswith("n1-")
