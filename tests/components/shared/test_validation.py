"""Forms of annotations that settings use, on TypedDicts of this file's own."""

from typing import Any, NotRequired, TypedDict

import pulumi
import pytest

from azure_gpu.shared.validation import check, key_docstrings, schema


class Share(TypedDict):
    """A share."""

    share_name: NotRequired[str]
    """The share's name."""
    read_only: NotRequired[bool]
    """Whether it is read alone."""


class Volume(TypedDict):
    """A volume."""

    empty: NotRequired[bool]
    """An empty one."""
    share: NotRequired[Share]
    """A share."""
    secret: NotRequired[dict[str, pulumi.Input[str]]]
    """Secret files."""


class Named(TypedDict):
    """What has a name."""

    name: str
    """Its name."""


class Group(Named, Share):
    """A group."""

    volumes: NotRequired[dict[str, Volume]]
    """Volumes by name."""
    parameters: NotRequired[dict[str, Any]]
    """Whatever a template asks for."""


def test_objects_by_name_are_checked_at_any_depth() -> None:
    given = {"name": "g", "volumes": {"a": {"share": {"share_nam": "x"}}, "b": {"empty": "yes"}, "c": 1}}
    checked = check(given, Group, "groups.g")
    assert [problem.path for problem in checked.problems] == [
        "groups.g.volumes.a.share.share_nam",
        "groups.g.volumes.b.empty",
        "groups.g.volumes.c",
    ]
    assert checked.value == {"name": "g", "volumes": {"a": {"share": {}}, "b": {}}}


def test_anything_goes_where_anything_is_wanted() -> None:
    given = {"name": "g", "parameters": {"a": 1, "b": [None, {"c": "d"}], "e": None}}
    checked = check(given, Group, "")
    assert checked.problems == []
    assert checked.value == given
    assert schema(Group)["properties"]["parameters"]["additionalProperties"] == {}


def test_the_word_of_a_first_key_that_is_true_or_false_stands_for_it() -> None:
    assert check("empty", Volume, "v").value == {"empty": True}
    assert schema(Volume)["anyOf"][0] == {"enum": ["empty"]}
    assert check("read_only", Share, "s").problems  # a detail of a share is none by itself
    assert "anyOf" not in schema(Share)


def test_keys_and_docstrings_of_all_bases_are_among_its_own() -> None:
    assert key_docstrings(Group) == {
        "name": "Its name.",
        "share_name": "The share's name.",
        "read_only": "Whether it is read alone.",
        "volumes": "Volumes by name.",
        "parameters": "Whatever a template asks for.",
    }
    assert check({"volumes": {}}, Group, "g").problems[0].path == "g.name"


@pytest.mark.parametrize("value", [10**400, -(10**400), float("nan"), float("inf")], ids=["large", "small", "nan", "inf"])
@pytest.mark.parametrize("wanted", [int, float], ids=["whole", "any"])
def test_a_number_that_the_engine_could_not_send_is_none(wanted: type, value: float) -> None:
    [problem] = check(value, wanted, "a").problems
    assert problem.path == "a"


def test_a_secret_of_a_wrong_type_is_not_shown_below_a_name() -> None:
    [problem] = check({"secret": {"key": 1234567}}, Volume, "v").problems
    assert problem.path == "v.secret.key"
    assert "1234567" not in str(problem)


class Switch(TypedDict):
    """What is on or off, with more to say."""

    enabled: NotRequired[bool]
    """Whether it is on."""
    images: NotRequired[list[str]]
    """More."""


def test_true_and_false_stand_for_an_object_that_is_switched_on_or_off() -> None:
    for given in (True, False):
        checked = check(given, Switch, "a")
        assert (checked.value, checked.problems) == ({"enabled": given}, [])
    assert check({"images": ["x"]}, Switch, "a").value == {"images": ["x"]}
    for given in ("enabled", "yes", 1, None):
        assert [problem.path for problem in check(given, Switch, "a").problems] == ["a"], given
    assert schema(Switch)["anyOf"][0] == {"enum": [True, False]}
