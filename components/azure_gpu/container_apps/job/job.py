"""A GPU job of Azure Container Apps, the successor of container groups with GPUs.

Each execution runs one container on one or several parallel replicas, each with one T4 or A100, and ends. It is billed by the
second while it runs; between executions it costs nothing. Not included: volumes, probes, further containers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Unpack, overload

import pulumi
from pulumi_azure_native import app

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.container_apps.environment.environment import JobEnvironment
from azure_gpu.container_apps.environment.existing import of_id
from azure_gpu.container_apps.job.args import (
    DEFAULT_FEWEST_EXECUTIONS,
    DEFAULT_MOST_EXECUTIONS,
    DEFAULT_POLLING_SECONDS,
    EventArgs,
    ServerlessGpuJobArgs,
    ServerlessGpuJobWiring,
)
from azure_gpu.container_apps.job.spec import ServerlessGpuJobSpec, identity_problems, resolve
from azure_gpu.foundation import common
from azure_gpu.shared import existing, overrides, retry_hooks
from azure_gpu.shared.component import Component, OnlyInPython
from azure_gpu.shared.context import Context, RegistryArgs, declared
from azure_gpu.shared.program import Described
from azure_gpu.shared.wired import Wired
from azure_gpu.shared.workloads import not_built

# Properties that the service can't change on an existing job; it updates everything else in place. Sources: location and
# environment replace the job in hashicorp/terraform-provider-azurerm (container_app_job_resource.go), whose updates never change
# the trigger type; `az containerapp job update` has no option for it, and rejects a file with another one
# (ContainerAppsJobTriggerConfigurationMissing, microsoft/azure-container-apps issue 1014). That other clients can't change the
# type either is assumed.
REPLACING = ["configuration.triggerType", "environmentId", "location"]

_Wired = Wired[ServerlessGpuJobWiring, ServerlessGpuJobSpec]


class ServerlessGpuJob(Component[ServerlessGpuJobArgs, ServerlessGpuJobWiring, ServerlessGpuJobSpec]):
    """A GPU job. Raises `Refused` for invalid arguments."""

    job_id: pulumi.Output[str]
    """ARM id of the job."""
    job_name: pulumi.Output[str]
    """Its name in Azure."""
    expires_at: pulumi.Output[str] | None
    """The end of the job's last day, RFC 3339 in UTC."""
    hourly_cost: pulumi.Output[float] | None
    """List price of a running execution with all its replicas in USD per hour; a job that doesn't run costs nothing. None where
    it isn't known, which doesn't mean free."""
    job: OnlyInPython[app.Job]
    """The azure-native resource."""

    @overload
    def __init__(self, name: str, args: ServerlessGpuJobArgs | _Wired, opts: pulumi.ResourceOptions | None = None) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[ServerlessGpuJobArgs]) -> None: ...

    def __init__(
        self,
        name: str,
        args: ServerlessGpuJobArgs | _Wired | Sequence[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **kw: Any,
    ) -> None:
        """One of the keywords is also called `args`: the arguments of the job's program."""
        given: Any = {"args": args} if isinstance(args, Sequence) else args
        super().__init__(name, given, opts, **kw)

    @staticmethod
    def _wire(described: Described) -> _Wired:
        around = common.put_into(described, "job_environment", JobEnvironment, "runs_in", of_id)
        group = None
        if around is None:
            group = existing.parts(described.args["runs_in"]["id"]).apply(lambda each: each.resource_group)
        return common.wire(described, around, group)

    def _resolve(self, args: ServerlessGpuJobWiring, context: Context) -> tuple[ServerlessGpuJobSpec, list[Problem]]:
        spec, problems = resolve(self._name, args, context, in_existing_environment=args["runs_in"]["existing"])
        return spec, [*problems, *_missing(context.path("jobs", self._name), spec, args)]

    def _declare(self, spec: ServerlessGpuJobSpec) -> None:
        wiring = self._args
        environment = wiring["runs_in"]
        self.job = app.Job(
            f"{self._name}-job",
            job_name=declared(spec.job_name, wiring.get("job_name")),
            resource_group_name=wiring["resource_group_name"],
            location=declared(spec.location, wiring.get("location")),
            environment_id=environment["id"],
            workload_profile_name=environment["profiles"][spec.gpu],
            configuration=_configuration(spec, wiring, _secrets(wiring.get("secret_environment", {}), wiring.get("event"))),
            template=app.JobTemplateArgs(containers=[_container(spec, wiring)]),
            identity=_identity(wiring.get("identity_id")),
            tags=spec.tags,
            # The job's name is fixed, so the old one must be deleted before its replacement is created.
            opts=pulumi.ResourceOptions(
                parent=self,
                replace_on_changes=REPLACING,
                delete_before_replace=True,
                transformations=overrides.applied(wiring.get("overrides"), self),
                hooks=retry_hooks.hooks(self),
            ),
        )
        self.job_id = self.job.id
        self.job_name = self.job.name


def _missing(path: str, spec: ServerlessGpuJobSpec, wiring: ServerlessGpuJobWiring) -> list[Problem]:
    """Returns problems for dependencies that the job requires and that are missing."""
    problems: list[Problem] = []
    images = wiring["registry"]["workload_images"] if "registry" in wiring else {}
    if spec.workload is not None and spec.workload not in images:
        problems.append(not_built(spec.workload, images, f"{path}.workload"))
    profiles = wiring["runs_in"]["profiles"]
    if spec.gpu not in profiles:
        problems.append(refused("jobs.no_profile", f"{path}.gpu", spec.gpu, allowed=", ".join(profiles) or "none"))
    if "identity_id" not in wiring:
        problems += identity_problems(path, wiring)
    return problems


def _container(spec: ServerlessGpuJobSpec, wiring: ServerlessGpuJobWiring) -> app.ContainerArgs:
    """Returns the container. It doesn't request the GPU: the workload profile assigns it to the first container of a replica."""
    image = declared(spec.image or "", wiring.get("image")) or ""
    if spec.workload is not None and "registry" in wiring:
        image = wiring["registry"]["workload_images"][spec.workload]
    return app.ContainerArgs(
        name=spec.container_name,
        image=image,
        command=list(wiring.get("command", [])) or None,
        args=list(wiring.get("args", [])) or None,
        env=_variables(wiring.get("environment", {}), wiring.get("secret_environment", {})) or None,
        resources=app.ContainerResourcesArgs(cpu=spec.cpu, memory=f"{spec.memory_in_gib:g}Gi"),
    )


def _variables(plain: Mapping[str, pulumi.Input[str]], secret: Mapping[str, object]) -> list[app.EnvironmentVarArgs]:
    """Returns the variables sorted by name, so that their order in the settings has no effect."""
    of_plain = {name: app.EnvironmentVarArgs(name=name, value=value) for name, value in plain.items()}
    of_secret = {name: app.EnvironmentVarArgs(name=name, secret_ref=_secret_name("env", name)) for name in secret}
    return [variable for _, variable in sorted({**of_plain, **of_secret}.items())]


def _secrets(variables: Mapping[str, pulumi.Input[str]], event: EventArgs | None) -> list[app.SecretArgs]:
    """Returns the secrets of the job, to which its variables and rules refer by name."""
    values = {_secret_name("env", name): value for name, value in variables.items()}
    for name, rule in event["rules"].items() if event else ():
        values |= {_secret_name("rule", name, parameter): value for parameter, value in rule.get("secrets", {}).items()}
    return [app.SecretArgs(name=name, value=pulumi.Output.secret(value)) for name, value in sorted(values.items())]


def _secret_name(*words: str) -> str:
    """Builds a secret's name of lowercase letters, digits and hyphens: of `env` and a variable; or `rule`, a rule's name (which
    may be env) and a parameter. The hash distinguishes `Key` and `KEY`."""
    digest = hashlib.sha256("\0".join(words).encode()).hexdigest()[:8]
    readable = re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")
    return f"{readable[:40].strip('-')}-{digest}"


def _configuration(
    spec: ServerlessGpuJobSpec, wiring: ServerlessGpuJobWiring, secrets: list[app.SecretArgs]
) -> app.JobConfigurationArgs:
    counts: dict[str, Any] = {"parallelism": spec.parallelism, "replica_completion_count": spec.completions}
    manual = schedule = event = None
    if "event" in wiring:
        kind, scale = app.TriggerType.EVENT, _scale(wiring["event"], wiring.get("identity_id"))
        event = app.JobConfigurationEventTriggerConfigArgs(**counts, scale=scale)
    elif cron := wiring.get("schedule"):
        kind = app.TriggerType.SCHEDULE
        schedule = app.JobConfigurationScheduleTriggerConfigArgs(**counts, cron_expression=cron)
    else:
        kind = app.TriggerType.MANUAL
        manual = app.JobConfigurationManualTriggerConfigArgs(**counts)
    return app.JobConfigurationArgs(
        trigger_type=kind,
        manual_trigger_config=manual,
        schedule_trigger_config=schedule,
        event_trigger_config=event,
        replica_timeout=spec.timeout_seconds,
        replica_retry_limit=spec.retries,
        registries=_registries(wiring.get("registry"), wiring.get("identity_id")),
        secrets=secrets or None,
    )


def _scale(event: EventArgs, identity_id: pulumi.Input[str] | None) -> app.JobScaleArgs:
    rules = [
        app.JobScaleRuleArgs(
            name=name,
            type=rule["type"],
            metadata=rule.get("metadata", {}),
            identity=identity_id if rule.get("use_identity", False) else None,
            auth=[
                app.ScaleRuleAuthArgs(trigger_parameter=parameter, secret_ref=_secret_name("rule", name, parameter))
                for parameter in sorted(rule.get("secrets", {}))
            ]
            or None,
        )
        for name, rule in sorted(event["rules"].items())
    ]
    return app.JobScaleArgs(
        rules=rules,
        polling_interval=int(event.get("polling_interval_seconds", DEFAULT_POLLING_SECONDS)),
        min_executions=int(event.get("min_executions", DEFAULT_FEWEST_EXECUTIONS)),
        max_executions=int(event.get("max_executions", DEFAULT_MOST_EXECUTIONS)),
    )


def _registries(registry: RegistryArgs | None, identity_id: pulumi.Input[str] | None) -> list[app.RegistryCredentialsArgs] | None:
    """Returns the stack's registry, accessed as the identity, for any image: a start may set another one."""
    if registry is None or identity_id is None:
        return None
    return [app.RegistryCredentialsArgs(server=registry["server"], identity=identity_id)]


def _identity(identity_id: pulumi.Input[str] | None) -> app.ManagedServiceIdentityArgs | None:
    if identity_id is None:
        return None
    return app.ManagedServiceIdentityArgs(
        type=app.ManagedServiceIdentityType.USER_ASSIGNED, user_assigned_identities=[identity_id]
    )
