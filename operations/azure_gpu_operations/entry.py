"""The command `azure-gpu` of an installed package: the verbs, or what to install where their packages are missing."""

import sys


def main() -> int:
    try:
        from azure_gpu_operations.__main__ import main as run

        return run()  # a verb loads what it needs only when it is asked for
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("azure_gpu"):
            raise
        print(f"error: the verbs need {error.name}; install them with: pip install 'azure-gpu[operations]'", file=sys.stderr)
        return 1
