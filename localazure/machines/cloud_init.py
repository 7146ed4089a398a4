"""cloud-init, as far as it is emulated: what `customData` asks a machine to do at its first start.

A `Plan` has files and scripts in the order of cloud-init's stages, notes on what isn't done, and errors. Emulated are write_files
and runcmd of `#cloud-config`, and scripts (`#!`). Source: cloudinit.readthedocs.io, explanation/format.
"""

import base64
import binascii
import shlex
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


class Plan(NamedTuple):
    """What is done, in order."""

    files: tuple[File, ...] = ()
    scripts: tuple[str, ...] = ()  # of the first start
    notes: tuple[str, ...] = ()  # what isn't emulated and does no harm
    errors: tuple[str, ...] = ()  # what makes the status an error


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
    if not custom_data:
        return Plan()
    try:
        content = decoded(custom_data)
    except CustomDataError as error:
        return Plan(errors=(f"customData: {error}",))
    try:
        return _part(content.decode("utf-8"))
    except UnicodeDecodeError:
        return Plan(errors=("customData isn't UTF-8 text",))


def _part(text: str) -> Plan:
    first = text.split("\n", 1)[0].strip()
    if first.startswith("#!"):
        return Plan(scripts=(text,))
    if first.split()[:1] == [HEADER]:
        return _config(text)
    if first.startswith("#") or first.lower().startswith(("content-type:", "mime-version:")):
        return Plan(errors=(f"the embedded Azure doesn't act out customData that begins with '{first[:40]}'",))
    return Plan(notes=("customData is neither cloud-config nor a script; it isn't run",))


def _config(text: str) -> Plan:
    try:
        config = bounded_yaml.load(text)
    except bounded_yaml.BoundedYamlError as error:
        return Plan(errors=(f"the cloud-config can't be read: {error}",))
    if config is None:
        return Plan()
    if not isinstance(config, dict):
        return Plan(errors=("the cloud-config isn't a mapping",))
    errors: list[str] = []
    files = _files(config.get("write_files"), errors)
    runcmd = _script(config.get("runcmd"), "runcmd", errors)
    return Plan(
        files=files,
        scripts=(runcmd,) if runcmd else (),
        notes=tuple(
            f"the embedded Azure doesn't act out the module of '{key}'"
            for key in config
            if key not in _DONE and key not in _WITHOUT_MEANING
        ),
        errors=tuple(errors),
    )


def _script(commands: Any, name: str, errors: list[str]) -> str:
    """As cloud-init makes one of a list: a list's words each quoted, a text as it is, for `sh`."""
    if not commands:
        return ""
    if not isinstance(commands, list):
        errors.append(f"{name} takes a list")
        return ""
    lines: list[str] = []
    for command in commands:
        if isinstance(command, list):
            lines.append(" ".join(shlex.quote(str(word)) for word in command))
        elif isinstance(command, str):
            lines.append(command)
        elif command is not None:
            errors.append(f"{name} takes lists and texts, and not {str(command)[:40]!r}")
    return "#!/bin/sh\n" + "\n".join(lines) + "\n"


def _files(given: Any, errors: list[str]) -> tuple[File, ...]:
    if not given:
        return ()
    if not isinstance(given, list):
        errors.append("write_files takes a list")
        return ()
    found: list[File] = []
    for each in given:
        path = each.get("path") if isinstance(each, dict) else None
        if not isinstance(path, str) or not path.startswith("/"):
            errors.append("a file of write_files needs an absolute path")
            continue
        try:
            found.append(_file(each, path))
        except ValueError:
            errors.append(f"the content or the permissions of {path} can't be read")
    return tuple(found)


def _file(each: dict[str, Any], path: str) -> File:
    encoding = str(each.get("encoding") or "text/plain").lower()
    content = str(each.get("content") or "").encode()
    if any(name in encoding for name in ("b64", "base64")):
        content = base64.b64decode(content)
    if encoding.startswith("gz"):
        raise ValueError("gzip")
    permissions = each.get("permissions")
    return File(path, content, int(str(permissions), 8) if permissions else 0o644, bool(each.get("append")))
