"""A job of Azure Container Apps with a GPU: what replaces container groups with GPUs today.

Each execution runs one container on a replica of its own, or on several side by side, each with one T4 or A100, and ends. It is
billed by the second while it runs; between executions it costs nothing. Left out: volumes, probes, further containers.
"""

from __future__ import annotations

import hashlib
import re

import pulumi
from pulumi_azure_native import app

from azure_gpu.catalog.problems import Problem
from azure_gpu.container_apps.job.args import EventArgs, ServerlessGpuJobArgs
from azure_gpu.container_apps.job.resolve import resolve
from azure_gpu.container_apps.job.rules import identity_problems
from azure_gpu.container_apps.job.spec import Events, ServerlessGpuJobSpec
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.refusal import refuse
from azure_gpu.shared.workloads import not_built

# What the service can't change on a job that exists; everything else it updates in place. Sources: location and environment make
# a new job in hashicorp/terraform-provider-azurerm (container_app_job_resource.go), whose updates never send another trigger's
# type; `az containerapp job update` has no option for one, and with a file that had one it was refused
# (ContainerAppsJobTriggerConfigurationMissing, microsoft/azure-container-apps issue 1014). That no other client can change the
# type either is assumed.
REPLACING = ["configuration.triggerType", "environmentId", "location"]


