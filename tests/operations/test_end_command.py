"""The command line of `end --past`: which stacks it looks at, when it asks, and when anything is taken down."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from azure_gpu_operations import __main__ as command_line, commands
from azure_gpu_operations.past_end import command, taking
from azure_gpu_operations.past_end.judging import Judged, Part, Past
from azure_gpu_operations.past_end.report import StackResult

JOB = Part("job", "jobs.night", "ServerlessGpuJob", datetime(2026, 12, 1, tzinfo=UTC), ())
JUDGED = Judged((Past(JOB),), is_whole=False)
PAST = ("end", "--past", "--as-of", "2026-12-05")


class Terminal(io.StringIO):
    """Somebody who answers."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stacks in which something was taken down. `dev` has a part that is past, `prod` has none."""
    done: list[str] = []
    monkeypatch.setattr(command, "stack_names", lambda _: ["dev", "prod"])
    monkeypatch.setattr(commands, "mend_backend", lambda _: None)

    def listed(stack: Any, _: datetime) -> StackResult:
        return StackResult(stack.name, JUDGED if stack.name == "dev" else Judged((), is_whole=False))

    def taken_down(stack: Any, now: datetime, _: Any, *, quiet: bool) -> StackResult:
        done.append(f"{stack.name}{' quietly' if quiet else ''}")
        return listed(stack, now)._replace(tried=True, gone=frozenset({"job"}))

    monkeypatch.setattr(taking, "listed", listed)
    monkeypatch.setattr(taking, "taken_down", taken_down)
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))  # no terminal
    return done


@pytest.mark.parametrize(
    ("words", "code", "done"),
    [
        pytest.param((), 3, [], id="without --yes it lists"),
        pytest.param(("--yes",), 0, ["dev", "prod"], id="in every stack"),
        pytest.param(("--yes", "--stack", "prod"), 0, ["prod"], id="in one"),
        pytest.param(("--stack", "prod"), 0, [], id="nothing is past in it"),
        pytest.param(("--json",), 3, [], id="listed as JSON"),
        pytest.param(("--json", "--yes"), 0, ["dev quietly", "prod quietly"], id="taken down as JSON"),
    ],
)
def test_only_yes_takes_anything_down_where_nobody_can_be_asked(
    words: tuple[str, ...], code: int, done: list[str], taken: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main([*PAST, *words]) == code
    assert taken == done
    if "--json" in words:
        assert json.loads(capsys.readouterr().out)["as_of"] == "2026-12-05T00:00:00Z"


@pytest.mark.parametrize(("answer", "code", "done"), [("yes\n", 0, ["dev", "prod"]), ("y\n", 3, []), ("", 3, [])])
def test_on_a_terminal_it_asks_after_it_has_listed(
    answer: str, code: int, done: list[str], taken: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    assert command_line.main([*PAST]) == code
    assert taken == done
    said = capsys.readouterr().out
    assert said.index("jobs.night (ServerlessGpuJob): expired") < said.index("Type yes to continue")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("end", "--past", "--stack", "test"), "error: --stack: stack not found; given: 'test'; allowed: dev, prod\n"),
        (("end", "--past", "--as-of", "tomorrow"), "'tomorrow' is not "),
        (("end",), "the following arguments are required: --past\n"),
    ],
)
def test_a_wrong_command_line_is_refused(
    words: tuple[str, ...], said: str, taken: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: object = command_line.main([*words])
    except SystemExit as ended:  # argparse's own
        code = ended.code
    assert (code, taken) == (2, [])
    assert said in capsys.readouterr().err
