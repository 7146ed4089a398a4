"""Checks whether the application packages of a stack's pools exist and are active: Batch rejects a pool with another one.

`operations up` and `preview` check them too, since the program itself reads nothing of packages.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from azure.core.pipeline.policies import RetryPolicy

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import SignIn
from azure_gpu_operations.batch.packages import ACTIVE, Packages
from azure_gpu_operations.preflight.lists import ListKind
from azure_gpu_operations.preflight.rows import Answer, Row

if TYPE_CHECKING:  # it loads all components, and `--help` needs none
    from azure_gpu.stack.inventory import PackageUse


def states(
    login: SignIn, account_id: str, packages: "Iterable[PackageUse]", retries: RetryPolicy | None = None
) -> tuple[str, ...]:
    """How each is, "" for one that isn't there. An `account_id` "" is an account that isn't there yet, and holds nothing."""
    held = Packages(login, account_id, retries) if account_id else None
    return tuple(held.state(each.application, each.version) if held else "" for each in packages)


def inactive(packages: "Sequence[PackageUse]", found: Sequence[str], account_id: str, stack: str) -> list[Problem]:
    """`found`: the states of the packages."""
    return [
        _problem(package, state, stack, is_new=not account_id)
        for package, state in zip(packages, found, strict=True)
        if state != ACTIVE
    ]


def rows(packages: "Sequence[PackageUse]", found: Sequence[str] | None, account_id: str, stack: str) -> list[Row]:
    """One row per package; `found` None where Azure couldn't be asked."""
    if found is None:
        message = f"couldn't be read: {ListKind.PACKAGES}"
        return [Row(each.path, "package", Answer.UNKNOWN, message) for each in packages]
    problems = {problem.path: problem for problem in inactive(packages, found, account_id, stack)}
    result: list[Row] = []
    for each in packages:
        problem = problems.get(each.path)
        answer = Answer.OK if problem is None else Answer.NOT_ACTIVE
        message = f"{each.application} {each.version} is active" if problem is None else problem.message
        fix = "" if problem is None else problem.fix
        result.append(Row(each.path, "package", answer, message, fix=fix))
    return result


def _problem(package: "PackageUse", state: str, stack: str, *, is_new: bool) -> Problem:
    what = f"{package.application} {package.version}".strip()
    push = f"{COMMAND} upload package FOLDER --application {package.application}"
    push += f" --version {package.version or 'V'} --stack {stack}" + ("" if package.version else " --default")
    if is_new:
        message = f"the application package {what} doesn't exist: the Batch account isn't created yet"
        fix = f"bring the stack up without this pool, then `{push}`, then add the pool"
    elif state:
        message, fix = f"the application package {what} is {state}; nodes get only active packages", f"`{push}`"
    else:
        message, fix = f"the Batch account has no application package {what}", f"`{push}`"
    return Problem(package.path, message, value=package.version, fix=fix, code=Code.NOT_FOUND)
