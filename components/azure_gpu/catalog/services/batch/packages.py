"""Application packages of Batch: their limits, the variables by which tasks find them, and packages that install a driver."""

import re
from collections.abc import Iterator, Mapping

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.batch.request import PackageReference, PoolRequest
from azure_gpu.catalog.size_use import OperatingSystem

MOST_PER_POOL = 10
MOST_OF_ACCOUNT = 20  # applications; source: `sources.LIMITS`
MOST_OF_APPLICATION = 40  # packages
_PREFIX = "AZ_BATCH_APP_PACKAGE_"


def variable(application: str, version: str, operating_system: OperatingSystem) -> str:
    """The environment variable that holds the package's folder on a node: `AZ_BATCH_APP_PACKAGE_GPUDriver#411.82` on Windows.

    On Linux `.`, `-` and `#` become `_`, and the letter case of the id is kept. An empty version names the default one.
    """
    name = f"{application}#{version}" if version else application
    if operating_system == "Windows":
        return _PREFIX + name
    return _PREFIX + re.sub(r"[.#-]", "_", name)


def in_command_line(application: str, version: str, operating_system: OperatingSystem) -> str:
    """The variable as a command line writes it: `%…%` under cmd, `$…` under sh."""
    name = variable(application, version, operating_system)
    return f"%{name}%" if operating_system == "Windows" else f"${name}"


def package_problems(packages: int, path: str, *, auto_storage: bool) -> Iterator[Problem]:
    """The number of package references of a pool, and whether its account can hold packages at all."""
    if packages > MOST_PER_POOL:
        yield refused("batch.too_many_packages", path, packages, most_per_pool=MOST_PER_POOL)
    if packages > 0 and not auto_storage:
        yield refused("batch.packages_without_storage", path, packages)


def reference_problems(request: PoolRequest) -> Iterator[Problem]:
    """The packages that a pool refers to: their names, and whether its start task uses one that isn't among them."""
    path = request.at("packages")
    yield from package_problems(max(request.packages, len(request.package_references)), path, auto_storage=request.auto_storage)
    seen: set[str] = set()
    for reference in request.package_references:
        at = f"{path}.{reference.application}"
        yield from names.check("Microsoft.Batch/batchAccounts/applications", reference.application, at)
        if reference.version:
            yield from names.check("Microsoft.Batch/batchAccounts/applications/versions", reference.version, at)
        if reference.application.lower() in seen:
            yield refused("batch.two_versions", at, reference.version)
        seen.add(reference.application.lower())
    if request.start_task is not None and request.package_references:
        yield from _used(request, request.start_task.command_line)


def _used(request: PoolRequest, command: str) -> Iterator[Problem]:
    """Variables of packages in the start task. On Windows, names ignore case."""
    windows = request.operating_system == "Windows"
    there = {
        name.lower() if windows else name
        for reference in request.package_references
        for name in (
            variable(reference.application, reference.version, request.operating_system),
            variable(reference.application, "", request.operating_system),
        )
    }
    for name in dict.fromkeys(re.findall(rf"{_PREFIX}[\w.#-]+" if windows else rf"{_PREFIX}\w+", command)):
        if (name.lower() if windows else name) not in there:
            yield refused(  # a warning: the command may set it itself
                "batch.package_not_listed", request.at("start_task.command_line"), name, allowed=", ".join(sorted(there))
            )


# The file that a driver's package has to hold, and how it installs silently: as the article does it on Windows, and NVIDIA's
# installer for Linux, which compiles a part of itself.
INSTALLERS: Mapping[OperatingSystem, str] = {
    "Windows": "GPUDriverSetup.exe",
    "Linux": "GPUDriverSetup.run",
}


def driver_command(reference: PackageReference, operating_system: OperatingSystem) -> str:
    """The start task's command that installs the driver of this package, silently."""
    folder = in_command_line(reference.application, reference.version, operating_system)
    installer = INSTALLERS[operating_system]
    if operating_system == "Windows":
        return f'cmd /c "{folder}\\{installer} /s"'
    # skipped if the driver is installed: the task runs again when a node restarts
    tools = "command -v gcc make || { apt-get update && apt-get install -y gcc make; }"
    return f"/bin/bash -c 'nvidia-smi || {{ {tools}; sh \"{folder}/{installer}\" --silent; }}'"
