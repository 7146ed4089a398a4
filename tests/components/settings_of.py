"""Stack files as the engine hands them to the program."""

import contextlib
import json
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from azure_gpu.catalog.problems import Problem
from azure_gpu.shared.context import StackArgs
from azure_gpu.shared.secret_places import leaves
from azure_gpu.shared.validation import key_hints
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.look_ups import ASSUMED, BY_PROVIDER
from azure_gpu.stack.plan import plan
from azure_gpu.stack.secret_values import Encrypted
from azure_gpu.stack.settings import Settings
from tests.components.recording import SUBSCRIPTION

TODAY = "2026-11-20"
STACK_ARGS: StackArgs = {"subscription_id": SUBSCRIPTION, "team": "vision", "location": "westeurope", "today": TODAY}
Args = TypeVar("Args", bound=Mapping[str, object])


def args_of(_kind: type[Args], *parts: Mapping[str, Any]) -> Args:
    """Arguments of one kind, made of parts of which the later ones win.

    Nothing holds the parts against the kind: they may say what a stack file says, where a member of an enumeration is its text.
    """
    return cast(Args, {key: value for part in parts for key, value in part.items()})


def configuration(said: Mapping[str, Any]) -> dict[str, str]:
    """What the engine passes for the keys of a stack file: text as it is, everything else as JSON.

    Team, location and subscription are filled in where nothing is said about them; None leaves a key out.
    """
    whole = {"azure-native:subscriptionId": SUBSCRIPTION, "team": "vision", "location": "westeurope", **said}
    return {
        key if ":" in key else f"azure-gpu:{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in whole.items()
        if value is not None
    }


def encrypted(said: Mapping[str, Any]) -> Encrypted:
    """The values of a stack file at keys that are made for secrets, as one has them encrypted who follows the documentation."""
    known = key_hints(StackFile)
    found = leaves(said, StackFile, ())
    return Encrypted(places=tuple(each.steps for each in found if each.is_kept and each.steps[0] in known))


def encrypted_in(configured: Mapping[str, str]) -> Encrypted:
    """The same of what the engine passes."""
    said: dict[str, Any] = {}
    for key, text in configured.items():
        with contextlib.suppress(ValueError):  # text
            said[key.removeprefix("azure-gpu:")] = json.loads(text)
    return encrypted(said)


def all_problems(settings: Settings, project: str, stack: str) -> list[Problem]:
    """Of a plan that reads what exists."""
    return list(plan(settings, BY_PROVIDER, project, stack).problems)


def pure_problems(settings: Settings, project: str, stack: str) -> list[Problem]:
    """Of a plan that assumes what exists."""
    return list(plan(settings, ASSUMED, project, stack).problems)
