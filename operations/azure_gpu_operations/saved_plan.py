"""A plan that is saved for a later `up`: the engine's own, with the state that it was made for.

In: a stack, a file. Out: the file written, or the plan read from it where the stack's state is still that one. The engine
holds an update to the plan; that the state has moved on meanwhile, it doesn't notice where the update comes out the same.
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
    """A file that is no saved plan, or that of another stack. The text is for the user."""


class StalePlanError(Exception):
    """The stack's state has moved on since the plan was made. The text is for the user."""


class SavedPlan(NamedTuple):
    """What the file holds."""

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
        told: object = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanError(f"{file} can't be read: {error.strerror}") from None
    except ValueError:
        raise PlanError(f"{file} is no saved plan: it isn't JSON; `preview --save-plan FILE` writes one") from None
    plan = cast(Mapping[str, Any], told) if isinstance(told, dict) else {}
    if plan.get("form") != FORM or not isinstance(plan.get("plan"), dict) or not isinstance(plan.get("state"), str):
        raise PlanError(f"{file} is no saved plan of form {FORM}; `preview --save-plan FILE` writes one")
    if plan.get("stack") != stack:
        raise PlanError(f"{file} is a plan of stack {plan.get('stack')}, and not of {stack}")
    return SavedPlan(stack, plan["state"], plan["plan"])


def refuse_stale(plan: SavedPlan, deployment: Mapping[str, Any]) -> None:
    """StalePlanError where `deployment` isn't the state that the plan was made for."""
    if state_of(deployment) != plan.state:
        raise StalePlanError(
            f"stack {plan.stack} has been updated since the plan was made, and nothing was changed now; "
            "make a plan anew (`preview --save-plan FILE`) and have it reviewed"
        )
