"""What every service of `run` has in common, one suite for all of them: the protocol of a run, and the order of its steps."""

from contextlib import nullcontext
from typing import Any

import pytest

from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.run.driving import DETACH, STOP, Choice, choice, drive, follow
from azure_gpu_operations.run.on_local import run as local_run
from azure_gpu_operations.run.protocol import EndedFromOutsideError, Outcome, Output, RunError
from tests.operations.run_services import GONE, LATE, REFUSALS, SERVICES, OnLocal, Service
from tests.support.scripted_runs import ScriptedRun, output_to, plan_of

IN_AZURE = [name for name in SERVICES if name != "local"]


@pytest.fixture
def service(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Service:
    made = SERVICES[request.param]()
    if isinstance(made, OnLocal):
        monkeypatch.setattr(local_run.subprocess, "Popen", made.popen)
    return made


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def output(said: list[str]) -> Output:
    return output_to(said)


everywhere = pytest.mark.parametrize("service", list(SERVICES), indirect=True)
in_azure = pytest.mark.parametrize("service", IN_AZURE, indirect=True)


@everywhere
def test_it_is_started_once_and_says_where(service: Service, output: Output, said: list[str]) -> None:
    run = service.run(output)
    run.start()
    assert service.sent == ["start"]
    assert run.name == "run-1"
    assert said[0].startswith("started ")
    assert all(each in said[0] for each in (run.place, "run-1") if not isinstance(service, OnLocal))


@everywhere
@pytest.mark.parametrize("code", [0, 7])
def test_its_exit_code_is_the_programs(service: Service, output: Output, code: int) -> None:
    service.ends = code
    run = service.run(output)
    run.start()
    found = run.follow()
    assert found.code == code
    assert f"exit code {code}" in found.words


@everywhere
def test_one_whose_time_is_over_ends_with_124(service: Service, output: Output, said: list[str]) -> None:
    service.ends = LATE
    run = service.run(output, minutes=0 if service.stopping == ("stop run-1",) else 5)
    run.start()
    found = run.follow()
    assert found.code == 124
    assert "after its timeout" in "\n".join([found.words, *said])


@in_azure
def test_one_that_somebody_deleted_is_an_error(service: Service, output: Output) -> None:
    service.ends = GONE
    run = service.run(output)
    run.start()
    with pytest.raises(RunError, match=r"run-1 doesn't exist any more; .*deleted outside the stack"):
        run.follow()


@in_azure
def test_one_can_be_left_once_it_was_sent_whole(service: Service, output: Output) -> None:
    run = service.run(output)
    assert not run.can_be_left
    assert not run.stop()  # there is nothing to stop
    run.start()
    assert run.can_be_left
    assert service.sent == ["start"]


@everywhere
def test_ctrl_c_passes_through_while_it_is_followed(service: Service, output: Output) -> None:
    run = service.run(output)
    run.start()
    service.looks = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        run.follow()


@everywhere
def test_a_stop_stops_it(service: Service, output: Output) -> None:
    run = service.run(output)
    run.start()
    assert run.stop()
    assert set(service.sent[1:]) == set(service.stopping)


@in_azure
def test_a_stop_that_is_refused_says_that_it_may_be_running(service: Service, output: Output, said: list[str]) -> None:
    run = service.run(output)
    run.start()
    service.refuses = next(error for name, error in REFUSALS.items() if type(service) is SERVICES[name])
    assert not run.stop()
    assert "may still be running" in said[-1]
    assert "(Conflict: busy)" in said[-1]
    assert "--stack dev" in said[-1], "the command that shows it"


@pytest.mark.parametrize("service", ["batch"], indirect=True)
def test_what_ran_until_a_stop_is_counted(service: Service, output: Output) -> None:
    run = service.run(output)
    run.start()
    assert run.stop()
    assert run.cost().words.startswith("5.0 minutes on 1 node, ")


@pytest.mark.parametrize("service", ["cluster"], indirect=True)
def test_one_that_has_ended_is_not_said_to_be_running(service: Service, output: Output, said: list[str]) -> None:
    run = service.run(output)
    run.start()
    service.refuses = AzureError("UserError: The job has ended.", 400)
    assert run.stop()
    assert said[-1] == "the job run-1 has ended already: Completed"


@in_azure
def test_a_failure_is_left_to_be_explained_and_a_success_is_not(service: Service, output: Output, said: list[str]) -> None:
    explained: list[bool] = []
    for service.ends in (7, 0):
        run = service.run(output)
        run.start()
        run.follow()
        said.clear()
        run.settle()
        explained.append(any(" explain " in line for line in said))
    assert explained == [type(service).__name__ != "OnVm", False]


@everywhere
def test_its_cost_can_be_asked_for_at_each_step(service: Service, output: Output) -> None:
    run = service.run(output)
    before = run.cost()
    assert (before.usd, bool(before.words)) == (None, True)
    run.start()
    run.follow()
    after = run.cost()
    assert after.words
    assert after.seconds is None or after.seconds > 0


@everywhere
def test_it_is_driven_from_start_to_end(service: Service, output: Output, said: list[str]) -> None:
    run: Any = service.run(output)
    ended = drive(lambda _: nullcontext(run), output, "dev")
    assert ended.code == 0
    assert any(line.startswith(f"{run.place}: ") for line in said)


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
