"""What functions of the provider answered, kept as lines of JSON: token, arguments, answer.

A recording has an answer for each token, whatever the arguments are. A record has one for each call that was made.
"""

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.components.recording import KEYS

GIVEN = "ANSWERS"  # variables of the environment: a file to answer from,
COMPUTED = "computed from the arguments"  # in place of an answer that depends on them
HEARD = "HEARD"  # and one to write what was answered to
_writing = threading.Lock()


def given() -> dict[str, Any]:
    """`by_token`: answers of a recording; `calls`: those of a record."""
    path = os.environ.get(GIVEN)
    return json.loads(Path(path).read_text()) if path else {}


def answer(prepared: Mapping[str, Any], token: str, arguments: Mapping[str, Any]) -> Any:
    """ValueError where Azure would have none."""
    for call in prepared.get("calls", ()):
        if (call["token"], call["arguments"]) == (token, arguments):
            return call["answer"]
    found = prepared.get("by_token", {}).get(token)
    if found == COMPUTED:
        answer_of = KEYS[token]
        found = answer_of(arguments) if callable(answer_of) else answer_of
    if found is None or isinstance(found, str):
        raise ValueError(found or f"no resource: nothing is recorded of {token} with {json.dumps(arguments, sort_keys=True)}")
    return found


def prepared_by(answers: Mapping[str, Any]) -> dict[str, Any]:
    """The answers as JSON takes them: those that depend on the arguments are computed by the provider that is asked."""
    return {token: COMPUTED if callable(answer) else answer for token, answer in answers.items()}


def hear(token: str, arguments: Mapping[str, Any], result: Any) -> None:
    path = os.environ.get(HEARD)
    if path:
        line = json.dumps({"token": token, "arguments": arguments, "answer": result}, sort_keys=True)
        with _writing, Path(path).open("a") as file:
            file.write(line + "\n")


def heard(path: Path) -> list[dict[str, Any]]:
    """Each call once, in order of their text."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in sorted(set(lines))]
