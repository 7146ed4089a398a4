"""Registries and their builds over HTTP: what a run makes, what it says when it fails, when it runs again."""

import uuid
from pathlib import Path

import pytest

from localazure.containers.build_log import BuildFailedError
from localazure.kinds import build_sources
from tests.localazure.containers.sdk import REGISTRY, TASK_RUN, Registry
from tests.localazure.parts import settings_in
from tests.support.embedded import EmbeddedAzure


@pytest.fixture
def registry(azure: EmbeddedAzure, group: str) -> Registry:
    return Registry(azure, group, f"Reg{uuid.uuid4().hex[:10]}")


def run_of(registry: Registry, name: str = "build-one") -> dict:
    return registry.azure.get(f"{registry.id}/taskRuns/{name}", TASK_RUN).raise_for_status().json()["properties"]


def test_a_registry_has_a_login_server_that_says_it_is_local(azure: EmbeddedAzure, registry: Registry) -> None:
    found = azure.get(registry.id, REGISTRY).json()
    assert found["properties"]["loginServer"] == f"{registry.id.rsplit('/', 1)[-1].lower()}.azurecr.local"
    assert found["properties"]["adminUserEnabled"] is False
    assert found["sku"] == {"name": "Basic", "tier": "Basic"}


def test_credentials_are_listed_while_the_admin_user_is_enabled(azure: EmbeddedAzure, registry: Registry) -> None:
    body = {"location": "westeurope", "sku": {"name": "Basic"}, "properties": {"adminUserEnabled": True}}
    azure.put(registry.id, body, REGISTRY).raise_for_status()
    listed = azure.post(f"{registry.id}/listCredentials", REGISTRY).json()
    assert listed["username"] == registry.id.rsplit("/", 1)[-1]
    assert [one["name"] for one in listed["passwords"]] == ["password", "password2"]
    assert listed["passwords"][0]["value"] not in azure.get(registry.id, REGISTRY).text


def test_a_run_is_repeated_when_it_is_forced_to_or_differs(azure: EmbeddedAzure, registry: Registry) -> None:
    def put(tag: str, image: str) -> str:
        body = {"properties": {"forceUpdateTag": tag, "runRequest": registry.request("hello", image)}}
        azure.finished(azure.put(f"{registry.id}/taskRuns/build-one", body, TASK_RUN))
        return run_of(registry)["runResult"]["properties"]["runId"]

    assert put("a", "hello:1") == "ca1"
    assert put("a", "hello:1") == "ca1"
    assert put("b", "hello:1") == "ca2"
    assert put("b", "hello:2") == "ca3"
    runs = azure.get(f"{registry.id}/runs", TASK_RUN).json()["value"]
    assert [run["name"] for run in runs] == ["ca3", "ca2", "ca1"]


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("https://github.com/someone/something.git#main:app", "https://github.com/someone/something.git can't be reached"),
        ("{url}/checkout.git#HEAD:workloads/nothere", "the checkout has no folder workloads/nothere"),
        ("{url}/checkout.git#HEAD:../..", "lies outside of the checkout"),
        pytest.param("{url}/checkout.git#v1:workloads/hello", "v1 isn't checked out", marks=pytest.mark.slow),  # git looks it up
    ],
)
def test_a_source_out_of_reach_fails_the_run(azure: EmbeddedAzure, registry: Registry, source: str, said: str) -> None:
    ended = registry.build("hello", "hello:1", sourceLocation=source.format(url=azure.url))
    assert ended["status"] == "Failed"
    assert said in ended["error"]["message"]


def test_a_commit_cannot_be_looked_up_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildFailedError, match="this machine has no git"):
        build_sources.context_of("https://localhost:1/checkout.git#v1:", settings_in(tmp_path))


def test_values_of_secret_arguments_are_not_shown(azure: EmbeddedAzure, registry: Registry) -> None:
    arguments = [{"name": "OPEN", "value": "o"}, {"name": "TOKEN", "value": "s3cret", "isSecret": True}]
    registry.build("hello", "hello:1", arguments=arguments)
    shown = azure.get(f"{registry.id}/taskRuns/build-one", TASK_RUN).json()["properties"]["runRequest"]["arguments"]
    assert shown == [arguments[0], {"name": "TOKEN", "isSecret": True}]
