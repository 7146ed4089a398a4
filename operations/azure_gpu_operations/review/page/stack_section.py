"""Writes one stack's section of the page: problems, parts, costs, what forces what, findings, placeholders, what is missing."""

import base64
import re
from collections.abc import Iterator, Sequence
from html import unescape

from azure_gpu_operations.review.model import (
    UNKNOWN_YET,
    Finding,
    Lane,
    Operation,
    Outcome,
    Part,
    Property,
    Resource,
    StackReview,
)
from azure_gpu_operations.review.page import costs, forced
from azure_gpu_operations.review.page.markup import DONE, WORST_FIRST, badge, listed, optional, place, scrollable
from azure_gpu_operations.review.page.texts import NAME, code, compared, html, name, value
from azure_gpu_operations.review.page.whose import label, part_of

_OUTCOMES = {
    Outcome.CHANGED: ("changed", ""),
    Outcome.UNCHANGED: ("unchanged", "The change doesn't affect this stack."),
    Outcome.NEW: ("new", "The stack file is new: everything would be created."),
    Outcome.DELETED: (
        "file deleted",
        "The change deletes this stack file. Deployed resources stay and are billed until the stack is destroyed.",
    ),
    Outcome.REJECTED: ("rejected", "The program rejects the changed stack file: nothing would be deployed."),
    Outcome.FAILED: ("no diff", "There is no diff; see what is missing, below."),
}
_LANES = {
    Lane.EMBEDDED: "Compared with the base commit, deployed on an embedded Azure.",
    Lane.LIVE: "Compared with the deployed state.",
}
_MANY = 200  # resources, from which on the browser leaves out of sight what nobody looks at
_OPEN_ROWS = 40  # of the trees of what forces what; larger ones are folded
# In the pictures that `graph` draws.
_TITLE, _DESCRIPTION = (re.compile(rf"<{tag}\b[^>]*>(.*?)</{tag}>", re.DOTALL) for tag in ("title", "desc"))


def section(stack: StackReview, number: int, picture: str | None) -> Iterator[str]:
    """The section; `number` tells its anchors from those of other stacks."""
    outcome, means = _OUTCOMES[stack.outcome]
    many = " many" if sum(len(part.resources) for part in stack.parts) > _MANY else ""
    yield f'<section class="stack{many}" id="s{number}" data-stack="{html(stack.stack)}" aria-labelledby="s{number}-h">'
    yield f'<h2 id="s{number}-h">Stack {name(stack.stack)} <span class="badge">{outcome}</span></h2>'
    yield f"<p>{code(stack.file)}. {_LANES[stack.lane]} {means}</p>"
    yield from _findings("Problems", stack.problems, stack.parts)
    if stack.parts or stack.unchanged:
        yield f"<h3>Parts</h3><p>Resources: {counts(stack)}.</p>"
    for index, part in enumerate(stack.parts):
        yield from _part(part, f"s{number}-p{index}")
    if stack.costs is not None:
        yield from costs.of_stack(stack.costs, stack.parts)
    yield from _forced(stack.parts)
    if picture:
        yield from _picture(picture)
    yield from _findings("Findings", stack.findings, stack.parts)
    if stack.placeholders:
        yield "<h3>Placeholders</h3><p>The review replaced these values:</p><ul>"
        yield from (f"<li data-item>{code(each.path)}: {html(each.why)}</li>" for each in stack.placeholders)
        yield "</ul>"
    yield from missing(stack.missing)
    yield "</section>"


