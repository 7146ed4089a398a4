"""JSON as Resource Manager takes it: what is read though it is no JSON, and what is told of what can't be."""

import json
from typing import Any

from hypothesis import example, given, strategies as st

from azure_gpu.formats import lenient_json
from tests.support.tables import of_table

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def value_of(text: str) -> Any:
    document, problems = lenient_json.read(text, "f.json")
    assert document is not None
    assert problems == []
    return document.value


@of_table("text", "value")
def test_what_is_more_than_json_is_read(text: str, value: Any) -> None:
    assert value_of(text) == value


def test_every_value_has_the_line_at_which_it_is_written() -> None:
    document, _ = lenient_json.read('{\n "a": [\n  1,\n  {"b": "x\ny",\n   "c.d": 2}\n ]\n}', "f.json")
    assert document is not None
    assert document.lines == {"": 1, "a": 2, "a[0]": 3, "a[1]": 4, "a[1].b": 4, "a[1]['c.d']": 6}
    assert document.at("a[1].b.nothing") == "f.json:4: a[1].b.nothing"


@of_table("text", "line", "message", "fix")
def test_a_mistake_is_told_with_its_line_and_the_likely_fix(text: str, line: int, message: str, fix: str) -> None:
    _, problems = lenient_json.read(text, "f.json")
    assert [(problem.path, problem.message, problem.fix) for problem in problems] == [(f"f.json:{line}", message, fix)]


def test_the_quote_that_is_missing_is_suspected_where_its_text_begins() -> None:
    document, problems = lenient_json.read('{\n "name": "main,\n "image": "x"\n}', "f.json")
    assert document is None
    assert problems[-1].fix == 'is the closing " of the text at line 2 missing? It runs over several lines'


def test_one_look_finds_every_mistake() -> None:
    _, problems = lenient_json.read('{"a": NaN\n"b": True,\n"a": x}', "f.json")
    assert [problem.path for problem in problems] == ["f.json:1", "f.json:1", "f.json:2", "f.json:3", "f.json:3"]


def test_the_body_of_az_deployment_is_read_though_its_template_has_a_bare_key() -> None:
    text = '{"properties": {"parameters": {"p": {"value": 1}}, "mode": "Incremental", template:{ // mine\n "resources": [],\n}}}'
    document, problems = lenient_json.read_deployment_body(text)
    assert problems == []
    assert document is not None
    assert document.value["properties"] == {
        "parameters": {"p": {"value": 1}},
        "mode": "Incremental",
        "template": {"resources": []},
    }
    assert document.line_of("properties.template.resources") == 2


def test_deep_nesting_is_refused() -> None:
    document, problems = lenient_json.read("[" * 10_000, "f.json")
    assert document is None
    assert [problem.message for problem in problems] == ["objects and lists are nested more than 60 deep"]


@given(VALUES)
def test_json_is_read_as_json(value: Any) -> None:
    assert value_of(json.dumps(value)) == value
    assert value_of(json.dumps(value, indent=1, ensure_ascii=False)) == value


@given(st.text() | st.text(alphabet='{}[]",:/*\\ \n1a-.'))
@example('{"a":1e')
@example("\\")
@example('"\\u12')
def test_no_text_is_too_much_for_it(text: str) -> None:
    for read in (lambda: lenient_json.read(text, "f"), lambda: lenient_json.read_deployment_body(text)):
        document, problems = read()
        assert document is not None or problems
