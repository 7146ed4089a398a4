"""Finds secrets in plain text among environment variables. Problems never show values."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.sources import Source
from azure_gpu.formats import azure_types
from azure_gpu.formats.likely_secrets import holds_secret, is_secret_name
from azure_gpu_policies import origins
from azure_gpu_policies.known import UNKNOWN, at, entries, mapping, text
from azure_gpu_policies.machines import CONTAINER_APP
from azure_gpu_policies.model import PolicySettings, policy, texts
from azure_gpu_policies.pods import pod_of
from azure_gpu_policies.resources import Resource


class Variable(NamedTuple):
    """An environment variable with a plain value."""

    name: str
    value: str
    path: str
    instead: str  # as an instruction
    source: Source


def _variables(resource: Resource) -> Iterator[Variable]:
    """Yields variables, also those that are secret in the program: the service shows them to everybody who may read the
    resource."""
    found = resource.properties
    pod = pod_of(resource)
    if pod is not None:
        instead = "store it in a Secret, and set valueFrom with secretKeyRef"
        for container in pod.containers:
            yield from _listed(container.properties, "env", container.path, instead, origins.POD_SECRETS)
    if resource.type == azure_types.CONTAINER_GROUP.token:
        instead, page = "set secureValue in place of value", origins.GROUP_VARIABLE
        for key in ("initContainers", "containers"):
            for index, each in entries(found, key):
                yield from _listed(each, "environmentVariables", resource.path(f"{key}[{index}]"), instead, page)
    if resource.type in (azure_types.JOB.token, CONTAINER_APP):
        instead = "store it in configuration.secrets, and set secretRef in place of value"
        for key in ("initContainers", "containers"):
            for index, each in entries(found, "template", key):
                here = resource.path(f"template.{key}[{index}]")
                yield from _listed(each, "env", here, instead, origins.APP_SECRET)
    if resource.type == azure_types.ML_ONLINE_DEPLOYMENT.token:
        variables = mapping(found, "properties", "environmentVariables") or {}
        instead = "write ${{keyvault:…}} or ${{azureml://connections/…}}, or read it by the endpoint's identity"
        for name, value in variables.items():
            # An unknown value may be such a reference, to a vault that the same update creates.
            if isinstance(value, str) and value and not value.startswith("${{"):
                path = resource.path(f"properties.environmentVariables.{name}")
                yield Variable(name, value, path, instead, origins.ML_SECRETS)
    if resource.type == azure_types.BATCH_POOL.token:
        instead = "let the task read it from a Key Vault by the pool's identity"
        here = resource.path("startTask")
        yield from _listed(at(found, "startTask"), "environmentSettings", here, instead, origins.BATCH_VARIABLE)


def _listed(container: Any, key: str, path: str, instead: str, source: Source) -> Iterator[Variable]:
    for index, each in entries(container, key):
        value = at(each, "value")
        if isinstance(value, str) and value:
            yield Variable(text(each, "name"), value, f"{path}.{key}[{index}].value", instead, source)
        elif value is UNKNOWN and text(each, "name"):  # such as a password that the same update generates
            yield Variable(text(each, "name"), "", f"{path}.{key}[{index}].value", instead, source)


def _plain_secrets(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    allowed = settings.words("variables")
    for each in _variables(resource):
        if each.name.lower() in allowed or not (is_secret_name(each.name) or holds_secret(each.value)):
            continue
        yield Problem(
            path=each.path,
            message=f"the variable {each.name} is likely a secret, and everybody who may read the resource can read it",
            allowed="a reference to a secret",
            fix=each.instead,
            source=str(each.source),
        )


POLICIES = (
    policy(
        "plain-text-secret",
        of_resource=_plain_secrets,
        own_settings=(texts("variables", "Names of variables that look like secrets but aren't"),),
    ),
)
