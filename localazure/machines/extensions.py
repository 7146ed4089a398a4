"""Applies extensions to a virtual machine: installs a GPU driver, or runs a script.

The result is the message of its status; `ExtensionError` where it fails. Emulated: the GPU drivers of Microsoft.HpcCompute, and
CustomScript on Linux. Others of Microsoft's are installed and do nothing. Settings of CustomScript: Azure's
custom-script-extension-linux, README.
"""

import base64
import binascii
import gzip
import zlib
from datetime import date
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from azure_gpu.catalog.problems import errors
from azure_gpu.catalog.services import driver_extension
from azure_gpu.catalog.services.driver_extension import ENTRIES, ExtensionRequest
from azure_gpu.catalog.sizes.model import Driver
from localazure.arm.store import Body
from localazure.batch.nodes.connection import AgentLostError, Command
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.machines.machine import Machine
from localazure.machines.machines import Machines

CUSTOM_SCRIPT = ("microsoft.azure.extensions", "customscript")
CUSTOM_SCRIPT_WINDOWS = ("microsoft.compute", "customscriptextension")
DRIVERS = frozenset({"nvidiagpudriverlinux", "nvidiagpudriverwindows", "amdgpudriverwindows"})
_SECONDS = 90 * 60.0
_OUTPUT_BYTES = 4096
_FOLDER = "var/lib/waagent/custom-script/download"
_LATEST_CUDA = "580.95.05"  # of the Linux extension where its list names no version; the newest branch that all its GPUs have


class ExtensionError(Exception):
    """The extension has failed on the machine; the text is what it reports."""


class Extension(NamedTuple):
    """One extension as it was declared."""

    name: str
    publisher: str
    type: str
    settings: Body
    protected: Body

    @property
    def kind(self) -> tuple[str, str]:
        return self.publisher.lower(), self.type.lower()

    @property
    def is_driver(self) -> bool:
        return self.publisher.lower() == driver_extension.PUBLISHER.lower() and self.type.lower() in DRIVERS


def known(extension: Extension) -> bool:
    """Whether it is emulated, or one of Microsoft's, which is kept and does nothing here."""
    return extension.publisher.lower().startswith("microsoft.")


async def apply(machine: Machine, extension: Extension, as_of: date, machines: Machines, blobs: Blobs) -> str:
    """Does what the extension does. ExtensionError where it fails on the machine."""
    if extension.is_driver:
        return _driver(machine, extension, as_of, machines)
    if extension.kind == CUSTOM_SCRIPT:
        return await _custom_script(machine, extension, blobs)
    return "Successfully installed."


def _driver(machine: Machine, extension: Extension, as_of: date, machines: Machines) -> str:
    """What the catalog knows speaks against it is a failure on the machine, as at the service, which takes the request."""
    settings = machine.settings
    if settings.size is None:
        raise ExtensionError(f"No GPU was found on {settings.size_name}. Exit code 1")
    requested = ExtensionRequest(extension.type, extension.settings, "settings", extension.publisher, settings.secure_boot)
    found = errors(driver_extension.extension_problems(requested, settings.size, settings.distribution, as_of))
    if found:
        raise ExtensionError(f"Installation failed: {found[0].message}. Exit code 1")
    if settings.has_nvidia and not settings.windows:
        machines.set_driver(machine, _version(machine, extension))
    return "Enable Extension: the GPU driver is installed."


def _version(machine: Machine, extension: Extension) -> str:
    """The driver's version of the extension's list for this machine, in the form of a driver's number."""
    size, distribution = machine.settings.size, machine.settings.distribution
    driver = driver_extension.driver_of(size, extension.settings) if size else Driver.CUDA
    for entry in ENTRIES:
        if entry.driver is driver and distribution in entry.distributions:
            number = entry.version.partition(",")[0]
            if number.replace(".", "").isdigit():
                return number
    return _LATEST_CUDA


async def _custom_script(machine: Machine, extension: Extension, blobs: Blobs) -> str:
    """Files are brought, then the command or the script runs, once: one that an earlier server has begun is waited for."""
    try:
        run = machine.begun("extension", extension.name)
        if run:
            ended = await machine.ended(run)
        else:
            machine.record["number"] += 1
            machine.context.save(machine)
            run = f"extension/{machine.record['number']}"
            ended = await machine.run(run, await _script_of(machine, extension, _folder(machine, run), blobs))
    except AgentLostError:
        ended = None
    if ended is None:
        raise ExtensionError("Enable failed: the machine was stopped while the script ran.")
    machine.forget(run)
    folder = _folder(machine, run)
    shown = f"[stdout]\n{_last(folder / 'stdout')}\n[stderr]\n{_last(folder / 'stderr')}\n"
    if ended.code != 0:
        what = f"command terminated with exit status={ended.code}" if ended.code is not None else ended.message or ended.why
        raise ExtensionError(f"Enable failed: failed to execute command: {what}\n{shown}")
    return f"Enable succeeded: \n{shown}"


def _folder(machine: Machine, run: str) -> Path:
    return machine.root / _FOLDER / run.rpartition("/")[2]


async def _script_of(machine: Machine, extension: Extension, folder: Path, blobs: Blobs) -> Command:
    """What is to run, with its files in place."""
    both = {**extension.settings, **extension.protected}
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for url in both.get("fileUris") or ():
        target = folder / (urlsplit(str(url)).path.rsplit("/", 1)[-1] or "file")
        try:
            await blobs.fetch(str(url), "", target, next(iter(machine.settings.identities), None))
        except (BlobError, OSError) as error:
            bare = str(url).partition("?")[0]
            raise ExtensionError(
                f"Enable failed: processing file downloads failed: failed to download file {bare}: {error}"
            ) from error
        target.chmod(0o700)
    script = str(both.get("script") or "")
    text = _script_text(script) if script else f"{both.get('commandToExecute') or ''}\n"
    argv = machine.written_script(folder / ".command.sh", text)
    out, err, context = str(folder / "stdout"), str(folder / "stderr"), {"extension": extension.name}
    return Command(argv, machine.environment(), str(folder), out, err, seconds=_SECONDS, keep=True, context=context)


def check_script(extension: Extension) -> str:
    """What is wrong with the settings of a CustomScript; "" where nothing is."""
    both = {**extension.settings, **extension.protected}
    given = [name for name in ("commandToExecute", "script") if both.get(name)]
    if len(given) != 1:
        return "exactly one of 'commandToExecute' and 'script' is given"
    try:
        if both.get("script"):
            _script_text(str(both["script"]))
    except ExtensionError as error:
        return str(error)
    return ""


def _script_text(script: str) -> str:
    """In base64, and perhaps in gzip below it."""
    try:
        content = base64.b64decode(script, validate=True)
        return (gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content).decode()
    except (binascii.Error, ValueError, OSError, zlib.error):
        raise ExtensionError("'script' isn't base64 text, or base64 of gzip") from None


def _last(file: Path) -> str:
    try:
        return file.read_bytes()[-_OUTPUT_BYTES:].decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
