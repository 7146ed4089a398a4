"""Forms of annotations that settings use, on TypedDicts of this file's own."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pulumi
import pytest

from azure_gpu.shared.validation import Choice, OpenInput, check, key_docstrings, may_be_secret, schema


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


@pytest.fixture
def loop() -> Iterator[None]:
    """An event loop, which an output needs, and which another file's tests may have closed."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    made.close()
    asyncio.set_event_loop(asyncio.new_event_loop())


def test_objects_by_name_are_checked_at_any_depth() -> None:
    given = {"name": "g", "volumes": {"a": {"share": {"share_nam": "x"}}, "b": {"empty": "yes"}, "c": 1}}
    checked = check(given, Group, "groups.g")
    assert [problem.path for problem in checked.problems] == [
        "groups.g.volumes.a.share.share_nam",
        "groups.g.volumes.b.empty",
        "groups.g.volumes.c",
    ]
    assert checked.value == {"name": "g", "volumes": {"a": {"share": {}}, "b": {}}}


def test_an_empty_key_at_the_top_is_named_too() -> None:
    assert [str(problem.path) for problem in check({"name": "g", "": 1}, Group, "").problems] == ['""']


def test_anything_goes_where_anything_is_wanted() -> None:
    given = {"name": "g", "parameters": {"a": 1, "b": [None, {"c": "d"}], "e": None}}
    checked = check(given, Group, "")
    assert checked.problems == []
    assert checked.value == given
    assert schema(Group)["properties"]["parameters"]["additionalProperties"] == {}


def test_half_of_a_character_is_no_text() -> None:
    for given, path in (({"name": "west\ud800"}, "g.name"), ({"name": "g", "volumes": {"\udfff": {}}}, "g.volumes")):
        [problem] = check(given, Group, "g").problems
        assert (problem.path, "half of a surrogate pair" in problem.message) == (path, True)
        assert str(problem).encode()


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


class Network(pulumi.ComponentResource):
    """A component that another takes."""

    def __init__(self, kind: str = "Network") -> None:
        """Nothing is registered: it is taken for what it is."""


class Subnet(Network):
    """One of its kind."""


class Machine(TypedDict):
    """A machine, as a program describes it."""

    tier: NotRequired[Annotated[Literal["free", "standard"], Choice("Tier", "")]]
    """A choice."""
    switch: NotRequired[Switch | bool]
    """An object, or whether it is on."""
    network: NotRequired[Network | OpenInput[str]]
    """A component, or its id."""
    only: NotRequired[Network]
    """A component."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Inputs that everybody may read."""
    names: NotRequired[Sequence[str]]
    """A list."""
    count: NotRequired[int]
    """A number."""
    password: NotRequired[pulumi.Input[str]]
    """An input that may be secret."""


def test_a_choice_is_taken_as_its_text() -> None:
    assert check({"tier": "free"}, Machine, "m").problems == []
    assert [problem.path for problem in check({"tier": "fre"}, Machine, "m").problems] == ["m.tier"]
    assert schema(Machine)["properties"]["tier"]["enum"] == ["free", "standard"]


@pytest.mark.usefixtures("loop")
def test_an_output_is_taken_where_an_input_is_annotated() -> None:
    output = pulumi.Output.from_input("x")
    given = {"network": output, "tags": {"a": output, "b": "c"}, "password": output}
    checked = check(given, Machine, "m")
    assert (checked.value, checked.problems) == (given, [])


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize("key", ["tier", "switch", "only", "tags", "names", "count"])
def test_an_output_is_refused_where_the_value_decides(key: str) -> None:
    [problem] = check({key: pulumi.Output.from_input("x")}, Machine, "m").problems
    assert problem.path == f"m.{key}"
    assert "must be known" in problem.message
    assert "<pulumi" not in str(problem)


def test_a_component_is_taken_where_it_is_annotated_and_no_other() -> None:
    network, subnet = Network(), Subnet()
    assert check({"network": network, "only": subnet}, Machine, "m").problems == []
    other = pulumi.ComponentResource.__new__(pulumi.ComponentResource)
    messages = [str(problem) for problem in check({"network": other, "only": other, "count": other}, Machine, "m").problems]
    assert [message.split(":")[0] for message in messages] == ["m.network", "m.only", "m.count"]
    assert all("ComponentResource isn't accepted here" in message for message in messages)
    assert "a Network or a string" in messages[0]


def test_a_list_may_be_a_tuple() -> None:
    assert check({"names": ("a", "b")}, Machine, "m").problems == []
    assert [problem.path for problem in check({"names": "ab"}, Machine, "m").problems] == ["m.names"]


def test_only_an_input_that_is_not_open_may_be_secret() -> None:
    assert may_be_secret(pulumi.Input[str])
    assert not any(may_be_secret(each) for each in (OpenInput[str], Network | OpenInput[str], str, Switch | bool, Any))
    assert check({"tags": {"a": 3}}, Machine, "m").problems[0].value == 3
    assert check({"password": 3}, Machine, "m").problems[0].value is None
