"""Which columns of a table a terminal is shown, and that names stay whole."""

import io

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from azure_gpu_operations.tables import Column, fit, lines, print_table

NAME = Column("Size", ("Standard_NC24ads_A100_v4", "Standard_NC6"))  # 24 characters
GPU = Column("GPU", ("NVIDIA A100 80GB", "NVIDIA Tesla K80"), importance=3)  # 16
RDMA = Column("RDMA", ("no", "no"), importance=1)  # 4
NOTE = Column("Note", ("price of 2026-06-18, stale", ""), importance=2, wraps=1)  # at least 11, of the day and its comma
ALL = (NAME, RDMA, GPU, NOTE)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (61, [NAME, RDMA, GPU, NOTE]),
        (60, [NAME, GPU, NOTE]),
        (55, [NAME, GPU, NOTE]),
        (54, [NAME, RDMA, GPU]),
        (47, [NAME, GPU]),
        (41, [NAME, NOTE]),
        (36, [NAME, RDMA]),
        (29, [NAME]),
        (5, [NAME]),
    ],
)
def test_the_most_important_columns_stay_in_their_order(width: int, shown: list[Column]) -> None:
    assert fit(ALL, width) == shown


def test_without_a_column_that_is_always_shown_the_first_one_needs_no_gap() -> None:
    assert fit([RDMA], 4) == [RDMA]
    assert fit([RDMA], 3) == []
    assert fit([], 80) == []


def test_a_text_that_wraps_has_a_least_width() -> None:
    assert Column("a", ("one two three",), wraps=9).least_width == 9
    assert Column("a", ("one two three",), wraps=40).least_width == 13
    assert Column("a", ("one two three",), wraps=2).least_width == 5


def test_a_wide_character_takes_two_columns() -> None:
    assert Column("", ("東京",)).least_width == 4


@given(
    st.lists(
        st.builds(
            Column,
            st.text("ab ", max_size=6),
            st.tuples(st.text("ab \n", max_size=20)),
            st.none() | st.integers(0, 3),
            st.integers(0, 9),
        ),
        max_size=6,
    ),
    st.integers(1, 80),
)
def test_what_is_kept_fits_unless_it_is_always_shown(columns: list[Column], width: int) -> None:
    kept = fit(columns, width)
    assert [column for column in columns if column.importance is None] == [column for column in kept if column.importance is None]
    if any(column.importance is not None for column in kept):
        assert sum(column.least_width for column in kept) + 2 * (len(kept) - 1) <= width


def printed(width: int, *, wide: bool = False, terminal: bool = True) -> list[str]:
    file = io.StringIO()
    print_table(Console(file=file, width=width, force_terminal=terminal, color_system=None), ALL, title="Sizes", wide=wide)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_a_terminal_shows_names_whole_and_names_what_is_missing() -> None:
    assert printed(60) == [
        "Sizes",
        "Size                      GPU               Note",
        "Standard_NC24ads_A100_v4  NVIDIA A100 80GB  price of",
        "                                            2026-06-18,",
        "                                            stale",
        "Standard_NC6              NVIDIA Tesla K80",
        "Not shown in 60 columns: RDMA; --wide shows all.",
    ]


def test_a_terminal_that_is_too_narrow_for_the_name_gets_it_whole() -> None:
    assert "Standard_NC24ads_A100_v4" in printed(10)


@pytest.mark.parametrize(("wide", "terminal"), [(True, True), (False, False)], ids=["--wide", "pipe"])
def test_every_column_is_printed_where_nothing_limits_the_width(wide: bool, terminal: bool) -> None:
    assert printed(10, wide=wide, terminal=terminal) == [
        "Sizes",
        "Size                      RDMA  GPU               Note",
        "Standard_NC24ads_A100_v4  no    NVIDIA A100 80GB  price of 2026-06-18, stale",
        "Standard_NC6              no    NVIDIA Tesla K80",
    ]


def test_texts_that_wrap_share_what_is_left_from_the_left() -> None:
    first, second = Column("a", ("one two three",), wraps=1), Column("b", ("four five",), wraps=1)
    assert lines([first, second], 24) == ["a              b", "one two three  four five"]
    assert lines([first, second], 21) == ["a              b", "one two three  four", "               five"]
    assert lines([first, second], 11) == ["a      b", "one    four", "two    five", "three"]
