"""The order in which every run goes, whatever its service: what Ctrl-C does at each step, and the exit code."""

import pytest

from azure_gpu_operations.run.driving import DETACH, STOP, Choice, choice, drive, follow
from azure_gpu_operations.run.protocol import EndedFromOutsideError, Outcome, RunError
from tests.support.scripted_runs import ScriptedRun, output_to, plan_of


def driven(run: ScriptedRun, *, detach: bool = False, answer: Choice = STOP) -> tuple[int, list[str]]:
    lines: list[str] = []
    return drive(plan_of(run), output_to(lines), "dev", detach=detach, choose=lambda: answer).code, lines


def test_a_run_is_started_followed_summed_up_and_settled() -> None:
    run = ScriptedRun(Outcome(3, "failed, exit code 3"))
    assert driven(run) == (3, ["train: failed, exit code 3; 1.0 minutes, 0.01 USD"])
    assert run.steps == ["enter", "start", "follow", "settle", "leave"]


def test_a_detached_run_is_left_and_the_command_that_shows_it_is_named() -> None:
    run = ScriptedRun()
    code, lines = driven(run, detach=True)
    assert (code, run.steps) == (0, ["enter", "start", "leave"])
    assert lines == ["detached, still running: run-1; its log: python -m operations logs run-1 --stack dev"]


@pytest.mark.parametrize("step", ["start", "follow"])
def test_ctrl_c_stops_it_in_azure(step: str) -> None:
    run = ScriptedRun(raises={step: KeyboardInterrupt()})
    code, lines = driven(run)
    assert (code, lines) == (130, ["train: stopped on Ctrl-C; 1.0 minutes, 0.01 USD"])
    assert run.steps[-2:] == ["stop", "leave"]
    assert "settle" not in run.steps


def test_ctrl_c_with_the_answer_detach_leaves_it() -> None:
    run = ScriptedRun(raises={"follow": KeyboardInterrupt()})
    code, lines = driven(run, answer=DETACH)
    assert (code, "stop" in run.steps) == (130, False)
    assert "detached, still running: run-1" in lines[0]


@pytest.mark.parametrize("run", [ScriptedRun(name="", raises={"start": KeyboardInterrupt()}),
                                 ScriptedRun(can_be_left=False, raises={"follow": KeyboardInterrupt()})])  # fmt: skip
def test_what_can_not_be_left_is_stopped_without_a_question(run: ScriptedRun) -> None:
    def ask() -> Choice:
        raise AssertionError("nobody is to be asked")

    assert drive(plan_of(run), output_to([]), "dev", choose=ask).code == 130
    assert "stop" in run.steps


def test_one_that_is_ended_from_outside_is_stopped_without_a_question() -> None:
    run = ScriptedRun(raises={"follow": EndedFromOutsideError()})
    assert driven(run, answer=DETACH)[0] == 130
    assert "stop" in run.steps


def test_a_stop_that_failed_claims_nothing() -> None:
    run = ScriptedRun(raises={"follow": KeyboardInterrupt()}, stops=False)
    assert driven(run) == (130, [])


def test_a_run_that_fails_by_itself_still_leaves_its_plan() -> None:
    run = ScriptedRun(raises={"follow": RunError("gone")})
    with pytest.raises(RunError, match="gone"):
        driven(run)
    assert run.steps[-1] == "leave"


def test_following_a_run_of_somebody_else_removes_nothing_and_ctrl_c_leaves_it() -> None:
    lines: list[str] = []
    run = ScriptedRun(Outcome(1, "failed, exit code 1"))
    assert follow(run, output_to(lines), "dev").code == 1
    assert run.steps == ["follow"]
    assert lines[0] == "train: failed, exit code 1; 1.0 minutes, 0.01 USD"
    left = ScriptedRun(raises={"follow": KeyboardInterrupt()})
    assert (follow(left, output_to([]), "dev").code, left.steps) == (130, ["follow"])


@pytest.mark.parametrize(("answer", "chosen"), [("d", DETACH), ("Detach", DETACH), ("", STOP), ("s", STOP), ("what?", STOP)])
def test_only_a_word_for_detaching_leaves_a_run(answer: str, chosen: Choice) -> None:
    assert choice(lambda: answer) == chosen


@pytest.mark.parametrize("error", [KeyboardInterrupt(), EOFError()])
def test_a_second_ctrl_c_and_the_end_of_input_stop_it(error: BaseException) -> None:
    def ask() -> str:
        raise error

    assert choice(ask) == STOP
