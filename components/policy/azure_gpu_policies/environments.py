"""Finds secrets in plain text among environment variables. Problems never show values."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import azure_types
from azure_gpu.formats.likely_secrets import holds_secret, is_secret_name
from azure_gpu_policies.known import UNKNOWN, at, entries, mapping, text
from azure_gpu_policies.machines import CONTAINER_APP
from azure_gpu_policies.model import PolicySettings, policy, texts
from azure_gpu_policies.pods import pod_of
from azure_gpu_policies.resources import Resource
from azure_gpu_policies.rules import problem


class Variable(NamedTuple):
    """An environment variable with a plain value."""

    name: str
    value: str
    path: str
    of: str  # the type of the row of `rules.tsv`: of the resource, or a pod


def _variables(resource: Resource) -> Iterator[Variable]:
    """Yields variables, also those that are secret in the program: the service shows them to everybody who may read the
    resource."""
    found = resource.properties
    pod = pod_of(resource)
    if pod is not None:
        for container in pod.containers:
            yield from _listed(container.properties, "env", container.path, "pod")
    if resource.type == azure_types.CONTAINER_GROUP.token:
        for key in ("initContainers", "containers"):
            for index, each in entries(found, key):
                yield from _listed(each, "environmentVariables", resource.path(f"{key}[{index}]"), resource.type)
    if resource.type in (azure_types.JOB.token, CONTAINER_APP):
        for key in ("initContainers", "containers"):
            for index, each in entries(found, "template", key):
                yield from _listed(each, "env", resource.path(f"template.{key}[{index}]"), resource.type)
    if resource.type == azure_types.ML_ONLINE_DEPLOYMENT.token:
        variables = mapping(found, "properties", "environmentVariables") or {}
        for name, value in variables.items():
            # An unknown value may be such a reference, to a vault that the same update creates.
            if isinstance(value, str) and value and not value.startswith("${{"):
                yield Variable(name, value, resource.path(f"properties.environmentVariables.{name}"), resource.type)
    if resource.type == azure_types.BATCH_POOL.token:
        yield from _listed(at(found, "startTask"), "environmentSettings", resource.path("startTask"), resource.type)


def _listed(container: Any, key: str, path: str, of: str) -> Iterator[Variable]:
    for index, each in entries(container, key):
        value = at(each, "value")
        # One that isn't known, such as a password that the same update generates, is one by its name.
        if (isinstance(value, str) and value) or (value is UNKNOWN and text(each, "name")):
            shown = value if isinstance(value, str) else ""
            yield Variable(text(each, "name"), shown, f"{path}.{key}[{index}].value", of)


def _plain_secrets(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    allowed = settings.words("variables")
    for each in _variables(resource):
        if each.name.lower() in allowed or not (is_secret_name(each.name) or holds_secret(each.value)):
            continue
        yield problem("plain-text-secret", each.path, of=each.of, variable=each.name)


POLICIES = (
    policy(
        "plain-text-secret",
        of_resource=_plain_secrets,
        own_settings=(texts("variables", "Names of variables that look like secrets but aren't"),),
    ),
)
