"""Objects and settings of Kubernetes as documents beside this module."""

from pathlib import Path
from typing import Any

from azure_gpu.formats import bounded_yaml


def document(name: str) -> dict[str, Any]:
    """A new one at each call, to be filled in."""
    return bounded_yaml.load(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"))
