"""The replacement table says what the real engine plans: rows drawn by a seed are tried again, and one without any batching."""

import json
import os
import random
from pathlib import Path

import pytest

from azure_gpu_operations.guard import losses
from azure_gpu_operations.guard.held import held
from azure_gpu_operations.review import dangers, steps
from azure_gpu_operations.review.model import Operation
from azure_gpu_operations.review.source_locations import SourceLocations
from azure_gpu_operations.review.steps import owners, parts, without_noise
from tests.replacements import renew, table, tried
from tests.replacements.changes import Change, changes_of, places, value_at, with_objects
from tests.replacements.engine import Outcome, Step
from tests.replacements.stacks import Stack
from tests.replacements.table import Effect
from tests.replacements.tried import Tried
from tests.upgrades import plans, records

DRAWN = 20
SEED = os.environ.get("REPLACEMENTS_SEED", "24")


@pytest.fixture(scope="module")
def drawn(engine_bin: Path) -> list[Tried]:
    """REPLACEMENTS_SEED draws others. After a change on purpose: `python -m tests.replacements.renew --renew PATTERN`."""
    of_engine = [row for row in table.rows() if row.effect not in (Effect.NOT_TRIED, Effect.REFUSED, Effect.NOTHING)]
    return tried.again(random.Random(SEED).sample(of_engine, DRAWN), engine_bin)


@pytest.mark.slow
def test_rows_that_are_drawn_are_what_the_engine_plans(drawn: list[Tried]) -> None:
    differences = renew.differences(tried.rows_of(drawn))
    assert differences == [], "\n".join(differences)


@pytest.mark.slow
def test_a_review_shows_the_drawn_changes_as_they_are(drawn: list[Tried]) -> None:
    """Each resource with what happens to it, and of whatever is replaced the key that forces it."""
    for row, change, outcome in drawn:
        found = without_noise(steps.planned(outcome.planned, {}))
        shown = {(each.operation.value, each.name, each.type) for part in parts(found)[0] for each in part.resources}
        assert shown == {
            (each.operation, each.name, each.type) for each in outcome.steps if not each.type.startswith("pulumi:")
        }, row
        differences = list(dangers.differences(change.before, change.after))
        before = {"resources": [each["oldState"] for each in outcome.planned if each.get("oldState")]}
        told = dangers.dangers(
            dangers.Change(found, owners(found), held(before), differences, SourceLocations({}, "azure-gpu")), outcome.planned
        )
        forced = [each for each in told if each.operation is Operation.REPLACE]
        assert {each.cause for each in forced} <= {each.key for each in differences}, row
        of_data = {each.name for each in told if each.is_held}
        assert of_data == {each.held.name for each in losses.losses(held(before), outcome.planned) if not each.held.is_group}, row


@pytest.mark.slow
def test_changes_that_are_tried_together_are_planned_as_each_one_alone(tmp_path: Path, engine_bin: Path) -> None:
    """One of a recorded state, planned as `tests.upgrades` plans it."""
    record = records.load("pool.happy.defaults")
    key = "azure-gpu:pools"
    pools = json.loads(record["config"][key])
    [name] = pools
    pools[name]["size"] = "Standard_NC8as_T4_v3"
    plan = plans.over(record, tmp_path, engine_bin, {**record["config"], key: json.dumps(pools)})
    alone = [line for line in plan.changes if line.startswith("replace ")]
    [row] = [each for each in table.rows() if each.argument == "pools.<name>.size"]
    assert [line.rsplit("$", 1)[-1].split("::")[0] for line in alone] == list(row.replaced)


def test_an_argument_is_found_where_it_stands_and_where_it_could_stand() -> None:
    says = {"pools": {"train": {"size": "a", "containers": True}, "idle": {"size": "b"}}}
    assert places("pools.<name>.size", says) == [("pools", "train", "size"), ("pools", "idle", "size")]
    assert places("pools.<name>.driver", says) == [("pools", "train", "driver"), ("pools", "idle", "driver")]
    assert places("pools.<name>.containers.images", says) == [("pools", "train", "containers", "images")]
    opened = with_objects(says, ("pools", "train", "containers", "images"))
    assert value_at(opened, ("pools", "train", "containers")) == {"enabled": True}
    assert says["pools"]["train"]["containers"] is True


def test_the_changes_of_an_argument_leave_everything_else_as_it_is() -> None:
    changes = changes_of("pools.<name>.task_slots")
    assert {change.kind for change in changes} == {"changed"}
    for change in changes:
        before = value_at(change.before, change.at[:-1])
        after = value_at(change.after, change.at[:-1])
        different = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        assert different == {change.at[-1]}


POOL, CLUSTER, GROUP = (
    "azure-native:batch:Pool",
    "azure-native:containerservice:ManagedCluster",
    "azure-native:resources:ResourceGroup",
)
BEFORE = Stack("s", {"pools": {"train": {"size": "a"}}}, {})


def change(argument: str, value: str = "b") -> Change:
    after = {"pools": {"train": {"size": value}}}
    return Change(argument, "changed", "s", BEFORE.says, after, ("pools", "train", "size"), {})


def done(*steps: tuple[str, str]) -> Outcome:
    return Outcome([Step(operation, f"urn:pulumi:s::p::{kind}::x", kind, ("metadata",)) for operation, kind in steps])


@pytest.mark.parametrize(
    ("outcome", "effect"),
    [
        (done(), Effect.NOTHING),
        (done(("create", POOL)), Effect.CREATES),
        (done(("create", POOL), ("update", POOL)), Effect.UPDATES),
        (done(("update", GROUP), ("delete", POOL)), Effect.DELETES),
        (done(("update", POOL), ("delete", GROUP)), Effect.UPDATES),
        (done(("replace", GROUP)), Effect.REPLACES_BELOW),
        (done(("replace", GROUP), ("replace", POOL)), Effect.REPLACES),
        (Outcome(refused=["pools.train.size: no"]), Effect.REFUSED),
        (Outcome(refused_before=["pools.train.size: no"]), Effect.NOT_TRIED),
        (Outcome(refused=["no resource: nothing is recorded of it"]), Effect.NOT_TRIED),
    ],
)
def test_an_effect_is_of_the_argument_s_own_resource_or_of_others(outcome: Outcome, effect: Effect) -> None:
    assert tried.effect_of("pools.<name>.size", outcome) is effect


def test_a_row_shows_the_change_that_does_most_and_what_others_do() -> None:
    argument = "pools.<name>.size"
    row = tried.row(
        argument,
        [(change(argument, "b"), done(("update", POOL))), (change(argument, "c"), done(("replace", POOL)))],
    )
    assert (row.effect, row.replaced, row.change, row.also) == (Effect.REPLACES, (POOL,), "a to c", ("a to b: updates",))
    assert row.component == "BatchPool"
    assert row.interruption.what.startswith("tasks on its nodes")


def test_what_an_argument_is_about_is_the_longest_path_that_fits() -> None:
    assert tried.own_types("clusters.<name>.gpu_pools.<name>.size") == ("azure-native:containerservice:AgentPool",)
    assert tried.own_types("clusters.<name>.tier") == (CLUSTER,)
    assert tried.own_types("team") == ()
