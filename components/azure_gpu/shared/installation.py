"""Paths of the installation: a checkout of the repository, or a package that contains the workloads' sources."""

from pathlib import Path

_LIBRARY = Path(__file__).resolve().parents[1]
_PACKAGED_WORKLOADS = _LIBRARY / "workload_sources"  # as components/build_hook.py puts them into the wheel

# The checkout's root; None: installed as a package.
CHECKOUT = None if _PACKAGED_WORKLOADS.is_dir() else _LIBRARY.parents[1]
WORKLOADS = CHECKOUT / "workloads" if CHECKOUT else _PACKAGED_WORKLOADS
COMMAND_IN_A_CHECKOUT = "python -m operations"
# The command line before a verb.
COMMAND = COMMAND_IN_A_CHECKOUT if CHECKOUT else "azure-gpu"
