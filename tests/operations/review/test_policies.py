"""Policies that a change breaks, as findings on lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations.review.model import Operation
from azure_gpu_operations.review.policies import Packs, Violation, findings, violations, without_own
from azure_gpu_operations.review.source_locations import SourceLocations
from azure_gpu_operations.review.steps import Planned

STACK = "urn:pulumi:prod::azure-gpu::pulumi:pulumi:Stack::azure-gpu-prod"
POOL = "urn:pulumi:prod::azure-gpu::azuregpu:index:BatchPool$azure-native:batch:Pool::train-pool"
GROUP = "urn:pulumi:prod::azure-gpu::azure-native:resources:ResourceGroup::group"
COMPONENT = "urn:pulumi:prod::azure-gpu::azuregpu:index:BatchPool::train"
FILE = "config:\n  azure-gpu:pools:\n    train:\n      size: Standard_NC6\n"


def planned(urn: str, operation: Operation, parent: str = STACK) -> Planned:
    kind, name = urn.split("::")[-2:]
    return Planned(
        urn=urn,
        type=kind.rpartition("$")[2],
        name=name,
        parent=parent,
        operation=operation,
        id="",
        properties=(),
        is_component="azuregpu:" in kind and "$" not in kind,
        depends_on={},
    )


def told(operation: Operation) -> list[Planned]:
    return [
        planned(STACK, Operation.SAME, ""),
        planned(COMPONENT, Operation.SAME),
        planned(POOL, operation, COMPONENT),
    ]


def event(**said: Any) -> str:
    return json.dumps({"sequence": 1, "policyEvent": {"policyName": "gpu-retired", "enforcementLevel": "mandatory", **said}})


def test_violations_are_the_engines_events_without_what_the_policy_is_for(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    assert violations(log) == ()
    lines = [
        json.dumps({"sequence": 0, "preludeEvent": {}}),
        event(resourceUrn=POOL, message="Nothing has ended.\nPool: it has\n"),
        event(message="one line", policyName="of-another-pack", enforcementLevel="advisory"),
    ]
    log.write_text("\n".join(lines) + "\n")
    assert violations(log) == (
        Violation("gpu-retired", True, POOL, "Pool: it has"),
        Violation("of-another-pack", False, "", "one line"),
    )


@pytest.mark.parametrize(("operation", "news"), [(Operation.SAME, False), (Operation.UPDATE, True), (Operation.CREATE, True)])
def test_a_finding_is_on_the_line_of_its_part_and_news_where_the_change_makes_it(operation: Operation, news: bool) -> None:
    places = SourceLocations({"Pulumi.prod.yaml": FILE}, "azure-gpu")
    violated = [Violation("gpu-retired", True, POOL, "it has"), Violation("gpu-price-stack", False, "", "too much")]
    of_pool, of_stack = findings(violated, told(operation), places)
    assert (of_pool.severity, of_pool.code, of_pool.path, of_pool.is_new) == ("error", "gpu-retired", "pools.train", news)
    assert (of_pool.place.file, of_pool.place.line) == ("Pulumi.prod.yaml", 3)
    assert (of_stack.severity, of_stack.path, of_stack.place.file, of_stack.is_new) == ("warning", "", "", news)


@pytest.mark.parametrize(("of_group", "news"), [(Operation.SAME, False), (Operation.UPDATE, True)])
def test_what_stays_breaks_a_policy_anew_where_the_change_is_of_what_it_lies_in(of_group: Operation, news: bool) -> None:
    stays = planned(POOL, Operation.SAME, COMPONENT)._replace(depends_on={"resourceGroupName": (GROUP,)})
    found = [*told(Operation.SAME)[:2], stays, planned(GROUP, of_group)]
    [finding] = findings([Violation("gpu-end-date", True, POOL, "no last day")], found, SourceLocations({}, "azure-gpu"))
    assert finding.is_new is news


def test_a_broken_policy_is_no_failure_of_the_engine() -> None:
    broken = (Violation("gpu-retired", True, POOL, "it has"),)
    assert without_own(["error: preview failed\n", "error: something else"], broken) == ("error: something else",)
    assert without_own(["error: preview failed"], ()) == ("error: preview failed",)


def test_packs_are_folders_with_one_file_of_settings_each(tmp_path: Path) -> None:
    pack, settings = tmp_path / "pack", tmp_path / "policies.json"
    assert "not a policy pack" in Packs((pack,)).wrong()
    pack.mkdir()
    (pack / "PulumiPolicy.yaml").write_text("")
    assert Packs((pack,)).wrong() == ""
    assert "file not found" in Packs((pack,), (settings,)).wrong()
    settings.write_text("{}")
    assert Packs((pack,), (settings,)).wrong() == ""
    assert "1 for 2" in Packs((pack, pack), (settings,)).wrong()
    assert Packs().words(tmp_path / "events") == ()
