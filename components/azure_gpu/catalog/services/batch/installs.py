"""Rules for what is installed on the nodes of a Batch pool: extensions and the start task."""

import re
from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog import drivers
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import driver_extension
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.services.batch.images import distribution_of
from azure_gpu.catalog.services.batch.request import PoolRequest, StartTask
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.catalog.sources import BATCH_ARTICLE

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
        yield Problem(
            path=extension.path,
            message="extension type reserved by Batch",
            value=extension.type,
            allowed=", ".join((*DRIVER_TYPES, *OTHERS_ALLOWED)),
            fix="run the script in the start task",
            source=str(sources.EXTENSIONS),
            code=Code.IMPOSSIBLE,
        )
        return
    if request.size is not None and kind in {one.lower() for one in (*DRIVER_TYPES, driver_extension.AMD_LINUX)}:
        distribution = distribution_of(request)
        yield from driver_extension.extension_problems(extension, request.size, distribution, as_of, needs=request.needs)
    if kind not in {one.lower() for one in (*DRIVER_TYPES, *KEY_VAULT_TYPES)}:
        yield Problem(
            path=extension.path,
            message="whether Batch allows this extension in a pool is not known",
            value=extension.type,
            allowed=", ".join((*DRIVER_TYPES, *OTHERS_ALLOWED)),
            fix="ask Azure's support to allow it, or install its software in the start task",
            source=str(sources.EXTENSIONS),
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )


def _start_task(request: PoolRequest, task: StartTask) -> Iterator[Problem]:
    path = request.at("start_task")
    shell = _SHELLS[request.operating_system]
    if re.search(_NEEDS_SHELL[request.operating_system], task.command_line) and not re.match(_SHELL, task.command_line):
        yield Problem(
            path=f"{path}.command_line",
            message="a start task doesn't run in a shell: variables aren't expanded and pipes don't work",
            value=task.command_line,
            fix=f"wrap it in {shell}",
            source=str(sources.PROVIDER),
            code=Code.IMPOSSIBLE,
            severity=Severity.WARNING,  # such characters can be meant as they stand
        )
    long = re.search(_LONG, task.command_line)
    if long is not None and task.wait_for_success:
        yield Problem(
            path=f"{path}.command_line",
            message="long start task: nodes are idle until it ends, and it runs again whenever a node restarts",
            value=long[0],
            fix="move it into a gallery image; the container configuration fetches container images",
            source=str(BATCH_ARTICLE),
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )
    if task.driver_version and request.size is not None:
        yield from drivers.check_driver(task.driver_version, request.size.gpu, f"{path}.driver_version")
    if task.installs_driver and not task.elevated:
        yield Problem(
            path=f"{path}.elevated",
            message="installing a driver requires the pool's auto-user with the elevation level Admin",
            value=task.elevated,
            allowed="elevated",
            fix="run the start task elevated",
            source=str(BATCH_ARTICLE),
            code=Code.IMPOSSIBLE,
        )
    if task.installs_driver and not task.wait_for_success:
        yield Problem(
            path=f"{path}.wait_for_success",
            message="without waiting for the start task, tasks run on nodes that have no driver yet",
            value=task.wait_for_success,
            allowed="wait for success, the default",
            fix="wait for success",
            source=str(BATCH_ARTICLE),
            code=Code.IMPOSSIBLE,
        )
