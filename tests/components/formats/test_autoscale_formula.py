"""Autoscale formulas: the documentation's own formulas and results, operators, functions and samples."""

import math
import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest

from azure_gpu.formats.autoscale_formula import Evaluation, Targets, as_text, checks, evaluate, parse, results_of
from tests.support.measured import Measured, Series, steady, values
from tests.support.tables import of_table

# Of the results that the documentation shows: a Thursday evening.
NOW = datetime(2016, 10, 13, 19, 18, 47, 805_000, tzinfo=UTC)


def run(text: str, measured: dict[str, Series] | None = None, now: datetime = NOW, targets: Targets | None = None) -> Evaluation:
    formula, errors = parse(text)
    assert formula is not None, errors
    return evaluate(formula, Measured(measured), now, targets=targets or Targets())


def value(expression: str, measured: dict[str, Series] | None = None) -> str:
    """The text of one expression's value."""
    done = run(f"x = {expression};", measured)
    assert done.error is None, done.error
    return as_text({"x": done.results["x"]}).removeprefix("x=")


def fault(text: str, measured: dict[str, Series] | None = None) -> str:
    done = run(text, measured)
    assert done.error is not None
    assert (done.targets.dedicated, done.targets.spot, done.targets.deallocation) == (0, 0, "requeue")
    return str(done.error)


def test_the_documentations_workday_gives_the_result_that_it_shows() -> None:
    done = run(
        """
        $curTime = time();
        $workHours = $curTime.hour >= 8 && $curTime.hour < 18;
        $isWeekday = $curTime.weekday >= 1 && $curTime.weekday <= 5;
        $isWorkingWeekdayHour = $workHours && $isWeekday;
        $TargetDedicatedNodes = $isWorkingWeekdayHour ? 20:10;
        """
    )
    assert as_text(done.results) == (
        "$TargetDedicatedNodes=10;$TargetLowPriorityNodes=0;$NodeDeallocationOption=requeue;"
        "$curTime=2016-10-13T19:18:47.805Z;$isWeekday=1;$isWorkingWeekdayHour=0;$workHours=0"
    )


def test_a_recorded_run_of_a_pool_is_repeated() -> None:
    """A pool's autoScaleRun of 2025-04-24, published with its formula: 29 of 30 samples were there."""
    now = datetime(2025, 4, 24, 11, 34, 37, 971_000, tzinfo=UTC)
    done = run(
        """
        // Get pending tasks for the past 15 minutes.
        $samples = $ActiveTasks.GetSamplePercent(TimeInterval_Minute * 15);
        $tasks = $samples < 70 ? max(0,$ActiveTasks.GetSample(1)) : max( $ActiveTasks.GetSample(1),
            avg($ActiveTasks.GetSample(TimeInterval_Minute * 15)));
        $targetVMs = $tasks > 0? $tasks:max(0, $TargetDedicatedNodes/2);
        cappedPoolSize = 3;
        $TargetDedicatedNodes = max(1, min($targetVMs, cappedPoolSize));
        // Set node deallocation mode - keep nodes active only until tasks finish
        $NodeDeallocationOption = taskcompletion;
        """,
        {"$ActiveTasks": steady(0, now, missing_minutes=0.5)},
        now,
        Targets(dedicated=1),
    )
    assert as_text(done.results) == (
        "$TargetDedicatedNodes=1;$TargetLowPriorityNodes=0;$NodeDeallocationOption=taskcompletion;"
        "$samples=96.6667;$targetVMs=0.5;$tasks=0;cappedPoolSize=3"
    )


def test_the_documentations_pending_tasks_grow_the_pool_and_are_capped() -> None:
    text = """
        startingNumberOfVMs = 1;
        maxNumberofVMs = 25;
        pendingTaskSamplePercent = $PendingTasks.GetSamplePercent(180 * TimeInterval_Second);
        pendingTaskSamples = pendingTaskSamplePercent < 70 ? startingNumberOfVMs
            : avg($PendingTasks.GetSample(180 * TimeInterval_Second));
        $TargetDedicatedNodes=min(maxNumberofVMs, pendingTaskSamples);
        $NodeDeallocationOption = taskcompletion;
    """
    assert run(text).targets.dedicated == 1  # no samples yet
    assert run(text, {"$PendingTasks": steady(7, NOW)}).targets.dedicated == 7
    assert run(text, {"$PendingTasks": steady(400, NOW)}).targets.dedicated == 25
    assert run(text, {"$PendingTasks": steady(0, NOW)}).targets.dedicated == 0
    assert run(text, {"$PendingTasks": steady(0, NOW)}).targets.deallocation == "taskcompletion"


