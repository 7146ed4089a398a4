"""What a stack says of itself, and which of its jobs a run goes to."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.shared.provider_keys import PROVIDER_VARIABLES
from azure_gpu_operations import one_part
from azure_gpu_operations.connection import Connection, connection_in, connection_of
from azure_gpu_operations.job_bodies import job_of
from azure_gpu_operations.run import used_part
from azure_gpu_operations.run.context import BASE_IMAGE, of_script
from azure_gpu_operations.run.on_job import run as job_run
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.run.used_part import no_registry
from azure_gpu_operations.stack_view import StackView, of_deployment

PROVIDER = {"type": "pulumi:providers:azure-native", "inputs": {"subscriptionId": "s", "metadataHost": "localhost:1"}}
VIEW = StackView("dev", Connection("s"), jobs={"train": "/t"}, registry="/r")
TODAY = date(2026, 11, 21)


def deployment(**outputs: Any) -> dict[str, Any]:
    group = {"type": "azure-native:resources:ResourceGroup", "id": "/subscriptions/s/resourceGroups/rg-1"}
    return {"resources": [{"type": "pulumi:pulumi:Stack", "outputs": outputs}, group, PROVIDER]}


def test_the_outputs_of_the_program_are_read() -> None:
    there = deployment(
        resource_group="rg",
        container_groups={"a": "/a"},
        jobs={"b": "/b", "gone": "/gone"},
        registry="/r",
        expires_at={"b": "2026-11-28T00:00:00Z"},
        hourly_cost={"a": None, "b": 1.5},
    )
    there["resources"] += [{"type": "x", "id": "/a"}, {"type": "x", "id": "/B"}]
    view = of_deployment("dev", there)
    assert view is not None
    assert (view.resource_group, view.registry) == ("rg", "/r")
    assert view.resources == {"a": "/a", "b": "/b"}, "what was destroyed alone stays in the outputs until the next update"
    assert (view.expires_at["b"], view.hourly_cost["b"]) == ("2026-11-28T00:00:00Z", 1.5)
    assert view.connection == Connection("s", metadata_host="localhost:1")


def test_a_stack_whose_first_update_failed_still_knows_its_resource_group() -> None:
    view = of_deployment("dev", deployment())
    assert view is not None
    assert (view.resource_group, view.jobs, view.registry) == ("rg-1", {}, "")


def test_an_endpoint_whose_deployment_failed_is_known_by_its_component_although_no_output_has_it() -> None:
    there = deployment(ml_computes={"gpu": "/w/computes/gpu"}, clusters={"gpu": "/c"})
    urn = "urn:pulumi:dev::azure-gpu::azuregpu:index:MlEndpoint::digits"
    made = {"type": "azure-native:machinelearningservices:OnlineEndpoint", "parent": urn, "id": "/w/onlineEndpoints/e"}
    other = {**made, "parent": "urn:pulumi:dev::azure-gpu::somebody:index:Else::lynx"}
    view = of_deployment("dev", {"resources": [*there["resources"], made, other]})
    assert view is not None
    assert view.endpoints == {"digits": "/w/onlineEndpoints/e"}
    assert view.resources["gpu"] == "/c", "an attached cluster is meant by its own name"


def test_a_stack_with_nothing_in_azure_has_no_view() -> None:
    assert of_deployment("dev", {"resources": [{"type": "pulumi:pulumi:Stack"}]}) is None
    assert of_deployment("dev", {}) is None


def test_where_the_configuration_is_silent_the_providers_variables_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "ARM_SUBSCRIPTION_ID": "from-environment",
        "ARM_TENANT_ID": "tenant",
        "ARM_CLIENT_ID": "client",
        "ARM_METADATA_HOSTNAME": "localhost:2",
        "ARM_DISABLE_INSTANCE_DISCOVERY": "true",
    }.items():
        monkeypatch.setenv(name, value)
    silent = {"type": "pulumi:providers:azure-native", "inputs": {}}
    assert connection_of({"resources": [silent]}) == Connection("from-environment", "tenant", "client", "localhost:2", True)
    assert connection_of({"resources": [PROVIDER]}) == Connection("s", "tenant", "client", "localhost:1", True)


def test_a_stacks_file_goes_before_the_providers_variables_key_by_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROVIDER_VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ARM_SUBSCRIPTION_ID", "from-environment")
    monkeypatch.setenv("ARM_METADATA_HOSTNAME", "localhost:2")
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text("config:\n  azure-native:subscriptionId: s\n  azure-native:disableInstanceDiscovery: true\n")
    assert connection_in(file) == Connection("s", metadata_host="localhost:2", disable_instance_discovery=True)
    file.write_text("config: {}\n")
    assert connection_in(file) == Connection("from-environment", metadata_host="localhost:2")


def test_what_has_to_be_built_needs_a_registry() -> None:
    script = Target(of_script("train.py", "", "", BASE_IMAGE))
    assert no_registry(VIEW, script) == []
    without = VIEW._replace(registry="")
    assert no_registry(without, Target()) == []
    assert "the stack has no registry" in str(no_registry(without, script)[0])


def test_a_job_that_has_no_credentials_for_the_registry_can_not_run_what_is_built_there() -> None:
    registries = [{"server": "Ours.azurecr.io", "identity": "/i"}]
    job = job_of({"id": "/t", "name": "t", "properties": {"configuration": {"registries": registries}}})
    problem = job_run.no_pull(job, "theirs.azurecr.io")
    assert "no identity to pull from theirs.azurecr.io" in problem.message
    assert problem.allowed == "ours.azurecr.io"


@pytest.mark.parametrize(
    ("end", "as_of", "warned"),
    [
        ("2026-11-20T00:00:00Z", "", True),
        ("2026-11-28T00:00:00Z", "", False),
        (None, "", False),
        ("2026-11-20T00:00:00Z", "2026-11-01", False),
        ("2026-11-28T00:00:00Z", "2027-01-01", True),
    ],
)
def test_a_part_past_its_end_date_is_warned_of_by_the_day_of_its_stack(end: str | None, as_of: str, warned: bool) -> None:
    ended = VIEW._replace(expires_at={"train": end})
    for kind in (one_part.JOB, one_part.POOL, one_part.CLUSTER, one_part.MACHINE, one_part.COMPUTE):
        problems = used_part.expired(kind, ended, "train", lambda: {"tags": {"as-of": as_of} if as_of else {}}, TODAY)
        assert [f"{each.severity.value}: {each.path}" for each in problems] == [
            f"warning: {kind.section}.train.expires_after"
        ] * warned
