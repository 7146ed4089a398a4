"""What Container Apps refuses of a job: literals from public reports of what the service says, and what isn't imitated."""

from typing import Any

import pytest

from tests.localazure.apps.sdk import VERSION, Apps

pytestmark = pytest.mark.usefixtures("judged")


def refused(apps: Apps, body: dict[str, Any], name: str = "refused") -> tuple[int, str, str]:
    status, error = apps.refused(body, name)
    return status, error["code"], error["message"]


@pytest.mark.parametrize("name", ["Upper", "1first", "two--hyphens", "ends-", "x", "a" * 33])
def test_a_bad_name_is_refused_in_the_services_words(apps: Apps, name: str) -> None:
    # DefangLabs/pulumi-defang pull request 543
    assert refused(apps, apps.body(), name) == (
        400,
        "ContainerAppInvalidName",
        f"Invalid ContainerAppsJob name '{name}'. A name must consist of lower case alphanumeric characters or '-', start with "
        "an alphabetic character, and end with an alphanumeric character and cannot have '--'. The length must be between 2 and "
        "32 characters inclusive.",
    )


def test_an_image_that_was_not_built_is_refused_as_an_unknown_manifest(apps: Apps) -> None:
    # Azure-Samples/call-center-voice-agent-accelerator issue 3
    image = f"{apps.registry.server}/hello:none"
    assert refused(apps, apps.body(container={"image": image})) == (
        400,
        "InvalidParameterValueInContainerTemplate",
        "The following field(s) are either invalid or missing. Field 'template.containers.main.image' is invalid with details: "
        f'\'Invalid value: "{image}": GET https:: MANIFEST_UNKNOWN: manifest tagged by "none" is not found; map[Tag:none]\';.',
    )


def test_an_image_that_the_job_may_not_pull_is_refused_as_unauthorized(apps: Apps) -> None:
    # Azure/container-apps-deploy-action issue 85
    server = apps.registry.server
    assert refused(apps, apps.body(registries=[])) == (
        400,
        "InvalidParameterValueInContainerTemplate",
        "The following field(s) are either invalid or missing. Field 'template.containers.main.image' is invalid with details: "
        f'\'Invalid value: "{apps.image}": GET https:?scope=repository%3Ahello%3Apull&service={server}: UNAUTHORIZED: '
        "authentication required, visit https://aka.ms/acr/authorization for more information.';.",
    )
    status, error = apps.refused(apps.body(container={"image": "docker.io/library/redis:7"}))
    assert (status, error["code"]) == (400, "InvalidParameterValueInContainerTemplate")
    assert "reaches no registry docker.io" in error["details"][0]["message"]


def test_the_admin_user_pulls_with_its_password_where_it_is_enabled(apps: Apps, job_name: str) -> None:
    password = {"name": "pass", "value": "wrong"}
    credential = {"server": apps.registry.server, "username": apps.registry.id.rsplit("/", 1)[1], "passwordSecretRef": "pass"}
    body = apps.body(registries=[credential], secrets=[password])
    assert refused(apps, body)[1] == "InvalidParameterValueInContainerTemplate"
    version = "2023-01-01-preview"
    apps.azure.patch(apps.registry.id, {"properties": {"adminUserEnabled": True}}, version).raise_for_status()
    password["value"] = apps.azure.post(f"{apps.registry.id}/listCredentials", version).json()["passwords"][0]["value"]
    apps.create(job_name, body)


def test_a_container_without_an_image_is_refused(apps: Apps) -> None:
    # Azure-Samples/container-apps-connect-multiple-apps issue 6
    assert refused(apps, apps.body(container={"image": ""})) == (
        400,
        "ContainerAppImageRequired",
        "Container with name 'main' must have an 'Image' property specified.",
    )


