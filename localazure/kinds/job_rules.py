"""Rules of Container Apps for jobs and the templates of executions, and what isn't implemented here.

Codes and sentences of the service:
  - ContainerAppInvalidName, in `jobs`: DefangLabs/pulumi-defang pull request 543
  - ContainerAppImageRequired: Azure-Samples/container-apps-connect-multiple-apps issue 6
  - SecretRef ... not found: pulumi/pulumi-azure-native issue 1715 (the sentence; the code is assumed)
  - ContainerAppSecretInvalid: pulumi/pulumi-azure-native issue 2807
  - ContainerAppInvalidSecretName: Azure/container-apps-deploy-action issue 116
  - ContainerAppInvalidPropertyValue: DFE-Digital/terraform-azurerm-container-apps-hosting pull request 96
  - ManagedEnvironmentNotFound, ManagedEnvironmentNotProvisioned: Azure Service Operator's session
    Test_App_v1api20250101_CreationAndDeletion (2026-04-02)
Where the service's own code isn't known, ARM's general InvalidRequestContent stands.
"""

import re
from datetime import date

from azure_gpu.catalog.services import container_apps_requests
from azure_gpu.catalog.services.container_apps import PROFILES
from azure_gpu.catalog.services.container_apps_requests import ContainerRequest, JobRequest
from azure_gpu.formats import azure_types, cron
from azure_gpu.formats.arm_ids import parse
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.kinds import attached_identities, environment_profiles
from localazure.kinds.problem_refusals import of_service, refusal
from localazure.services import Services

INVALID = "InvalidRequestContent"
DEFAULT_RESOURCES = {"cpu": 0.5, "memory": "1Gi"}  # Microsoft Learn, container-apps/containers: allocations of a container
TRIGGERS = {"Manual": "manualTriggerConfig", "Schedule": "scheduleTriggerConfig", "Event": "eventTriggerConfig"}
MOST_PARALLEL = 1000  # ours: each replica is processes of this machine

_MEMORY = re.compile(r"(\d+(?:\.\d+)?)Gi")
_SECRET_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,251}[a-z0-9])?")
_CONTAINER_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_RULE_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_CONSUMPTION_STEP_CPU, _CONSUMPTION_MOST_CPU = 0.25, 4.0  # Microsoft Learn, container-apps/containers: twice as much memory


def check(change: Change) -> None:
    properties = change.properties
    configuration = properties.get("configuration") or {}
    environment = _environment(change)
    if not configuration:
        raise _bad("A job requires 'configuration'.", "properties.configuration")
    _check_trigger(configuration)
    _check_secrets(configuration)
    _check_registries(change.body, configuration)
    profile = _profile(environment, properties.get("workloadProfileName"))
    check_template(properties.get("template") or {}, change.body, profile, change.as_of)
    if change.body.get("extendedLocation"):
        raise not_implemented("'extendedLocation' of a job")


def check_template(template: Body, body: Body, profile_type: str, as_of: date) -> None:
    """The containers, of a job or of one execution of it. `profile_type`: of what the job runs on, "" where nothing is known."""
    containers = template.get("containers") or []
    if not containers:
        raise _bad("A job needs at least one container.", "properties.template.containers")
    secrets = {one.get("name") for one in body["properties"]["configuration"].get("secrets") or []}
    seen: set[str] = set()
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(template.get(kind) or []):
            _check_container(container, f"properties.template.{kind}[{index}]", secrets, seen)
    if template.get("volumes"):
        raise not_implemented("'volumes' of a job")
    _check_resources(containers, profile_type, as_of)


def profile_type_of(job: Body, services: Services) -> str:
    """The type of the workload profile that a stored job runs on."""
    parsed = parse(job["properties"]["environmentId"])
    environment = services.store.get(parsed.key) if parsed else None
    return _profile(environment, job["properties"].get("workloadProfileName")) if environment else ""


def memory_gib(text: object) -> float:
    """`1.5Gi`. ArmError 400 for anything else."""
    found = _MEMORY.fullmatch(str(text))
    if found is None:
        raise _value("resources.memory", text, "It is a number of gibibytes such as 0.5Gi.")
    return float(found[1])


def _environment(change: Change) -> Resource:
    given = change.properties.get("environmentId") or ""
    target = "properties.environmentId"
    parsed = parse(given)
    is_one = parsed is not None and parsed.is_type(azure_types.MANAGED_ENVIRONMENT.arm_type)
    environment = change.services.store.get(parsed.key) if parsed is not None and is_one else None
    if environment is None:
        raise ArmError(404, "ManagedEnvironmentNotFound", f"Environment {given} was not found.", target=target)
    if change.previous is not None and str(change.previous.properties["environmentId"]).lower() != given.lower():
        raise ArmError(400, INVALID, "The environment of a job can't be changed.", target=target)
    if environment.state != "Succeeded":
        message = f"The environment '{given}' has not been provisioned successfully."
        raise ArmError(400, "ManagedEnvironmentNotProvisioned", message, target=target)
    if environment.location != change.body["location"]:
        message = (
            f"The job lies in '{change.body['location']}' and its managed environment '{environment.id.name}' in "
            f"'{environment.location}'; both have to be in the same region."
        )
        raise ArmError(400, INVALID, message, target="location")
    return environment


