"""Parts whose last day has passed: which only warn, and what is left alone of them."""

from typing import Any

import pulumi
import pytest

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.shared import own_state
from azure_gpu.shared.own_state import OwnResource
from azure_gpu.stack import ended
from tests.support.tables import rows_of

PAST = Problem("pools.train.expires_after", "must be after 2026-11-20", "2026-11-01", code=Code.EXPIRED)
OTHER = Problem("pools.train.size", "no such size", "x")


def test_only_a_part_that_the_stack_has_warns() -> None:
    assert ended.ended([OTHER, PAST]) == ["pools.train"]
    [kept, warned] = ended.downgraded([OTHER, PAST], {"pools.train"})
    assert kept is OTHER
    assert (warned.severity, warned.path, warned.value) == (Severity.WARNING, PAST.path, PAST.value)
    assert ended.downgraded([OTHER, PAST], set()) == [OTHER, PAST]


@pytest.mark.parametrize(("part", "token", "name"), rows_of(__file__, "a_part_is_there_by_its_type_and_name"))
def test_a_part_is_there_by_its_type_and_name(part: str, token: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def has(*found: tuple[str, str]) -> None:
        state = {f"urn:pulumi:s::p::{kind}::{named}": OwnResource(type=kind, outputs={}) for kind, named in found}
        monkeypatch.setattr(own_state, "resources", lambda of_stack_file: state)

    has((token, name))
    assert ended.deployed([part, f"{part}-2"]) == {part}
    has((token, f"{name}-2"), ("azure-native:other:Type", name))
    assert ended.deployed([part]) == frozenset()


def test_the_state_is_not_read_where_nothing_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def unasked(of_stack_file: bool) -> Any:
        raise AssertionError(of_stack_file)

    monkeypatch.setattr(own_state, "resources", unasked)
    assert ended.deployed([]) == frozenset()


def test_other_parts_keep_their_options() -> None:
    given = pulumi.ResourceOptions(protect=True)
    assert ended.options({"pools.train"}, "pools", "other", given) is given
    assert ended.options({"pools.train"}, "ml_workspace", "", given) is given
    assert ended.options(set(), "pools", "train", None) is None


def handed_down(opts: pulumi.ResourceOptions | None, token: str, name: str) -> pulumi.ResourceOptions | None:
    assert opts is not None
    [transformation] = opts.transformations or []
    own = pulumi.ResourceOptions(ignore_changes=["count"])
    resource: Any = object()
    found = transformation(pulumi.ResourceTransformationArgs(resource, token, name, {}, own))
    return found.opts if found is not None else None


def test_nothing_of_a_part_is_changed_or_created_but_for_the_login_of_a_provider() -> None:
    opts = ended.options({"clusters.a"}, "clusters", "a", pulumi.ResourceOptions(protect=True))
    assert opts is not None
    assert opts.protect is True
    left = handed_down(opts, "azure-native:containerservice:ManagedCluster", "a-cluster")
    assert left is not None
    assert left.ignore_changes == ["count", "*"]
    assert left.hooks is not None
    assert left.hooks.before_create
    assert not left.hooks.before_delete, "a part that has ended is removed without ado"
    assert handed_down(opts, "pulumi:providers:kubernetes", "a-kubernetes") is None


def test_of_a_workspace_the_compute_alone_stays() -> None:
    opts = ended.options({"ml_workspace.computes.t4"}, "ml_workspace", "", None)
    token = "azure-native:machinelearningservices:Compute"
    left = handed_down(opts, token, "ml-compute-t4")
    assert left is not None
    assert left.ignore_changes == ["count", "*"]
    assert handed_down(opts, token, "ml-compute-a100") is None
