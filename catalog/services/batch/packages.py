"""Application packages of Batch: the environment variable that names one, their limits, and how one comes into an account.

In: an application's id and version and the node's operating system. Out: the variable's name, and how a command line writes it.
`FACTS` has what no rule decides by.
"""

import re
from collections.abc import Iterator

from catalog.facts import Fact
from catalog.problems import Code, Problem
from catalog.services.batch import sources
from catalog.size_use import OperatingSystem
from catalog.sources import Dated, Source

MOST_PER_POOL = 10
FACTS: tuple[Fact, ...] = (
    Fact("applications in an account", "20 at most", sources.LIMITS),
    Fact("packages of an application", "40 at most", sources.LIMITS),
    Fact(
        "how a package comes into an account",
        "in three steps: ARM creates the version and answers with an upload URL, a client uploads the zip file there, ARM "
        "activates it; so a program that only declares resources can't declare a package whole",
        Source("Azure/azure-batch-samples issue 287", Dated.OBSERVED, sources.PROVIDER.day),
    ),
)
_PREFIX = "AZ_BATCH_APP_PACKAGE_"


def variable(application: str, version: str, operating_system: OperatingSystem) -> str:
    """The environment variable that holds the package's folder on a node: `AZ_BATCH_APP_PACKAGE_GPUDriver#411.82` on Windows.

    On Linux `.`, `-` and `#` become `_`, and the letter case of the id is kept. An empty version names the default one.
    """
    name = f"{application}#{version}" if version else application
    if operating_system is OperatingSystem.WINDOWS:
        return _PREFIX + name
    return _PREFIX + re.sub(r"[.#-]", "_", name)


def in_command_line(application: str, version: str, operating_system: OperatingSystem) -> str:
    """The variable as a command line writes it: `%…%` under cmd, `$…` under sh."""
    name = variable(application, version, operating_system)
    return f"%{name}%" if operating_system is OperatingSystem.WINDOWS else f"${name}"


def package_problems(packages: int, path: str, *, auto_storage: bool) -> Iterator[Problem]:
    """The number of package references of a pool, and whether its account can hold packages at all."""
    if packages > MOST_PER_POOL:
        yield Problem(
            path=path,
            message=f"a Batch pool has at most {MOST_PER_POOL} application packages",
            value=packages,
            allowed=f"at most {MOST_PER_POOL}",
            fix="put several programs into one package",
            source=str(sources.PROVIDER),
            code=Code.IMPOSSIBLE,
        )
    if packages > 0 and not auto_storage:
        yield Problem(
            path=path,
            message="application packages are kept in the storage account that is linked to the Batch account; none is",
            value=packages,
            fix="link a storage account to the Batch account (auto-storage), or leave the packages out",
            source=str(sources.PACKAGES),
            code=Code.IMPOSSIBLE,
        )
