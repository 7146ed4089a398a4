"""What Pulumi's SDK package doesn't say about ARM's bodies: the rows of `tables.toml`, which says what each table is."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Wrapper(NamedTuple):
    """An object below the top level that has a `properties` of its own."""

    beside: frozenset[str]  # what lies beside it
    required: bool


_ROWS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))


def _sets(table: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(row) for name, row in _ROWS[table].items()}


def _pairs(table: str) -> frozenset[tuple[str, str]]:
    """Object and the SDK's name."""
    return frozenset((name, each) for name, row in _ROWS[table].items() for each in row)


BESIDE_PROPERTIES = frozenset(_ROWS["beside_properties"])
IN_PROPERTIES = _sets("in_properties")
ALSO_BESIDE = _sets("also_beside")
_OF_NETWORK = Wrapper(frozenset(_ROWS["beside_of_network_objects"]), required=False)
WRAPPERS = {
    **{f"network:{name}": _OF_NETWORK for name in _ROWS["network_objects"].split()},
    **{name: Wrapper(beside, required=False) for name, beside in _sets("wrappers").items()},
    **{name: Wrapper(beside, required=True) for name, beside in _sets("required_wrappers").items()},
}
RENAMED: Mapping[tuple[str, str], str] = {
    (name, theirs): arms for name, row in _ROWS["renamed"].items() for theirs, arms in row.items()
}
CAPITALISED = _sets("capitalised")
IN_QUERY = _pairs("in_query")
HYPHENATED = frozenset(_ROWS["hyphenated"])
REQUIRED = _pairs("required")
TAKEN = _pairs("taken")
OF_OTHER_VERSIONS: Mapping[str, Mapping[str, bool]] = _ROWS["of_other_versions"]
SECRETS = _pairs("secrets")
OPEN_OBJECTS = frozenset(_ROWS["open_objects"])
FLAT_INPUTS = frozenset(_ROWS["flat_inputs"])
FLAT_OUTPUTS = frozenset(_ROWS["flat_outputs"])
