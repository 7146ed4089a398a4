"""Reads the CSV tables of the catalog and validates their cells.

Each table declares its columns with their meanings. A cell is read by its column's name and type (`whole`, `day`, `one_of`, ...);
an invalid cell raises `TableError` with file, line and column, the value, and what is allowed. Several values in a cell are
separated by `; `. A row is one line: no cell has a line break.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast, overload

T = TypeVar("T")
Allowed = Mapping[str, T] | tuple[T, ...] | type[T]  # values by text, or texts that are the values: of a Literal, or a StrEnum
SEPARATOR = "; "
_YES_NO = {"yes": True, "no": False}


class TableError(ValueError):
    """An invalid cell or row of a table."""


class Table(NamedTuple):
    """One file and its columns, each with its meaning."""

    path: str
    columns: Mapping[str, str]

    @property
    def name(self) -> str:
        """The file's name without its folders."""
        return self.path.replace("\\", "/").rpartition("/")[2]


class Row:
    """One row of a table, with its line number."""

    __slots__ = ("_cells", "line", "table", "text")

    def __init__(self, table: Table, line: int, text: str) -> None:
        self.table, self.line, self.text = table, line, text
        cells = split(text)
        if len(cells) != len(table.columns):
            found = f"{len(cells)} cells" if len(cells) != 1 else "1 cell"
            raise TableError(
                f"{table.name}:{line}:1: the row has {found}, expected {len(table.columns)}: {','.join(table.columns)}"
            )
        self._cells = dict(zip(table.columns, cells, strict=True))

    def __getitem__(self, column: str) -> str:
        """The text of a cell; empty if unknown."""
        return self._cells[column]

    def wrong(self, column: str, allowed: str) -> TableError:
        """The error about a cell."""
        place = f"{self.table.name}:{self.line}:{_start(self.text, list(self.table.columns).index(column))}"
        return TableError(f"{place}: {column} ({self.table.columns[column]}) is {self[column]!r}; allowed: {allowed}")

    def filled(self, column: str) -> str:
        """A text that must not be missing, without spaces around it."""
        cell = self._cells[column]
        if not cell or cell != cell.strip():
            raise self.wrong(column, "text without spaces at its ends")
        return cell

    def whole(self, column: str) -> int | None:
        """An integer that isn't negative; None if unknown."""
        cell = self._cells[column]
        if not cell:
            return None
        if not (cell.isascii() and cell.isdecimal()) or (cell[0] == "0" and cell != "0"):
            raise self.wrong(column, "an integer such as 24, or empty if unknown")
        return int(cell)

    def fraction(self, column: str) -> Fraction | None:
        """An integer, or a share such as 1/6; None if unknown."""
        cell = self._cells[column]
        if not cell:
            return None
        value = _share(cell)
        if value is None:
            raise self.wrong(column, "an integer, a share such as 1/6, or empty if unknown")
        return value

    def yes(self, column: str) -> bool:
        """Whether the cell is `yes`."""
        return self.one_of(column, _YES_NO)

    def one_of(self, column: str, allowed: Allowed[T], where: str = "") -> T:
        """The value of the cell's text. `where`: where the allowed texts are listed; empty: the error lists them."""
        named = _by_text(allowed)
        try:
            return named[self._cells[column]]
        except KeyError:
            raise self._unknown(column, self._cells[column], named, where) from None

    def maybe(self, column: str, allowed: Allowed[T], where: str = "") -> T | None:
        """As `one_of`; None if the cell is empty."""
        return self.one_of(column, allowed, where) if self._cells[column] else None

    def several(self, column: str, allowed: Allowed[T], where: str = "") -> tuple[T, ...]:
        """The value of each text of the cell, in its order."""
        named = _by_text(allowed)
        try:
            return tuple([named[text] for text in self.texts(column)])
        except KeyError as missing:
            raise self._unknown(column, str(missing.args[0]), named, where) from None

    def texts(self, column: str) -> tuple[str, ...]:
        """The texts of a cell with several."""
        cell = self._cells[column]
        if not cell:
            return ()
        found = tuple(cell.split(SEPARATOR))
        if any(not text or text != text.strip() or ";" in text for text in found):
            raise self.wrong(column, f"texts separated by {SEPARATOR!r}")
        return found

    def pairs(self, column: str, allowed: Mapping[str, T], where: str = "") -> dict[str, T]:
        """A cell with several `name=text`: the value of each text, by name."""
        found: dict[str, T] = {}
        for pair in self.texts(column):
            name, _, text = pair.partition("=")
            if not name or name in found or not text:
                raise self.wrong(column, f"pairs such as name=value, each name once, separated by {SEPARATOR!r}")
            if text not in allowed:
                raise self._unknown(column, text, allowed, where)
            found[name] = allowed[text]
        return found

    def day(self, column: str) -> date:
        """A day such as 2026-06-18."""
        cell = self._cells[column]
        if len(cell) != 10:
            raise self.wrong(column, "a day such as 2026-06-18")
        try:
            return date.fromisoformat(cell)
        except ValueError:
            raise self.wrong(column, "a day such as 2026-06-18") from None

    def _unknown(self, column: str, text: str, allowed: Mapping[str, object], where: str) -> TableError:
        named = where or " or ".join(allowed)
        return self.wrong(column, f"{named}, which {text!r} isn't" if self._cells[column] != text or where else named)


