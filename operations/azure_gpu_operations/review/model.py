"""The data of a review, from which the report and the annotations are written.

`as_data` is the JSON that `review --out` writes; `FORM` is its version. Texts of the stack are unescaped, as in its files and
state; every writer escapes them for its format. Secrets are already `SECRET`.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple, cast

from azure_gpu.catalog.budgets import Standing, standing
from azure_gpu.formats.stack_file import SECRET as SECRET

FORM = 1
UNKNOWN_YET = "[known after up]"
BUSY_HOURS = 160.0  # of a month, in which all machines that there can be are there; 8 hours on 20 days


class Lane(StrEnum):
    """Against what the change was compared."""

    EMBEDDED = "embedded"  # the base commit, brought up on an embedded Azure
    LIVE = "live"  # the deployed state


class Outcome(StrEnum):
    """The outcome of reviewing one stack file."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NEW = "new"  # the base doesn't have the file
    DELETED = "deleted"  # the change deletes the file; what is up stays up until somebody destroys it
    REJECTED = "rejected"  # the program rejects the changed file: see `problems`
    FAILED = "failed"  # there is no diff: see `missing`


class Operation(StrEnum):
    """The operation on a resource or a part, the worst last."""

    SAME = "same"
    READ = "read"
    IMPORT = "import"
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"


class SourceLocation(NamedTuple):
    """A file and line in the repository."""

    file: str  # from the root of the repository; "": nowhere that is known
    line: int  # 1 is the first; 0: not known


class Property(NamedTuple):
    """One property of a resource."""

    path: str  # as the engine writes it: `properties.vmSize`, `taskSlots`, `tags["as-of"]`
    before: str | None  # None: not set
    after: str | None
    forces: bool = False  # it forces the replacement


class Resource(NamedTuple):
    """One resource of a part that the change creates, updates, replaces or deletes."""

    urn: str
    type: str  # azure-native:batch:Pool
    name: str  # as the program calls it
    operation: Operation
    properties: tuple[Property, ...] = ()
    follows: str = ""  # the name of the resource whose replacement forces this one's; "": its own arguments do


class Part(NamedTuple):
    """One component, or what belongs to none."""

    component: str  # `BatchPool`; `Stack` for resources without a component
    name: str  # as the stack file has it
    path: str  # in the stack file: `pools.train`; "": not known
    operation: Operation  # the worst of its resources
    resources: tuple[Resource, ...]  # without those that stay as they are
    unchanged: int  # how many stay


class Danger(NamedTuple):
    """A replacement, deletion or interruption: the first lines of a report."""

    operation: Operation  # REPLACE or DELETE; UPDATE: it stays and what runs on it is interrupted
    what: str  # in the user's words: `storage account`, `pool of cluster shared`
    name: str  # as the program calls it
    azure_name: str
    part: str  # path in the stack file: `foundation.storage`
    lost: str  # `its blobs`; "": nothing that lasts
    cause: str  # path of the argument that forces it: `pools.train.size`; "": not known
    before: str | None  # of that argument
    after: str | None
    place: SourceLocation  # of that argument
    milder: str  # another way, as an instruction; "": none is known
    minutes: str  # `about 10`; "": not known
    quota: str  # needed meanwhile: `8 vCPUs of Standard NCASv3_T4 Family`; "": none beyond what there is, or not known
    refused: str  # why `operations up` refuses it without a word that names it: `--replace foundation-storage`; "": it doesn't
    is_held: bool  # it holds data or serves traffic


class Finding(NamedTuple):
    """A problem or a warning of the stack file, on its line."""

    severity: str  # `error` or `warning`
    code: str  # of `azure_gpu.catalog.problems.Code`, or the name of a policy
    path: str
    message: str  # whole: what is wrong, given, allowed, fix, source
    place: SourceLocation
    is_new: bool  # the base doesn't have it


class Amount(NamedTuple):
    """Money of which a part may not be known."""

    known: float  # USD
    unknown: int  # how many parts have no known price; their cost isn't in `known`
    limit: float = 0.0  # USD, beside `known`: the upper limit of parts of whose price only that is known

    def against(self, monthly_usd: float) -> Standing:
        """The amount of a month held against a budget. An upper limit keeps it, but doesn't break it."""
        whole = self.known + self.limit
        if round(whole, 2) <= monthly_usd:
            return standing(whole, self.unknown, monthly_usd)
        return standing(self.known, self.unknown + bool(self.limit), monthly_usd)


