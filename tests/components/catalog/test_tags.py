"""Azure's limits on tags: 50 a resource; keys to 128 characters and values to 256 on a storage account."""

import pytest

from azure_gpu.catalog import tags


def test_tags_at_the_limits_are_no_problem() -> None:
    assert tags.check({"k" * 128: "v" * 256}, "tags") == []
    assert tags.check({str(number): "" for number in range(50)}, "tags") == []


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"k" * 129: "v"}, "128 characters"),
        ({"": "v"}, "1 to 128 characters"),
        ({"a/b": "v"}, "<>%&\\?/"),
        ({"key": "v" * 257}, "256 characters at most"),
        ({str(number): "" for number in range(51)}, "50 at most"),
    ],
)
def test_tags_over_a_limit_are_one_problem(given: dict[str, str], part: str) -> None:
    [problem] = tags.check(given, "tags")
    assert problem.path.startswith("tags")
    assert part in problem.allowed
    assert problem.fix