def missing(lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield "<h3>What is missing</h3><ul>"
        yield from (f"<li data-item>{html(each)}</li>" for each in lines)
        yield "</ul>"


def counts(stack: StackReview) -> str:
    """`1 deleted, 3 replaced, 31 unchanged`."""
    numbers = [(stack.count(each), DONE[each]) for each in WORST_FIRST if each is not Operation.SAME]
    return listed([*numbers, (stack.unchanged, DONE[Operation.SAME])])


def _part(part: Part, anchor: str) -> Iterator[str]:
    numbers = [
        (sum(each.operation is one for each in part.resources), DONE[one]) for one in WORST_FIRST if one is not Operation.SAME
    ]
    yield f'<details class="part" id="{anchor}" data-part="{html(label(part))}" data-operation="{part.operation}">'
    yield f"<summary>{badge(part.operation)} <h4>{name(part.component)} <strong>{name(part.name)}</strong></h4> "
    yield f'<span class="note">{listed([*numbers, (part.unchanged, DONE[Operation.SAME])])}</span></summary>'
    if part.path:
        yield f'<p class="note">In the stack file: {value(part.path)}</p>'
    if len(part.name) > NAME:
        yield f'<p class="note">Its whole name: {value(part.name)}</p>'
    for resource in part.resources:
        yield from _resource(resource)
    yield "</details>"


def _resource(one: Resource) -> Iterator[str]:
    yield f'<details class="resource" data-item data-operation="{one.operation}"><summary>{badge(one.operation)} '
    yield f'{name(one.name)} <span class="note">{name(one.type)}</span></summary>'
    yield f'<p class="note">{value(one.urn)}</p>'
    if one.follows:
        yield f"<p>It is {DONE[one.operation]} because <strong>{name(one.follows)}</strong> is replaced.</p>"
    if one.properties:
        yield '<ul class="properties">'
        yield from map(_property, one.properties)
        yield "</ul>"
    elif one.operation is Operation.DELETE:
        yield "<p>It is deleted.</p>"
    else:
        yield "<p>No changed property is known.</p>"
    yield "</details>"


def _property(one: Property) -> str:
    if one.before is None or one.after is None or UNKNOWN_YET in (one.before, one.after):
        before, after = optional(one.before), optional(one.after)
    else:
        before, after = compared(one.before, one.after)
    forces = ' <span class="badge replace">forces the replacement</span>' if one.forces else ""
    return (
        f"<li><div>{code(one.path)}{forces}</div>"
        f'<div><span class="note">now</span> {before}</div><div><span class="note">then</span> {after}</div></li>'
    )


def _forced(parts: Sequence[Part]) -> Iterator[str]:
    """Trees as nested lists: they read on any width, and aloud."""
    rows = forced.rows(parts)
    if not rows:
        return
    yield f'<details class="forced"{" open" if len(rows) <= _OPEN_ROWS else ""}><summary><h3>What forces what</h3></summary>'
    yield "<p>Each resource is replaced because the one above it is replaced.</p>"
    depth = -1
    for row in rows:
        if row.depth > depth:
            yield "<ul>"  # rows go down one level at a time
        else:
            yield "</li>" + "</ul></li>" * (depth - row.depth)
        depth = row.depth
        yield f"<li>{badge(row.resource.operation)} {name(row.resource.name)} "
        yield f'<span class="note">{name(label(row.part))}</span>'
    yield "</li></ul>" * (depth + 1) + "</details>"


def _picture(svg: str) -> Iterator[str]:
    """The SVG as an image, which isolates its scripts and styles; its description is text."""
    title, description = _inner(_TITLE, svg), _inner(_DESCRIPTION, svg)
    data = base64.b64encode(svg.encode("utf-8", errors="replace")).decode("ascii")
    yield "<details><summary><h3>The stack's picture</h3></summary>"
    yield from scrollable("Picture", [f'<img alt="{html(title) or "The stack"}" src="data:image/svg+xml;base64,{data}">'])
    if description:
        yield f"<details><summary>Description</summary><p>{html(description)}</p></details>"
    yield "</details>"


def _inner(pattern: re.Pattern[str], svg: str) -> str:
    found = pattern.search(svg)
    return unescape(found.group(1)) if found else ""


def _findings(title: str, findings: Sequence[Finding], parts: Sequence[Part]) -> Iterator[str]:
    if not findings:
        return
    yield f'<h3>{title}</h3><ul class="findings">'
    for each in findings:
        severity = "error" if each.severity == "error" else "warning"
        new = ' <span class="badge">new</span>' if each.is_new else ""
        part, message = html(part_of(each.path, parts)), value(each.message, "bdi")
        yield f'<li data-item data-part="{part}"><span class="badge {severity}">{severity}</span>{new} {message}'
        yield f'{place(each.place)} <span class="note">{html(each.code)}</span></li>'
    yield "</ul>"
