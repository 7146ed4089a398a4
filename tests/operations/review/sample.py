"""Reviews that nobody made: what the report and the annotations are tried on.

`sample` is one as a pull request has it: in `dev` the GPU size of a Batch pool changes, in `prod` the team's name does, which
would replace the storage account and what is named after it. `hostile` has names that break a page which takes them as they are,
`large` has as many resources as are wanted, `nothing` changes nothing. Prices are the catalog's for West Europe, of 2026-06-18.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from azure_gpu_operations.review.model import (
    Amount,
    Costs,
    Danger,
    Finding,
    Lane,
    Operation,
    Outcome,
    Part,
    PartCosts,
    Placeholder,
    Property,
    Resource,
    Review,
    SourceLocation,
    StackCosts,
    StackReview,
)
from tests.operations.yaml_tables import made

TEXT = Path(__file__).with_suffix(".yaml")
HOURS_A_MONTH = 730
BUSY_HOURS = 80.0
BASE, HEAD = "2f6c1f0a9be24d0f8ad2e3c1b7d56a9e40c8d713", "9d41e7b35c0a4f6e92b8d7f1a3c5e60b48f2d9a1"
PRICE_DAYS = ("2026-06-18",)
# Names of people and services that a page must show and not follow.
LONG = "x" * 10_000
SCRIPT = "</script><script>document.documentElement.dataset.hurt = 'yes'</script>"
IMAGE = "<img src=x onerror=\"document.documentElement.dataset.hurt = 'yes'\">"
QUOTES = "\"'><b onmouseover=alert(1)>`&amp;&#60;"
RIGHT_TO_LEFT = "pool-\u202egnp.exe\u2066\u061c\u200f"
EMOJI = "🔥👩🏽‍🚀 pool"
CONTROLS = "a\x00b\x07c\x1b[31md\ud800\uffff"
MARKDOWN = "| `x` | [here](javascript:alert(1)) <!-- --> @everyone #1 ```"
HOSTILE = (SCRIPT, IMAGE, QUOTES, RIGHT_TO_LEFT, EMOJI, CONTROLS, MARKDOWN, "]]>&lt;", "--><!--", "", "{{x}} ${x} %s \\", LONG)


def costs(idle_hour: float, most_hour: float, gpus_idle: float = 0, gpus_most: float = 0, unknown: int = 0) -> Costs:
    """By the hour, and by the month from that, with GPUs in use at idle and at most."""
    expected = idle_hour * (HOURS_A_MONTH - BUSY_HOURS) + most_hour * BUSY_HOURS
    return Costs(
        idle_hour=Amount(idle_hour, unknown),
        most_hour=Amount(most_hour, unknown),
        idle_month=Amount(round(idle_hour * HOURS_A_MONTH, 2), unknown),
        expected_month=Amount(round(expected, 2), unknown),
        most_month=Amount(round(most_hour * HOURS_A_MONTH, 2), unknown),
        on_demand_most_hour=Amount(most_hour, unknown),
        gpu_hours_idle_month=gpus_idle * HOURS_A_MONTH,
        gpu_hours_expected_month=gpus_idle * (HOURS_A_MONTH - BUSY_HOURS) + gpus_most * BUSY_HOURS,
        gpu_hours_most_month=gpus_most * HOURS_A_MONTH,
    )


def sample() -> Review:
    """A review as a pull request has it."""
    return Review(
        base=BASE,
        head=HEAD,
        made="2026-11-26T09:30:00Z",
        stacks=(_stack("prod"), _stack("dev"), _stack("lite")),
        changed_files=("Pulumi.dev.yaml", "Pulumi.prod.yaml"),
        missing=(),
    )


def rejected() -> StackReview:
    """A stack file that the program rejects."""
    return _stack("rejected")


@cache
def _sample() -> dict[str, Any]:
    return yaml.load(TEXT.read_text(encoding="utf-8"), _Loader)


def _stack(name: str) -> StackReview:
    stack: StackReview = made(StackReview, _sample()[name])
    if stack.costs is None or stack.costs.budget is None or stack.costs.after is None:
        return stack
    budget = stack.costs.budget._replace(expected_month=stack.costs.after.expected_month)
    return stack._replace(costs=stack.costs._replace(budget=budget))


class _Loader(yaml.CSafeLoader):
    """Knows costs."""


_Loader.add_constructor("!costs", lambda loader, node: costs(*loader.construct_sequence(node)))
_Loader.add_constructor("!sum", lambda loader, node: _sum(*loader.construct_sequence(node)))


def nothing() -> Review:
    """A change that touches no stack."""
    return Review(base=BASE, head=f"{HEAD}+", made="2026-11-26T09:30:00Z", stacks=(), changed_files=("README.md",))


def hostile() -> Review:
    """Every text of a stack is each of `HOSTILE` somewhere."""
    return Review(
        base=BASE,
        head=HEAD,
        made="2026-11-26T09:30:00Z",
        stacks=tuple(_hostile(each) for each in HOSTILE),
        changed_files=HOSTILE,
        missing=HOSTILE,
    )


def _hostile(text: str) -> StackReview:
    place = SourceLocation(text, 3)
    known = costs(0.5, 2.5)
    resource = Resource(text, text, text, Operation.REPLACE, (Property(text, text, text, forces=True),), follows=text)
    finding = Finding("warning", text, text, text, place, is_new=True)
    return StackReview(
        stack=text,
        file=text,
        lane=Lane.EMBEDDED,
        outcome=Outcome.CHANGED,
        dangers=(
            Danger(
                Operation.REPLACE, text, text, text, text, text, text, text, text, place, text, text, text, text, is_held=True
            ),
        ),
        parts=(Part(text, text, text, Operation.REPLACE, (resource,), unchanged=1),),
        costs=StackCosts(BUSY_HOURS, known, known, (PartCosts(text, text, text, text, known, known, (text,)),), budget=None),
        problems=(finding,),
        findings=(finding,),
        placeholders=(Placeholder(text, text),),
        missing=(text,),
    )


def large(resources: int, a_part: int = 20, properties: int = 3) -> Review:
    """As many resources as wanted, `a_part` of them in each part, all updated but each tenth, which is replaced."""
    parts = tuple(_large_part(first, min(a_part, resources - first), properties) for first in range(0, resources, a_part))
    before, after = costs(0.1, 1.316, gpus_most=2), costs(0.1, 1.88, gpus_most=2)
    stack = StackReview(
        stack="huge",
        file="Pulumi.huge.yaml",
        lane=Lane.EMBEDDED,
        outcome=Outcome.CHANGED,
        dangers=tuple(_large_danger(part) for part in parts),
        parts=parts,
        unchanged=resources,
        costs=StackCosts(
            busy_hours=BUSY_HOURS,
            before=_sum(*(before for _ in parts)),
            after=_sum(*(after for _ in parts)),
            parts=tuple(PartCosts(part.path, "Batch pool", "", "", before, after, PRICE_DAYS) for part in parts),
            budget=None,
        ),
    )
    return Review(base=BASE, head=HEAD, made="2026-11-26T09:30:00Z", stacks=(stack,))


def _large_part(first: int, count: int, properties: int) -> Part:
    name = f"train-{first}"
    resources = tuple(
        Resource(
            urn=f"urn:pulumi:huge::azure-gpu::azuregpu:index:BatchPool$azure-native:batch:Pool::{name}-pool-{number}",
            type="azure-native:batch:Pool",
            name=f"{name}-pool-{number}",
            operation=Operation.UPDATE if number % 10 else Operation.REPLACE,
            properties=tuple(
                Property(f"deployment.values[{each}].vmSize", f"STANDARD_NC4AS_T4_V3-{number}", f"STANDARD_NC8AS_T4_V3-{number}")
                for each in range(properties)
            ),
            follows=f"{name}-pool-{number - 1}" if number % 10 == 0 and number > first else "",
        )
        for number in range(first, first + count)
    )
    return Part("BatchPool", name, f"pools.{name}", Operation.REPLACE, resources, unchanged=count)


def _large_danger(part: Part) -> Danger:
    place = SourceLocation("Pulumi.huge.yaml", 10)
    size = f"{part.path}.size"
    before, after = "Standard_NC4as_T4_v3", "Standard_NC8as_T4_v3"
    lost = "the running tasks on its nodes"
    return Danger(
        Operation.REPLACE, "Batch pool", part.name, "", part.path, lost, size, before, after, place, "", "about 10", "", "", False
    )


def _sum(*each: Costs) -> Costs:
    def hours(field: str) -> float:
        return sum(getattr(one, field) for one in each)

    return Costs(
        *(_amount(getattr(one, field) for one in each) for field in Costs._fields[:6]),
        gpu_hours_idle_month=hours("gpu_hours_idle_month"),
        gpu_hours_expected_month=hours("gpu_hours_expected_month"),
        gpu_hours_most_month=hours("gpu_hours_most_month"),
    )


def _amount(each: Iterable[Amount]) -> Amount:
    amounts = list(each)
    return Amount(round(sum(one.known for one in amounts), 4), sum(one.unknown for one in amounts))
