"""cloud-init, as far as it is emulated: what `customData` asks a machine to do at its first start.

A `Plan` has files and scripts in the order of cloud-init's stages, notes on what isn't done, and errors. Emulated are write_files
and runcmd of `#cloud-config`, and scripts (`#!`). Source: cloudinit.readthedocs.io, explanation/format.
"""

import base64
import binascii
import shlex
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from azure_gpu.formats import bounded_yaml

HEADER = "#cloud-config"
_DONE = frozenset({"runcmd", "write_files"})
_WITHOUT_MEANING = {"package_update", "package_upgrade", "package_reboot_if_required", "output", "hostname", "timezone", "locale"}
_MOST_BYTES = 65535  # Microsoft Learn, virtual-machines/custom-data: 64 kB


class File(NamedTuple):
    """One of write_files."""

    path: str
    content: bytes
    mode: int
    append: bool


@dataclass(slots=True)
class Plan:
    """What is done, in order."""

    files: list[File] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)  # of the first start
    notes: list[str] = field(default_factory=list)  # what isn't emulated and does no harm
    errors: list[str] = field(default_factory=list)  # what makes the status an error


class CustomDataError(Exception):
    """customData that Azure doesn't take."""


def decoded(custom_data: str) -> bytes:
    """CustomDataError where it isn't base64, or too long."""
    try:
        content = base64.b64decode(custom_data, validate=True)
    except (binascii.Error, ValueError):
        raise CustomDataError("it is not in base64") from None
    if len(content) > _MOST_BYTES:
        raise CustomDataError(f"it has {len(content)} bytes, of {_MOST_BYTES} at the most")
    return content


def plan(custom_data: str) -> Plan:
    """Of what can't be read the errors tell."""
    found = Plan()
    try:
        _read(decoded(custom_data).decode("utf-8"), found)
    except CustomDataError as error:
        found.errors.append(f"customData: {error}")
    except UnicodeDecodeError:
        found.errors.append("customData isn't UTF-8 text")
    return found


def _read(text: str, found: Plan) -> None:
    first = text.split("\n", 1)[0].strip()
    if first.startswith("#!"):
        found.scripts.append(text)
    elif first.split()[:1] == [HEADER]:
        _config(text, found)
    elif first.startswith("#") or first.lower().startswith(("content-type:", "mime-version:")):
        found.errors.append(f"the embedded Azure doesn't act out customData that begins with '{first[:40]}'")
    elif text:
        found.notes.append("customData is neither cloud-config nor a script; it isn't run")


def _config(text: str, found: Plan) -> None:
    try:
        config = bounded_yaml.load(text) or {}
    except bounded_yaml.BoundedYamlError as error:
        found.errors.append(f"the cloud-config can't be read: {error}")
        return
    if not isinstance(config, dict):
        found.errors.append("the cloud-config isn't a mapping")
        return
    for each in _listed(config, "write_files", found):
        path = each.get("path") if isinstance(each, dict) else None
        if not isinstance(path, str) or not path.startswith("/"):
            found.errors.append("a file of write_files needs an absolute path")
            continue
        try:
            found.files.append(_file(each, path))
        except ValueError:
            found.errors.append(f"the content or the permissions of {path} can't be read")
    commands = _listed(config, "runcmd", found)
    if commands:  # as cloud-init makes a script of them: a list's words each quoted, a text as it is, for `sh`
        lines = [" ".join(shlex.quote(str(word)) for word in one) if isinstance(one, list) else one for one in commands]
        wrong = [one for one in lines if one is not None and not isinstance(one, str)]
        found.errors += [f"runcmd takes lists and texts, and not {str(one)[:40]!r}" for one in wrong]
        found.scripts.append("\n".join(["#!/bin/sh", *(one for one in lines if isinstance(one, str)), ""]))
    left = [key for key in config if key not in _DONE and key not in _WITHOUT_MEANING]
    found.notes += [f"the embedded Azure doesn't act out the module of '{key}'" for key in left]


def _listed(config: dict[Any, Any], name: str, found: Plan) -> list[Any]:
    given = config.get(name) or []
    if isinstance(given, list):
        return given
    found.errors.append(f"{name} takes a list")
    return []


def _file(each: dict[str, Any], path: str) -> File:
    encoding = str(each.get("encoding") or "text/plain").lower()
    content = str(each.get("content") or "").encode()
    if any(name in encoding for name in ("b64", "base64")):
        content = base64.b64decode(content)
    if encoding.startswith("gz"):
        raise ValueError("gzip")
    permissions = each.get("permissions")
    return File(path, content, int(str(permissions), 8) if permissions else 0o644, bool(each.get("append")))
