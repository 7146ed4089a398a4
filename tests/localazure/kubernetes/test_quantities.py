"""Quantities as Kubernetes writes them."""

from fractions import Fraction

import pytest

from localazure.kubernetes.quantities import number, whole


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3860m", Fraction("3.86")),
        ("4", 4),
        ("0.5", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("12124061Ki", 12124061 * 1024),
        ("1Gi", 2**30),
        ("1G", 10**9),
        ("1k", 1000),
        ("1e3", 1000),
        ("1E3", 1000),
        ("2E", 2 * 10**18),
        ("5n", Fraction(5, 10**9)),
        ("-1", -1),
        (7, 7),
    ],
)
def test_a_quantity_is_a_number(text: str | int, value: Fraction | int) -> None:
    assert number(text) == value


@pytest.mark.parametrize("text", ["", "1K", "1ki", "Gi", "1 Gi", "1e", "one"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity"):
        number(text)


def test_devices_and_memory_are_counted_in_whole_ones() -> None:
    assert [whole(text) for text in ("250m", "100n", "2", "1.5Gi")] == [1, 1, 2, 1610612736]
