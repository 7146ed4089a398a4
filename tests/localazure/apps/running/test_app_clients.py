"""Microsoft's SDK for Container Apps, as its users call it: environment, job, execution and their ends."""

import uuid

import pytest
from azure.core.exceptions import HttpResponseError
from azure.mgmt.appcontainers import ContainerAppsAPIClient, models

from tests.localazure.apps.sdk import CONSUMPTION, Apps
from tests.support import management


def test_the_sdk_makes_an_environment_and_a_job_runs_it_and_takes_all_away(apps: Apps) -> None:
    client = management.client(ContainerAppsAPIClient, apps.azure)
    name = f"sdk-{uuid.uuid4().hex[:8]}"
    of_environment = models.ManagedEnvironment({"location": "West Europe", "properties": {"workloadProfiles": [CONSUMPTION]}})
    environment = client.managed_environments.begin_create_or_update(apps.group_name, name, of_environment).result()
    assert environment.properties is not None
    assert environment.properties.provisioning_state == "Succeeded"
    assert environment.properties.default_domain
    body = apps.body("say", "hi", "exit", "4")
    body["properties"]["environmentId"] = environment.id
    job = client.jobs.begin_create_or_update(apps.group_name, name, models.Job(body)).result()
    assert job.properties is not None
    assert job.properties.provisioning_state == "Succeeded"
    assert job.properties.event_stream_endpoint
    assert job.identity is not None
    assert job.identity.user_assigned_identities is not None
    assert job.identity.user_assigned_identities[apps.registry.identity].principal_id == apps.registry.principal

    started = client.jobs.begin_start(apps.group_name, name).result()
    assert started.name is not None
    apps.ended(name, started.name)
    execution = client.job_execution(apps.group_name, name, started.name)
    assert execution.properties is not None
    assert execution.properties.status == models.JobExecutionRunningState.FAILED
    assert execution.properties.detailed_status is not None
    assert execution.properties.detailed_status.replicas is not None
    replica = execution.properties.detailed_status.replicas[0]
    assert replica.containers is not None
    assert [(one.name, one.code) for one in replica.containers] == [("main", 4)]
    assert [one.name for one in client.jobs_executions.list(apps.group_name, name)] == [started.name]

    template = models.JobExecutionTemplate(
        containers=[models.JobExecutionContainer(name="main", image=apps.image, args=["wait"])]
    )
    second = client.jobs.begin_start(apps.group_name, name, template).result()
    assert second.name is not None
    client.jobs.begin_stop_execution(apps.group_name, name, second.name).result()
    assert apps.execution(name, second.name)["status"] == "Stopped"
    client.jobs.begin_stop_multiple_executions(apps.group_name, name).result()
    assert client.jobs.list_secrets(apps.group_name, name).value == []

    with pytest.raises(HttpResponseError) as caught:
        client.managed_environments.begin_delete(apps.group_name, name).result()
    assert "still contains 1 Jobs" in str(caught.value)
    client.jobs.begin_delete(apps.group_name, name).result()
    client.managed_environments.begin_delete(apps.group_name, name).result()
    assert name not in {one.name for one in client.managed_environments.list_by_resource_group(apps.group_name)}


def test_the_sdk_starts_a_job_with_another_template_and_updates_it(apps: Apps, job_name: str) -> None:
    client = management.client(ContainerAppsAPIClient, apps.azure)
    made = apps.create(job_name, apps.body("say", "x", triggerType="manual", manualTriggerConfig={"parallelism": 1}))
    assert made["properties"]["configuration"]["triggerType"] == "Manual"  # the Azure CLI's users write it so
    patch = models.JobPatchProperties(tags={"team": "a"})
    updated = client.jobs.begin_update(apps.group_name, job_name, patch).result()
    assert updated.tags == {"team": "a"}
    assert updated.properties is not None
    assert updated.properties.template is not None
    assert updated.properties.template.containers is not None
    assert updated.properties.template.containers[0].args == ["say", "x"]
