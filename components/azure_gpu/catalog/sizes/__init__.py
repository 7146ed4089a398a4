"""VM sizes with GPUs, and sizes for MPI.

`SIZES` holds all of them. The tables are CSV files in this folder, read when `SIZES` is first used: `size_tables` describes the
columns, `model` has the types, and `lookup` finds a size by any spelling of its name.
"""

from collections.abc import Iterable

from azure_gpu.catalog.sizes.lookup import Sizes
from azure_gpu.catalog.sizes.model import Size


def _packaged() -> Iterable[Size]:
    from azure_gpu.catalog.sizes import size_tables  # here, because most of what imports SIZES never asks it

    return size_tables.packaged().sizes


SIZES = Sizes(_packaged)
