"""Writes the review's HTML page: dangers, totals before and after, filters, then the stacks."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from azure_gpu_operations.review.model import Outcome, Review, StackReview
from azure_gpu_operations.review.page import dangers, money
from azure_gpu_operations.review.page.markup import DONE, WORST_FIRST, Row, now_then, scrollable, table
from azure_gpu_operations.review.page.stack_section import counts, missing, section
from azure_gpu_operations.review.page.texts import code, cut, html, name, readable
from azure_gpu_operations.review.page.whose import label

_COMMIT = 10  # characters of a commit that are shown
_OPTION = 60  # characters of a name in a list of filters


def page(review: Review, pictures: Mapping[str, str] | None = None) -> str:
    """The file's text. `pictures` has SVGs by stack, such as `graph` draws them."""
    return "\n".join(_document(review, pictures or {})) + "\n"


def _document(review: Review, pictures: Mapping[str, str]) -> Iterator[str]:
    style, script = _beside("page.css"), _beside("page.js")
    allowed = f"style-src {_hash(style)}; script-src {_hash(script)}; img-src data:"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">'
    yield '<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">'
    yield f"<title>Review of {html(review.head[:_COMMIT])}</title>\n<style>{style}</style>\n</head>\n<body>"
    yield '<a class="skip" href="#main">To the review</a>\n<header><h1>Review of what changes</h1>'
    yield f"<p>{_commit(review.head)} compared with {_commit(review.base)}, made {html(review.made)}.</p></header>"
    yield '<main id="main" tabindex="-1">'
    yield from _first_lines(review)
    if any(stack.parts or stack.dangers for stack in review.stacks):
        yield from _filters(review)
    for number, stack in enumerate(review.stacks):
        yield from section(stack, number, pictures.get(stack.stack))
    if review.changed_files:
        yield f"<section><details><summary><h2>Changed files ({len(review.changed_files):,})</h2></summary><ul>"
        yield from (f"<li>{code(each)}</li>" for each in review.changed_files)
        yield "</ul></details></section>"
    yield f"</main>\n<script>{script}</script>\n</body>\n</html>"


def _commit(commit: str) -> str:
    """A commit's short id; a trailing `+` means uncommitted changes."""
    shown = code(commit[:_COMMIT])
    return f"{shown} with uncommitted changes" if commit.endswith("+") else shown


def _first_lines(review: Review) -> Iterator[str]:
    yield '<section aria-labelledby="first"><h2 id="first">What to look at first</h2>'
    yield f'<p class="verdict">{_verdict(review)}</p>'
    yield from dangers.of_review(review)
    if review.stacks:
        headings = ("Stack", "Expected, now → then", "Change", "At most, then", "Resources")
        rows = (_stack_row(stack, number) for number, stack in enumerate(review.stacks))
        yield from scrollable("Stacks", table("Stacks, USD a month", headings, rows, text_columns=(4,)))
    yield from missing(review.missing)
    yield "</section>"


def _verdict(review: Review) -> str:
    if not review.stacks:
        return "This change affects no stack file."
    found = [one for stack in review.stacks for one in stack.dangers]
    held = sum(one.is_held for one in found)
    if held:
        rest = f", and {len(found) - held:,} more" if len(found) > held else ""
        which = "1 resource that holds data or serves traffic" if held == 1 else f"{held:,} that hold data or serve traffic"
        return f"Replaced, deleted or interrupted: {which}{rest}."
    if found:
        return f"Replaced, deleted or interrupted: {len(found):,}, none of which is known to hold data or to serve traffic."
    if all(stack.outcome in (Outcome.CHANGED, Outcome.UNCHANGED, Outcome.NEW) for stack in review.stacks):
        return "Nothing is replaced, deleted or interrupted."
    return "No replacement, deletion or interruption is known; not every stack has a diff."


def _stack_row(stack: StackReview, number: int) -> Row:
    heading = f'<a href="#s{number}">{name(stack.stack)}</a>'
    if stack.costs is None:
        none = money.NOTHING if stack.outcome is Outcome.UNCHANGED else money.NOT_KNOWN
        return Row(heading, (none, none, none, counts(stack)))
    before, after = stack.costs.before, stack.costs.after
    now, then = before.expected_month if before else None, after.expected_month if after else None
    expected = now_then(money.amount(now), money.amount(then))
    return Row(heading, (expected, money.change(now, then), money.amount(after.most_month if after else None), counts(stack)))


def _filters(review: Review) -> Iterator[str]:
    """Hidden until the script is there that they need."""
    stacks = dict.fromkeys(stack.stack for stack in review.stacks)
    parts = sorted({label(part) for stack in review.stacks for part in stack.parts})
    used = {resource.operation for stack in review.stacks for part in stack.parts for resource in part.resources}
    used |= {one.operation for stack in review.stacks for one in stack.dangers}
    yield '<form id="filters" role="search" aria-label="Filters" hidden>'
    yield _select("stack", "Stack", {each: cut(readable(each), _OPTION) for each in stacks})
    yield _select("operation", "Operation", {each.value: DONE[each] for each in WORST_FIRST if each in used})
    yield _select("part", "Part", {each: cut(readable(each), _OPTION) for each in parts})
    yield '<label>Text <input type="search" name="text" autocomplete="off" spellcheck="false"></label>'
    yield '<button type="reset">Clear</button> <button type="button" id="unfold">Open all parts</button>'
    yield '<p id="shown" role="status"></p></form>'


def _select(field: str, title: str, options: Mapping[str, str]) -> str:
    choices = "".join(f'<option value="{html(key)}">{html(text)}</option>' for key, text in options.items())
    return f'<label>{title} <select name="{field}"><option value="">all</option>{choices}</select></label>'


@cache
def _beside(file: str) -> str:
    return Path(__file__).with_name(file).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash by which the content security policy allows a text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
