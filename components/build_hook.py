"""Adds to the wheel what a package can't look up in a checkout: its licence, and the image tags of the workloads.

A tag is the hash of a workload's sources, which are in the package `azure-gpu-operations`: what declares their images needs the
tags alone. An editable install finds the sources in the checkout. A source archive has the tags, from which its wheel is built.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "azure_gpu"
TAGS = f"{LIBRARY}/workload_tags.json"  # where azure_gpu.shared.workloads reads them


class FromTheCheckout(BuildHookInterface[Any]):
    """hatchling takes the one hook that this file has."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._made = tempfile.TemporaryDirectory()  # goes with this object, after the build
        if version == "editable" or (Path(self.root) / TAGS).is_file():
            return
        licence = Path(self.root).parent / "LICENSE"
        build_data["force_include"].update({str(licence): f"{LIBRARY}/{licence.name}", str(self._tags()): TAGS})

    def _tags(self) -> Path:
        sys.path.insert(0, self.root)
        from azure_gpu.shared import workloads  # of this checkout: the library isn't installed

        written = Path(self._made.name) / "tags.json"
        written.write_text(json.dumps({each: workloads.tag(each) for each in workloads.NAMES}, indent=2) + "\n", encoding="utf-8")
        return written
