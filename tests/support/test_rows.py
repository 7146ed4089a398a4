"""A test of a table."""

import pytest

from tests.support.rows import each_row


def test_every_row_that_fails_is_named_with_why() -> None:
    @each_row(("name", "number"), [("one", 1), ("two", 2), ("three", 3), ("none", 0)])
    def of_one(name: str, number: int) -> None:
        assert 6 // number > 2, f"{number} is too large"

    with pytest.raises(AssertionError) as failed:
        of_one()
    told = str(failed.value)
    assert told.startswith("2 of 4 rows:\nthree: AssertionError: 3 is too large")
    assert "none: ZeroDivisionError" in told


def test_a_row_that_expects_an_error_fails_without_one() -> None:
    @each_row("value", ["x"], ids=["a text"])
    def of_one(value: str) -> None:
        with pytest.raises(ValueError, match="x"):
            str(value)

    with pytest.raises(AssertionError, match="a text: Failed: DID NOT RAISE"):
        of_one()


def test_a_table_without_rows_fails() -> None:
    @each_row("value", [])
    def of_one(value: str) -> None:
        pass

    with pytest.raises(AssertionError, match="no rows"):
        of_one()
