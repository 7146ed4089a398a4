"""Writes a review as Markdown: whole, or as a comment of a pull request of at most `LIMIT` characters. Pure.

It begins with `MARKER`, by which a comment is found again. Replacements and deletions come first, then totals, then the rest,
folded. When it has to be cut, the first lines and the totals stay. Texts of a stack are escaped: no mention, no link, no HTML, no
line breaks.
"""

import re
import sys
from collections.abc import Iterator, Sequence

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.review.model import (
    DONE,
    Amount,
    Budget,
    Costs,
    Danger,
    Operation,
    Outcome,
    Part,
    Review,
    StackReview,
    by_cause,
    without_mail,
)

MARKER = "<!-- azure-gpu-review -->"
LIMIT = 60_000
_SHOWN_DANGERS = 5  # of a stack, before the rest is folded
_TOGETHER = 3  # that one key forces are told in one line
_MOST_NAMES = 4  # of resources in one line: a reader who approves reads some sixty words
_LONGEST = 480  # characters of a text
_PLURAL = {
    Operation.DELETE: "to delete",
    Operation.REPLACE: "to replace",
    Operation.UPDATE: "to update",
    Operation.CREATE: "to create",
    Operation.IMPORT: "to import",
}
_CUT = "\n*Cut: the whole report is in the artifact, `review.md`.*\n"
_REST = "\n*The rest is cut.*"


Section = tuple[str, list[str]]  # title and lines


def whole(review: Review) -> str:
    """The report, without a limit."""
    return comment(review, sys.maxsize)


def comment(review: Review, limit: int = LIMIT) -> str:
    """The report, cut to `limit` characters."""
    head = "\n".join([MARKER, *_head(review), ""])
    foot = "\n".join(["", *_foot(review), ""])
    room = limit - len(head) - len(foot) - len(_CUT)
    kept: list[str] = []
    cut = ""
    for stack in review.stacks:
        for section in _sections(stack):
            folded = _within(*section, room)
            cut = cut if folded == _folded(*section) else _CUT
            kept.append(folded)
            room -= len(folded)
    return (head + "".join(kept) + cut + foot)[:limit]


def _head(review: Review) -> Iterator[str]:
    if not review.stacks:
        yield "**No stack is changed.**"
        return
    for stack in review.stacks:
        yield f"### Stack {code(stack.stack)}: {_summary(stack)}"
        entries = list(_danger_lines(stack.dangers))
        yield from (f"- {each}" for each in entries[:_SHOWN_DANGERS])
        if len(entries) > _SHOWN_DANGERS:
            yield f"- and {len(entries) - _SHOWN_DANGERS} more, below"
        for each in stack.problems[:_SHOWN_DANGERS]:
            yield f"- :no_entry: {text(each.message)}{_at(each.place.file, each.place.line)}"
        for each in stack.broken[:_SHOWN_DANGERS]:
            yield f"- :no_entry: {code(each.code)} {text(each.message)}{_at(each.place.file, each.place.line)}"
        if len(stack.broken) > _SHOWN_DANGERS:
            yield f"- and {len(stack.broken) - _SHOWN_DANGERS} more broken policies"
        if stack.outcome in (Outcome.FAILED,):
            yield from (f"- :grey_question: {text(each)}" for each in stack.missing[:_SHOWN_DANGERS])
        cost = _cost_line(stack)
        if cost:
            yield from ("", cost)  # a separate line, not part of the last entry


def _summary(stack: StackReview) -> str:
    match stack.outcome:
        case Outcome.REJECTED:
            count = len(stack.problems)
            return f"rejected, {count} problem{'' if count == 1 else 's'}"
        case Outcome.FAILED:
            return "not reviewed"
        case Outcome.DELETED:
            return f"its file is deleted; deployed resources stay and are billed until `{COMMAND} down`"
        case Outcome.UNCHANGED:
            return f"unchanged, {stack.unchanged} resources"
        case _:
            counts = [f"{number} {words}" for operation, words in _PLURAL.items() if (number := stack.count(operation))]
            entries = ", ".join([*counts, f"{stack.unchanged} unchanged"])
            return f"new: {entries}" if stack.outcome is Outcome.NEW else entries


def _danger_lines(dangers: Sequence[Danger]) -> Iterator[str]:
    """A line each, and one line for all those that the same key forces."""
    for those in by_cause(dangers):
        if len(those) < _TOGETHER:
            yield from map(_danger, those)
        else:
            yield _dangers(those)


