"""Autoscale formulas that are wrong: each error with its line and column."""

from azure_gpu.catalog.problems import Code, Severity
from azure_gpu.formats.autoscale_formula import FormulaError, formula_problems, parse
from tests.support.rows import each_row


def errors(text: str) -> list[str]:
    formula, found = parse(text)
    assert (formula is None) == bool(found)
    return [str(error) for error in found]


@each_row(
    ("text", "expected"),
    [
        (
            "x = $PendingTaks;",
            "line 1, column 5: $PendingTaks isn't a variable of Batch, and nothing sets it before; $PendingTasks is meant?",
        ),
        (
            "x = $pendingtasks;",
            "line 1, column 5: $pendingtasks isn't a variable of Batch, and nothing sets it before; $PendingTasks is meant?",
        ),
        ("$something_useless", "line 1, column 1: $something_useless isn't a variable of Batch, and nothing sets it before"),
        ("cap = 3;\nx = capp;", "line 2, column 5: nothing set capp before; cap is meant?"),
        ("x = y;\ny = 1;", "line 1, column 5: nothing set y before"),
        ("x = TimeInterval_Minutes;", "line 1, column 5: nothing set TimeInterval_Minutes before; TimeInterval_Minute is meant?"),
        ("x = average(1);", "line 1, column 5: average isn't a function of a formula; range is meant?"),
        ("x = $PendingTasks.GetSamples(1);", "line 1, column 19: GetSamples isn't a method of a variable; GetSample is meant?"),
        ("x = $PendingTasks.Count;", "line 1, column 19: Count is a method: write Count(…)"),
        ("x = max;", "line 1, column 5: max is a function: write max(…)"),
        ("x = time().hours;", "line 1, column 12: hours isn't a part of a timestamp; hour is meant?"),
        ("$PendingTasks = 3;", "line 1, column 1: $PendingTasks can't be set: it is what the service measures"),
        ("TimeInterval_Day = 3;", "line 1, column 1: TimeInterval_Day can't be set: it is a word of the language"),
        (
            "$NodeDeallocationOption = 1;",
            "line 1, column 1: $NodeDeallocationOption takes one of requeue, terminate, taskcompletion, retaineddata",
        ),
        (
            "$NodeDeallocationOption = taskcompleted;",
            "line 1, column 27: nothing set taskcompleted before; taskcompletion is meant?",
        ),
        (
            "$TargetDedicatedNodes = $PendingTasks.GetSample(1);",
            "line 1, column 1: $TargetDedicatedNodes takes a number, and this is a list of numbers; "
            "max(…), avg(…) or val(…, 0) makes one number of it",
        ),
        ("$TargetDedicatedNodes = time();", "line 1, column 1: $TargetDedicatedNodes takes a number, and this is a timestamp"),
        (
            "x = $PendingTasks.GetSample(1) > 3;",
            "line 1, column 32: doubleVec > double isn't an operation of a formula; "
            "max(…), avg(…) or val(…, 0) makes one number of it",
        ),
        ("x = 2 * vec(1);", "line 1, column 7: double * doubleVec isn't an operation of a formula; the list has to stand first"),
        (
            "x = time() - TimeInterval_Hour;",
            "line 1, column 12: timestamp - timeinterval isn't an operation of a formula; add the interval times -1",
        ),
        ("x = time() < 5;", "line 1, column 12: timestamp < double isn't an operation of a formula"),
        ("x = !time();", "line 1, column 5: ! takes no timestamp"),
        ("x = avg(time());", "line 1, column 9: avg(…) takes numbers and lists of numbers, and this is a timestamp"),
        ("x = val(1, 2);", "line 1, column 9: val(…) takes a list of numbers here, and this is a number"),
        ("x = val(vec(1));", "line 1, column 5: val(…) takes doubleVec, double, and 1 values are given"),
        ("x = rand(1);", "line 1, column 5: rand(…) takes nothing, and 1 values are given"),
        ("x = ceil();", "line 1, column 5: ceil(…) needs a number or a list of numbers"),
        ("x = stop();", "line 1, column 1: stop() gives no value that a variable can take"),
        ("x = 3;\ny = x.GetSample(1);", "line 2, column 7: only variables that the service measures have GetSample(…)"),
        ("x = (3).hour;", "line 1, column 9: only a timestamp has hour, and this is a number"),
        (
            "x = $PendingTasks.GetSamplePercent(5);",
            "line 1, column 19: GetSamplePercent takes (time) or (time, time)",
        ),
        (
            "x = $PendingTasks.GetSample(5, 70);",
            "line 1, column 19: GetSample takes (number) or (time) or (time, number) or (time, time) or (time, time, number)",
        ),
        ("x = $PendingTasks.Count(1);", "line 1, column 19: Count takes ()"),
        ("x = time() ? 1 : 2;", "line 1, column 12: the condition in front of ? is a number, and this is a timestamp"),
    ],
)
def test_names_and_types_are_checked_with_their_place(text: str, expected: str) -> None:
    assert errors(text) == [expected]


