"""What a stack says of itself, and why it is refused."""

from azure_gpu.shared.context import resolve_stack
from tests.components.recording import PROJECT, STACK
from tests.components.settings_of import STACK_ARGS


def test_a_team_without_a_letter_or_digit_names_nothing() -> None:
    _, [problem] = resolve_stack({**STACK_ARGS, "team": "--"}, PROJECT, STACK)
    assert (problem.path, problem.value) == ("team", "--")
    assert problem.allowed == "a short word, such as vision"
    assert problem.fix == "pulumi config set team <word>"
