"""Steps of `up`, `preview` and `down` for a stack's Batch pools: check packages, drain, warn of running tasks.

Azure's clients, which take half a second to load, are loaded only for stacks with pools.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import azure_types, stack_file
from azure_gpu.stack.keys import config_key
from azure_gpu_operations import planned
from azure_gpu_operations.azure import UNREADABLE, Arm
from azure_gpu_operations.command_line import listed
from azure_gpu_operations.connection import connection_in, connection_of
from azure_gpu_operations.project import project
from azure_gpu_operations.stack import Stack

DRAIN_SECONDS = 24 * 3600.0  # Ctrl-C ends the waiting, and the update with it
_POOL = azure_types.BATCH_POOL
Say = Callable[[str], None]


class WrongPackagesError(Exception):
    """A pool names an application package that isn't active. The text is for the user."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(listed(problems, "nothing was changed"))


def check_packages(stack: Stack) -> None:
    """WrongPackagesError names every package that isn't active."""
    if "package" not in stack.configuration().get(config_key("pools", stack.project), ""):
        return
    from azure_gpu_operations.preflight import packages

    try:
        inventory = planned.inventory(project().files, stack.file, stack.name)
    except (ValueError, stack_file.StackFileError):
        return  # the program itself reports what is wrong with the file
    if not inventory.packages:
        return
    deployment = stack.deployment()
    account_id = inventory.batch_account_id or next(iter(_ids(deployment, azure_types.BATCH_ACCOUNT)), "")
    with closing(Arm(connection_of(deployment) or connection_in(stack.file))) as arm:
        found = packages.states(arm.login, account_id, inventory.packages)
    problems = packages.inactive(inventory.packages, found, account_id)
    if problems:
        raise WrongPackagesError(problems)


def may_drain(deployment: Mapping[str, Any]) -> bool:
    """Whether the stack has a pool that would be deleted before its replacement is created, so that the plan must be known."""
    return any(keeps_its_name(each) for each in _resources(deployment, _POOL))


def drain_replaced(deployment: Mapping[str, Any], steps: Iterable[Mapping[str, Any]], say: Say) -> None:
    """Drains the pools that the engine would delete before creating their replacements. `steps`: of a preview."""
    connection = connection_of(deployment)
    if connection is None:
        return
    from azure_gpu_operations.batch.account import BatchAccount, batch_account_of
    from azure_gpu_operations.batch.drain import drain

    for pool_id in replaced_first(steps):
        name = pool_id.rsplit("/", 1)[-1]
        with closing(Arm(connection)) as arm, closing(BatchAccount(arm, batch_account_of(pool_id))) as account:
            if account.pool(name) is not None:
                say(f"the pool {name} is to be replaced; draining it first, so that its tasks can end")
                drain(account, name, name, say, limit_seconds=DRAIN_SECONDS)


def keeps_its_name(pool: Mapping[str, Any]) -> bool:
    """Whether a pool of the state has a fixed name and is therefore deleted before its replacement is created. Other names end in
    `replacementTrigger`, a hash of the configuration."""
    return not str(pool["id"]).endswith(f"-{pool.get('replacementTrigger')}")


def replaced_first(steps: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The ids of pools that a preview replaces by pools of the same name, which can't exist at the same time."""
    for step in steps:
        old, new = step.get("oldState") or {}, step.get("newState") or {}
        same_name = (old.get("inputs") or {}).get("poolName") == (new.get("inputs") or {}).get("poolName")
        if step.get("op") == "replace" and old.get("type") == _POOL.token and same_name:
            yield str(old.get("id"))


def tell_what_ends(deployment: Mapping[str, Any], say: Say, within: Collection[str] | None = None) -> None:
    """Reports tasks that are running on pools about to be deleted. Errors are ignored: they must not block the deletion.
    `within`: the URNs that are deleted; None: everything."""
    connection = connection_of(deployment)
    held = [str(each["id"]) for each in _resources(deployment, _POOL) if within is None or each["urn"] in within]
    if connection is None or not held:
        return
    from azure_gpu_operations.batch.account import BatchAccount, batch_account_of
    from azure_gpu_operations.batch.drain import nodes_now

    try:
        with closing(Arm(connection)) as arm:
            for pool_id in held:
                name = pool_id.rsplit("/", 1)[-1]
                with closing(BatchAccount(arm, batch_account_of(pool_id))) as account:
                    now = nodes_now(account, name)
                    if now is not None and now.tasks:
                        jobs = ", ".join(job.id for job in account.jobs_on(name)[:3])
                        tasks, they = ("1 task runs", "it ends") if now.tasks == 1 else (f"{now.tasks} tasks run", "they end")
                        say(f"on the pool {name} {tasks} (jobs: {jobs or 'not known'}); {they} with it")
    except UNREADABLE:
        return


def _resources(deployment: Mapping[str, Any], resource_type: azure_types.AzureType) -> list[Mapping[str, Any]]:
    """The stack's resources of a type."""
    resources = deployment.get("resources") or []
    return [each for each in resources if each.get("type") == resource_type.token and each.get("id") and not each.get("external")]


def _ids(deployment: Mapping[str, Any], resource_type: azure_types.AzureType) -> list[str]:
    return [str(each["id"]) for each in _resources(deployment, resource_type)]