class Costs(NamedTuple):
    """Costs of a part or a stack in one state, in USD."""

    idle_hour: Amount  # while nothing runs
    most_hour: Amount  # with all the machines that there can be
    idle_month: Amount  # 730 hours
    expected_month: Amount  # idle, and the rest for `busy_hours` of them
    most_month: Amount
    on_demand_most_hour: Amount  # as most_hour, as if nothing were Spot
    gpu_hours_idle_month: float | None  # None: not known
    gpu_hours_expected_month: float | None
    gpu_hours_most_month: float | None


class PartCosts(NamedTuple):
    """A part's costs before and after the change."""

    part: str  # path in the stack file
    kind: str  # `Batch pool`
    machines_before: str  # `0 to 2 x Standard_NC4as_T4_v3 (T4), Spot`; "": none
    machines_after: str
    before: Costs | None  # None: it isn't there
    after: Costs | None
    price_dates: tuple[str, ...]  # of the prices that `before` and `after` are made of, oldest first


class Budget(NamedTuple):
    """The stack file's budget held against the costs after the change."""

    monthly_usd: float
    expected_month: Amount
    is_over: bool | None  # None: not known, as a part of the costs isn't


class StackCosts(NamedTuple):
    """Costs of a whole stack."""

    busy_hours: float  # a month: the assumption that `expected_month` is made with
    before: Costs | None
    after: Costs | None
    parts: tuple[PartCosts, ...]  # those that cost something; changed ones first
    budget: Budget | None


class Placeholder(NamedTuple):
    """A value of the stack file that the review has put something else in the place of."""

    path: str
    why: str  # `a secret`, `in another subscription`


class StackReview(NamedTuple):
    """One stack file."""

    stack: str
    file: str  # from the root of the repository
    lane: Lane
    outcome: Outcome
    dangers: tuple[Danger, ...] = ()  # what holds data or serves traffic first
    parts: tuple[Part, ...] = ()
    unchanged: int = 0  # resources that stay as they are, in all parts
    costs: StackCosts | None = None
    problems: tuple[Finding, ...] = ()  # the program rejects the file
    findings: tuple[Finding, ...] = ()  # broken policies, and warnings: retired, not offered, quota, ends within 180 days
    placeholders: tuple[Placeholder, ...] = ()
    missing: tuple[str, ...] = ()  # what this report lacks, and why; a line each
    seconds: float = 0.0

    @property
    def broken(self) -> tuple[Finding, ...]:
        """Mandatory policies that the change breaks."""
        return tuple(each for each in self.findings if each.is_new and each.severity == "error")

    def count(self, operation: Operation) -> int:
        """The number of resources with this operation."""
        return sum(each.operation is operation for part in self.parts for each in part.resources)


class Review(NamedTuple):
    """All stack files of a change."""

    base: str  # commit, 40 hex digits
    head: str  # the same; with `+` behind it where files are changed that no commit has
    made: str  # RFC 3339
    stacks: tuple[StackReview, ...]
    changed_files: tuple[str, ...] = ()  # by which the stacks were found
    missing: tuple[str, ...] = ()  # what concerns no single stack


_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")  # begins at a word's first letter, or long texts take for ever


def without_mail(text: str) -> str:
    """A text without e-mail addresses, which a report shows to more people than a stack file does."""
    return _MAIL.sub("[e-mail]", text) if "@" in text else text


def as_data(review: Review) -> dict[str, Any]:
    """The review as JSON data: objects with the fields above, and `form`, without e-mail addresses."""
    return {"form": FORM, **_plain(review)}


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    if not isinstance(value, tuple):
        return without_mail(value) if isinstance(value, str) else value
    names: tuple[str, ...] = getattr(value, "_fields", ())
    items = cast(tuple[Any, ...], value)
    return {name: _plain(each) for name, each in zip(names, items, strict=True)} if names else [_plain(each) for each in items]


DONE = {Operation.REPLACE: "replaced", Operation.DELETE: "deleted", Operation.UPDATE: "interrupted"}


def by_cause(dangers: Sequence[Danger]) -> list[list[Danger]]:
    """Dangers grouped by the argument that causes them; one without a known argument is its own group."""
    groups: dict[object, list[Danger]] = defaultdict(list)
    for index, each in enumerate(dangers):
        groups[(each.cause, each.before, each.after, each.place) if each.cause else index].append(each)
    return list(groups.values())
