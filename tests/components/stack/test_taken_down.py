"""Parts that were taken down after their last day: which they are, and what a stack file with them declares."""

from collections.abc import Mapping
from typing import Any

import pytest

from azure_gpu.catalog.problems import Severity
from azure_gpu.shared import own_state
from azure_gpu.shared.own_state import OwnResource
from azure_gpu.stack import ended as of_past
from azure_gpu.stack.settings import Settings, read
from tests.components.settings_of import configuration

DAY = "2026-12-05"
PAST, LATER = {"expires_after": "2026-11-30"}, {"expires_after": "2027-01-31"}
END = "2026-12-01T00:00:00Z"


def settings(ended: Mapping[str, str], **said: Any) -> Settings:
    return read(
        configuration({"team": "tests", "location": "eastus", **said}),
        DAY,
        ended_of=lambda past: {path: past[path] for path in ended},
    )


def past(sections: Mapping[str, Any], day: str) -> Mapping[str, str]:
    asked: list[Mapping[str, str]] = []
    read(configuration(sections), day, ended_of=lambda past: asked.append(past) or {})
    return asked[0]


def test_what_is_past_is_so_by_the_day_at_which_the_part_is_judged() -> None:
    sections = {
        "jobs": {"first": PAST, "second": LATER, "third": {}, "fourth": {"expires_after": "someday"}},
        "ml_endpoints": {
            "digits": {**PAST, "as_of": "2026-11-21", "deployments": {}},
            "letters": {"expires_after": DAY, "deployments": {}},
        },
        "ml_workspace": {"computes": {"gpu": {**PAST, "size": "Standard_NC4as_T4_v3"}}},
    }
    assert past(sections, DAY) == {
        "jobs.first": END,
        "ml_endpoints.letters": "2026-12-06T00:00:00Z",
        "ml_workspace.computes.gpu": END,
    }
    assert past(sections, "2026-11-21") == {}


@pytest.mark.parametrize(
    ("exported", "there", "found"),
    [
        pytest.param({"expires_at": {"first": END}}, (), {"jobs.first": END}, id="it was up until its day"),
        pytest.param({"taken_down": {"jobs.first": END}}, (), {"jobs.first": END}, id="an up came after that"),
        pytest.param({"expires_at": {"first": END}}, ("first",), {}, id="it is still up"),
        pytest.param({"expires_at": {"first": "2027-01-01T00:00:00Z"}}, (), {}, id="it was up with a later day"),
        pytest.param({"expires_at": {"first": None}}, (), {}, id="it was up without a day"),
        pytest.param({"expires_at": {}}, (), {}, id="it was never up"),
        pytest.param({}, (), {}, id="nothing was ever up"),
        pytest.param(None, (), {}, id="the engine can't be asked"),
    ],
)
def test_what_was_taken_down_is_what_the_stack_had_and_has_no_more(
    exported: dict[str, Any] | None, there: tuple[str, ...], found: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "azuregpu:index:ServerlessGpuJob"
    state = {f"urn:pulumi:s::p::{token}::{name}": OwnResource(type=token, outputs={}) for name in there}
    monkeypatch.setattr(own_state, "outputs", lambda: exported)
    monkeypatch.setattr(own_state, "resources", lambda of_stack_file: state)
    assert of_past.taken_down({"jobs.first": END}) == found


def test_the_engine_is_not_asked_where_nothing_is_past(monkeypatch: pytest.MonkeyPatch) -> None:
    def unasked() -> Any:
        raise AssertionError

    monkeypatch.setattr(own_state, "outputs", unasked)
    assert of_past.taken_down({}) == {}


def test_it_is_left_out_with_a_warning_and_the_rest_is_declared() -> None:
    found = settings({"jobs.first": END}, jobs={"first": PAST, "second": LATER}, vms={"off": {"enabled": False, "size": "x"}})
    assert list(found.parts["jobs"]) == ["second"]
    assert (found.off, dict(found.taken_down)) == (("vms.off",), {"jobs.first": END})
    [warned] = found.warnings
    assert (warned.path, warned.severity) == ("jobs.first.expires_after", Severity.WARNING)
    assert found.problems == []
    assert list(settings({}, jobs={"first": PAST}).parts["jobs"]) == ["first"]


def test_what_needs_a_part_that_was_taken_down_is_refused_in_one_line() -> None:
    workspace = {"computes": {"shared": {"cluster": "gpu"}}}
    found = settings({"clusters.gpu": END}, clusters={"gpu": PAST}, ml_workspace=workspace)
    told = [str(each) for each in found.problems]
    assert told == [
        "ml_workspace.computes.shared.cluster: requires clusters.gpu, which was taken down after its last day; "
        "given: 'gpu'; allowed: parts that are up; fix: set a later clusters.gpu.expires_after, or remove what requires it"
    ]
