"""What a terminal and a workflow of GitHub Actions are shown of texts that somebody else wrote."""

import io
import re
import sys

import pytest
from hypothesis import given, strategies as st

from azure_gpu_operations import terminal
from azure_gpu_operations.terminal import Uncommanded, coloured


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\tä\n", "plain\tä\n"),
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        ("\x1b[38;2;1;2;3mred\nplain", "\x1b[38;2;1;2;3mred\x1b[0m\nplain"),
        ("\x1b]0;TITLE\x07\x1b[2J\x1b[31mred\x1b]52;c;aGk=\x07", "\x1b[31mred\x1b[0m"),
        ("a\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("a\x1b]0;never closed\nb", "a\nb"),
        ("a\x9b2Jb\x9d0;t\x9cc", "abc"),
        ("a\x1bPdata\x1b\\b\x1bcc\x1b(0d", "abcd"),
        ("\x1b[", ""),
        ("10 %\r50 %\r100 %\r\nnext\r\n", "100 %\nnext\n"),
        ("a\x08\x00b\u202ec", "a  b c"),
    ],
)
def test_colours_stay_and_nothing_else_that_a_terminal_acts_upon(text: str, shown: str) -> None:
    assert coloured(text) == shown


@given(st.text(alphabet="\x1b\x9b\x9d[]mP;0123\\\x07\r\nac\t\x90(", max_size=30))
def test_no_text_leaves_an_escape_but_colours(text: str) -> None:
    rest = re.sub(r"\x1b\[[0-9;:]*m", "", coloured(text))
    assert all(each.isprintable() or each in "\t\n" for each in rest)
    assert coloured(coloured(text)) == coloured(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::add-mask::a", ": :add-mask::a"),
        ("    ::stop-commands::x\n", "    : :stop-commands::x\n"),
        ("a\r::error::b", "a\r: :error::b"),
        ("\u00ad::error::b", "\u00ad: :error::b"),
        (":\u034f:error::b", ": \u034f:error::b"),
        ("text ##[add-mask]x", "text # #[add-mask]x"),
        ("a #\u200b#\u200b[error]b", "a # \u200b#\u200b[error]b"),
        ("std::vector and ::x", "std::vector and ::x"),
        ("# heading\n## [link]", "# heading\n## [link]"),
    ],
)
def test_what_a_runner_obeys_is_broken(text: str, shown: str) -> None:
    assert Uncommanded()(text) == shown


def test_a_line_that_goes_on_has_one_beginning() -> None:
    clean = Uncommanded()
    assert [clean(part) for part in ("  ", "::add-mask::x", "::y::", "\n", "::z::")] == [
        "  ",
        ": :add-mask::x",
        "::y::",
        "\n",
        ": :z::",
    ]


@pytest.mark.parametrize(
    ("stream", "environment", "shown"),
    [
        (io.StringIO(), {}, "\x1b[2J::error::x\n"),
        (Terminal(), {}, "::error::x\n"),
        (io.StringIO(), {"GITHUB_ACTIONS": "true"}, ": :error::x\n"),
    ],
    ids=["pipe", "terminal", "GitHub Actions"],
)
def test_both_streams_are_guarded_where_somebody_acts_upon_them(
    stream: io.StringIO, environment: dict[str, str], shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = type(stream)()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", errors)
    text = "::error::x" if environment else "\x1b[2J::error::x"
    with terminal.guarded(environment):
        print(text, flush=True)
        print(text, file=sys.stderr)
    assert (stream.getvalue(), errors.getvalue()) == (shown, shown)
    assert sys.stdout is stream