def test_the_documentations_preempted_nodes_are_replaced() -> None:
    text = """
        maxNumberofVMs = 25;
        $TargetDedicatedNodes = min(maxNumberofVMs, $PreemptedNodeCount.GetSample(180 * TimeInterval_Second));
        $TargetLowPriorityNodes = min(maxNumberofVMs , maxNumberofVMs - $TargetDedicatedNodes);
        $NodeDeallocationOption = taskcompletion;
    """
    done = run(text, {"$PreemptedNodeCount": steady(3, NOW)})
    assert (done.targets.dedicated, done.targets.spot) == (3, 22)


def test_the_documentations_initial_size_holds_ten_minutes_and_then_follows_the_tasks() -> None:
    text = """
        $TargetDedicatedNodes = 4;
        lifespan         = time() - time("Thu, 13 Oct 2016 19:00:00 GMT");
        span             = TimeInterval_Minute * 60;
        startup          = TimeInterval_Minute * 10;
        ratio            = 50;
        $TargetDedicatedNodes = (lifespan > startup ? (max($RunningTasks.GetSample(span, ratio),
            $ActiveTasks.GetSample(span, ratio)) == 0 ? 0 : $TargetDedicatedNodes) : 4);
    """
    idle = {"$RunningTasks": steady(0, NOW), "$ActiveTasks": steady(0, NOW)}
    assert run(text, idle).targets.dedicated == 0
    assert run(text, idle, datetime(2016, 10, 13, 19, 9, tzinfo=UTC)).targets.dedicated == 4
    assert run(text, {**idle, "$RunningTasks": values([0] * 100 + [1] + [0] * 10, NOW)}).targets.dedicated == 4
    few = run(text, {"$RunningTasks": steady(0, NOW, 5), "$ActiveTasks": steady(0, NOW, 5)}, targets=Targets(dedicated=9))
    assert few.error is not None
    assert few.targets.dedicated == 9  # nothing changes


def test_the_documentations_share_of_cpu_grows_and_shrinks_the_pool() -> None:
    text = """
        $totalDedicatedNodes = (min($CPUPercent.GetSample(TimeInterval_Minute * 10)) > 0.7) ?
            ($CurrentDedicatedNodes * 1.1) : $CurrentDedicatedNodes;
        $totalDedicatedNodes = (avg($CPUPercent.GetSample(TimeInterval_Minute * 60)) < 0.2) ?
            ($CurrentDedicatedNodes * 0.9) : $totalDedicatedNodes;
        $TargetDedicatedNodes = min(400, $totalDedicatedNodes);
    """
    nodes = {"$CurrentDedicatedNodes": steady(100, NOW, 1)}
    assert run(text, {**nodes, "$CPUPercent": steady(0.9, NOW)}).targets.dedicated == 110
    assert run(text, {**nodes, "$CPUPercent": steady(0.1, NOW)}).targets.dedicated == 90
    assert run(text, {**nodes, "$CPUPercent": steady(0.5, NOW)}).targets.dedicated == 100


def test_another_time_zone_is_added_as_the_documentation_does() -> None:
    assert value("(time() + (-6 * TimeInterval_Hour)).hour") == "13"
    assert value("(-6 * TimeInterval_Hour + time()).day") == "13"


@of_table("text", "expected")
def test_operators_go_by_rank_and_from_left_to_right(text: str, expected: str) -> None:
    assert value(text) == expected


@of_table("text", "expected")
def test_functions_give_what_the_documentation_says(text: str, expected: str) -> None:
    assert value(text) == expected


TASKS = {"$PendingTasks": values([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], NOW)}


@of_table("text", "expected")
def test_samples_come_by_number_by_time_and_by_share(text: str, expected: str) -> None:
    assert value(text, TASKS) == expected


def test_samples_that_are_late_are_missing_as_the_documentation_has_it() -> None:
    late = {"$CPUPercent": steady(0.5, NOW, missing_minutes=1)}
    assert value("len($CPUPercent.GetSample(TimeInterval_Minute * 10))", late) == "18"
    assert value("len($CPUPercent.GetSample(TimeInterval_Minute * 10, 80))", late) == "18"
    text = "$TargetDedicatedNodes = 3;\nx = $CPUPercent.GetSample(TimeInterval_Minute * 10, 95);"
    assert fault(text, late) == "line 2, column 17: 90 percent of the samples are there, and 95 are asked for"


@of_table("text", "expected")
def test_what_only_the_samples_tell_ends_the_run_with_its_place(text: str, expected: str) -> None:
    assert fault(text) == expected


def test_a_time_that_cant_be_read_is_shown() -> None:
    assert '"next week"' not in fault('x = time("next week");')
    assert "'next week'" in fault('x = time("next week");')


def test_after_an_error_the_results_are_the_targets_of_before() -> None:
    """As the service answers: the error, and the pool as it is."""
    done = run("x = 1;\n$TargetDedicatedNodes = 5 / 0;", targets=Targets(dedicated=2))
    assert as_text(done.results) == "$TargetDedicatedNodes=2;$TargetLowPriorityNodes=0;$NodeDeallocationOption=requeue"
    assert done.targets.dedicated == 2