def test_secrets_that_are_missing_or_misnamed_are_refused(apps: Apps) -> None:
    variable = {"env": [{"name": "A", "secretRef": "nobody"}]}
    # pulumi/pulumi-azure-native issue 1715
    assert refused(apps, apps.body(container=variable))[2] == "SecretRef 'nobody' defined for container 'main' not found."
    # pulumi/pulumi-azure-native issue 2807
    assert refused(apps, apps.body(secrets=[{"name": "test-secret"}])) == (
        400,
        "ContainerAppSecretInvalid",
        "Invalid Request: Container app secret(s) with name(s) 'test-secret' are invalid: value or keyVaultUrl and identity "
        "should be provided.",
    )
    # Azure/container-apps-deploy-action issue 116
    assert refused(apps, apps.body(secrets=[{"name": "Upper", "value": "s3cret"}])) == (
        400,
        "ContainerAppInvalidSecretName",
        "Secret name has an invalid value 'Upper'. A value must consist of lower case alphanumeric characters, '-', and must "
        "start and end with an alphanumeric character. The length must not be more than 253 characters.",
    )


def test_the_name_of_a_scale_rule_is_judged_as_the_service_does(apps: Apps) -> None:
    # DFE-Digital/terraform-azurerm-container-apps-hosting pull request 96
    rule = {"name": "Concurrent HTTP Requests", "type": "azure-queue"}
    body = apps.body(triggerType="Event", eventTriggerConfig={"scale": {"rules": [rule]}})
    assert refused(apps, body) == (
        400,
        "ContainerAppInvalidPropertyValue",
        "Property 'rules.name' has an invalid value 'Concurrent HTTP Requests'. A value must consist of lower case alphanumeric "
        "characters, '-' or '.', and must start and end with an alphanumeric character.",
    )


def test_an_event_driven_job_is_kept_with_its_rules(apps: Apps, job_name: str) -> None:
    rule = {"name": "queue", "type": "azure-queue", "metadata": {"queueName": "work"}, "identity": apps.registry.identity}
    scale = {"minExecutions": 0, "maxExecutions": 4, "pollingInterval": 30, "rules": [rule]}
    made = apps.create(job_name, apps.body(triggerType="Event", eventTriggerConfig={"scale": scale}))
    config = made["properties"]["configuration"]["eventTriggerConfig"]
    assert config == {"parallelism": 1, "replicaCompletionCount": 1, "scale": scale}
    assert refused(apps, apps.body(triggerType="Event"))[1] == "ContainerAppInvalidPropertyValue"


@pytest.mark.parametrize(
    ("gpu", "cpu", "memory", "profile", "word"),
    [
        (2, 8, "56Gi", "gpu-t4", "can't have 2 GPUs"),
        (0.5, 8, "56Gi", "gpu-t4", "can't have 0.5 GPUs"),
        (1, 9, "56Gi", "gpu-t4", "9 vCPU"),
        (1, 8, "57Gi", "gpu-t4", "57.0 GiB"),
        (1, 0.5, "1Gi", "Consumption", "has no GPU"),
        (1, 0.5, "1Gi", "gpu-a100", "has no workload profile 'gpu-a100'"),
        (0, 0.5, "1Mi", "Consumption", "gibibytes"),
    ],
)
def test_resources_beyond_the_profile_are_refused(
    apps: Apps, gpu: float, cpu: float, memory: str, profile: str, word: str
) -> None:
    body = apps.body(container={"resources": {"gpu": gpu, "cpu": cpu, "memory": memory}})
    body["properties"]["workloadProfileName"] = profile
    status, _, message = refused(apps, body)
    assert status == 400
    assert word in message


def test_only_the_first_container_has_the_gpu(apps: Apps) -> None:
    body = apps.body(container={"resources": {"cpu": 1, "memory": "1Gi"}})
    second = {"name": "second", "image": apps.image, "resources": {"gpu": 1, "cpu": 1, "memory": "1Gi"}}
    body["properties"]["template"]["containers"].append(second)
    body["properties"]["workloadProfileName"] = "gpu-t4"
    assert "only the first container" in refused(apps, body)[2].lower()


def test_the_consumption_profile_takes_its_pairs_of_cpu_and_memory(apps: Apps) -> None:
    status, code, message = refused(apps, apps.body(container={"resources": {"cpu": 0.5, "memory": "4Gi"}}))
    assert (status, code) == (400, "ContainerAppInvalidResourceTotal")
    assert message.startswith(
        "The total requested CPU and memory resources for this application (CPU: 0.5, memory: 4) is invalid. Total CPU and "
        "memory for all containers defined in a Container App must add up to one of the following CPU - Memory combinations: "
        "[cpu: 0.25, memory: 0.5Gi]; [cpu: 0.5, memory: 1.0Gi]"
    )


