"""Asks Azure before `up`, and for `review --live`: what the catalog's lists leave open of a stack (regions, sizes, Kubernetes
versions, workload profiles), and of what isn't there yet whether its sizes are offered and its quotas suffice.

The questions and answers are those of `preflight`, asked at once and for a short time. Azure's answer wins over the catalog's.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import stack_file
from azure_gpu.shared.installation import COMMAND
from azure_gpu.stack.keys import REGION
from azure_gpu_operations import planned
from azure_gpu_operations.command_line import listed
from azure_gpu_operations.connection import Connection, connection_in, connection_of
from azure_gpu_operations.project import project
from azure_gpu_operations.stack import Stack

if TYPE_CHECKING:
    from azure_gpu.stack.inventory import Inventory
    from azure_gpu_operations.preflight.rows import Row

LIMIT_SECONDS = 10.0  # for all lists together: what takes longer isn't checked
_CODES, OF_VERSION = (Code.NOT_LISTED, Code.NOT_IN_REGION), "kubernetes_version"
DRAWING = ("uses", "system_pools", "ml_machines", "environments")  # of an inventory: what draws from a quota
Say = Callable[[str], None]


class NotOfferedError(Exception):
    """Azure's lists lack what a new stack needs, or its quotas don't allow it. The text is for the user."""


def check(stack: Stack, deployment: Mapping[str, Any], say: Say) -> None:
    """NotOfferedError names everything that Azure's lists lack or its quotas don't allow, before the first update; later, what is
    there stays, and it is told. Nothing is refused where Azure can't be asked."""
    try:
        taken = planned.inventory(project().files, stack.file, stack.name)
    except (ValueError, OSError, stack_file.StackFileError):
        return  # the program itself reports what is wrong with the file
    there = is_there(deployment)
    added = None if there or errors(taken.problems) else taken  # the program refuses its own errors before it creates anything
    found = decided(taken, connection_of(deployment) or connection_in(stack.file), added, say, say)
    for each in taken.problems:
        if each not in found:
            say(f"{each.path}: {each.value}: Azure's list decides, not the catalog's")
    lacking = [each for each in found if each not in taken.problems]
    refused = errors(lacking)
    if refused and not there:
        raise NotOfferedError(listed(refused, "nothing was created"))
    for each in lacking:
        say(f"warning: {each}")


def is_there(deployment: Mapping[str, Any]) -> bool:
    """Whether a stack has anything in Azure: the id of a provider isn't one of Azure."""
    return any(str(each.get("id")).startswith("/") for each in deployment.get("resources") or [])


def decided(taken: "Inventory", connection: Connection, *more: Any) -> tuple[Problem, ...]:
    """As `settled`; the embedded Azure, at an address of its own, has no lists but the catalog's, and isn't asked."""
    return taken.problems if connection.metadata_host else settled(taken, connection, *more)


def settled(
    taken: "Inventory",
    connection: Connection,
    added: "Inventory | None" = None,
    say: Say = lambda _: None,
    say_price: Say | None = None,
) -> tuple[Problem, ...]:
    """The stack's problems: of those that are open, what Azure's lists lack as an error, and nothing of what they have.

    Args:
        added: what of it isn't in Azure yet, and has to be offered and to fit in the quotas.
        say: told in one line what wasn't read.
        say_price: told the price of each use that is added.
    """
    nothing: dict[str, Any] = dict.fromkeys(DRAWING, ())
    about, added = _open(taken), added or replace(taken, **nothing)
    if not about and not any(getattr(added, name) for name in DRAWING):
        return taken.problems
    from azure_gpu_operations.preflight import answers, environment_quotas, lists, online, prices  # Azure's clients load slowly
    from azure_gpu_operations.preflight.fetching import SharedCredential, fetch
    from azure_gpu_operations.preflight.rows import FAILING, of_problem

    login = online.reached(connection)
    if isinstance(login, str):
        return taken.problems
    login, subscription = replace(login, credential=SharedCredential(login.credential)), connection.subscription_id
    paths = {each.path for each in about}
    asked = [use for use in taken.uses if use in added.uses or paths & {use.path, use.region_path}]
    offered = [use for use in asked if use.service in online.LISTED]
    beside, ml_beside = online.beside(added), online.ml_beside(added)
    drawing = [*added.uses, *(each.use for each in (*beside, *ml_beside))]
    offers, of_drawing = {answers.offer_key(use) for use in offered}, lists.readers(login, subscription, drawing)
    readers = {
        **{key: read for key, read in lists.readers(login, subscription, offered).items() if key in offers},
        **{key: read for key, read in of_drawing.items() if key.what in lists.QUOTAS},
        **answers.catalog_readers(login, subscription, about, taken.uses),
        **environment_quotas.readers(login, added.environments),
        **(prices.readers(connection, added.uses) if say_price else {}),
    }
    outcomes = fetch(readers, limit_seconds=LIMIT_SECONDS)
    if unread := [str(key) for key, outcome in outcomes.items() if outcome.missing and key.what is not lists.ListKind.PRICES]:
        say(f"not read of Azure, so not checked: {', '.join(unread)}; `{COMMAND} preflight` tells why")
    if say_price:
        for row in prices.rows(added.uses, outcomes, taken.day):
            say_price(f"{row.subject}: {row.message}")
    found: list[Problem] = []
    for problem in taken.problems:
        rows = answers.catalog_rows([problem], taken.uses, outcomes) if problem in about else [of_problem(problem, "")]
        lacking = any(row.answer in FAILING for row in rows)
        found += [_refused(problem.path, problem.value, row, taken) if problem in about and lacking else problem for row in rows]
    rows = [
        *answers.offers(outcomes, offered, taken.day),
        *answers.quota_rows(outcomes, added.uses, added.batch_account, beside, ml_beside),
        *environment_quotas.rows(added.environments, outcomes, ""),
    ]
    sizes = {use.path: use.size for use in (*taken.uses, *drawing)}
    return (*found, *(_refused(row.subject, sizes.get(row.subject), row, taken) for row in rows if row.answer in FAILING))


def _open(taken: "Inventory") -> tuple[Problem, ...]:
    """The warnings of what the catalog's lists don't have."""
    unknown = {use.path for use in taken.uses if SIZES.find(use.size) is None}
    return tuple(
        each
        for each in taken.problems
        if each.severity is Severity.WARNING
        and (each.code in _CODES or (each.code is Code.UNKNOWN and (each.path in unknown or each.path.endswith(OF_VERSION))))
    )


def _refused(path: str, value: object, row: "Row", taken: "Inventory") -> Problem:
    """An error; a warning where the file insists on it, as in the stack's plan. No file insists on a quota."""
    code = Code.NO_QUOTA if row.check == "quota" else Code.NOT_OFFERED
    insisted = REGION in taken.unchecked and not path.endswith(OF_VERSION) and code is Code.NOT_OFFERED
    source, severity = row.source or "Azure's list of today", Severity.WARNING if insisted else Severity.ERROR
    return Problem(path, row.message, value, fix=row.fix, source=source, code=code, severity=severity)
