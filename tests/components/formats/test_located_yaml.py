"""YAML with the line of each value, and what is said of YAML that isn't right."""

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Severity
from azure_gpu.formats import located_yaml
from tests.support.container_group_files import GPU_YAML
from tests.support.tables import of_table


def told(text: str) -> list[str]:
    return [str(problem) for problem in located_yaml.read(text, "f.yaml")[1]]


def test_every_value_has_its_line() -> None:
    document, problems = located_yaml.read(GPU_YAML, "gpu-deploy-aci.yaml")
    assert document is not None
    assert problems == []
    assert document.value["properties"]["containers"][0]["name"] == "gpucontainer"
    assert document.line_of("properties.containers[0].properties.resources.requests.gpu.sku") == 15
    assert document.line_of("properties.containers[0].properties.resources.requests.gpu.colour") == 13  # of what is around it
    assert document.at("properties.osType") == "gpu-deploy-aci.yaml:16: properties.osType"


def test_a_key_with_dots_is_one_step_of_a_path() -> None:
    document, _ = located_yaml.read("a:\n  x.pem: 1\n", "f.yaml")
    assert document is not None
    assert document.line_of("a['x.pem']") == 2


def test_an_unquoted_date_is_the_text_that_it_was_with_advice_to_quote_it() -> None:
    document, problems = located_yaml.read("name: a\napiVersion: 2018-10-01\n", "f.yaml")
    assert document is not None
    assert document.value == {"name": "a", "apiVersion": "2018-10-01"}
    assert [problem.severity for problem in problems] == [Severity.WARNING]
    assert problems[0].path == "f.yaml:2: apiVersion"
    assert "quotes" in problems[0].fix


def test_tabs_are_named_with_all_their_lines() -> None:
    assert told("a:\n\tb: 1\n\tc: 2\n") == [
        "f.yaml:2: lines 2, 3 are indented with tabs, which YAML doesn't take; "
        "fix: replace each tab by spaces, as many as the lines around have"
    ]


def test_a_key_that_is_there_twice_is_said_and_the_later_counts() -> None:
    document, problems = located_yaml.read("a: 1\nb: 2\na: 3\n", "f.yaml")
    assert document is not None
    assert document.value["a"] == 3
    assert [problem.path for problem in problems] == ["f.yaml:3: a"]
    assert "line 1" in problems[0].message


def test_anchors_and_merge_keys_are_read() -> None:
    document, problems = located_yaml.read("base: &b {cpu: 1, memory: 2}\none: *b\ntwo:\n  <<: *b\n  cpu: 4\n", "f.yaml")
    assert document is not None
    assert problems == []
    assert document.value["one"] == {"cpu": 1, "memory": 2}
    assert document.value["two"] == {"cpu": 4, "memory": 2}
    assert document.line_of("two.cpu") == 5


def test_an_unquoted_placeholder_in_braces_is_kept_as_one() -> None:
    document, problems = located_yaml.read("image: {{ image }}\n", "f.yaml")
    assert document is not None
    assert (document.value, problems) == ({"image": "{{…}}"}, [])


@pytest.mark.parametrize("word", ["yes", "No", "on", "OFF", "true"])
def test_words_of_yaml_are_booleans_and_as_keys_words(word: str) -> None:
    document, _ = located_yaml.read(f"{word}: {word}\n", "f.yaml")
    assert document is not None
    assert document.value == {word: word.lower() in ("yes", "on", "true")}


@of_table(
    "text",
    "line",
    "said",
    more=[("[" * 5_000, "f.yaml:1", "more than 64 deep"), ("a" * 1_000_001, "f.yaml", "1000001 characters")],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: str, said: str) -> None:
    problems = located_yaml.read(text, "f.yaml")[1]
    assert [problem.path for problem in problems] == [line]
    assert said in problems[0].message


def test_numbers_that_are_none_stay_text() -> None:
    document, _ = located_yaml.read("a: 0x\nb: 1e400\nc: 012\nd: 1.5\ne: 2018-13-45\n", "f.yaml")
    assert document is not None
    assert document.value == {"a": "0x", "b": "1e400", "c": 10, "d": 1.5, "e": "2018-13-45"}


@given(st.text(alphabet="a:- \n\t{}[]&*!'\"|>#,?1%@<", max_size=60))
def test_no_text_makes_it_raise(text: str) -> None:
    document, problems = located_yaml.read(text, "f.yaml")
    assert document is not None or problems


def test_values_of_a_template_engine_are_text_where_yaml_refuses_them() -> None:
    text = "{{- if .Values.gpu }}\nname: {{ .Values.name }}\nimage: {{REGISTRY}}.azurecr.io/a:1 \nlist:\n- {{a}}/b\n{{ end }}\n"
    document, found = located_yaml.read(text, "f.yaml", above=10)
    assert document is not None
    assert document.value == {"name": "{{ .Values.name }}", "image": "{{REGISTRY}}.azurecr.io/a:1", "list": ["{{a}}/b"]}
    assert document.line_of("image") == 13
    assert [problem.path for problem in found] == ["f.yaml:11", "f.yaml:16"]


def test_what_yaml_reads_is_left_as_it_is() -> None:
    document, found = located_yaml.read("a: |\n  {{ b }}\nc: {{d}}\n", "f.yaml")
    assert (document and document.value, found) == ({"a": "{{ b }}\n", "c": located_yaml.PLACEHOLDER}, [])
