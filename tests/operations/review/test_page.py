"""The page of a review, read as a browser's parser reads it: what is in it, what can't get into it, how long it takes."""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from azure_gpu_operations.review.model import Operation, Part, Resource, Review
from azure_gpu_operations.review.page import page
from azure_gpu_operations.review.page.texts import compared, html, readable
from tests.operations.review import sample

_OURS = {
    *("html", "head", "meta", "link", "title", "style", "body", "header", "main", "section", "form", "script"),
    *("a", "p", "h1", "h2", "h3", "h4", "ul", "li", "dl", "dt", "dd", "div", "span", "strong", "bdi", "code", "del", "ins"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary", "figure", "figcaption", "img"),
    *("label", "select", "option", "input", "button", "svg", "g", "rect", "path", "text"),
}
_VOID = {"meta", "link", "img", "input"}
_PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" role="img"><title id="title">Stack dev</title>'
    "<desc>pool train &lt;runs&gt; as identity</desc><script>alert(1)</script></svg>"
)


class Read(HTMLParser):
    """A page's elements, texts and attributes; an element that isn't closed is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.raw: dict[str, list[str]] = {"style": [], "script": []}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in self.raw:
            self.raw[self._open[-1]].append(data)
        else:
            self.texts.append(data)

    def values(self, name: str) -> set[str]:
        return {value for _, each, value in self.attributes if each == name}

    @property
    def text(self) -> str:
        return "".join(self.texts)


@pytest.mark.parametrize(
    "review",
    [sample.sample(), sample.hostile(), sample.nothing(), sample.large(60)],
    ids=["sample", "hostile", "nothing", "large"],
)
def test_it_asks_for_nothing_and_its_policy_allows_just_what_is_in_it(review: Review) -> None:
    read = Read(page(review, {"dev": _PICTURE}))

    policy = next(value for tag, name, value in read.attributes if (tag, name) == ("meta", "content") and "default-src" in value)
    hashes = [
        base64.b64encode(hashlib.sha256("".join(read.raw[each]).encode()).digest()).decode() for each in ("style", "script")
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    assert (read.tags.count("style"), read.tags.count("script")) == (1, 1)
    assert all(each.startswith("data:") for each in read.values("src"))
    assert all(each.startswith("#") or each == "data:," for each in read.values("href"))


def test_what_comes_from_a_stack_is_text() -> None:
    read = Read(page(sample.hostile(), {each: _PICTURE for each in sample.HOSTILE}))

    assert set(read.tags) <= _OURS
    assert not [name for _, name, _ in read.attributes if name.startswith("on") or name == "style"]
    for text in sample.HOSTILE:
        assert readable(text) in read.text
        assert readable(text) in read.values("data-part")


def test_every_resource_and_property_is_there() -> None:
    review = sample.sample()
    read = Read(page(review))

    resources = [resource for stack in review.stacks for part in stack.parts for resource in part.resources]
    assert read.tags.count("details") >= len(resources)
    for resource in resources:
        for text in (resource.name, resource.urn, *(each.path for each in resource.properties)):
            assert text in read.text
        for each in resource.properties:
            assert (each.before or "not set") in read.text
            assert (each.after or "not set") in read.text


def test_the_first_lines_say_what_is_lost_its_cause_and_the_milder_way() -> None:
    text = Read(page(sample.sample())).text
    first = " ".join(text[: text.index("Stack prod")].split())

    assert "1 resource that holds data or serves traffic, and 2 more" in first
    assert "replaced storage account visionproddata36e230c0 in stack prod" in first
    assert "team: vision → perception, Pulumi.prod.yaml:10" in first
    assert "its blobs: data, models and what tasks left" in first
    assert "operations up --replace foundation-storage" in first
    assert "pools.train.size: Standard_NC4as_T4_v3 → Standard_NC8as_T4_v3, Pulumi.dev.yaml:38" in first
    assert "set pools.train.replace: drain-first" in first
    assert "at least 167.76 → at least 212.88" in first


def test_what_one_argument_forces_stands_together_with_its_cause_told_once() -> None:
    text = Read(page(team())).text
    first = " ".join(text[: text.index("Stack prod")].split())

    assert "12 replaced, 1 deleted in stack prod" in first
    assert first.count("team: vision → perception, Pulumi.prod.yaml:10") == 1
    assert first.count("which keeps the account under its name") == 1
    assert "replaced storage account data3. Lost: its blobs: data, models and what tasks left; Takes: about 2 minutes" in first
    assert "3 more" in first


def test_milder_ways_that_differ_stay_with_what_they_are_for() -> None:
    review = team()
    (stack,) = review.stacks
    dangers = (stack.dangers[0], stack.dangers[1]._replace(milder="do `that`", quota="8 vCPUs"))

    text = Read(page(review._replace(stacks=(stack._replace(dangers=dangers),)))).text

    assert "Instead: set foundation.storage.name: visionproddata36e230c0" in text
    assert "Quota meanwhile: 8 vCPUs; Instead: do that; Confirm with: operations up" in text


def team() -> Review:
    """A changed team, which replaces twelve accounts and deletes one."""
    review = sample.sample()
    one = review.stacks[0].dangers[0]
    dangers = [one._replace(azure_name=f"data{index}") for index in range(12)]
    dangers.append(one._replace(operation=Operation.DELETE, azure_name="data12", part="container_groups.check"))
    return review._replace(stacks=(review.stacks[0]._replace(dangers=tuple(dangers)),))


def test_a_rejected_stack_has_its_problems_and_no_costs_of_zero() -> None:
    review = Review(
        sample.BASE, sample.HEAD, "2026-11-26T09:30:00Z", (sample.rejected(),), missing=("the cost of dev: no price",)
    )
    text = Read(page(review)).text

    assert "No replacement, deletion or interruption is known; not every stack has a diff." in text
    assert "pools.train.size: Standard_NC6s_v3 was retired on 2025-09-30" in text
    assert "Pulumi.dev.yaml:38" in text
    assert "the cost of dev: no price" in text
    assert "0.00" not in text


def test_what_forces_what_is_a_tree_also_where_it_is_a_circle_or_has_no_end() -> None:
    names = [f"r{number}" for number in range(2_000)]
    chain = tuple(_follower(name, names[index - 1] if index else "") for index, name in enumerate(names))
    circle = (_follower("a", "b"), _follower("b", "a"), _follower("self", "self"), _follower("alone", "gone"))
    part = Part("Foundation", "base", "foundation", Operation.REPLACE, (*chain, *circle), 0)
    stack = sample.rejected()._replace(parts=(part,))

    read = Read(page(Review(sample.BASE, sample.HEAD, "", (stack,))))

    section = read.text[read.text.index("What forces what") :]
    words = set(re.findall(r"\w+", section.replace("replaced", " ")))
    assert {*names, "a", "b"} <= words
    assert not {"self", "alone"} & words


def _follower(name: str, follows: str) -> Resource:
    return Resource(f"urn:{name}", "azure-native:x:Y", name, Operation.REPLACE, (), follows)


def test_a_picture_is_an_image_with_its_words_beside_it() -> None:
    read = Read(page(sample.sample(), {"dev": _PICTURE}))

    (source,) = [value for tag, name, value in read.attributes if (tag, name) == ("img", "src")]
    assert base64.b64decode(source.partition(",")[2]).decode() == _PICTURE
    assert "Stack dev" in read.values("alt")
    assert "pool train <runs> as identity" in read.text


@given(st.text())
def test_any_text_is_readable_and_stays_outside_of_the_markup(text: str) -> None:
    read = Read(f"<p>{html(text)}</p>")

    assert read.tags == ["p"]
    assert read.text == readable(text)
    assert not set(readable(text)) & set("\x00\x1b\u202e\u2066\ud800\x85")
    readable(text).encode()


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_before_and_after_are_whole_and_only_what_differs_is_marked(first: str, before: str, after: str, last: str) -> None:
    old, new = (Read(each) for each in compared(f"{first}{before}{last}", f"{first}{after}{last}"))

    assert (old.text, new.text) == (readable(f"{first}{before}{last}"), readable(f"{first}{after}{last}"))
    assert ("del" in old.tags or "ins" in new.tags) == (old.text != new.text)


def test_e_mail_addresses_stay_out_also_where_only_their_names_differ() -> None:
    before, after = compared("owner: ada.l+x@example.com.", "owner: bob@example.com.")

    assert before == after == "<code>owner: [e-mail].</code>"
    assert readable("image@sha256:0f3a, @team and 2 @ 3") == "image@sha256:0f3a, @team and 2 @ 3"
    assert readable(f"{'x' * 1_000_000}@") == f"{'x' * 1_000_000}@"


def test_two_long_values_show_what_differs_and_fold_the_rest() -> None:
    before, after = compared(f"{'a' * 5_000}old{'b' * 5_000}", f"{'a' * 5_000}new{'b' * 5_000}")

    assert "<del>old</del>" in before
    assert "<ins>new</ins>" in after
    assert before.index("<details>") < 400
    assert "all 10,003 characters" in after


_MEASURED = """
import json, pathlib, resource
from azure_gpu_operations.review.page import page
from tests.operations.review import sample

text = page(sample.large(2_000))
used = resource.getrusage(resource.RUSAGE_SELF)
status = pathlib.Path("/proc/self/status")  # Linux counts the memory of the process that started this one into `ru_maxrss`
peak = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:")] if status.exists() else []
print(json.dumps([len(text), used.ru_utime + used.ru_stime, int(peak[0]) / 1024 if peak else used.ru_maxrss / 1024**2]))
"""


@pytest.mark.slow
def test_2000_resources_take_less_than_2_seconds_and_300_mib() -> None:
    """Seconds of the processor: on a busy machine they are the same."""
    root = Path(__file__).parents[3]
    paths = {"PYTHONPATH": os.pathsep.join(("components", "operations", "."))}
    done = subprocess.run([sys.executable, "-c", _MEASURED], cwd=root, env=paths, capture_output=True, text=True, check=True)

    length, seconds, mebibytes = json.loads(done.stdout)
    assert length > 2_000 * 500
    assert seconds < 2
    assert mebibytes < 300