def _dangers(those: Sequence[Danger]) -> str:
    first, held = those[0], [each for each in those if each.is_held]
    sign = ":red_circle:" if held else ":warning:"
    done = " and ".join(dict.fromkeys(DONE[each.operation] for each in those))
    names = _some([f"**{text(each.what)} {code(each.name)}** ({text(each.lost)})" for each in held])
    others = [f"{text(each.what)} {code(each.name)}" for each in those if not each.is_held]
    refused = [code(each.refused) for each in those if each.refused]
    pieces = [
        f"{sign} {code(first.cause)}{_changed(first)}{_at(first.place.file, first.place.line)}: "
        f"**{len(those)} are {done}**" + (f", with data: {names}" if held else ""),
        f"alternative: {text(first.milder)}" if first.milder else "",
        f"`operations up` requires {refused[0]}" + (f" and {len(refused) - 1} more" if refused[1:] else "") if refused else "",
        f"{len(others)} hold no data" if held and others else _some(others),
    ]
    return "; ".join(filter(None, pieces))


def _danger(each: Danger) -> str:
    sign = ":red_circle:" if each.is_held else ":warning:"
    words = [f"{sign} **{text(each.what)} {code(each.name)} is {DONE[each.operation]}**"]
    if each.cause:
        words.append(f"by {code(each.cause)}{_changed(each)}{_at(each.place.file, each.place.line)}")
    entries = " ".join(words)
    details = [
        f"lost: {text(each.lost)}" if each.lost else "",
        f"{text(each.minutes)} minutes" if each.minutes else "",
        f"needs meanwhile: {text(each.quota)}" if each.quota else "",
        f"alternative: {text(each.milder)}" if each.milder else "",
        f"`operations up` requires {code(each.refused)}" if each.refused else "",
    ]
    return "; ".join(each for each in [entries, *details] if each)


def _changed(each: Danger) -> str:
    return f": {_change(each.before, each.after)}" if each.before is not None or each.after is not None else ""


def _some(written: Sequence[str]) -> str:
    more = f" and {len(written) - _MOST_NAMES} more" if len(written) > _MOST_NAMES else ""
    return ", ".join(written[:_MOST_NAMES]) + more


def _change(before: str | None, after: str | None) -> str:
    return f"{code(before) if before is not None else 'not set'} -> {code(after) if after is not None else 'not set'}"


def _at(file: str, line: int) -> str:
    return f" ({code(f'{file}:{line}')})" if file and line else ""


def _cost_line(stack: StackReview) -> str:
    costs = stack.costs
    if costs is None or (costs.before is None and costs.after is None):
        return ""
    entries = [
        f"**USD a month** idle: {_pair(costs.before, costs.after, 'idle_month')}",
        f"expected: {_pair(costs.before, costs.after, 'expected_month')}",
        f"most: {_pair(costs.before, costs.after, 'most_month')}",
        f"an hour at most: {_pair(costs.before, costs.after, 'most_hour')}",
    ]
    line = "; ".join(entries)
    return line + (f". {_budget(costs.budget)}" if costs.budget is not None else "")


def _budget(budget: Budget) -> str:
    sign = ":red_circle: " if budget.is_over else ""
    return f"{sign}The expected cost: {budget.expected_month.against(budget.monthly_usd)}"


def _pair(before: Costs | None, after: Costs | None, name: str) -> str:
    was, now = (_amount(getattr(each, name)) if each is not None else "0" for each in (before, after))
    return was if was == now else f"{was} -> **{now}**"


def _amount(amount: Amount) -> str:
    """An amount; unknown costs are never 0."""
    if not amount.unknown:
        limited = f"at most {amount.known + amount.limit:,.2f}"
        if amount.known and amount.limit:
            limited = f"{limited} ({amount.limit:,.2f} of it an upper limit)"
        return limited if amount.limit else f"{amount.known:,.2f}"
    more = f"; at most {amount.limit:,.2f} more" if amount.limit else ""
    return f"at least {amount.known:,.2f} ({amount.unknown} not known{more})" if amount.known or more else "not known"


def _sections(stack: StackReview) -> Iterator[Section]:
    if len(stack.dangers) >= _TOGETHER:
        yield f"{stack.stack}: all replacements and deletions", [f"- {_danger(each)}" for each in stack.dangers]
    if stack.parts:
        yield f"{stack.stack}: changes by part", [line for part in stack.parts for line in _part(part)]
    yield from _costs(stack)
    yield from _warnings(stack, is_new=True)
    if stack.placeholders:
        lines = [f"- {code(each.path)}: {text(each.why)}" for each in stack.placeholders]
        yield f"{stack.stack}: placeholder values", lines
    if stack.missing:
        yield f"{stack.stack}: missing from this report", [f"- {text(each)}" for each in stack.missing]
    yield from _warnings(stack, is_new=False)


def _warnings(stack: StackReview, *, is_new: bool) -> Iterator[Section]:
    """Those that the change brings, or those that the base has too."""
    shown = [each for each in stack.findings if each.is_new is is_new and each not in stack.broken]
    if shown:
        lines = [f"- {code(each.code)} {text(each.message)}{_at(each.place.file, each.place.line)}" for each in shown]
        title = f"{len(shown)} {'new' if is_new else 'earlier'} warning{'' if len(shown) == 1 else 's'}"
        yield f"{stack.stack}: {title}", lines


