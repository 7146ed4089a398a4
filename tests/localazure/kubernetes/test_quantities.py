"""Quantities as Kubernetes writes them."""

from fractions import Fraction

import pytest

from localazure.kubernetes.quantities import number, whole
from tests.support.tables import of_table


@of_table("text", "value")
def test_a_quantity_is_a_number(text: str | int, value: str | int) -> None:
    assert number(text) == Fraction(value)


@pytest.mark.parametrize("text", ["", "1K", "1ki", "Gi", "1 Gi", "1e", "one"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity"):
        number(text)


def test_devices_and_memory_are_counted_in_whole_ones() -> None:
    assert [whole(text) for text in ("250m", "100n", "2", "1.5Gi")] == [1, 1, 2, 1610612736]