def test_a_formula_that_cant_be_read_has_the_same_results() -> None:
    """Literal of the tests of @azure/batch, which evaluate `$something_useless`."""
    formula, _ = parse("$something_useless")
    assert formula is None
    shown = as_text(results_of(Targets(dedicated=2)))
    assert shown == "$TargetDedicatedNodes=2;$TargetLowPriorityNodes=0;$NodeDeallocationOption=requeue"


@pytest.mark.parametrize(
    "behind",
    ["a = vec(a, a);" * 60, f"x = max({', '.join(['a'] * 500)});", f"x = {' * '.join(['a'] * 500)};", "b = a * 2;" * 50],
)
def test_lists_that_grow_end_the_run_and_not_the_memory(behind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_MOST_NUMBERS", 100_000)
    tracemalloc.start()
    try:
        assert "lists of more than 100000 numbers" in fault("a = vec(1, 2);" + "a = vec(a, a);" * 13 + behind)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_a_week_of_samples_of_every_variable_is_no_such_list() -> None:
    series = steady(1, NOW, 7 * 24 * 60)
    names = ("$PendingTasks", "$CPUPercent", "$ActiveTasks")
    text = "".join(f"x{at} = max({name}.GetSample(TimeInterval_Day * 7));" for at, name in enumerate(names * 10))
    assert run(text, dict.fromkeys(names, series)).error is None


def test_only_the_branch_that_is_chosen_is_looked_at() -> None:
    assert value("1 ? 2 : 1 / 0") == "2"
    assert value("0 && 1 / 0") == "0"
    assert value("1 || 1 / 0") == "1"


def test_what_isnt_set_stays_as_the_pool_has_it() -> None:
    before = Targets(dedicated=3, spot=7, deallocation="taskcompletion")
    assert run("x = 1;", targets=before).targets == before
    assert run("$TargetLowPriorityNodes = $TargetLowPriorityNodes - 2;", targets=before).targets == before._replace(spot=5)


def test_the_full_name_of_a_target_counts_before_its_short_one() -> None:
    assert run("$TargetDedicated = 5;").targets.dedicated == 5
    assert run("$TargetDedicatedNodes = 2; $TargetDedicated = 5;").targets.dedicated == 2
    assert run("$TargetDedicated = 5; $TargetDedicatedNodes = 2;").targets.dedicated == 2
    assert run("$TargetLowPriority = 3; x = $TargetLowPriority + 1;").results["x"] == 4


def test_stop_ends_the_run_with_what_was_set_so_far() -> None:
    done = run("$TargetDedicatedNodes = 2; stop(); $TargetDedicatedNodes = 9; x = 1 / 0;")
    assert (done.error, done.targets.dedicated) == (None, 2)


def test_nodes_are_shown_whole_and_other_numbers_with_six_digits() -> None:
    shown = as_text(run("$TargetDedicatedNodes = 1234567; x = 1234567;").results)
    assert shown.startswith("$TargetDedicatedNodes=1234567;")
    assert shown.endswith(";x=1.23457e+06")


def test_part_of_a_node_is_cut_off() -> None:
    assert run("$TargetDedicatedNodes = 2.9;").targets.dedicated == 2  # Azure/Batch issue 151


@pytest.mark.parametrize("option", ["requeue", "terminate", "taskcompletion", "retaineddata"])
def test_there_are_four_ways_to_take_a_node_away(option: str) -> None:
    assert run(f"$NodeDeallocationOption = {option};").targets.deallocation == option


def test_the_names_of_before_2017_are_read() -> None:
    """Of the documentation of Test-AzureBatchAutoScale, with the result that it shows."""
    text = (
        "totalNodes=($CPUPercent.GetSamplePercent(TimeInterval_Minute*0,TimeInterval_Minute*10)<0.7?5:"
        "(min($CPUPercent.GetSample(TimeInterval_Minute*0, TimeInterval_Minute*10))>0.8?"
        "($CurrentDedicated*1.1):$CurrentDedicated));"
        "$TargetDedicated=min(100,totalNodes);"
    )
    done = run(text)
    assert done.targets.dedicated == 5
    assert as_text(done.results).endswith("$NodeDeallocationOption=requeue;totalNodes=5")
    busy = {"$CPUPercent": steady(0.9, NOW), "$CurrentDedicatedNodes": steady(50, NOW)}
    assert math.isclose(run(text, busy).targets.dedicated, 55, abs_tol=1)


def test_comments_line_breaks_empty_statements_and_a_last_statement_without_semicolon_are_fine() -> None:
    text = "// what we need; 100%\n;;\n$TargetDedicatedNodes // here\n = 3 // and\n + 1"
    assert run(text).targets.dedicated == 4


def test_a_moment_in_another_time_zone_is_the_same_moment() -> None:
    here = NOW.astimezone(tz=None).astimezone(UTC)
    assert run("x = time();", now=here).results == run("x = time();").results
    assert run("x = time().hour;", now=NOW + timedelta(hours=1)).results["x"] == 20
