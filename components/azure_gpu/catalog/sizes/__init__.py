"""The VM sizes with GPUs, and those for MPI beside them.

`SIZES`, all of them. One file per line of series holds the rows; `model` says what is known of each, `lookup`
finds one by any spelling of its name.
"""

from azure_gpu.catalog.sizes import hpc, nc, nc_rtx, nd, nd_restricted, ng_np, nv
from azure_gpu.catalog.sizes.lookup import Sizes

SIZES = Sizes((*nc.ROWS, *nc_rtx.ROWS, *nd.ROWS, *nd_restricted.ROWS, *nv.ROWS, *ng_np.ROWS, *hpc.ROWS))
