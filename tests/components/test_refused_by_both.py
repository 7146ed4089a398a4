"""Where the program refuses and the embedded Azure doesn't, or the other way round: every difference over all cases is known.

`tests/data/refusal_differences.tsv`: case, entry of the stack file, the embedded Azure's code (`-`: it takes the body), and why.
A new difference is read, and gets a row with its reason or is mended where it shows a mistake.
"""

from pathlib import Path

import pytest

from tests.components.refused_by_both import Difference, differences, names

TABLE = Path(__file__).parents[1] / "data" / "refusal_differences.tsv"
KNOWN = {Difference(*line.split("\t")[:3]): line.split("\t")[3] for line in TABLE.read_text(encoding="utf-8").splitlines()}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*names("happy"), *names("error")])
def test_every_difference_between_the_two_is_known(name: str, tmp_path: Path) -> None:
    assert differences(name, tmp_path) == {each for each in KNOWN if each.case == name}


def test_each_known_difference_has_a_reason_and_a_case() -> None:
    assert all(reason.strip(" ?") for reason in KNOWN.values())
    assert {each.case for each in KNOWN} <= {*names("happy"), *names("error")}
