"""The command `azure-gpu` of an installed package: runs the verbs, or says which package is missing."""

import sys


def main() -> int:
    try:
        from azure_gpu_operations.__main__ import main as run

        return run()  # a verb loads what it needs only when it is asked for
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("azure_gpu"):
            raise
        print(f"error: the Python package {error.name} is missing; run: pip install azure-gpu-operations", file=sys.stderr)
        return 1
