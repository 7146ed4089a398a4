"""How pending creations are handed to the engine: what exists first, what was never made after it."""

from pathlib import Path

import pytest

from operations import stack as stack_module
from operations.stack import Stack

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("imports", "forget", "options"),
    [
        ((), True, [["--clear-pending-creates"]]),
        ((("urn:a", "/id/a"),), False, [["--import-pending-creates", "urn:a", "--import-pending-creates", "/id/a"]]),
        (
            (("urn:a", "/id/a"), ("urn:b", "/id/b")),
            True,
            [
                [word for given in ("urn:a", "/id/a", "urn:b", "/id/b") for word in ("--import-pending-creates", given)],
                ["--clear-pending-creates"],
            ],
        ),
    ],
)
def test_the_engine_takes_in_in_one_run_and_forgets_in_another(
    imports: tuple[tuple[str, str], ...], forget: bool, options: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[tuple[str, ...]] = []
    monkeypatch.setattr(stack_module, "run_engine", lambda _, *arguments, quiet: runs.append(arguments) or "")
    Stack(ROOT, "mine").refresh_pending(imports, forget=forget)
    assert [list(run) for run in runs] == [["refresh", "--yes", "--skip-preview", *given, "--stack", "mine"] for given in options]
