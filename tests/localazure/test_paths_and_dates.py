"""Pure rules of the embedded Azure: how paths are read, what filters say, and which date a request is judged at."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, strategies as st

from localazure.arm.as_of import request_date
from localazure.arm.errors import ArmError
from localazure.arm.filters import parse as conditions
from localazure.arm.kind import merged
from localazure.arm.paths import match, segments_of, target_of
from localazure.arm.store import Resource
from localazure.services import Clock
from localazure.wiring import without_backends
from tests.localazure.parts import arm_id
from tests.support.tables import of_table

KINDS = {kind.arm_type.lower(): kind for kind in without_backends()}
GROUP = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg"
ACCOUNT = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/data"
ASSIGNMENTS = "providers/Microsoft.Authorization/roleAssignments"
NAME = "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3"

PATHS = {
    GROUP: ("Microsoft.Resources/resourceGroups", GROUP, "", ""),
    f"{GROUP}/exportTemplate": ("Microsoft.Resources/resourceGroups", GROUP, "", "exportTemplate"),
    ACCOUNT: ("Microsoft.Storage/storageAccounts", ACCOUNT, "", ""),
    f"{ACCOUNT}/listKeys": ("Microsoft.Storage/storageAccounts", ACCOUNT, "", "listKeys"),
    ACCOUNT.rsplit("/", 1)[0]: ("Microsoft.Storage/storageAccounts", "", GROUP, ""),
    f"{ACCOUNT}/{ASSIGNMENTS}/{NAME}": ("Microsoft.Authorization/roleAssignments", f"{ACCOUNT}/{ASSIGNMENTS}/{NAME}", "", ""),
    f"{GROUP}/{ASSIGNMENTS}": ("Microsoft.Authorization/roleAssignments", "", GROUP, ""),
}


@given(st.data())
def test_a_path_means_the_same_in_any_case_and_with_any_number_of_slashes(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(PATHS)))
    spelt = "".join(data.draw(st.sampled_from([each.lower(), each.upper()])) for each in path)
    spelt = spelt.replace("/", "/" * data.draw(st.integers(1, 3))) + data.draw(st.sampled_from(["", "/"]))
    target = target_of(segments_of(spelt), KINDS)
    arm_type, resource_id, scope, tail = PATHS[path]
    assert target.kind.arm_type == arm_type
    assert (target.id.key if target.id else "") == resource_id.lower()
    assert target.scope.lower() == scope.lower()
    assert target.tail.lower() == tail.lower()


@given(st.lists(st.text(min_size=1).filter(lambda text: "/" not in text), max_size=12))
def test_every_path_has_a_target_or_a_named_refusal(segments: list[str]) -> None:
    status = 0
    try:
        target = target_of(["subscriptions", "s", *segments], KINDS)
        assert (target.id is None) == (target.scope != "")
    except ArmError as error:
        status = error.status
    assert status in (0, 400, 501)


@pytest.mark.parametrize(
    ("pattern", "tail", "found"),
    [
        ("stop", "STOP", {}),
        ("stop", "stopped", None),
        ("containers/{container}/logs", "Containers/main/Logs", {"container": "main"}),
        ("containers/{container}/logs", "containers/a/b/logs", None),
        ("runs/{run}/listLogSasUrl", "runs/ca1/listLogSasUrl", {"run": "ca1"}),
    ],
)
def test_a_pattern_fits_whole_segments(pattern: str, tail: str, found: dict[str, str] | None) -> None:
    assert match(pattern, tail) == found


@given(st.dictionaries(st.sampled_from(["name", "location", "tagName", "tagValue"]), st.text(), max_size=4))
def test_a_filter_says_what_it_was_made_of(given_conditions: dict[str, str]) -> None:
    text = " and ".join(f"{name} eq '{value.replace(chr(39), chr(39) * 2)}'" for name, value in given_conditions.items())
    found = conditions(text, ("name", "location", "tagName", "tagValue"))
    assert found == {name.lower(): value for name, value in given_conditions.items()}


@pytest.mark.parametrize("text", ["name", "name ne 'x'", "name eq 'x' or name eq 'y'", "bogus eq 'x'", "name eq x", "name eq 'x"])
def test_other_filters_are_refused(text: str) -> None:
    with pytest.raises(ArmError, match="InvalidFilterInQueryString"):
        conditions(text, ("name",))


def resource(day: str | None) -> Resource:
    return Resource(id=arm_id(GROUP), body={"tags": {"as-of": day}} if day else {})


TODAY = datetime(2026, 11, 20, 12, tzinfo=UTC)


@of_table("body", "stored", "group", "given_day", "forced", "expected")
def test_the_nearest_date_counts(
    body: str | None, stored: str | None, group: str | None, given_day: str | None, forced: str | None, expected: str
) -> None:
    clock = Clock(
        given=date.fromisoformat(given_day) if given_day else None,
        forced=date.fromisoformat(forced) if forced else None,
        now=lambda: TODAY,
    )
    sent = {"tags": {"as-of": body}} if body else {"tags": {"team": "vision"}}
    assert request_date(sent, resource(stored), resource(group), clock) == date.fromisoformat(expected)


def test_a_tags_key_is_compared_without_case() -> None:
    clock = Clock(now=lambda: TODAY)
    assert request_date({"tags": {"As-Of": "2019-06-01"}}, None, None, clock) == date(2019, 6, 1)


@pytest.mark.parametrize("value", ["soon", "2019-13-01", "", "01.06.2019"])
def test_a_tag_that_is_no_date_is_refused(value: str) -> None:
    with pytest.raises(ArmError, match="YYYY-MM-DD") as refused:
        request_date({"tags": {"as-of": value}}, None, None, Clock(now=lambda: TODAY))
    assert (refused.value.status, refused.value.target) == (400, "tags.as-of")


JSON = st.recursive(st.integers() | st.text(max_size=3), lambda inner: st.dictionaries(st.text(max_size=2), inner, max_size=3))
OBJECTS = st.dictionaries(st.text(max_size=2), JSON, max_size=3)


@given(OBJECTS, OBJECTS)
def test_what_lies_over_wins_and_what_lies_under_stays(under: dict[str, object], over: dict[str, object]) -> None:
    result = merged(under, over)
    assert merged(result, over) == result
    assert set(result) == set(under) | set(over)
    assert merged({}, over) == over
    assert merged(under, {}) == under