def test_where_a_job_lies_and_what_it_runs_in_are_checked(apps: Apps, job_name: str) -> None:
    body = apps.body()
    body["location"] = "swedencentral"
    assert "both have to be in the same region" in refused(apps, body, job_name)[2]
    body = apps.body()
    body["properties"]["environmentId"] = apps.environment + "-none"
    # Test_App_v1api20250101_CreationAndDeletion (2026-04-02)
    message = f"Environment {apps.environment}-none was not found."
    assert refused(apps, body) == (404, "ManagedEnvironmentNotFound", message)
    apps.create(job_name, apps.body())
    assert refused(apps, body, job_name)[:2] == (404, "ManagedEnvironmentNotFound")


@pytest.mark.parametrize(
    "configuration",
    [
        {"triggerType": "Schedule"},
        {"triggerType": "Schedule", "scheduleTriggerConfig": {"cronExpression": "61 * * * *"}},
        {"triggerType": "Schedule", "scheduleTriggerConfig": {"cronExpression": "@daily"}},
        {"manualTriggerConfig": {"parallelism": 0}},
        {"replicaTimeout": 0},
        {"replicaRetryLimit": -1},
    ],
)
def test_values_out_of_their_range_are_refused(apps: Apps, configuration: dict[str, Any]) -> None:
    status, code, _ = refused(apps, apps.body(**configuration))
    assert (status, code) == (400, "ContainerAppInvalidPropertyValue")


def test_what_isnt_imitated_is_refused_by_name(apps: Apps) -> None:
    container = {"volumeMounts": [{"volumeName": "v", "mountPath": "/v"}]}
    status, code, message = refused(apps, apps.body(container=container))
    assert (status, code) == (501, "NotImplemented")
    assert next(iter(container)) in message


def test_a_version_that_nobody_knows_is_refused(apps: Apps) -> None:
    answer = apps.azure.get(apps.job_path("none"), "2021-01-01")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "NoRegisteredProviderFound")
    assert apps.azure.get(apps.job_path("none"), "2026-07-01").status_code == 404
    assert apps.azure.get(apps.job_path("none"), VERSION).status_code == 404


def test_a_job_takes_the_whole_gpu_profile(apps: Apps, job_name: str) -> None:
    body = apps.body(container={"resources": {"gpu": 1, "cpu": 8, "memory": "56Gi"}})
    body["properties"]["workloadProfileName"] = "gpu-t4"
    made = apps.create(job_name, body)
    # The last: Test_App_Job_20250101_CRUD (2025-08-18)
    amounts = {"gpu": 1, "cpu": 8, "memory": "56Gi", "ephemeralStorage": ""}
    assert made["properties"]["template"]["containers"][0]["resources"] == amounts


def test_a_template_of_an_execution_is_judged_as_a_jobs(apps: Apps, job_name: str) -> None:
    apps.create(job_name, apps.body("say", "x"))

    def refused(template: Any) -> str:
        answer = apps.azure.post(f"{apps.job_path(job_name)}/start", VERSION, template)
        assert answer.status_code == 400, answer.text
        return answer.json()["error"]["code"]

    assert refused({"containers": [{"name": "main"}]}) == "ContainerAppImageRequired"
    assert refused({"containers": [{"name": "main", "image": apps.image, "bogus": 1}]}) == "InvalidRequestContent"
    assert refused({"volumes": []}) == "InvalidRequestContent"
    secret = {"name": "main", "image": apps.image, "env": [{"name": "A", "secretRef": "nobody"}]}
    assert refused({"containers": [secret]}) == "ContainerAppSecretRefNotFound"
    elsewhere = {"name": "main", "image": f"{apps.registry.server}/hello:2"}
    assert refused({"containers": [elsewhere]}) == "InvalidParameterValueInContainerTemplate"


def test_an_execution_that_isnt_there_is_not_found(apps: Apps, job_name: str) -> None:
    apps.create(job_name, apps.body())
    answer = apps.azure.get(f"{apps.job_path(job_name)}/executions/none", VERSION)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "ResourceNotFound")


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
