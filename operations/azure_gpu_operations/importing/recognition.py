"""What a file is: the tool that it belongs to, by `$schema`, `kind`, `type` or its keys.

`documents_of` splits a file into documents, each with its lines; `format_of` names the format of one; `refused` a tool that
ended, whose format isn't read any more, and where it can still be converted.
"""

import functools
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats import arm_settings, kubernetes_manifest, lenient_json, located_yaml, ml_yaml, placeholders, retired_ml
from azure_gpu.formats.azure_types import CONTAINER_GROUP
from azure_gpu.formats.body_reader import mapping
from azure_gpu.formats.document import Document

LARGEST = 32 * 1024 * 1024  # bytes; a notebook with pictures in it has some millions


def text_of(file: str) -> tuple[str | None, list[Problem]]:
    """What PowerShell writes, UTF-16 with a mark, is read too."""
    try:
        with Path(file).open("rb") as opened:
            content = opened.read(LARGEST + 1)
    except FileNotFoundError:
        return None, [Problem(file, "it isn't there", fix=f"paths start at {Path.cwd()}", code=Code.NOT_FOUND)]
    except OSError as error:
        return None, [Problem(file, f"it can't be read: {(error.strerror or str(error)).lower()}")]
    if len(content) > LARGEST:
        return None, [Problem(file, "the file is too large", allowed=f"at most {LARGEST} bytes")]
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return content.decode(encoding), []
    except UnicodeDecodeError:
        return None, [Problem(file, "not text in UTF-8", fix="name a file of text, saved as UTF-8")]


ENDINGS = (".yaml", ".yml", ".json")
_OF_RETIRED_CLIENTS = (".compute", ".runconfig", ".py", ".txt", ".md")
_MOST_FILES = 200
_LARGE = 30_000  # characters, from which on a file takes noticeably long to parse
_OF_ML = re.compile(
    r"azureml|\.schema\.json|(?:^|[{,])[ \t]*\"?(?:endpoint_name|auth_mode|m(?:in|ax)_instances|command|resource_id|size)\"?:"
    r"|^type: *(?:pipeline|sweep|automl|finetuning)\b",
    re.MULTILINE,
)
_TEMPLATE = "deploymentTemplate"  # in the address of its schema
_OF_TEMPLATE = re.compile(rf'"\$schema"\s*:\s*"[^"\n]*{_TEMPLATE}')
_OF_ARM = re.compile(r"\bMicrosoft\.\w+/|\b(?:vmSize|agentPoolProfiles|hardwareProfile)\b", re.IGNORECASE)


class Format(StrEnum):
    """A format that `import` reads or names."""

    CONTAINER_GROUP = "a container group"
    TEMPLATE = "an ARM template"
    RESOURCE = "a resource of Azure"
    MACHINE_LEARNING = "YAML of Azure Machine Learning"
    KUBERNETES = "a manifest of Kubernetes"
    RETIRED = "a source document on a retired client of Azure Machine Learning"
    OTHER = "another file"


def files_of(path: Path) -> list[Path]:
    """The file, or those of a folder that may be read."""
    if not path.is_dir():
        return [path]
    inside = [one for folder in (path, path / "aml_config") if folder.is_dir() for one in sorted(folder.iterdir())]
    return [one for one in inside if one.suffix.lower() in (*ENDINGS, *_OF_RETIRED_CLIENTS[:3]) and one.is_file()][:_MOST_FILES]


@functools.lru_cache(maxsize=_MOST_FILES + 1)  # a file is recognised before it is read
def documents_of(text: str, file: str) -> tuple[list[Document], list[Problem]]:
    """The documents of a file in YAML or JSON, and what is wrong with them. A script that isn't read has none."""
    if Path(file).suffix.lower() in _OF_RETIRED_CLIENTS:
        retired = retired_ml.document_of(text, file)
        return [retired] if retired is not None else [], []
    if text.removeprefix("\ufeff").lstrip().startswith(("{", "[", "//{", "/*")):
        document, problems = lenient_json.read(placeholders.quoted(text, json=True), file)
        return [document] if document is not None else [], problems
    cleaned, problems = kubernetes_manifest.without_slashes(placeholders.quoted(text, json=False), file)
    found: list[Document] = []
    for above, part in kubernetes_manifest.documents(cleaned):
        document, wrong = located_yaml.read(part, file, above, fast=len(text) > _LARGE)
        problems += wrong
        found += [document] if document is not None and document.value is not None else []
    return found, problems


def format_of(value: object) -> Format:
    if isinstance(value, list):
        listed = [mapping(one) for one in cast(list[object], value)]
        if listed and all(arm_settings.kind_of(one) for one in listed):
            return Format.RESOURCE
        return Format.KUBERNETES if any({"name", "value"} <= set(one) for one in listed) else Format.OTHER
    body = mapping(value)
    if retired_ml.KEY in body:
        return Format.RETIRED
    schema = str(body.get("$schema") or "")
    if _TEMPLATE in schema or ("resources" in body and "contentVersion" in body):
        return Format.TEMPLATE
    if ml_yaml.kind_of(body):
        return Format.MACHINE_LEARNING
    if isinstance(body.get("kind"), str) and ("apiVersion" in body or "spec" in body or "items" in body):
        return Format.KUBERNETES
    if _is_group(body):
        return Format.CONTAINER_GROUP
    if arm_settings.kind_of(body):
        return Format.RESOURCE
    if _is_piece(body):
        return Format.KUBERNETES
    return Format.OTHER


def has_documents_only(path: Path) -> bool:
    """Whether a file is Azure ML's YAML, or a template or answer of Azure without container groups. A glance at the text comes
    first, since most files are neither."""
    if path.suffix.lower() in _OF_RETIRED_CLIENTS:
        text, _ = text_of(str(path))
        return text is not None and bool(documents_of(text, str(path))[0])
    return _is_ml(path) or _is_resource(path)


def _is_ml(file: Path) -> bool:
    text, _ = text_of(str(file))
    if text is None or _OF_TEMPLATE.search(text) or not _OF_ML.search(text):
        return False
    return Format.MACHINE_LEARNING in _formats(text, file)


def _is_resource(file: Path) -> bool:
    text, _ = text_of(str(file))
    if text is None or not _OF_ARM.search(text) or CONTAINER_GROUP.arm_type.lower() in text.lower():
        return False
    return bool({Format.TEMPLATE, Format.RESOURCE} & set(_formats(text, file)))


def _formats(text: str, file: Path) -> list[Format]:
    return [format_of(document.value) for document in documents_of(text, str(file))[0]]


def _is_group(body: Mapping[str, Any]) -> bool:
    by_lower = {str(key).lower(): value for key, value in body.items()}
    declared = by_lower.get("type")
    if isinstance(declared, str) and declared.lower() == CONTAINER_GROUP.arm_type.lower():
        return True
    properties = mapping(by_lower.get("properties"))
    return "containers" in {str(key).lower() for key in properties} and "kind" not in by_lower


def _is_piece(body: Mapping[str, Any]) -> bool:
    """A part of a manifest, as pages show it."""
    spec = mapping(body.get("spec"))
    return (
        "env" in body
        or "containers" in body
        or "containers" in spec
        or "template" in spec
        or ("image" in body and "name" in body)
    )


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
