"""`python -m operations`: the commands, run from a checkout by any Python: what they need is in the one that `make` sets up."""

import importlib.util
import os
import sys
from pathlib import Path

_PYTHON = Path(__file__).resolve().parents[1] / ".venv" / "bin" / "python"


def main() -> int:
    if importlib.util.find_spec("azure_gpu_operations") is None:
        if not _PYTHON.exists() or Path(sys.executable) == _PYTHON:
            sys.exit("error: azure-gpu isn't installed for this Python; run `make up`, or: pip install -r requirements.txt")
        os.execv(_PYTHON, [str(_PYTHON), "-m", "operations", *sys.argv[1:]])  # noqa: S606 - the same command
    from azure_gpu_operations.__main__ import main as run  # here: another Python may take over before

    return run()


if __name__ == "__main__":
    sys.exit(main())
