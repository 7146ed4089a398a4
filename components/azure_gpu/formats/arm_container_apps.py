"""Jobs of Azure Container Apps and their environment in ARM, as `jobs` and `job_environment`."""

import re
from typing import Any

from azure_gpu.catalog.services.container_apps import PROFILES
from azure_gpu.formats.arm_values import AZURE_REGISTRIES, identity, last
from azure_gpu.formats.body_keys import take
from azure_gpu.formats.body_reader import BodyReader, PartInFile, given
from azure_gpu.formats.likely_secrets import is_secret_name

PROFILE = "profile "  # before a workload profile's name, in `written` of both parts
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)Gi")
_TRIGGERS = {"Manual": "manualTriggerConfig", "Schedule": "scheduleTriggerConfig", "Event": "eventTriggerConfig"}


def environment(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    """Its profiles with GPUs are in `written` too, by their names, by which jobs choose them."""
    name = last(head.text("name"))
    part = PartInFile("job_environment", "", {"create": True}, head.at())
    gpus: list[str] = []
    for profile in of.items("workloadProfiles"):
        called, kind = profile.text("name") or "", profile.text("workloadProfileType") or ""
        found = next((one for key, one in PROFILES.items() if key.lower() == kind.lower()), None)
        part.written[f"{PROFILE}{called.lower()}"] = found.gpu if found else ""
        if found:
            gpus.append(found.gpu)
        elif kind.lower() != "consumption":
            profile.leave("workloadProfileType", f"{kind}: profiles of a stack have a GPU", "set overrides of job_environment")
    if gpus:
        part.settings["gpus"] = list(dict.fromkeys(gpus))
    head.reading.change(head.whole_path("name"), f"the stack makes an environment of its own in place of {name}")
    take("ARM environment", of, head)
    return [part]


def job(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    part = PartInFile("jobs", last(head.text("name")) or "job", {}, head.at())
    place = of.text("environmentId")
    if place:
        of.change("environmentId", "the job runs in the stack's environment", f"set job_environment to existing: {place}")
    profile = of.text("workloadProfileName") or "Consumption"
    part.written[PROFILE] = profile
    part.written["gpu"] = of.at("workloadProfileName")
    configuration, template = of.inside("configuration"), of.inside("template")
    containers = template.items("containers")
    for other in [*containers[1:], *template.items("initContainers")]:
        other.skip(*other.names())
        other.reading.leave(other.path, "a job here has one container")
    for registry in configuration.items("registries"):
        for key in ("identity", "username", "passwordSecretRef"):
            registry.leave_given(key, "images are pulled as the stack's identity")
        server = registry.text("server") or "docker.io"
        if server.lower().endswith(AZURE_REGISTRIES):
            registry.change("server", f"{server} needs the role AcrPull of that identity")
        else:
            message = f"{server}: the stack's identity signs in to registries of Azure only"
            registry.leave("server", message, "copy its images to one")
    part.settings = {
        **take("ARM job", of, head),
        **(_container(containers[0], part) if containers else {}),
        **_trigger(configuration, part),
        **given(tags=head.pairs("tags")),
    }
    return [*identity(head, "a job"), part]


def _container(of: BodyReader, part: PartInFile) -> dict[str, Any]:
    variables: dict[str, str] = {}
    for one in of.items("env"):
        name = one.text("name") or ""
        if reference := one.text("secretRef"):
            one.change("secretRef", f"the secret {reference} is secret_environment here", "set it by the command below")
            part.secrets.append(f"secret_environment.{name}")
        elif is_secret_name(name):
            one.leave("value", f"{name} is likely a secret, which isn't copied", "set it by the command below")
            part.secrets.append(f"secret_environment.{name}")
        else:
            variables[name] = one.text("value", free=True) or ""
    resources = of.inside("resources")
    memory = resources.text("memory")
    found = _MEMORY.fullmatch(memory) if memory else None
    if memory and not found:
        resources.leave("memory", f"{memory}: expected a number of Gi")
    memory_in_gib = _number(found[1]) if found else None
    return take("ARM container", of, environment=variables, memory_in_gib=memory_in_gib)


def _trigger(configuration: BodyReader, part: PartInFile) -> dict[str, Any]:
    kind = configuration.choice("triggerType", _TRIGGERS) or "manualTriggerConfig"
    config = configuration.inside(kind)
    for other in set(_TRIGGERS.values()) - {kind}:
        configuration.leave_given(other, "the job has another trigger")
    return given(
        schedule=config.text("cronExpression") if kind == "scheduleTriggerConfig" else None,
        event=_event(config.inside("scale"), part) if kind == "eventTriggerConfig" else None,
        parallelism=_unless(config.whole("parallelism"), 1),
        completions=_unless(config.whole("replicaCompletionCount"), config.whole("parallelism") or 1),
    )


def _event(scale: BodyReader, part: PartInFile) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    for rule in scale.items("rules"):
        name = rule.text("name") or f"rule{len(rules) + 1}"
        for credential in rule.items("auth"):
            parameter = credential.text("triggerParameter") or "connection"
            credential.change("secretRef", f"a secret of the rule: {credential.text('secretRef')}", "set it by the command below")
            part.secrets.append(f"event.rules.{name}.secrets.{parameter}")
        own = rule.text("identity")
        if own:
            rule.change("identity", f"{own}: the rule reads its source as the stack's identity", "give it a role there")
        rules[name] = given(type=rule.text("type"), metadata=rule.pairs("metadata"), use_identity=True if own else None)
    return given(
        rules=rules,
        polling_interval_seconds=_unless(scale.whole("pollingInterval"), 30),
        min_executions=scale.whole("minExecutions") or None,
        max_executions=scale.whole("maxExecutions"),
    )


def _unless(value: int | None, default: int) -> int | None:
    return value if value != default else None


def _number(text: str) -> float | int:
    return float(text) if "." in text else int(text)
