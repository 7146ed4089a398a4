"""The policy pack as `pulumi --policy-pack` starts it.

`azure_gpu`, whose catalog the policies are made of, lies beside this folder in a checkout, and in this folder where the pack is
published by itself: docs/policies.md.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *([str(HERE.parent)] if (HERE.parent / "azure_gpu").is_dir() else [])]

from azure_gpu_policies.pack import serve  # noqa: E402 - found by the lines above

serve()
