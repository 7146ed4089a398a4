"""What a pull request's own run has written, made harmless: texts, archives, remarks on lines."""

import io
import json
import re
import zipfile

import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from azure_gpu_operations.review.markdown import comment
from azure_gpu_operations.review.model import Review
from azure_gpu_operations.review.posting import untrusted
from azure_gpu_operations.review.posting.untrusted import MARKER, UntrustedError
from tests.operations.review import sample

NOTHING = "\u200b"
# How GitHub finds mentions and numbers in the text that it shows: a word character before takes the meaning away.
MENTION = re.compile(r"(?<![A-Za-z0-9_])@[A-Za-z0-9]")
NUMBER = re.compile(r"(?:(?<![A-Za-z0-9_&])|(?<=/\w))#\d|\bGH-\d", re.IGNORECASE)
PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def rendered(text: str) -> str:
    return PARSER.render(untrusted.harmless(text))


@pytest.mark.parametrize(
    "text",
    [
        "@octo/team please",
        "cc @octocat",
        "(@octocat)",
        "\\@octocat",
        "&#64;octocat",
        "&#x40;octocat",
        "&#000064;octocat",
        "&commat;octocat",
        "@\u200boctocat",
        "@\u2060octocat",
        "<b>@octocat</b>",
    ],
)
def test_nobody_is_notified(text: str) -> None:
    shown = re.sub(r"<[^>]*>", "", rendered(text)).replace("&amp;", "&")
    assert "octo" in shown
    assert not MENTION.search(shown)


@pytest.mark.parametrize("text", ["closes #12", "octo/gpu#12", "GH-12", "&#35;12", "&num;12", "(#1)"])
def test_no_issue_is_linked(text: str) -> None:
    assert not NUMBER.search(re.sub(r"<[^>]*>", "", rendered(text)).replace("&amp;", "&"))


def test_addresses_of_issues_link_none_and_those_of_sources_stay() -> None:
    assert untrusted.harmless("https://github.com/octo/gpu/issues/1") == f"https://github.com/octo/gpu/issues/{NOTHING}1"
    source = "[quotas](https://learn.microsoft.com/azure/quotas/)"
    assert untrusted.harmless(source) == source


@pytest.mark.parametrize(
    ("text", "forbidden"),
    [
        ("![x](https://evil.example/p.png)", "<img"),
        ("![x][y]\n\n[y]: https://evil.example/p.png", "<img"),
        ("<img src=https://evil.example/p.png>", "<img"),
        ("<picture><source srcset=https://evil.example></picture>", "<picture"),
        ("[approve](https://evil.example)", "<a "),
        ("[approve](https://learn.microsoft.com.evil.example/)", "<a "),
        ("[approve](https://learn.microsoft.com/ 'x' )", "title"),
        ("[approve][1]\n\n[1]: https://evil.example", "<a "),
        ("<a href=https://evil.example>approve</a>", "<a "),
        ("<https://evil.example>", "<a "),
        ("text <!-- hidden --> text", "<!--"),
        ("<!-- end of azure-gpu-section -->", "<!--"),
        ("<script>alert(1)</script>", "<script"),
        ("<details onclick=x>", "<details"),
        ("<style>p{}</style>", "<style"),
    ],
)
def test_nothing_is_loaded_linked_or_hidden(text: str, forbidden: str) -> None:
    assert forbidden not in rendered(text)


def test_what_a_report_is_made_of_stays() -> None:
    text = (
        "## Replaced\n\n| part | cost |\n| --- | --- |\n| `train` | **1.2** |\n\n<details><summary>All</summary>\n\n"
        "```diff\n- a: 1\n+ a: 2\n```\n\n</details>\n"
    )
    assert untrusted.harmless(text) == text
    assert (
        untrusted.harmless("`x < y`, a & b, `&lt;`, &#124;, ghcr.io/x@sha256:0")
        == "`x < y`, a & b, `&lt;`, &#124;, ghcr.io/x@sha256:0"
    )


@pytest.mark.parametrize("review", [sample.sample(), sample.nothing(), sample.hostile()])
def test_a_report_looks_as_it_was_written(review: Review) -> None:
    written = comment(review)
    shown = untrusted.comment_of(written)
    assert shown.replace(NOTHING, "").strip() == written.removeprefix(MARKER).replace(NOTHING, "").strip()


