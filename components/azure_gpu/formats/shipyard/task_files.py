"""Converts the files that a Shipyard task fetches and stores into resource files and outputs of a task.

Signatures in addresses are never copied."""

import re
from collections.abc import Iterator
from typing import Any

from azure_gpu.formats.left import Left
from azure_gpu.formats.shipyard.part import Part

_WORKING = re.compile(r"^\$\{?AZ_BATCH_TASK_WORKING_DIR\}?/?")
_TASK = re.compile(r"^\$\{?AZ_BATCH_TASK_DIR\}?/?")
_OWN = "the account's own storage takes the place of the account behind {link}"
_COPY = "`az storage blob copy start-batch` brings a container there"


def resource_files_of(task: Part, key: str, left: list[Left]) -> Iterator[dict[str, Any]]:
    """Files by their addresses."""
    for index, one in enumerate(task.items(key)):
        url, query, _ = str(one.get("blob_source") or "").partition("?")
        if query:
            message = "the signature behind the address is a secret and isn't copied"
            fix = "the pool's identity reads it, where it has the right to"
            left.append(task.change(f"{key}[{index}].blob_source", message, fix))
        mode = {"mode": str(one["file_mode"])} if one.get("file_mode") else {}
        yield {"url": url, "path": str(one.get("file_path") or ""), **mode}


def inputs_of(part: Part, left: list[Left]) -> Iterator[dict[str, Any]]:
    """What comes from containers, into the task's working folder."""
    if part.get("input_data.azure_batch"):
        message = "a task takes no files from another task's node"
        left.append(part.leave("input_data.azure_batch", message, "outputs of that task, and resource_files from there"))
    for index, one in enumerate(part.items("input_data.azure_storage")):
        path = f"input_data.azure_storage[{index}]"
        where, folder = _in_working_folder(str(one.get("local_path") or one.get("destination") or ""))
        if _is_share(one):
            left.append(part.leave(path, "files of a share", "mounts: {…: {azure_file: …}} of the pool"))
        elif not where:
            left.append(part.leave(f"{path}.local_path", "a task's files come into its own working folder", "a path from there"))
        else:
            container, _, prefix = _remote(one).partition("/")
            link = one.get("storage_account_settings") or "it"
            left.append(part.change(f"{path}.storage_account_settings", _OWN.format(link=link), _COPY))
            for key in ("include", "exclude"):
                if one.get(key):
                    left.append(part.leave(f"{path}.{key}", "Batch takes all files of a folder", "a folder with no others in it"))
            entry = {"container": container, "prefix": prefix, "path": folder}
            yield {key: value for key, value in entry.items() if value}


def outputs_of(task: Part, left: list[Left]) -> list[dict[str, Any]]:
    """What goes into containers when the task has ended."""
    result: list[dict[str, Any]] = []
    for index, one in enumerate(task.items("output_data.azure_storage")):
        path = f"output_data.azure_storage[{index}]"
        where, folder = _in_working_folder(str(one.get("local_path") or one.get("source") or "$AZ_BATCH_TASK_DIR"))
        if _is_share(one):
            left.append(task.leave(path, "files of a share", "mounts: {…: {azure_file: …}} of the pool, and a copy there"))
            continue
        if not where:
            left.append(
                task.leave(f"{path}.local_path", "only files in the task's folder are kept", "a path from its working folder on")
            )
            continue
        container, _, prefix = _remote(one).partition("/")
        link = one.get("storage_account_settings") or "it"
        left.append(task.change(f"{path}.storage_account_settings", _OWN.format(link=link)))
        if one.get("exclude"):
            left.append(task.leave(f"{path}.exclude", "files can't be excluded", "patterns of the files to keep"))
        for pattern in one.get("include") or ["**/*"]:
            inner = pattern
            if where == "task" and not folder:  # the working folder is `wd` in the task's own, where its two logs lie too
                inner = pattern.removeprefix("wd/") if pattern.startswith(("wd/", "**")) else f"../{pattern}"
            entry = {"pattern": f"{folder}/{inner}" if folder else inner, "container": container, "path": prefix}
            result.append({key: value for key, value in entry.items() if value})
    return result


def _in_working_folder(path: str) -> tuple[str, str]:
    """Whether a path lies in the working folder ("working"), in the task's own ("task") or in neither (""), and its rest."""
    for name, pattern in (("working", _WORKING), ("task", _TASK)):
        if pattern.match(path):
            rest = pattern.sub("", path).strip("/")
            if name == "task" and rest.partition("/")[0] not in ("", "wd"):
                return "", ""
            return name, rest.removeprefix("wd").strip("/") if name == "task" else rest
    if path.startswith(("/", "$")):
        return "", ""
    return "working", path.strip("./")


def _remote(one: dict[str, Any]) -> str:
    """The container and the folder in it. 2.x had only the container."""
    return str(one.get("remote_path") or one.get("container") or "").strip("/")


def _is_share(one: dict[str, Any]) -> bool:
    return bool(one.get("is_file_share") or one.get("file_share"))