class ServerlessGpuJob(pulumi.ComponentResource):
    """One GPU job. Raises `Refused` where its arguments can't be had."""

    resource_id: pulumi.Output[str]
    """ARM id of the job."""
    expires_at: pulumi.Output[str] | None
    """The instant at which the job should be gone, RFC 3339 in UTC."""
    hourly_cost: pulumi.Output[float] | None
    """List price of an execution in USD for each hour that it runs, all its replicas together: no job costs anything while it
    doesn't run. None where it isn't known, which is never the same as free."""
    job: app.Job
    """The job itself, for what this component doesn't offer. Not an output."""

    def __init__(self, name: str, args: ServerlessGpuJobArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("azuregpu:index:ServerlessGpuJob", name, None, opts)
        context, stack_problems = resolve_stack(args["stack"], pulumi.get_project(), pulumi.get_stack())
        environment = args["runs_in"]
        spec, problems = resolve(name, args, context, in_existing_environment=environment["existing"])
        refuse([*stack_problems, *problems, *_missing(name, spec, args)])

        secrets = _secrets(spec, args)
        self.job = app.Job(
            f"{name}-job",
            job_name=spec.job_name,
            resource_group_name=args["resource_group_name"],
            location=spec.location,
            environment_id=environment["id"],
            workload_profile_name=environment["profiles"][spec.gpu.value],
            configuration=_configuration(spec, args, secrets),
            template=app.JobTemplateArgs(containers=[_container(spec, args)]),
            identity=_identity(args),
            tags=spec.tags,
            # The job's name is fixed, so the old one has to be gone before its replacement comes.
            opts=pulumi.ResourceOptions(parent=self, replace_on_changes=REPLACING, delete_before_replace=True),
        )
        self.resource_id = self.job.id
        self.expires_at = pulumi.Output.from_input(spec.expires_at) if spec.expires_at else None
        self.hourly_cost = pulumi.Output.from_input(spec.hourly_cost) if spec.hourly_cost is not None else None
        self.register_outputs({"resource_id": self.resource_id, "expires_at": self.expires_at, "hourly_cost": self.hourly_cost})


def _missing(name: str, spec: ServerlessGpuJobSpec, args: ServerlessGpuJobArgs) -> list[Problem]:
    """What the job needs of its surroundings and doesn't find there."""
    problems: list[Problem] = []
    images = args["registry"]["workload_images"] if "registry" in args else {}
    if spec.workload is not None and spec.workload not in images:
        problems.append(not_built(spec.workload, images, f"jobs.{name}.workload"))
    profiles = args["runs_in"]["profiles"]
    if spec.gpu.value not in profiles:
        problems.append(
            Problem(
                path=f"jobs.{name}.gpu",
                message="the environment has no workload profile with this GPU",
                value=spec.gpu.value,
                allowed=", ".join(profiles) or "none",
                fix="give the environment this GPU",
            )
        )
    if "identity_id" not in args:
        problems += identity_problems(name, args)
    return problems


def _container(spec: ServerlessGpuJobSpec, args: ServerlessGpuJobArgs) -> app.ContainerArgs:
    """The one container. Nothing asks for the GPU itself: the workload profile gives it to the first container of a replica."""
    return app.ContainerArgs(
        name=spec.container_name,
        image=_image(spec, args),
        command=list(spec.command) or None,
        args=list(spec.args) or None,
        env=_variables(spec, args) or None,
        resources=app.ContainerResourcesArgs(cpu=spec.cpu, memory=f"{spec.memory_in_gib:g}Gi"),
    )


def _image(spec: ServerlessGpuJobSpec, args: ServerlessGpuJobArgs) -> pulumi.Input[str]:
    if spec.workload is not None and "registry" in args:
        return args["registry"]["workload_images"][spec.workload]
    return spec.image or ""


def _variables(spec: ServerlessGpuJobSpec, args: ServerlessGpuJobArgs) -> list[app.EnvironmentVarArgs]:
    """In the order of their names, so that writing them in another order changes nothing."""
    plain = {name: app.EnvironmentVarArgs(name=name, value=value) for name, value in spec.environment.items()}
    secret = {
        name: app.EnvironmentVarArgs(name=name, secret_ref=_secret_of_variable(name))
        for name in args.get("secret_environment", {})
    }
    return [variable for _, variable in sorted({**plain, **secret}.items())]


def _secrets(spec: ServerlessGpuJobSpec, args: ServerlessGpuJobArgs) -> list[app.SecretArgs]:
    """Secrets of the job, which its variables and rules refer to by name."""
    values = {_secret_of_variable(name): value for name, value in args.get("secret_environment", {}).items()}
    for rule in spec.events.rules if spec.events else ():
        for parameter, value in _rule_secrets(args.get("event"), rule.name).items():
            values[_secret_of_rule(rule.name, parameter)] = value
    return [app.SecretArgs(name=name, value=pulumi.Output.secret(value)) for name, value in sorted(values.items())]


def _rule_secrets(event: EventArgs | None, rule: str) -> dict[str, pulumi.Input[str]]:
    return event["rules"][rule].get("secrets", {}) if event else {}


def _secret_of_variable(name: str) -> str:
    return _secret_name("env", name)


def _secret_of_rule(rule: str, parameter: str) -> str:
    return _secret_name("rule", rule, parameter)  # a rule may be called env


def _secret_name(*words: str) -> str:
    """Lowercase letters, digits and hyphens, as the service wants names of secrets; the hash keeps `Key` and `KEY` apart."""
    digest = hashlib.sha256("\0".join(words).encode()).hexdigest()[:8]
    readable = re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")
    return f"{readable[:40].strip('-')}-{digest}"


def _configuration(
    spec: ServerlessGpuJobSpec, args: ServerlessGpuJobArgs, secrets: list[app.SecretArgs]
) -> app.JobConfigurationArgs:
    manual = schedule = event = None
    if spec.events:
        kind = app.TriggerType.EVENT
        event = app.JobConfigurationEventTriggerConfigArgs(
            parallelism=spec.parallelism, replica_completion_count=spec.completions, scale=_scale(spec.events, args)
        )
    elif spec.schedule:
        kind = app.TriggerType.SCHEDULE
        schedule = app.JobConfigurationScheduleTriggerConfigArgs(
            cron_expression=spec.schedule, parallelism=spec.parallelism, replica_completion_count=spec.completions
        )
    else:
        kind = app.TriggerType.MANUAL
        manual = app.JobConfigurationManualTriggerConfigArgs(
            parallelism=spec.parallelism, replica_completion_count=spec.completions
        )
    return app.JobConfigurationArgs(
        trigger_type=kind,
        manual_trigger_config=manual,
        schedule_trigger_config=schedule,
        event_trigger_config=event,
        replica_timeout=spec.timeout_seconds,
        replica_retry_limit=spec.retries,
        registries=_registries(args),
        secrets=secrets or None,
    )


def _scale(events: Events, args: ServerlessGpuJobArgs) -> app.JobScaleArgs:
    rules = [
        app.JobScaleRuleArgs(
            name=rule.name,
            type=rule.type,
            metadata=rule.metadata,
            identity=args.get("identity_id") if rule.use_identity else None,
            auth=[
                app.ScaleRuleAuthArgs(trigger_parameter=parameter, secret_ref=_secret_of_rule(rule.name, parameter))
                for parameter in sorted(_rule_secrets(args.get("event"), rule.name))
            ]
            or None,
        )
        for rule in events.rules
    ]
    return app.JobScaleArgs(
        rules=rules,
        polling_interval=events.polling_interval_seconds,
        min_executions=events.min_executions,
        max_executions=events.max_executions,
    )


def _registries(args: ServerlessGpuJobArgs) -> list[app.RegistryCredentialsArgs] | None:
    """The stack's registry, as the identity and without a password, whatever the image: a start may bring another one along."""
    if "registry" not in args or "identity_id" not in args:
        return None
    return [app.RegistryCredentialsArgs(server=args["registry"]["server"], identity=args["identity_id"])]


def _identity(args: ServerlessGpuJobArgs) -> app.ManagedServiceIdentityArgs | None:
    if "identity_id" not in args:
        return None
    return app.ManagedServiceIdentityArgs(
        type=app.ManagedServiceIdentityType.USER_ASSIGNED, user_assigned_identities=[args["identity_id"]]
    )
