"""Stack files as the engine hands them to the program."""

import json
from collections.abc import Mapping
from typing import Any

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