def _folded(title: str, lines: Sequence[str]) -> str:
    return "\n".join(["", f"<details><summary>{_html(title)}</summary>", "", *lines, "", "</details>", ""])


def _within(title: str, lines: Sequence[str], room: int) -> str:
    """The section, cut to the available room; "" if no line fits."""
    whole = _folded(title, lines)
    if len(whole) <= room:
        return whole
    shown: list[str] = []
    left = room - len(_folded(title, [_REST]))
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            break
        shown.append(line)
    return _folded(title, [*shown, _REST]) if shown else ""


def _part(part: Part) -> Iterator[str]:
    counts = {operation: sum(each.operation is operation for each in part.resources) for operation in DONE | _PLURAL}
    entries = ", ".join(f"{count} {operation.value}" for operation, count in counts.items() if count)
    yield f"- **{text(part.component)} {code(part.name) if part.name else ''}**: {entries}, {part.unchanged} unchanged"
    for each in part.resources:
        follows = f", as {code(each.follows)} is" if each.follows else ""
        yield f"  - {each.operation.value} {code(each.name)} ({code(each.type)}){follows}"
        for one in each.properties:
            forces = " **forces it**" if one.forces else ""
            yield f"    - {code(one.path)}: {_change(one.before, one.after)}{forces}"


def _costs(stack: StackReview) -> Iterator[Section]:
    costs = stack.costs
    if costs is None or not costs.parts:
        return
    lines = [
        "| part | machines | idle USD/h | at most USD/h | expected USD/month | price of |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for each in costs.parts:
        machines = each.machines_after or "-"
        if each.machines_before != each.machines_after:
            machines = f"{each.machines_before or '-'} -> {each.machines_after or '-'}"
        cells = [f"{_pair(each.before, each.after, name)}" for name in ("idle_hour", "most_hour", "expected_month")]
        dates = text(", ".join(each.price_dates)) or "not known"
        lines.append(" | ".join(["", *map(_cell, [code(each.part), text(machines), *cells, dates]), ""]).strip())
    lines.append("")
    lines.append(
        "List prices of machines, private endpoints, NAT gateways and Premium registries, without storage, logs and traffic. "
        f"Expected: all machines for {costs.busy_hours:g} of 730 hours."
    )
    if costs.after is not None:
        spot = _pair(costs.before, costs.after, "on_demand_most_hour")
        lines.append(f"Maximum per hour without Spot: {spot} USD. {_gpu_hours(costs.before, costs.after)}.")
    yield f"{stack.stack}: costs", lines


def _gpu_hours(before: Costs | None, after: Costs) -> str:
    """`GPU-hours a month, idle / expected / at most: 0 / 80 / 730 -> 0 / 160 / 1,460`."""
    was, now = (
        " / ".join("not known" if each is None else f"{each:,.0f}" for each in found)
        for found in (
            (each.gpu_hours_idle_month, each.gpu_hours_expected_month, each.gpu_hours_most_month)
            for each in (before or after, after)
        )
    )
    return f"GPU-hours a month, idle / expected / at most: {was if was == now else f'{was} -> {now}'}"


def _foot(review: Review) -> Iterator[str]:
    if review.missing:
        yield from (f"- {text(each)}" for each in review.missing)
    lanes = {stack.lane.value for stack in review.stacks}
    against = "the deployed state" if lanes == {"live"} else "the base commit on an embedded Azure"
    yield f"<sub>Quota and capacity aren't checked here; `{COMMAND} preflight` checks them, with a login.</sub><br>"
    yield f"<sub>{review.head[:12]} against {against}, {review.base[:12]}; {review.made}</sub>"


def code(value: str) -> str:
    """A text of a stack as inline code on one line; backticks can't end it."""
    plain = _one_line(value).replace("`", "'")
    return f"`{plain}`" if plain.strip() else "`''`"


def text(value: str) -> str:
    """A text in a sentence, escaped. Text between backticks is code; mentions and links are disabled."""
    plain = _one_line(value)
    pieces = plain.split("`")
    if len(pieces) % 2 == 0:  # one backquote has no other
        pieces = [plain.replace("`", "'")]
    return "".join(code(each) if number % 2 else _escaped(each) for number, each in enumerate(pieces))


def _escaped(plain: str) -> str:
    escaped = re.sub(r"([\\*\[\]|~#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))", r"\\\1", plain)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace("@", "@\u200b")


def _cell(written: str) -> str:
    """A table cell with escaped bars, which end a cell also in code."""
    return re.sub(r"(?<!\\)\|", r"\\|", written)


def _one_line(value: str) -> str:
    plain = without_mail("".join(each if each.isprintable() else " " for each in value[: 4 * _LONGEST]))
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"


def _html(value: str) -> str:
    plain = _one_line(value).replace("`", "'")
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "@\u200b").replace("#", "#\u200b")