def test_e_mail_addresses_control_characters_and_turned_text_are_out() -> None:
    assert untrusted.harmless("by ada@example.com") == "by [e-mail address]"
    assert untrusted.harmless("a\x1b[31mb\u202ec\u2066d\x00") == "a[31mbcd"


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "piece", ["a.", "a-", "&#", "&#1", "](", "](https://learn.microsoft.com/", "<", "@", "`", "> ", "[", "#"]
)
def test_a_text_that_is_made_to_take_long_does_not(piece: str) -> None:
    text = f"{MARKER}\n" + piece * ((untrusted.MOST_COMMENT - 100) // len(piece))
    assert len(untrusted.comment_of(text)) < 2 * untrusted.MOST_COMMENT


def test_a_line_is_no_command_of_gitlab() -> None:
    assert [line[:1] for line in untrusted.harmless("/approve\n  /close\n> /merge").splitlines()] == [NOTHING] * 3


@given(st.text(alphabet=st.sampled_from("@#<>!&;[]()`~/-\nab1 :x\u200b\u202e")))
def test_whatever_is_written_nobody_is_notified_and_nothing_is_loaded(text: str) -> None:
    made = untrusted.harmless(text)
    assert not MENTION.search(made)
    assert "<!--" not in made
    html = PARSER.render(made)
    assert "<img" not in html
    assert "<a " not in html


@given(st.text(alphabet=st.sampled_from("`~\n a"), max_size=60))
def test_a_block_of_code_ends_where_it_should(text: str) -> None:
    html = PARSER.render(untrusted.fenced(text, 1000) + "\n\nafter\n")
    assert html.endswith("<p>after</p>\n")


def test_a_long_log_keeps_its_end_in_whole_lines() -> None:
    shown = untrusted.fenced("\n".join(f"line {number}" for number in range(100)), 30)
    assert shown == "```text\n[…]\nline 97\nline 98\nline 99\n```"


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("```\nopen", "open\n```"),
        ("~~~~\n```\nopen", "open\n~~~~"),
        ("<details>\n<details open>\n</details>", "</details>\n\n</details>"),
        ("</details></details>", "</details></details>"),
        ("```\n<details>\n```", "<details>\n```"),
    ],
)
def test_what_is_open_is_closed(text: str, ends: str) -> None:
    assert untrusted.closed(text).endswith(ends)
    assert untrusted.closed(untrusted.closed(text)) == untrusted.closed(text)


def test_a_comment_is_taken_without_its_marker() -> None:
    assert untrusted.comment_of(f"{MARKER}\n# Review\n{MARKER}\n") == f"# Review\n<{NOTHING}!-- azure-gpu-review -->"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# Review", "doesn't begin with the marker"),
        (f" x {MARKER}\ntext", "doesn't begin with the marker"),
        (MARKER, "is empty"),
        (f"{MARKER}\n" + "x" * untrusted.MOST_COMMENT, "more than 60,000 characters"),
        ("", "doesn't begin with the marker"),
    ],
)
def test_what_is_no_comment_is_refused(text: str, told: str) -> None:
    with pytest.raises(UntrustedError, match=told):
        untrusted.comment_of(text)


def archive(*files: tuple[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files:
            opened.writestr(name, content)
    return written.getvalue()


def test_files_are_read_by_their_names_and_nothing_else_is() -> None:
    data = archive(("comment.md", b"c"), ("../comment.md", b"evil"), ("deep/annotations.json", b"[]"), ("other", b"\xff"))
    assert untrusted.files_of(data, ("comment.md", "annotations.json")) == {"comment.md": "c"}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"no archive", "isn't a readable zip archive"),
        (archive(("comment.md", b"abc" * 100))[:-30], "isn't a readable zip archive"),
        (archive(("comment.md", b"\0" * (untrusted.MOST_BYTES + 1))), "more than 4,194,304 bytes"),
        (archive(("comment.md", b"\xff\xfe")), "isn't UTF-8"),
    ],
    ids=["other bytes", "cut", "too large", "not UTF-8"],  # an archive's bytes hold the time at which it was made
)
def test_an_archive_that_is_none_or_too_large_is_refused(data: bytes, told: str) -> None:
    with pytest.raises(UntrustedError, match=told):
        untrusted.files_of(data, ("comment.md",))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_is_refused() -> None:
    with pytest.raises(UntrustedError, match=r"comment\.md twice"):
        untrusted.files_of(archive(("comment.md", b"a"), ("comment.md", b"b")), ("comment.md",))


def test_remarks_on_lines_that_are_none_are_left_out() -> None:
    well = {"file": "Pulumi.dev.yaml", "line": 3, "level": "error", "title": "T", "message": "M\x1b"}
    wrong = [
        {**well, "file": "/etc/passwd"},
        {**well, "file": "a/../../b"},
        {**well, "file": 3},
        {**well, "line": "3"},
        {**well, "line": True},
        {**well, "line": -1},
        {**well, "level": "fatal"},
        {**well, "level": ["error"]},
        "text",
        None,
    ]
    assert untrusted.annotations_of(json.dumps([well, *wrong])) == [("Pulumi.dev.yaml", 3, "failure", "T", "M")]
    [long] = untrusted.annotations_of(json.dumps([{**well, "line": 0, "title": "t" * 9999, "message": ""}]))
    assert (long.line, len(long.title), long.message) == (1, 200, "t" * 9999)
    assert len(untrusted.annotations_of(json.dumps([well] * 10_000))) == untrusted.MOST_ANNOTATIONS


@pytest.mark.parametrize("text", ["{", "{}", "[" * 100_000, "3"])
def test_remarks_that_are_no_list_are_refused(text: str) -> None:
    with pytest.raises(UntrustedError, match=r"annotations\.json isn't"):
        untrusted.annotations_of(text)
