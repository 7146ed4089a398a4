"""Applies extensions to a virtual machine: the GPU drivers of Microsoft.HpcCompute.

The result is the message of its status; `ExtensionError` where it fails. Others of Microsoft's are installed and do nothing, but
for scripts, which would do what they say.
"""

from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import sources
from azure_gpu.catalog.services import driver_extension
from azure_gpu.catalog.services.driver_extension import ENTRIES
from azure_gpu.catalog.sizes.model import Driver
from localazure.arm.store import Body
from localazure.machines.machine import Machine
from localazure.machines.machines import Machines

_SCRIPTS = ("customscript", "customscriptextension")
_DRIVERS = frozenset({"nvidiagpudriverlinux", "nvidiagpudriverwindows", "amdgpudriverlinux", "amdgpudriverwindows"})
_LATEST_CUDA = "580.95.05"  # of the Linux extension where its list names no version; the newest branch that all its GPUs have


class ExtensionError(Exception):
    """The extension has failed on the machine; the text is what it reports."""


class Extension(NamedTuple):
    """One extension as it was declared."""

    name: str
    publisher: str
    type: str
    settings: Body

    @property
    def handler(self) -> str:
        return f"{self.publisher}.{self.type}"


def known(extension: Extension) -> bool:
    """Whether it is emulated, or one of Microsoft's, which is kept and does nothing here."""
    return extension.publisher.lower().startswith("microsoft.") and extension.type.lower() not in _SCRIPTS


def apply(machine: Machine, extension: Extension, as_of: date, machines: Machines) -> str:
    """Does what the extension does. ExtensionError where it fails on the machine."""
    if extension.publisher.lower() != driver_extension.PUBLISHER.lower() or extension.type.lower() not in _DRIVERS:
        return "Successfully installed."
    settings = machine.settings  # what doesn't fit fails on the machine, as at the service, which takes the request
    if settings.size is None or settings.size.gpu is None:
        raise ExtensionError(f"No GPU was found on {settings.size_name}. Exit code 1")
    system = "Windows" if settings.windows else "Linux"
    right = driver_extension.type_for(settings.size.gpu.vendor, system)
    driver = driver_extension.driver_of(settings.size, extension.settings, system)
    earliest, newest = driver_extension.lists(settings.size, system)
    listed = settings.size.lifecycle.seen.day <= newest.day and sources.holds("lists", newest.day, as_of)
    if extension.type.lower() != right.lower() or (driver is None and listed):
        raise ExtensionError(f"Installation failed: {extension.type} doesn't support {settings.size.name}. Exit code 1")
    if settings.secure_boot:
        raise ExtensionError("Installation failed: the driver isn't signed for secure boot. Exit code 1")
    systems = {each for entry in ENTRIES if entry.driver is driver for each in entry.distributions}
    if driver is not None and listed and settings.distribution not in (None, *systems) and as_of >= earliest.day:
        raise ExtensionError(f"Installation failed: the driver doesn't support {settings.distribution}. Exit code 1")
    if settings.has_nvidia and not settings.windows:
        machines.set_driver(machine, _version(machine, extension))
    return "Enable Extension: the GPU driver is installed."


def _version(machine: Machine, extension: Extension) -> str:
    """The driver's version of the extension's list for this machine, in the form of a driver's number."""
    size, distribution = machine.settings.size, machine.settings.distribution
    driver = driver_extension.driver_of(size, extension.settings, "Linux") if size else Driver.CUDA
    for entry in ENTRIES:
        if entry.driver is driver and distribution in entry.distributions:
            number = entry.version.partition(",")[0]
            if number.replace(".", "").isdigit():
                return number
    return _LATEST_CUDA
