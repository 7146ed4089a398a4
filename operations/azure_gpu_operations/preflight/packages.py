"""Checks whether the application packages of a stack's pools exist and are active: Batch rejects a pool with another one.

`operations up` and `preview` check them too, since the program itself reads nothing of packages.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from azure.core.exceptions import ResourceNotFoundError
from azure.core.pipeline.policies import RetryPolicy
from azure.mgmt.batch import BatchManagementClient

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats import arm_ids
from azure_gpu_operations.azure import SignIn, management_client
from azure_gpu_operations.preflight.fetching import Outcome, retries
from azure_gpu_operations.preflight.lists import ListKey, ListKind
from azure_gpu_operations.preflight.rows import Answer, Row, unread

if TYPE_CHECKING:  # it loads all components, and `--help` needs none
    from azure_gpu.stack.requests import PackageUse

ACTIVE = "active"
_KEY = ListKey(ListKind.PACKAGES)


class Packages:
    """Those of one account."""

    def __init__(self, login: SignIn, account_id: str, again: RetryPolicy | None = None) -> None:
        parsed = arm_ids.parse(account_id)
        if parsed is None:
            raise ValueError(f"{account_id!r} is not a resource id")
        self._account = (parsed.resource_group, parsed.name)
        self._client: Any = management_client(BatchManagementClient, login, parsed.subscription, again or RetryPolicy())

    def state(self, application: str, version: str) -> str:
        """`active`, `pending`, or "" if the package doesn't exist."""
        try:
            found = self._client.application_package.get(*self._account, application, version)
        except ResourceNotFoundError:
            return ""
        state = found.properties.state if found.properties else ""
        return str(getattr(state, "value", state) or "").lower()


def states(login: SignIn, account_id: str, packages: "Iterable[PackageUse]", again: RetryPolicy | None = None) -> tuple[str, ...]:
    """How each is, "" for one that isn't there. An `account_id` "" is an account that isn't there yet, and holds nothing."""
    held = Packages(login, account_id, again) if account_id else None
    return tuple(held.state(each.application, each.version) if held else "" for each in packages)


def inactive(packages: "Sequence[PackageUse]", found: Sequence[str], account_id: str) -> list[Problem]:
    """`found`: the states of the packages."""
    return [_problem(package, state, account_id) for package, state in zip(packages, found, strict=True) if state != ACTIVE]


def readers(login: SignIn, account_id: str, packages: "Sequence[PackageUse]") -> dict[ListKey, Callable[[], Any]]:
    """One, where pools name packages."""
    return {_KEY: partial(states, login, account_id, packages, retries())} if packages else {}


def rows(packages: "Sequence[PackageUse]", outcomes: Mapping[ListKey, Outcome[Any]], account_id: str) -> list[Row]:
    """One row per package."""
    found: Sequence[str] | None = outcomes[_KEY].value if packages else ()
    if found is None:
        return [unread(each.path, "package", ListKind.PACKAGES) for each in packages]
    problems = {problem.path: problem for problem in inactive(packages, found, account_id)}
    return [
        Row(each.path, "package", Answer.NOT_ACTIVE, problem.message, problem.fix)
        if (problem := problems.get(each.path))
        else Row(each.path, "package", Answer.OK, f"{each.application} {each.version} is active")
        for each in packages
    ]


def _problem(package: "PackageUse", state: str, account_id: str) -> Problem:
    what, parsed = f"{package.application} {package.version}".strip(), arm_ids.parse(account_id)
    push = f"az batch application package create --application-name {package.application} --version-name {package.version or 'V'}"
    push += f" --package-file FILE.zip --name {parsed.name} --resource-group {parsed.resource_group}" if parsed else ""
    if not account_id:
        message = f"the application package {what} doesn't exist: the Batch account isn't created yet"
        fix = f"bring the stack up without this pool, then `{push}`, then add the pool"
    elif state:
        message, fix = f"the application package {what} is {state}; nodes get only active packages", f"`{push}`"
    else:
        message, fix = f"the Batch account has no application package {what}", f"`{push}`"
    return Problem(package.path, message, value=package.version, fix=fix, code=Code.NOT_FOUND)
