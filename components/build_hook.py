"""Adds to the wheel what lies beside this folder: the verbs, and the workloads' sources.

Sources travel along because the tag of a workload's image is their hash. An editable install finds both in the checkout.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BESIDE = {"operations/azure_gpu_operations": "azure_gpu_operations", "workloads": "azure_gpu/workload_sources"}


class BesideThisFolder(BuildHookInterface[Any]):
    """hatchling takes the one hook that this file has."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            checkout = Path(self.root).parent
            build_data["force_include"].update({str(checkout / source): target for source, target in BESIDE.items()})
