"""The rules of the catalog by tables, of which each row is a question and what the service's documentation answers."""

from pathlib import Path

import pytest

from tests.components.catalog.rule_tables import wrong_rows

TABLES = sorted((Path(__file__).parent / "rules").glob("*.yaml"))


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_a_table_of_rules_holds(table: Path) -> None:
    rows, wrong = wrong_rows(table)
    assert rows
    assert wrong == []
