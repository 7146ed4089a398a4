"""Asks Azure's lists about what the catalog's leave open of a stack: regions, sizes, Kubernetes versions, workload profiles.

`up` and `review --live` ask so, and only where something is open. Azure's answer takes the place of the catalog's.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import stack_file
from azure_gpu.stack.keys import REGION
from azure_gpu_operations.connection import Connection, connection_in, connection_of
from azure_gpu_operations.preflight import program
from azure_gpu_operations.preflight.program import Inventory
from azure_gpu_operations.project import project
from azure_gpu_operations.stack import Stack

if TYPE_CHECKING:
    from azure_gpu_operations.preflight.rows import Row

_CODES, OF_VERSION = (Code.NOT_LISTED, Code.NOT_IN_REGION), "kubernetes_version"
Say = Callable[[str], None]


class NotOfferedError(Exception):
    """Azure's lists lack what a new stack needs. The text is for the user."""


def check(stack: Stack, deployment: Mapping[str, Any], say: Say) -> None:
    """NotOfferedError names everything that Azure's lists lack, before the first update; later, what is there stays, and it is
    told. Nothing is asked where the catalog leaves nothing open, and nothing refused where Azure can't be asked."""
    try:
        taken = program.take(project().files, stack.file, stack.name, "")
    except (ValueError, OSError, stack_file.StackFileError):
        return  # the program itself reports what is wrong with the file
    if not _open(taken):
        return
    found = decided(taken, connection_of(deployment) or connection_in(stack.file))
    for each in taken.problems:
        if each not in found:
            say(f"{each.path}: {each.value}: Azure's list decides, not the catalog's")
    lacking = [each for each in found if each not in taken.problems]
    refused = errors(lacking)
    there = any(str(each.get("id")).startswith("/") for each in deployment.get("resources") or [])  # a provider has another id
    if refused and not there:
        heading = "1 problem" if len(refused) == 1 else f"{len(refused)} problems"
        raise NotOfferedError("\n".join([f"{heading}, nothing was created:", *(f"  - {each}" for each in refused)]))
    for each in lacking:
        say(f"warning: {each}")


def decided(taken: Inventory, connection: Connection) -> tuple[Problem, ...]:
    """As `settled`; the embedded Azure, at an address of its own, has no lists but the catalog's, and isn't asked."""
    return taken.problems if connection.metadata_host else settled(taken, connection)


def settled(taken: Inventory, connection: Connection) -> tuple[Problem, ...]:
    """The stack's problems: of those that are open, what Azure's lists lack as an error, and nothing of what they have."""
    about = _open(taken)
    if not about:
        return taken.problems
    from azure_gpu_operations.preflight import answers, lists, online  # here, because Azure's clients load slowly
    from azure_gpu_operations.preflight.fetching import SharedCredential, fetch
    from azure_gpu_operations.preflight.rows import FAILING, of_problem

    login = online.reached(connection)
    if isinstance(login, str):
        return taken.problems
    login, subscription = replace(login, credential=SharedCredential(login.credential)), connection.subscription_id
    paths = {each.path for each in about}
    uses = [use for use in taken.uses if use.service in online.LISTED and paths & {use.path, use.region_path}]
    keys = {answers.offer_key(use) for use in uses}
    offered = {key: read for key, read in lists.readers(login, subscription, uses).items() if key in keys}
    outcomes = fetch({**offered, **answers.catalog_readers(login, subscription, about, taken.uses)})
    found: list[Problem] = []
    for problem in taken.problems:
        rows = answers.catalog_rows([problem], taken.uses, outcomes) if problem in about else [of_problem(problem, "")]
        lacking = any(row.answer in FAILING for row in rows)
        found += [_refused(problem.path, problem.value, row, taken) if problem in about and lacking else problem for row in rows]
    refused = [row for row in answers.offers(outcomes, uses, taken.day) if row.answer in FAILING]
    sizes = {use.path: use.size for use in uses}
    return (*found, *(_refused(row.subject, sizes[row.subject], row, taken) for row in refused))


def _open(taken: Inventory) -> tuple[Problem, ...]:
    """The warnings of what the catalog's lists don't have."""
    unknown = {use.path for use in taken.uses if SIZES.find(use.size) is None}
    return tuple(
        each
        for each in taken.problems
        if each.severity is Severity.WARNING
        and (each.code in _CODES or (each.code is Code.UNKNOWN and (each.path in unknown or each.path.endswith(OF_VERSION))))
    )


def _refused(path: str, value: object, row: "Row", taken: Inventory) -> Problem:
    """An error; a warning where the file insists on it, as in the stack's plan."""
    insisted = REGION in taken.unchecked and not path.endswith(OF_VERSION)
    source, severity = "Azure's list of today", Severity.WARNING if insisted else Severity.ERROR
    return Problem(path, row.message, value, fix=row.fix, source=source, code=Code.NOT_OFFERED, severity=severity)
