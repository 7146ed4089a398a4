"""`make conformance` against the embedded Azure in rough weather, and that it finds what is planted."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conformance import __main__ as command, recordings, stacks, validate
from tests.conformance.azure import Azure, Exchange, of_embedded
from tests.conformance.differences import Difference, between
from tests.conformance.report import Outcome, page
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

GROUPS = "2024-03-01"
OWN = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def rough(tmp_path: Path) -> Iterator[EmbeddedAzure]:
    server = EmbeddedAzure(tmp_path / "rough", weather="rough")
    yield server
    server.stop()


def exchange(status: int = 200, **response: Any) -> Exchange:
    return Exchange(method="GET", path="/x", query={}, request=None, status=status, headers={}, response=response)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_body_of_every_case_is_judged_alike_in_rough_weather(rough: EmbeddedAzure, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    azure = of_embedded(rough)
    assert command.run(azure, rough, "validate", Decimal(0), "", tmp_path, report) == 0
    assert "No difference." in report.read_text()
    assert f"bodies of {len(validate.names())} cases" in report.read_text()
    groups = azure.send("GET", f"/subscriptions/{SUBSCRIPTION}/resourceGroups", GROUPS).response["value"]
    assert groups == [], "nothing was created"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("level", ["cheap", "gpu"])
def test_a_stack_of_every_service_comes_up_shows_what_was_sent_and_goes(level: str, rough: EmbeddedAzure, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    left = rough.made(
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/of-a-killed-run",
        {"location": "eastus", "tags": {stacks.TAG: "killed"}},
        GROUPS,
    )
    assert command.run(of_embedded(rough), rough, level, Decimal(5), "", tmp_path, report) == 0, report.read_text()
    assert rough.get(left["id"], GROUPS).status_code == 404
    assert "an earlier run had left of-a-killed-run" in report.read_text()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_three_planted_differences_are_found(azure: EmbeddedAzure, own_azure: EmbeddedAzure) -> None:
    own_azure.command("fault", "policy-deny", "no-public", "properties.publicNetworkAccess", "--path", "*/registries/*")
    own_azure.command("fault", "fail", "--path", "*/whatIf", "--status", "409", "--code", "Conflict", "--count", "1")
    found = of_embedded(own_azure)
    found.client.event_hooks["response"].append(_without_duration)
    chosen = ["foundation.happy.create", "pool.happy.mpi"]
    differences = validate.judge(found, of_embedded(azure), chosen).differences
    assert {(each.kind, each.expected, each.found) for each in differences if each.what == chosen[0]} == {
        ("status", "200", "400 RequestDisallowedByPolicy"),
        ("status", "200", "409 Conflict"),
    }
    assert ("member", "properties.duration", "missing") in {
        (each.kind, each.expected, each.found) for each in differences if each.what == chosen[1]
    }


def _without_duration(answer: httpx.Response) -> None:
    answer.read()
    content = answer.json()
    if isinstance(content, dict) and isinstance(content.get("properties"), dict):
        content["properties"].pop("duration", None)
        answer._content = json.dumps(content).encode()  # what a service would have left out


def test_a_run_that_costs_more_than_its_ceiling_is_not_begun(tmp_path: Path) -> None:
    nobody: Any = None
    stack = stacks.Stack(nobody, "gpu", tmp_path, {}, {"azure-gpu:image_source": "https://example.com/a.git#HEAD"}, "eastus")
    stack.write(date(2099, 1, 1))
    with pytest.raises(stacks.PriceError, match=r"gpu costs up to \d\.\d\d USD, more than the ceiling of 1 USD"):
        stacks.check_price(stack, Decimal(1))
    assert stacks.check_price(stack, Decimal(5)) <= 5


@pytest.mark.parametrize(
    ("expected", "found", "kinds"),
    [
        (exchange(a=1), exchange(a=1), []),
        (exchange(a=1), exchange(201, a=1), ["status"]),
        (exchange(a=1), exchange(a=2), ["value"]),
        (exchange(a=1, b=2), exchange(b=2, c=3), ["member", "member"]),
        (exchange(400, error={"code": "A"}), exchange(400, error={"code": "B"}), ["error"]),
        (exchange(400, error={"code": "A", "message": "x"}), exchange(400, error={"code": "A", "message": "y"}), []),
        (exchange(etag="1", at="2026-11-25T01:02:03Z"), exchange(etag="2", at="2026-11-26T01:02:03Z"), []),
    ],
)
def test_answers_are_compared_by_status_code_of_errors_members_and_values(
    expected: Exchange, found: Exchange, kinds: list[str]
) -> None:
    assert [each.kind for each in between("x", "GET", expected, found)] == kinds


def test_a_recording_holds_no_secret_and_no_id_of_the_subscription(tmp_path: Path) -> None:
    azure = Azure("Azure", httpx.Client(base_url="https://management.azure.com"), OWN, tenant=OWN.replace("1", "9"))
    sent = replace(
        exchange(
            primarySharedKey="k3y",
            properties={"tenantId": azure.tenant, "createdBy": "me@example.org", "allowSharedKeyAccess": "x"},
        ),
        path=f"/subscriptions/{OWN}/x",
        request={"adminPassword": "hunter2", "url": "https://a.blob/x?sv=1&sig=abc%2F&se=2"},
    )
    path = recordings.write(tmp_path / "kept", "test", [sent], azure, date(2026, 11, 25))
    text = path.read_text()
    assert not [each for each in (OWN, azure.tenant, "k3y", "hunter2", "sig=abc", "example.org") if each in text]
    assert '"allowSharedKeyAccess": "x"' in text
    assert json.loads(text)["interactions"][0].keys() == {
        "host", "method", "path", "query", "request", "status", "headers", "response"
    }  # fmt: skip
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700


def test_a_report_says_what_was_asked_of_which_azure() -> None:
    found = Difference("a | b", "GET", "status", "200", "409")
    text = page([Outcome("cheap", "Done.", (found,), ("a note",))], "Azure", date(2026, 11, 25), "westeurope", [("pulumi", "3")])
    assert "on 2026-11-25 against Azure, region westeurope" in text
    assert "| a \\| b | GET | status | 200 | 409 |" in text
    assert "- a note" in text
