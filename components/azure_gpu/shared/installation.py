"""Paths of the installation: a checkout of the repository, or packages."""

from pathlib import Path

_LIBRARY = Path(__file__).resolve().parents[1]
WORKLOAD_TAGS = _LIBRARY / "workload_tags.json"  # as components/build_hook.py puts it into the wheel

# The checkout's root; None: installed as a package.
CHECKOUT = None if WORKLOAD_TAGS.is_file() else _LIBRARY.parents[1]
# The workloads' sources. A package has them where azure-gpu-operations is installed as well, by operations/build_hook.py.
WORKLOADS = CHECKOUT / "workloads" if CHECKOUT else _LIBRARY.with_name("azure_gpu_operations") / "workload_sources"
COMMAND_IN_A_CHECKOUT = "python -m operations"
# The command line before a verb.
COMMAND = COMMAND_IN_A_CHECKOUT if CHECKOUT else "azure-gpu"
