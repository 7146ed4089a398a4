"""`python -m operations`: the verbs, run from a checkout."""

import sys

from azure_gpu_operations.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
