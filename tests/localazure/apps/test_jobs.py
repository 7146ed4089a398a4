"""Jobs of Container Apps: what is kept of them, and whom their images are pulled as."""

from typing import Any

import pytest

from tests.localazure.apps.sdk import VERSION, Apps

pytestmark = pytest.mark.usefixtures("judged")


def refused(apps: Apps, body: dict[str, Any], name: str = "refused") -> tuple[int, str, str]:
    status, error = apps.refused(body, name)
    return status, error["code"], error["message"]


def test_the_admin_user_pulls_with_its_password_where_it_is_enabled(apps: Apps, job_name: str) -> None:
    password = {"name": "pass", "value": "wrong"}
    credential = {"server": apps.registry.server, "username": apps.registry.id.rsplit("/", 1)[1], "passwordSecretRef": "pass"}
    body = apps.body(registries=[credential], secrets=[password])
    assert refused(apps, body)[1] == "InvalidParameterValueInContainerTemplate"
    version = "2023-01-01-preview"
    apps.azure.patch(apps.registry.id, {"properties": {"adminUserEnabled": True}}, version).raise_for_status()
    password["value"] = apps.azure.post(f"{apps.registry.id}/listCredentials", version).json()["passwords"][0]["value"]
    apps.create(job_name, body)


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


def test_a_start_is_refused_where_the_image_may_not_be_pulled_any_more(apps: Apps, job_name: str) -> None:
    apps.create(job_name, apps.body())
    role = f"{apps.registry.id}/providers/Microsoft.Authorization/roleAssignments/11111111-1111-1111-1111-111111111111"
    apps.azure.delete(role, "2022-04-01").raise_for_status()
    try:
        answer = apps.azure.post(f"{apps.job_path(job_name)}/start", VERSION)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "InvalidParameterValueInContainerTemplate")
        assert "UNAUTHORIZED" in answer.json()["error"]["message"]
    finally:
        apps.registry.allow_pull()
