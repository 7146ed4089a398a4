"""Secrets of a program at keys that Azure shows to every reader."""

from typing import Any

import pulumi
import pytest

import azure_gpu
from azure_gpu.shared.refusal import Refused
from tests.components.recording import declare
from tests.components.test_constructors import GOOD, LOOK_UPS, alone, program

IMAGE, MODEL = (
    "docker.io/library/python:3.12-slim",
    {"model": "/models/digits/versions/1", "instance_type": "Standard_NC4as_T4_v3"},
)
# Components with plain values at any depth, and where the key for secrets is.
PLACES: list[tuple[str, dict[str, Any], str, str]] = [
    ("ServerlessGpuJob", {"environment": {"DB": ...}}, "environment.DB", 'ServerlessGpuJob("mine").secret_environment as DB'),
    (
        "BatchPool",
        {"start_task": {"command": "true", "environment": {"DB": ...}}},
        "start_task.environment.DB",
        "start_task.secret_e",
    ),
    (
        "GpuCluster",
        {"jobs": {"a": {"image": IMAGE, "environment": {"DB": ...}}}},
        "jobs.a.environment.DB",
        "jobs.a.secret_environ",
    ),
    (
        "MlEndpoint",
        {"deployments": {"a": {**MODEL, "environment_variables": {"DB": ...}}}},
        "environment_variables.DB",
        "key vault",
    ),
    ("GpuVm", {"tags": {"db": ...}}, "tags.db", "read it from a key vault at run time"),
]


def put(value: Any, secret: object) -> Any:
    if isinstance(value, dict):
        return {key: put(each, secret) for key, each in value.items()}
    return secret if value is ... else value


@pytest.mark.parametrize(("name", "more", "path", "fix"), PLACES)
def test_a_secret_output_at_a_plain_key_is_refused_with_its_place(name: str, more: dict[str, Any], path: str, fix: str) -> None:
    def build() -> None:
        for value in (secret(), pulumi.Output.secret("hunter").apply(lambda text: f"{text}2")):
            with pytest.raises(Refused) as refused:
                getattr(azure_gpu, name)("mine", {**alone(GOOD[name]), **put(more, value)})
            [problem] = [each for each in refused.value.problems if path in each.path]
            assert problem.message.startswith("this output is secret, and this key is kept in plain text")
            assert fix in problem.fix
            assert "hunter" not in str(refused.value)

    assert program(build).registrations == []


def test_an_output_that_is_known_to_be_secret_only_later_is_refused_where_it_is_used() -> None:
    def build() -> None:
        group = azure_gpu.Budget("spent", **GOOD["Budget"]).budget_id
        job(environment={"DB": pulumi.Output.secret(group)})

    with pytest.raises(Refused, match=r'ServerlessGpuJob\("mine"\)\.environment\.DB: this output is secret'):
        declare(build, lookups=LOOK_UPS)


def job(**more: Any) -> None:
    azure_gpu.ServerlessGpuJob("mine", **{**alone(GOOD["ServerlessGpuJob"]), **more})


def secret() -> pulumi.Output[str]:
    return pulumi.Output.secret("hunter2")


def test_a_text_that_looks_like_a_secret_is_a_warning_and_what_isn_t_secret_says_nothing() -> None:
    assert program(lambda: job(environment={"A": pulumi.Output.from_input("1")}, secret_environment={"T": secret()})).log == []
    [told] = program(lambda: job(environment={"API_TOKEN": "hunter2"})).log
    assert told.startswith('ServerlessGpuJob("mine").environment.API_TOKEN: this looks like a secret')
    assert told.endswith('fix: move it to ServerlessGpuJob("mine").secret_environment as API_TOKEN')
