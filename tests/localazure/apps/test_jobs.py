"""Jobs of Container Apps: what is kept of them, and whom their images are pulled as."""

import pytest

from tests.localazure.apps.sdk import Apps

pytestmark = pytest.mark.usefixtures("judged")


def test_the_admin_user_pulls_with_its_password_where_it_is_enabled(apps: Apps, job_name: str) -> None:
    credential = {"server": apps.registry.server, "username": apps.registry.id.rsplit("/", 1)[1], "passwordSecretRef": "pass"}
    version = "2023-01-01-preview"
    apps.azure.patch(apps.registry.id, {"properties": {"adminUserEnabled": True}}, version).raise_for_status()
    password = apps.azure.post(f"{apps.registry.id}/listCredentials", version).json()["passwords"][0]["value"]
    apps.create(job_name, apps.body(registries=[credential], secrets=[{"name": "pass", "value": password}]))


def test_an_event_driven_job_is_kept_with_its_rules(apps: Apps, job_name: str) -> None:
    rule = {"name": "queue", "type": "azure-queue", "metadata": {"queueName": "work"}, "identity": apps.registry.identity}
    scale = {"minExecutions": 0, "maxExecutions": 4, "pollingInterval": 30, "rules": [rule]}
    made = apps.create(job_name, apps.body(triggerType="Event", eventTriggerConfig={"scale": scale}))
    config = made["properties"]["configuration"]["eventTriggerConfig"]
    assert config == {"parallelism": 1, "replicaCompletionCount": 1, "scale": scale}


def test_a_job_takes_the_whole_gpu_profile(apps: Apps, job_name: str) -> None:
    body = apps.body(container={"resources": {"gpu": 1, "cpu": 8, "memory": "56Gi"}})
    body["properties"]["workloadProfileName"] = "gpu-t4"
    made = apps.create(job_name, body)
    # The last: Test_App_Job_20250101_CRUD (2025-08-18)
    amounts = {"gpu": 1, "cpu": 8, "memory": "56Gi", "ephemeralStorage": ""}
    assert made["properties"]["template"]["containers"][0]["resources"] == amounts
