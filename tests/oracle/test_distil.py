"""The table of ARM's types is what Microsoft's files say, where they lie beside the checkout."""

from pathlib import Path

import pytest

from tests.oracle import arm_types, distil

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "azure-types"


@pytest.mark.skipif(not FOLDER.is_dir(), reason="needs Microsoft's ARM types in ../shared/azure-types beside the checkout")
def test_the_table_is_what_the_files_say() -> None:
    assert arm_types.TABLE.read_text(encoding="utf-8") == distil.table(FOLDER), f"{distil.__doc__}"
