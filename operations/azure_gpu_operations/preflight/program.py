"""What a stack would declare, as the program itself says.

In: the stack's configuration file and its name. Out: an `Inventory`. The program answers in a process of its own, by
`python -m azure_gpu.stack.inventory`, as it does for the engine: nothing here knows what a stack file may say.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from azure_gpu.catalog import providers, regions
from azure_gpu.catalog.problems import Problem, from_data
from azure_gpu.catalog.size_use import OperatingSystem, Service, SizeUse
from azure_gpu.formats import azure_types
from azure_gpu_operations.preflight.needs import NamedKind, WantedName

_KINDS = {
    azure_types.STORAGE_ACCOUNT.arm_type: NamedKind.STORAGE,
    azure_types.REGISTRY.arm_type: NamedKind.REGISTRY,
    azure_types.BATCH_ACCOUNT.arm_type: NamedKind.BATCH,
    azure_types.KEY_VAULT.arm_type: NamedKind.VAULT,
}


class WrongStackFileError(ValueError):
    """A configuration file that can't be read. The text is for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageUse:
    """An application package of Batch that the nodes of a pool get."""

    application: str
    version: str
    path: str  # where the stack file says so


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPool:
    """Machines without a GPU: of a cluster's system pool, or of Azure Machine Learning."""

    size: str
    region: str
    nodes: int
    family: str  # empty: not known
    vcpus: int | None  # of one; None: not known
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """`group` is an existing resource group, by name; empty where the stack creates its own."""

    day: date
    region: str
    problems: tuple[Problem, ...] = ()
    uses: tuple[SizeUse, ...] = ()
    system_pools: tuple[SystemPool, ...] = ()  # of the clusters that it creates
    ml_machines: tuple[SystemPool, ...] = ()  # of managed endpoints and computes; with the fifth that is kept for upgrades
    names: tuple[WantedName, ...] = ()
    namespaces: tuple[str, ...] = ()  # of the resource providers that it needs
    batch_account: str = ""  # the name of the account that its pools are in
    batch_account_id: str = ""  # its ARM id where it is an existing one
    packages: tuple[PackageUse, ...] = ()
    assigns_roles: bool = True
    group: str = ""


def take(project_folder: Path, file: Path, stack: str, as_of: str) -> Inventory:
    """The inventory of the stack; `as_of` empty is the stack's own day. WrongStackFileError."""
    command = [sys.executable, "-m", "azure_gpu.stack.inventory", str(file), "--stack", stack]
    if as_of:
        command += ["--as-of", as_of]
    done = subprocess.run(command, cwd=project_folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise WrongStackFileError(said[-1].removeprefix("error: ") if said else f"{file} can't be read")
    return _inventory(json.loads(done.stdout))


def _inventory(told: dict[str, Any]) -> Inventory:
    uses = tuple(_use(use) for use in told["uses"])
    arm_types = [name["arm_type"] for name in told["names"]]
    namespaces = {arm_type.split("/")[0] for arm_type in arm_types}
    namespaces |= {namespace for use in uses for namespace in providers.OF_SERVICE[use.service]}
    if providers.MACHINE_LEARNING in namespaces:  # a workspace, and what it can't be without
        namespaces |= set(providers.OF_SERVICE[Service.ML_COMPUTE])
    namespaces |= set(providers.OF_SERVICE[Service.AKS]) if told["system_pools"] or told["clusters"] else set()
    return Inventory(
        day=date.fromisoformat(told["day"]),
        # A region that isn't known has its problem; asked of Azure it would only fail again.
        region=told["location"] if told["location"] in regions.known() else "",
        problems=tuple(from_data(problem) for problem in told["problems"]),
        uses=uses,
        system_pools=tuple(SystemPool(**each) for each in told["system_pools"]),
        ml_machines=tuple(SystemPool(**each) for each in told.get("ml_machines") or []),
        names=tuple(
            WantedName(_KINDS[name["arm_type"]], name["name"], told["location"])
            for name in told["names"]
            if name["arm_type"] in _KINDS
        ),
        namespaces=tuple(sorted(namespaces - set(providers.ALWAYS_REGISTERED))),
        batch_account=told["batch_account"],
        batch_account_id=told["batch_account_id"],
        packages=tuple(PackageUse(**each) for each in told["packages"]),
        assigns_roles=told["assigns_roles"],
        group=told["group"],
    )


def _use(told: dict[str, Any]) -> SizeUse:
    system = OperatingSystem(told["operating_system"])
    return SizeUse(**{**told, "service": Service(told["service"]), "operating_system": system})
