"""Autoscale formulas that are wrong: each error with its line and column."""

from azure_gpu.catalog.problems import Code, Severity
from azure_gpu.formats.autoscale_formula import FormulaError, formula_problems, parse
from tests.support.tables import of_table


def errors(text: str) -> list[str]:
    formula, found = parse(text)
    assert (formula is None) == bool(found)
    return [str(error) for error in found]


@of_table("text", "expected")
def test_names_and_types_are_checked_with_their_place(text: str, expected: str) -> None:
    assert errors(text) == [expected]


@of_table("text", "expected")
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
