"""The VM sizes with GPUs, and those for MPI beside them.

`SIZES` is all of them. Their tables are CSV files in this folder, read when `SIZES` is first asked: `size_tables` says what the
columns hold, `model` what is known of a size, and `lookup` finds one by any spelling of its name.
"""

from collections.abc import Iterable

from azure_gpu.catalog.sizes.lookup import Sizes
from azure_gpu.catalog.sizes.model import Size


def _packaged() -> Iterable[Size]:
    from azure_gpu.catalog.sizes import size_tables  # here, because most of what imports SIZES never asks it

    return size_tables.packaged().sizes


SIZES = Sizes(_packaged)
