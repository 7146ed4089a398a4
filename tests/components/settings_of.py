"""Stack files as the engine hands them to the program."""

import json
from collections.abc import Mapping
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu.stack.look_ups import ASSUMED, BY_PROVIDER
from azure_gpu.stack.plan import plan
from azure_gpu.stack.settings import Settings
from tests.components.recording import SUBSCRIPTION

TODAY = "2026-11-20"
STACK_ARGS = {"subscription_id": SUBSCRIPTION, "team": "vision", "location": "westeurope", "today": TODAY}


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
