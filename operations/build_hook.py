"""Adds to the wheel of the verbs what lies beside this folder in a checkout: the program, its examples, the workloads' sources.

Of a workload those files travel that its image is built from, because the tag of the image is their hash. An editable install
finds everything in the checkout.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OPERATIONS = "azure_gpu_operations"
WORKLOADS = f"{OPERATIONS}/workload_sources"  # where azure_gpu.shared.installation says that they are
# With the program of a package there is no virtual environment in the project's folder: it runs on the Python of the command.
VIRTUAL_ENVIRONMENT = "    virtualenv: .venv\n"


class BesideThisFolder(BuildHookInterface[Any]):
    """hatchling takes the one hook that this file has."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._made = tempfile.TemporaryDirectory()  # goes with this object, after the build
        if version != "editable":
            beside = self._beside(Path(self.root).parent)
            build_data["force_include"].update({str(source): target for source, target in beside})

    def _beside(self, checkout: Path) -> list[tuple[Path, str]]:
        """Files and folders with their places in the wheel."""
        sys.path.insert(0, str(checkout / "components"))
        from azure_gpu.formats.build_context import IGNORE_FILE, context_files  # of this checkout: the library isn't installed

        workloads = [file.parent for file in sorted(checkout.glob("workloads/*/Dockerfile"))]
        together = checkout / "workloads"  # what an image out of several of them is built from
        return [
            (checkout / "LICENSE", f"{OPERATIONS}/LICENSE"),
            (checkout / "__main__.py", f"{OPERATIONS}/program/stack_program.py"),
            (self._project_file(checkout), f"{OPERATIONS}/program/Pulumi.yaml"),
            *(
                (file, f"{OPERATIONS}/examples/{file.parent.name}/{file.name}")
                for file in sorted(checkout.glob("examples/*/stack.yaml"))
            ),
            *(
                (folder / name, f"{WORKLOADS}/{folder.name}/{name}")
                for folder in workloads
                for name in sorted({*context_files(folder), IGNORE_FILE})
            ),
            *((together / name, f"{WORKLOADS}/{name}") for name in sorted({*context_files(together), IGNORE_FILE})),
            *((file, f"{WORKLOADS}/digits/samples/{file.name}") for file in sorted(together.glob("digits/samples/*.png"))),
        ]

    def _project_file(self, checkout: Path) -> Path:
        """The checkout's Pulumi.yaml without its virtual environment."""
        text = (checkout / "Pulumi.yaml").read_text(encoding="utf-8")
        if VIRTUAL_ENVIRONMENT not in text:
            raise ValueError(f"Pulumi.yaml has no line {VIRTUAL_ENVIRONMENT.strip()!r}")
        written = Path(self._made.name) / "Pulumi.yaml"
        written.write_text(text.replace(VIRTUAL_ENVIRONMENT, ""), encoding="utf-8")
        return written
