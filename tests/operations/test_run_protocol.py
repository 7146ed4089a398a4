"""What every service of `run` has in common, one suite for all of them: the protocol of a run (`run/protocol.py`)."""

from contextlib import nullcontext
from typing import Any

import pytest

from azure_gpu_operations.run.driving import drive
from azure_gpu_operations.run.on_local import run as local_run
from azure_gpu_operations.run.protocol import Output, RunError
from tests.operations.run_services import GONE, LATE, REFUSALS, SERVICES, OnLocal, Service
from tests.support.scripted_runs import output_to

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
