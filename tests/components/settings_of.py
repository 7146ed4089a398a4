"""Stack files as the engine hands them to the program."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from azure_gpu.catalog.problems import Problem
from azure_gpu.shared.context import StackArgs
from azure_gpu.stack.look_ups import ASSUMED, BY_PROVIDER
from azure_gpu.stack.plan import plan
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


def all_problems(settings: Settings, project: str, stack: str) -> list[Problem]:
    """Of a plan that reads what exists."""
    return list(plan(settings, BY_PROVIDER, project, stack).problems)


def pure_problems(settings: Settings, project: str, stack: str) -> list[Problem]:
    """Of a plan that assumes what exists."""
    return list(plan(settings, ASSUMED, project, stack).problems)
