"""YAML within limits: what is read as what, and what is refused in one line before anything is made of it."""

import contextlib
import re
import tracemalloc
from collections.abc import Iterator
from typing import Any, ClassVar
from unittest import mock

import pytest
import yaml
from hypothesis import example, given, strategies as st

from azure_gpu.formats import bounded_yaml, located_yaml
from azure_gpu.formats.bounded_yaml import BoundedYamlError
from tests.support.container_group_files import FILES, PASSWORD
from tests.support.rows import each_row
from tests.support.tables import of_table

DOUBLED = "x0: &a0 [1, 2, 3]\n" + "".join(f"x{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 36))
MERGED = "x0: &a0 {k: 1}\n" + "".join(f"x{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 36))
CHAINED = "x0: &a0 1\n" + "".join(f"x{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 200))


LEAST_MOST = 5_000  # values that a text may have in the tests of that limit, so that they are made soon


@pytest.fixture(autouse=True, scope="module")
def lower_limit() -> Iterator[None]:
    with mock.patch.object(bounded_yaml, "MOST_VALUES", LEAST_MOST):
        yield


@of_table("text", "value")
def test_values_are_those_of_yaml_and_dates_stay_text(text: str, value: object) -> None:
    assert bounded_yaml.load(text) == value


@pytest.mark.parametrize("digits", [400, 4_301, 50_000])
def test_a_number_too_long_for_one_is_text(digits: int) -> None:
    assert bounded_yaml.load(f"a: {'9' * digits}") == {"a": "9" * digits}
    sexagesimal = "1" + ":1" * (digits // 2)
    assert bounded_yaml.load(f"a: {sexagesimal}") == {"a": sexagesimal}


def test_a_date_is_written_as_it_was_read() -> None:
    text = "a: 2026-11-31\nb: '2026-11-30'\n"
    assert bounded_yaml.dump(bounded_yaml.load(text)) == text


class _Core(yaml.SafeLoader):
    """Reads plain words by the core schema of YAML 1.2 (its section 10.3.2)."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


for _tag, _words in {
    "null": "null|Null|NULL|~|",
    "bool": "true|True|TRUE|false|False|FALSE",
    "int": "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
}.items():
    _Core.add_implicit_resolver(f"{bounded_yaml.TAG}{_tag}", re.compile(f"(?:{_words})$"), [None])

# Words that look like values of YAML, and any text.
WORDS = st.text("0123456789abcdefoxXE+-_.:T ~", max_size=12) | st.text(st.characters(codec="utf-8"))


@given(WORDS)
@example("075088")
@example("12e45")
@example("0o17")
def test_text_that_is_written_stays_text_for_readers_of_yaml_1_1_and_1_2(text: str) -> None:
    for flow in (False, True):
        written = bounded_yaml.dump({text: text}, flow=flow)
        assert yaml.safe_load(written) == {text: text}
        assert yaml.load(written, _Core) == {text: text}


@of_table("text", "written")
def test_text_that_the_engine_takes_for_a_number_or_a_date_is_quoted(text: str, written: str) -> None:
    assert bounded_yaml.dump(text).removesuffix("...\n").rstrip() == written


@of_table(
    "text",
    "said",
    more=[
        ("[" * 2_000 + "]" * 2_000, "line 1: this is nested more than 64 deep"),
        (CHAINED, "nested more than 64 deep"),
        (DOUBLED, f"line 11: these are more than {LEAST_MOST} values"),
        (MERGED, f"these are more than {LEAST_MOST} values"),
        ("a: [" + "1, " * LEAST_MOST + "1]\n", f"line 1: these are more than {LEAST_MOST} values"),
        ("a" * 1_000_001, "it has 1000001 characters, and at most 1000000 are read"),
    ],
)
def test_what_is_no_yaml_or_too_much_is_one_line(text: str, said: str) -> None:
    with pytest.raises(BoundedYamlError) as refused:
        bounded_yaml.load(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", [DOUBLED, MERGED, CHAINED], ids=["doubled", "merged", "chained"])
def test_what_is_too_much_takes_no_memory(text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(BoundedYamlError):
            bounded_yaml.load(text)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text", [f"a: *{PASSWORD}", f"a: !{PASSWORD}!x y", f"a: '{PASSWORD}", f"%{PASSWORD}\na", f"- &{PASSWORD} a\n- b: @"]
)
def test_no_word_of_the_text_is_in_the_message(text: str) -> None:
    with pytest.raises(BoundedYamlError) as refused:
        bounded_yaml.load(text)
    assert PASSWORD not in str(refused.value)


def test_nodes_have_their_places_and_empty_documents_are_left_out() -> None:
    node = bounded_yaml.compose("a: 1\nb: 2\n")
    assert isinstance(node, yaml.MappingNode)
    assert [key.start_mark.index for key, _ in node.value] == [0, 5]
    assert bounded_yaml.compose("# nothing\n") is None
    assert len(bounded_yaml.compose_all("---\n---\na\n---\nb\n")) == 2


def read(text: str) -> object:
    """The value, or the message."""
    try:
        return repr(bounded_yaml.load(text))
    except BoundedYamlError as error:
        return error.args


@given(
    st.text(alphabet="ab:- \n\t{}[]&*!'\"|>#,?1%@<=0x_.\\ud8TZ", max_size=60)
    | st.lists(
        st.sampled_from(["- ", "a: ", "\n", "\n  ", "{", "}", "[", "]", ", ", "1a?#a: ", "? !", "\t", "---\n", "\ufeff"])
    ).map("".join)
)
@example("{1a?#a: }")
@example("? !")
@example("\x85\ufeffa")
@example("a:\tb")
@example("---\n---\na")
@example("[" * 64 + "]" * 64)
@example("[" * 65 + "]" * 65)
def test_no_text_raises_anything_else_and_both_parsers_read_the_same(text: str) -> None:
    found = read(text)
    with contextlib.suppress(BoundedYamlError):
        yaml.safe_dump(bounded_yaml.load(text), allow_unicode=True).encode()
    with mock.patch.object(bounded_yaml, "_by_libyaml", return_value=None):
        assert read(text) == found


REFUSED = [
    "a: [",
    "a: !x 1",
    "[" * 10_500,
    "[" * 2_000,
    "- " * 10_500,
    "- " * 2_000 + "a",
    "a: &x [*x]",
    'a: "\\ud83d"',
    "a:\n\t- b",
]


@each_row("text", [*FILES.values(), *REFUSED])
def test_both_parsers_read_the_same_at_the_same_lines_and_refuse_it_in_the_same_words(text: str) -> None:
    found = located_yaml.read(text, "f", fast=True)
    with mock.patch.object(bounded_yaml, "_by_libyaml", return_value=None):
        assert located_yaml.read(text, "f") == found