class Listed(Sequence[T]):
    """The values of a table, in its order, read at the first use and not at import."""

    def __init__(self, read: Callable[[], Iterable[T]]) -> None:
        self._read = read
        self._found: tuple[T, ...] | None = None

    def _rows(self) -> tuple[T, ...]:
        if self._found is None:
            self._found = tuple(self._read())  # of two threads that read at once, both have the same
        return self._found

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._rows()[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self._rows())

    def __len__(self) -> int:
        return len(self._rows())


class Keyed(Mapping[str, T]):
    """The values of a table by the name of the row, in its order, read at the first use."""

    def __init__(self, read: Callable[[], Mapping[str, T]]) -> None:
        self._read = read
        self._found: Mapping[str, T] | None = None

    def _rows(self) -> Mapping[str, T]:
        if self._found is None:
            self._found = self._read()
        return self._found

    def __getitem__(self, key: str) -> T:
        return self._rows()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows())

    def __len__(self) -> int:
        return len(self._rows())


def _by_text(allowed: Allowed[T]) -> Mapping[str, T]:
    return allowed if isinstance(allowed, Mapping) else dict(zip(cast(Any, allowed), cast(Any, allowed), strict=True))


@cache  # a table of sizes has few different ones
def _share(cell: str) -> Fraction | None:
    """What `Row.fraction` reads; None if it has another form."""
    try:
        value = Fraction(cell)
    except (ValueError, ZeroDivisionError):
        return None
    return value if value >= 0 and str(value) == cell else None


def read(table: Table) -> Iterator[Row]:
    """The rows of a table, in its order. The file is read at the first row."""
    return rows(table, text_of(table.path))


def rows(table: Table, text: str) -> Iterator[Row]:
    """The rows of a table's text. Raises TableError for a wrong header or row."""
    lines = text.splitlines()
    check_header(table, lines)
    for number, line in enumerate(lines[1:], start=2):
        yield Row(table, number, line)


def check_header(table: Table, lines: Sequence[str]) -> None:
    """Raises TableError if the first line isn't the table's header."""
    header = ",".join(table.columns)
    if not lines or lines[0] != header:
        raise TableError(f"{table.name}:1:1: the header is {lines[0] if lines else ''!r}, expected {header!r}")


def by_name(found: Iterator[Row], column: str) -> dict[str, Row]:
    """The rows by name, which is unique ignoring case."""
    named: dict[str, Row] = {}
    lines: dict[str, int] = {}
    for row in found:
        name = row.filled(column)
        if name.lower() in lines:
            raise row.wrong(column, f"a name that line {lines[name.lower()]} doesn't have")
        named[name] = row
        lines[name.lower()] = row.line
    return named


def by_key(table: Table, text: str) -> dict[str, tuple[int, str]]:
    """The lines of a table's text, with their numbers, by their first cell, which is unique. For tables of which few
    rows are needed at once.

    Raises TableError for a wrong header or a duplicate key.
    """
    lines = text.splitlines()
    check_header(table, lines)
    found: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines[1:], start=2):
        key = line.partition(",")[0]
        if key in found:
            column = next(iter(table.columns))
            raise Row(table, number, line).wrong(column, f"a {column} that line {found[key][0]} doesn't have")
        found[key] = (number, line)
    return found


def text_of(path: str) -> str:
    """The text of a file that comes with the catalog."""
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib would double what loads with the catalog
        return file.read()


def beside(module_file: str, name: str) -> str:
    """The path of a table beside a module, given its `__file__`."""
    folder = max(module_file.rfind("/"), module_file.rfind("\\")) + 1
    return module_file[:folder] + name


def split(line: str) -> list[str]:
    """The cells of one line. A cell with a comma or a quote is quoted, and its quotes are doubled."""
    if '"' not in line:
        return line.split(",")
    cells: list[str] = []
    waiting = ""  # pieces of a quoted cell, which was cut at its own commas
    for piece in line.split(","):
        waiting = f"{waiting},{piece}" if waiting else piece
        if waiting.startswith('"') and waiting.count('"') % 2:
            continue
        cells.append(waiting[1:-1].replace('""', '"') if waiting.startswith('"') else waiting)
        waiting = ""
    return [*cells, waiting] if waiting else cells


def line_of(cells: Sequence[str]) -> str:
    """The line that `split` reads as these cells."""
    return ",".join('"' + cell.replace('"', '""') + '"' if "," in cell or '"' in cell else cell for cell in cells)


def _start(line: str, index: int) -> int:
    """The column of the file at which a cell begins, from 1."""
    cells = split(line)
    return len(line_of(cells[:index])) + 2 if index else 1
