"""A saved plan for a later `up`: the engine's plan, with the state that it was made for.

The engine limits an update to the plan, but doesn't notice a newer state if the update comes out the same.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

FORM = 1
_CIPHERTEXT = re.compile(r'"ciphertext": ?"[^"]*"')  # another one each time that the same secret is written


class PlanError(Exception):
    """The file isn't a saved plan, or is one of another stack. The message is for the user."""


class StalePlanError(Exception):
    """The stack's state has moved on since the plan was made. The text is for the user."""


class SavedPlan(NamedTuple):
    """The content of a saved plan."""

    stack: str
    state: str
    engine: Mapping[str, Any]


def state_of(deployment: Mapping[str, Any]) -> str:
    """A digest of a stack's exported deployment, its time included: any update makes it another."""
    text = _CIPHERTEXT.sub('"ciphertext":""', json.dumps(deployment, sort_keys=True))
    return hashlib.sha256(text.encode()).hexdigest()


def write(file: Path, stack: str, state: str, engine: Path) -> None:
    """`engine`: the file that the engine has written its plan into."""
    plan = json.loads(engine.read_text(encoding="utf-8"))
    file.write_text(json.dumps({"form": FORM, "stack": stack, "state": state, "plan": plan}), encoding="utf-8")


def read(file: Path, stack: str) -> SavedPlan:
    """PlanError."""
    try:
        content: object = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanError(f"{file} can't be read: {error.strerror}") from None
    except ValueError:
        raise PlanError(f"{file} isn't a saved plan: not JSON; create one with `preview --save-plan FILE`") from None
    plan = cast(Mapping[str, Any], content) if isinstance(content, dict) else {}
    if plan.get("form") != FORM or not isinstance(plan.get("plan"), dict) or not isinstance(plan.get("state"), str):
        raise PlanError(f"{file} isn't a saved plan of format {FORM}; create one with `preview --save-plan FILE`")
    if plan.get("stack") != stack:
        raise PlanError(f"{file} is a plan for stack {plan.get('stack')}, not {stack}")
    return SavedPlan(stack, plan["state"], plan["plan"])


def refuse_stale(plan: SavedPlan, deployment: Mapping[str, Any]) -> None:
    """StalePlanError where `deployment` isn't the state that the plan was made for."""
    if state_of(deployment) != plan.state:
        raise StalePlanError(
            f"stack {plan.stack} has been updated since the plan was made; nothing was changed; "
            "create and review a new plan (`preview --save-plan FILE`)"
        )
