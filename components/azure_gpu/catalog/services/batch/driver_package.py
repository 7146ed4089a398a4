"""The start task command that installs an NVIDIA driver from an application package."""

from collections.abc import Mapping

from azure_gpu.catalog.services.batch import packages
from azure_gpu.catalog.services.batch.request import PackageReference
from azure_gpu.catalog.size_use import OperatingSystem

# The file that a driver's package has to hold, and how it installs silently: as the article does it on Windows, and NVIDIA's
# installer for Linux, which compiles a part of itself.
INSTALLERS: Mapping[OperatingSystem, str] = {
    OperatingSystem.WINDOWS: "GPUDriverSetup.exe",
    OperatingSystem.LINUX: "GPUDriverSetup.run",
}


def driver_command(reference: PackageReference, operating_system: OperatingSystem) -> str:
    """The start task's command that installs the driver of this package, silently."""
    folder = packages.in_command_line(reference.application, reference.version, operating_system)
    installer = INSTALLERS[operating_system]
    if operating_system is OperatingSystem.WINDOWS:
        return f'cmd /c "{folder}\\{installer} /s"'
    # skipped if the driver is installed: the task runs again when a node restarts
    tools = "command -v gcc make || { apt-get update && apt-get install -y gcc make; }"
    return f"/bin/bash -c 'nvidia-smi || {{ {tools}; sh \"{folder}/{installer}\" --silent; }}'"
