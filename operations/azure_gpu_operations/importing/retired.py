"""Names a file of a tool that ended, whose format isn't read any more, and where it can still be converted."""

import re
from pathlib import Path

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats import retired_ml
from azure_gpu_operations.importing.texts import text_of

_LAST = "azure-gpu 0.1.0, the last release that reads it"
_SHIPYARD = re.compile(
    r"^[{\s]*[\"']?(?:pool_specification|job_specifications|batch_shipyard|remote_fs|slurm)[\"']?[ \t]*:", re.MULTILINE
)
_SDK = re.compile(r"^[ \t]*(?:from|import)[ \t]+azureml\b|\bAks(?:Compute|Webservice)\b", re.MULTILINE)


def refused(path: Path) -> Problem | None:
    """The one line for a file or a folder of a format that went; None for every other."""
    files = [one for one in sorted(path.iterdir()) if one.is_file()][:200] if path.is_dir() else [path]
    for file in files:
        suffix = file.suffix.lower()
        text = text_of(str(file))[0] if suffix in (".yaml", ".yml", ".json", ".py", ".ipynb", ".md", ".txt") else None
        if text is None:
            continue
        if suffix in (".yaml", ".yml", ".json") and _SHIPYARD.search(text):
            return _gone(file, "Batch Shipyard")
        if suffix in (".py", ".ipynb", ".md") and _SDK.search(text) and retired_ml.document_of(text, str(file)) is None:
            return _gone(file, "version 1 of Azure Machine Learning's SDK")
    return None


def _gone(file: Path, tool: str) -> Problem:
    return Problem(str(file), f"a file of {tool} isn't read any more", fix=f"convert it with {_LAST}", code=Code.RETIRED)