def _check_trigger(configuration: Body) -> None:
    trigger = configuration["triggerType"]
    if trigger not in TRIGGERS:
        raise _value("configuration.triggerType", trigger, f"It takes {', '.join(TRIGGERS)}.")
    config = configuration.get(TRIGGERS[trigger]) or {}
    if trigger == "Schedule":
        expression = config.get("cronExpression")
        fault = cron.fault(expression) if expression else "there is none"
        if fault:
            raise _value("configuration.scheduleTriggerConfig.cronExpression", expression, f"It takes {cron.SPELLING}: {fault}.")
    if trigger == "Event":
        _check_events(config)
    for name, least, most in (("parallelism", 1, MOST_PARALLEL), ("replicaCompletionCount", 1, MOST_PARALLEL)):
        _check_number(f"configuration.{TRIGGERS[trigger]}.{name}", config.get(name), least, most)
    _check_number("configuration.replicaTimeout", configuration.get("replicaTimeout"), 1, None)
    _check_number("configuration.replicaRetryLimit", configuration.get("replicaRetryLimit"), 0, None)


def _check_events(config: Body) -> None:
    rules = (config.get("scale") or {}).get("rules") or []
    if not rules:
        raise _value("configuration.eventTriggerConfig.scale.rules", None, "An event-driven job needs at least one scale rule.")
    for rule in rules:
        if not _RULE_NAME.fullmatch(rule.get("name") or ""):
            words = (
                "A value must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an "
                "alphanumeric character."
            )
            raise _value("rules.name", rule.get("name"), words)
        if not rule.get("type"):
            raise _value("rules.type", rule.get("type"), "It names a KEDA scaler, such as azure-queue.")
    scale = config["scale"]
    _check_number("scale.pollingInterval", scale.get("pollingInterval"), 1, None)
    _check_number("scale.minExecutions", scale.get("minExecutions"), 0, None)
    _check_number("scale.maxExecutions", scale.get("maxExecutions"), max(1, scale.get("minExecutions") or 0), None)


def _check_number(path: str, value: object, least: int, most: int | None) -> None:
    if isinstance(value, int) and (value < least or (most is not None and value > most)):
        raise _value(path, value, f"It is {least} or more{f', and at most {most}' if most else ''}.")


def _check_secrets(configuration: Body) -> None:
    seen: set[str] = set()
    for secret in configuration.get("secrets") or []:
        name = secret.get("name") or ""
        if not _SECRET_NAME.fullmatch(name):
            raise ArmError(
                400,
                "ContainerAppInvalidSecretName",
                f"Secret name has an invalid value '{name}'. A value must consist of lower case alphanumeric characters, '-', "
                "and must start and end with an alphanumeric character. The length must not be more than 253 characters.",
            )
        if name in seen:
            raise _bad(f"Two secrets are called '{name}'.", "properties.configuration.secrets")
        seen.add(name)
        if secret.get("keyVaultUrl"):
            raise not_implemented("secrets of a job from a key vault")
        if not secret.get("value"):
            raise ArmError(
                400,
                "ContainerAppSecretInvalid",
                f"Invalid Request: Container app secret(s) with name(s) '{name}' are invalid: value or keyVaultUrl and identity "
                "should be provided.",
            )


def _check_registries(body: Body, configuration: Body) -> None:
    secrets = {one["name"] for one in configuration.get("secrets") or []}
    for index, registry in enumerate(configuration.get("registries") or []):
        target = f"properties.configuration.registries[{index}]"
        if not registry.get("server"):
            raise _bad("Credentials of a registry require 'server'.", target)
        identity, secret = registry.get("identity") or "", registry.get("passwordSecretRef") or ""
        if not identity and not (registry.get("username") and secret):
            raise _bad(f"The registry '{registry['server']}' needs an identity, or a username and a passwordSecretRef.", target)
        if secret and secret not in secrets:
            raise _bad(f"SecretRef '{secret}' defined for registry '{registry['server']}' not found.", target)
        if identity and identity.lower() != "system" and not attached_identities.is_attached(body, identity):
            raise _bad(f"The identity '{identity}' of the registry '{registry['server']}' isn't assigned to the job.", target)