@each_row(
    ("text", "expected"),
    [
        ("", "line 1, column 1: the formula is empty: it sets no number of nodes"),
        ("// nothing", "line 1, column 1: the formula is empty: it sets no number of nodes"),
        ("x = ;", "line 1, column 5: ; stands where a value is expected"),
        ("x = 1 +", "line 1, column 8: the formula ends where a value is expected"),
        ("x = (1;", "line 1, column 7: ; stands where the closing ) is expected"),
        ("x = max(1 2);", "line 1, column 11: 2 stands where a comma or the closing ) is expected"),
        ("x = 1 ? 2;", "line 1, column 10: ; stands where a : and what holds otherwise is expected"),
        ("x = time().;", "line 1, column 12: ; stands where the name of a method or a member is expected"),
        ("3 = x;", "line 1, column 3: only a variable can be set; == compares two values"),
        ("x = y = 3;", "line 1, column 7: only a variable can be set; == compares two values"),
        ("x = 1)", "line 1, column 6: ) stands where an operator or a semicolon is expected"),
        ("x = 'a';", "line 1, column 5: texts stand in double quotes"),
        ('x = "a;\n', 'line 1, column 5: a text in double quotes has no closing " on its line'),
        ("x = [1, 2];", "line 1, column 5: a list of numbers is written vec(1, 2, 3)"),
        ("x = 1 & 1;", "line 1, column 7: & isn't an operator; && is"),
        ("x = 1e999;", "line 1, column 5: 1e999 is too large a number"),
        ("x = 7 % 2;", "line 1, column 7: % can't be read: not a number, name or operator"),
        ("/* a */ x = 1;", "line 1, column 1: comments begin with // and go to the end of the line"),
        ("x = 3a;", "line 1, column 5: 3a can't be read: not a number, name or operator"),
        (
            "$TargetDedicatedNodes = min(400, 1)\n$NodeDeallocationOption = taskcompletion;",
            "line 2, column 1: a semicolon is missing before $NodeDeallocationOption",
        ),
    ],
)
def test_what_cant_be_read_is_named_with_its_place(text: str, expected: str) -> None:
    assert errors(text) == [expected]


def test_all_errors_come_at_once_in_the_order_of_the_text() -> None:
    assert errors("a = 1 +;\nb = (2;\nc = 3;") == [
        "line 1, column 8: ; stands where a value is expected",
        "line 2, column 7: ; stands where the closing ) is expected",
    ]
    assert [error.split(":")[0] for error in errors("a = $Nope;\n$ActiveTasks = mx(b);\nc = a + 1;")] == [
        "line 1, column 5",
        "line 2, column 1",
        "line 2, column 16",
        "line 2, column 19",
    ]


def test_deep_nesting_is_refused_and_long_sums_are_not() -> None:
    assert "deep in each other" in errors("x = " + "(" * 100 + "1" + ")" * 100)[0]
    assert "deep in each other" in errors("x = " + "!" * 4000 + "1;")[0]
    assert "deep in each other" in errors("x = time()" + ".hour" * 500 + ";")[0]
    inner = "1"
    for _ in range(38):
        inner = f"(1||1&&1==1<1+1*{inner})"  # seven nodes deep for each bracket
    assert "deep in each other" in errors(f"x = {inner};")[0]
    assert errors("x = " + "+".join("1" * 4000)) == []


def test_very_many_errors_are_cut_short() -> None:
    assert len(errors("".join(f"x = nope{number};\n" for number in range(500)))) == 20
    assert len(errors("x = 1 +;\n" * 500)) == 20
    assert len(errors("x = " + " + ".join(f"$n{number}" for number in range(200)) + ";")) == 20


def test_every_documented_variable_can_be_read() -> None:
    documented = """$CPUPercent $WallClockSeconds $MemoryBytes $DiskBytes $DiskReadBytes $DiskWriteBytes $DiskReadOps
        $DiskWriteOps $NetworkInBytes $NetworkOutBytes $SampleNodeCount
        $ActiveTasks $RunningTasks $PendingTasks $SucceededTasks $FailedTasks
        $TaskSlotsPerNode $CurrentDedicatedNodes $CurrentLowPriorityNodes $PreemptedNodeCount $UsableNodeCount"""
    for name in documented.split():
        assert errors(f"x = {name}.GetSample(1); y = {name} + 1;") == []
    for name in ("$TargetDedicatedNodes", "$TargetLowPriorityNodes", "$TargetDedicated", "$TargetLowPriority"):
        assert errors(f"{name} = {name} + 1;") == []


def test_errors_are_problems_at_the_formulas_place() -> None:
    (problem,) = formula_problems("$TargetDedicatedNodes = 1;\n  x = $PendingTaks;", "pools.train.autoscale.formula")
    assert (problem.path, problem.code, problem.severity) == ("pools.train.autoscale.formula", Code.INVALID, Severity.ERROR)
    assert problem.message.startswith("line 2, column 7: $PendingTaks")
    assert problem.value == "x = $PendingTaks;"


def test_a_formula_that_moves_no_node_is_a_warning() -> None:
    assert formula_problems("$TargetDedicatedNodes = 1;", "formula") == []
    (problem,) = formula_problems("x = 1;", "formula")
    assert problem.severity is Severity.WARNING
    near, none = formula_problems("$TargetDedicatedNode = 1;", "formula")
    assert near.severity is none.severity is Severity.WARNING
    assert near.fix == "write $TargetDedicatedNodes if that is meant"


def test_places_are_told_to_people() -> None:
    assert str(FormulaError("nothing set x before", 2, 5)) == "line 2, column 5: nothing set x before"
