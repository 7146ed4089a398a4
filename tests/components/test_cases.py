"""Stack files as cases: `cases/<component>.happy.<what>.yaml` is taken, `cases/<component>.error.<why>.yaml` is refused.

`cases/<component>.variants.<of>.yaml` is taken too: entries that differ from the defaults in one thing each, with a comment where
it says why the body is as it is. A happy case comes up on the embedded Azure; of variants the body is recorded, and what a
preview tells.

A case has a stack under `says`, and what Azure answers about what exists under `azure_answers`; an error case lists its problems
under `messages`, each as parts that its text must hold. What becomes of a case is in `cases/bodies`, a file each.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.components import recorded_bodies

CASES = Path(__file__).parent / "cases"


def cases(kind: str) -> list[Any]:
    paths = sorted(CASES.glob(f"*.{kind}.*.yaml"))
    return [pytest.param(yaml.load(path.read_text(), yaml.CSafeLoader), id=path.stem) for path in paths]


def test_an_error_case_is_refused_with_its_messages_and_no_others() -> None:
    wrong: list[str] = []
    for case in cases("error"):
        texts = [problem["text"] for problem in recorded_bodies.recorded()[case.id]["problems"]]
        messages = case.values[0]["messages"]
        wrong += [
            f"{case.id}: not among its messages: {text}" for text in texts if not any(_holds(text, parts) for parts in messages)
        ]
        wrong += [f"{case.id}: no problem has {parts}" for parts in messages if not any(_holds(text, parts) for text in texts)]
    assert wrong == []


def _holds(text: str, parts: list[str]) -> bool:
    return all(part in text for part in parts)
