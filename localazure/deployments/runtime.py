"""Answers `reference` and `list…` while a deployment runs: resources as GET shows them, and their actions.

An action takes a while, so its answer comes with the next evaluation.
"""

import json
from typing import Any

from azure_gpu.formats.arm_template import DEFERRED, Ask, RefusedError
from localazure.arm.caller import Caller
from localazure.arm.in_process import InProcessArm
from localazure.arm.store import Store
from localazure.deployments import view
from localazure.deployments.kind import TYPE


class RuntimeFunctions:
    """The runtime functions of one evaluation, which is repeated while `missing` has requests without an answer."""

    def __init__(self, arm: InProcessArm, store: Store, caller: Caller) -> None:
        self._arm = arm
        self._store = store
        self._caller = caller
        self._known: dict[str, Any] = {}
        self._missing: dict[str, Ask] = {}

    def __call__(self, ask: Ask) -> Any:
        """RefusedError or ArmError where there is no answer."""
        if not ask.resource.startswith("/"):
            raise RefusedError(f"{ask.function}: the template has no resource '{ask.resource}'", "write its resourceId")
        if ask.function == "reference":
            return self._reference(ask)
        key = json.dumps(ask)
        if key not in self._known:
            self._missing[key] = ask
            return DEFERRED
        return self._known[key]

    async def fetch(self) -> bool:
        """Carries out the actions that were requested; False where there was none."""
        requested, self._missing = self._missing, {}
        for key, ask in requested.items():
            body = ask.body if isinstance(ask.body, dict) else {}
            self._known[key] = await self._arm.act(ask.resource, ask.function, ask.version, body, self._caller)
        return bool(requested)

    def _reference(self, ask: Ask) -> Any:
        kind, parsed = self._arm.target(ask.resource)
        if kind.arm_type == TYPE:
            stored = self._store.get(parsed.key)
            if stored is None:
                raise RefusedError(f"reference: there is no deployment '{parsed.name}'")
            whole = view.document(stored)
        else:
            if not ask.version:
                raise RefusedError(
                    f"reference: '{ask.resource}' is not of this template, so it needs an api-version",
                    "give it as second argument",
                )
            whole = self._arm.document(ask.resource, ask.version)
        if not ask.full:
            return whole.get("properties", {})
        return {
            "apiVersion": ask.version,
            "subscriptionId": parsed.subscription,
            "resourceGroupName": parsed.resource_group,
            "scope": "",
            "resourceId": ask.resource,
            "referenceApiVersion": ask.version,
            **{name: value for name, value in whole.items() if name not in ("id", "name", "type")},
        }