def _check_container(container: Body, path: str, secrets: set[str | None], seen: set[str]) -> None:
    name = container.get("name") or ""
    if not _CONTAINER_NAME.fullmatch(name):
        words = (
            "Per RFC 1123 name must consist of lower case alphanumeric characters or '-', and must start and end with an "
            "alphanumeric character."
        )
        raise _value("template.containers.name", name, words)
    if name in seen:
        raise _bad(f"Two containers are called '{name}'.", f"{path}.name")
    seen.add(name)
    if not container.get("image"):
        message = f"Container with name '{name}' must have an 'Image' property specified."
        raise ArmError(400, "ContainerAppImageRequired", message, target=f"{path}.image")
    if container.get("volumeMounts"):
        raise not_implemented("'volumeMounts' of a job's container")
    for word in [*(container.get("command") or []), *(container.get("args") or [])]:
        if "\0" in word:
            raise _bad(f"The command of container '{name}' holds a null character.", f"{path}.command")
    for variable in container.get("env") or []:
        given = variable.get("name") or ""
        if not given or any(each in given for each in "=\0") or "\0" in (variable.get("value") or ""):
            raise _value("template.containers.env.name", given, "A variable has a name, without '=' and null characters.")
        reference = variable.get("secretRef")
        if reference and reference not in secrets:
            message = f"SecretRef '{reference}' defined for container '{name}' not found."
            raise ArmError(400, "ContainerAppSecretRefNotFound", message, target=f"{path}.env")


def _profile(environment: Resource, name: str | None) -> str:
    """The type of the environment's profile of this name; "Consumption" where none is named."""
    profiles = environment.properties.get("workloadProfiles") or []
    chosen = name or environment_profiles.CONSUMPTION
    if not profiles and name in (None, "", environment_profiles.CONSUMPTION):
        return environment_profiles.CONSUMPTION
    found = next((one for one in profiles if one["name"] == chosen), None)
    if found is None:
        have = ", ".join(one["name"] for one in profiles) or "none"
        message = f"The managed environment '{environment.id.name}' has no workload profile '{chosen}'. It has: {have}."
        raise ArmError(400, INVALID, message, target="properties.workloadProfileName")
    return environment_profiles.known_type(found["workloadProfileType"])


def _check_resources(containers: list[Body], profile_type: str, as_of: date) -> None:
    amounts = [{**DEFAULT_RESOURCES, **(container.get("resources") or {})} for container in containers]
    requests = tuple(
        ContainerRequest(
            gpu_path=f"properties.template.containers[{index}].resources.gpu",
            cpu_path=f"properties.template.containers[{index}].resources.cpu",
            memory_path=f"properties.template.containers[{index}].resources.memory",
            gpu=amount.get("gpu"),
            cpu=amount["cpu"],
            memory_gib=memory_gib(amount["memory"]),
        )
        for index, amount in enumerate(amounts)
    )
    if any(one.cpu <= 0 or one.memory_gib <= 0 for one in requests if one.cpu is not None and one.memory_gib is not None):
        raise _value("resources.cpu", min(one.cpu or 0 for one in requests), "A container needs CPU and memory.")
    if profile_type in PROFILES:
        request = JobRequest(profile_type, "properties.workloadProfileName", requests)
        problems = of_service(container_apps_requests.job_problems(request, as_of))
        if problems:
            raise refusal(problems, INVALID)
        return
    if any(one.gpu for one in requests):
        have = profile_type or environment_profiles.CONSUMPTION
        raise _value("resources.gpu", next(one.gpu for one in requests if one.gpu), f"The profile {have} has no GPU.")
    if profile_type == environment_profiles.CONSUMPTION:
        _check_consumption(sum(one.cpu or 0 for one in requests), sum(one.memory_gib or 0 for one in requests))


def _check_consumption(cpu: float, memory: float) -> None:
    """Without its own profile a replica has CPU in quarters and twice as many GiB."""
    steps = cpu / _CONSUMPTION_STEP_CPU
    if cpu <= _CONSUMPTION_MOST_CPU and steps == int(steps) and memory == 2 * cpu:
        return
    pairs = (number * _CONSUMPTION_STEP_CPU for number in range(1, int(_CONSUMPTION_MOST_CPU / _CONSUMPTION_STEP_CPU) + 1))
    allowed = "; ".join(f"[cpu: {one:g}, memory: {2 * one:.1f}Gi]" for one in pairs)
    raise ArmError(
        400,
        "ContainerAppInvalidResourceTotal",
        f"The total requested CPU and memory resources for this application (CPU: {cpu:g}, memory: {memory:g}) is invalid. Total "
        f"CPU and memory for all containers defined in a Container App must add up to one of the following CPU - Memory "
        f"combinations: {allowed}",
        target="properties.template.containers",
    )


def _bad(message: str, target: str) -> ArmError:
    return ArmError(400, INVALID, message, target=target)


def _value(name: str, value: object, words: str) -> ArmError:
    message = f"Property '{name}' has an invalid value '{'' if value is None else value}'. {words}"
    return ArmError(400, "ContainerAppInvalidPropertyValue", message, target=f"properties.{name}")
