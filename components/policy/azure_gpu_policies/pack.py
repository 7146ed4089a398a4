"""Converts the policies to Pulumi's: `serve` runs the pack until the engine ends it. Each problem is a violation."""

import importlib
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, cast

from azure_gpu.catalog.regions import normalise
from azure_gpu_policies.known import UNKNOWN
from azure_gpu_policies.model import Policy
from azure_gpu_policies.policies import ALL
from azure_gpu_policies.resources import Resource, Stack, canonical, renamed

NAME = "azure-gpu"


def serve() -> None:
    """Runs the pack. pulumi-policy is installed only in the pack's environment."""
    sdk: Any = importlib.import_module("pulumi_policy")
    declared = _Declared(importlib.import_module("pulumi_policy.proxy").UnknownValueError)
    sdk.PolicyPack(name=NAME, policies=[_pulumi_policy(sdk, each, declared) for each in ALL])


class _Declared:
    """Stores the inputs of resources, which the engine passes only to policies of a resource. Policies of a stack get outputs,
    which don't show the account of a pool."""

    def __init__(self, unknown_error: type[Exception]) -> None:
        self._unknown_error = unknown_error
        self._inputs: dict[str, dict[str, Any]] = {}

    def of_resource(self, args: Any) -> Resource:
        properties = cast(dict[str, Any], self.plain(args.props))
        self._inputs[args.urn] = properties
        return self._resource(args, properties, {})

    def of_stack(self, args: Any) -> Stack:
        return Stack(self._of_stack(each) for each in args.resources)

    def plain(self, value: Any) -> Any:
        """Removes the SDK's wrappers, which raise an error for unknown values."""
        if isinstance(value, Mapping):
            given = cast(Mapping[str, Any], value)
            return {key: self._entry(given, key) for key in given}
        if isinstance(value, Sequence) and not isinstance(value, str):
            listed = cast(Sequence[Any], value)
            return [self._entry(listed, index) for index in range(len(listed))]
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return value

    def _entry(self, values: Any, key: str | int) -> Any:
        try:
            return self.plain(values[key])
        except self._unknown_error:
            return UNKNOWN

    def _of_stack(self, found: Any) -> Resource:
        """Uses the inputs, as in a preview outputs of unset properties aren't known."""
        inputs = self._inputs.get(found.urn)
        properties = inputs if inputs is not None else cast(dict[str, Any], self.plain(found.props))
        depends = {key: tuple(each.urn for each in of_key) for key, of_key in found.property_dependencies.items()}
        return self._resource(found, properties, depends)

    def _resource(self, found: Any, properties: dict[str, Any], depends: dict[str, tuple[str, ...]]) -> Resource:
        provider = cast(dict[str, Any], self.plain(found.provider.props)) if found.provider is not None else {}
        location, kind = provider.get("location"), canonical(found.resource_type)
        return Resource(
            urn=found.urn,
            type=kind,
            name=found.name,
            properties=renamed(kind, properties),
            default_location=normalise(location) if isinstance(location, str) else "",
            depends=depends,
        )


def _pulumi_policy(sdk: Any, policy: Policy, declared: _Declared) -> Any:
    of_resource = policy.of_resource is not None
    made = sdk.ResourceValidationPolicy if of_resource else sdk.StackValidationPolicy

    def resource(args: Any, report: Any) -> None:
        for problem in policy.judge(declared.of_resource(args), args.get_config(), today()):
            report(str(problem))

    def stack(args: Any, report: Any) -> None:
        for about, problem in policy.judge_stack(declared.of_stack(args), args.get_config(), today()):
            report(str(problem), about.urn if about is not None else None)

    return made(
        name=policy.name,
        description=policy.description,
        validate=resource if of_resource else stack,
        enforcement_level=sdk.EnforcementLevel(policy.level),
        config_schema=sdk.PolicyConfigSchema(properties={each.name: dict(each.schema) for each in policy.settings}),
        display_name=policy.title,
        severity=sdk.Severity(policy.severity),
        remediation_steps=policy.fix,
    )


def today() -> date:
    return datetime.now(UTC).date()
