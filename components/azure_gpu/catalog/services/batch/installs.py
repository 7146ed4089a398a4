"""Rules for what is installed on the nodes of a Batch pool: extensions and the start task."""

import re
from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog import drivers
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import driver_extension
from azure_gpu.catalog.services.batch.images import distribution_of
from azure_gpu.catalog.services.batch.request import PoolRequest, StartTask
from azure_gpu.catalog.services.driver_extension import ExtensionRequest

RESERVED_TYPES = ("CustomScript", "CustomScriptExtension")  # Batch installs its own agent with them
DRIVER_TYPES = (driver_extension.NVIDIA_LINUX, driver_extension.NVIDIA_WINDOWS, driver_extension.AMD_WINDOWS)
# What else the list of 2021-11-03 allows in pools, by the names of the list.
OTHERS_ALLOWED = (
    "Azure Key Vault for Linux and for Windows",
    "Azure Monitor Logs for Linux and for Windows",
    "Desired State Configuration",
    "Azure Diagnostics for Windows",
    "Microsoft Antimalware for Windows",
)
KEY_VAULT_TYPES = ("KeyVaultForLinux", "KeyVaultForWindows")


# What fetches or builds much: a start task with it keeps every node from working for minutes.
_LONG = (
    r"(?i)docker pull|(?:apt|apt-get|yum|dnf)\s.*(?:upgrade|groupinstall)|conda (?:env )?(?:create|install)"
    r"|pip3? install\s.*(?:torch|tensorflow|jax|cuda|-r )|git clone|\bcmake\b|\bmake (?:-j|all|install)"
    r"|cuda_[\w.]+\.(?:run|exe)"
)
# Installers of drivers: the article's, NVIDIA's own files and packages, AMD's, Microsoft's for InfiniBand.
_INSTALLS_DRIVER = (
    r"(?i)gpudriversetup|nvidia-linux-[\w.-]*\.run|tesla-desktop|cuda-drivers|nvidia-(?:headless-|open-)?(?:driver|\d)|\bcuda_[\w.]*\.run"
    r"|rocm-dkms|amdgpu-install|hpcvmdrivers|mlnx_?ofed"
)
_SHELLS = {"Windows": "cmd /c", "Linux": "/bin/sh -c"}
_NEEDS_SHELL = {
    "Windows": r"%\w|&&|\|\||[<>|]",
    "Linux": r"\$\w|\$\{|&&|\|\||[<>|;]",
}
_SHELL = r"(?i)^\s*(?:\S*[/\\])?(?:cmd(?:\.exe)?|powershell(?:\.exe)?|pwsh|sh|bash)\s"


def installs_driver(command_line: str) -> bool:
    """Whether a command line calls an installer of drivers that is known by its name."""
    return re.search(_INSTALLS_DRIVER, command_line) is not None


def install_problems(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    """Every extension and the start task."""
    for extension in request.extensions:
        yield from _extension(request, extension, as_of)
    if request.start_task is not None:
        yield from _start_task(request, request.start_task)


def _extension(request: PoolRequest, extension: ExtensionRequest, as_of: date) -> Iterator[Problem]:
    kind = extension.type.lower()
    if kind in {reserved.lower() for reserved in RESERVED_TYPES}:
        yield refused(
            "batch.reserved_extension", extension.path, extension.type, allowed=", ".join((*DRIVER_TYPES, *OTHERS_ALLOWED))
        )
        return
    if request.size is not None and kind in {one.lower() for one in (*DRIVER_TYPES, driver_extension.AMD_LINUX)}:
        distribution = distribution_of(request)
        yield from driver_extension.extension_problems(extension, request.size, distribution, as_of, needs=request.needs)
    if kind not in {one.lower() for one in (*DRIVER_TYPES, *KEY_VAULT_TYPES)}:
        yield refused(
            "batch.extension_unknown", extension.path, extension.type, allowed=", ".join((*DRIVER_TYPES, *OTHERS_ALLOWED))
        )


def _start_task(request: PoolRequest, task: StartTask) -> Iterator[Problem]:
    shell = _SHELLS[request.operating_system]
    if re.search(_NEEDS_SHELL[request.operating_system], task.command_line) and not re.match(_SHELL, task.command_line):
        # A warning: such characters can be meant as they stand.
        yield refused("batch.no_shell", request.at("start_task.command_line"), task.command_line, shell=shell)
    long = re.search(_LONG, task.command_line)
    if long is not None and task.wait_for_success:
        yield refused("batch.long_start_task", request.at("start_task.command_line"), long[0])
    if task.driver_version and request.size is not None:
        yield from drivers.check_driver(task.driver_version, request.size.gpu, request.at("start_task.driver_version"))
    if task.installs_driver and not task.elevated:
        yield refused("batch.not_elevated", request.at("start_task.elevated"), task.elevated)
    if task.installs_driver and not task.wait_for_success:
        yield refused("batch.not_waiting", request.at("start_task.wait_for_success"), task.wait_for_success)
