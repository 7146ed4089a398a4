"""The policy pack as `pulumi --policy-pack` starts it.

`azure_gpu`, whose catalog the policies use, is beside this folder in a checkout, and in this folder where the pack is published:
docs/policies.md.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *([str(HERE.parent)] if (HERE.parent / "azure_gpu").is_dir() else [])]

from azure_gpu_policies.pack import serve  # noqa: E402 - requires the path set above

serve()
