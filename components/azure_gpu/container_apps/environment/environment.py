"""An environment of Azure Container Apps for GPU jobs, with a workload profile for each GPU of its jobs.

It is created, or an existing one is used, which is looked up and never changed. The profiles are serverless: they cost nothing
while no job runs. Not included: a virtual network, dedicated profiles, and ingress, which jobs don't use.
"""

from __future__ import annotations

from typing import Any, Unpack, overload

import pulumi
from pulumi_azure_native import app

from azure_gpu.container_apps.environment.args import (
    EnvironmentOfJob,
    GpuModel,
    JobDependencies,
    JobEnvironmentArgs,
    JobEnvironmentWiring,
)
from azure_gpu.container_apps.environment.existing import look_up
from azure_gpu.container_apps.environment.spec import JobEnvironmentSpec, not_sold, resolve
from azure_gpu.foundation import common
from azure_gpu.shared import log_settings, overrides
from azure_gpu.shared.component import OnlyInPython
from azure_gpu.shared.context import declared, dependencies_of, known, resolve_stack
from azure_gpu.shared.program import Around
from azure_gpu.shared.wired import Wired, together

CONSUMPTION = "Consumption"  # the profile without GPUs, by name and type; every environment with workload profiles has it
# Container output, and messages of the service about containers. Source: the categories of Microsoft.App/managedEnvironments.
LOG_CATEGORIES = ("ContainerAppConsoleLogs", "ContainerAppSystemLogs")
# Properties that Azure sets and whose change replaces an environment. An imported environment has them in its inputs, and would
# be replaced because nothing here sets them. Source: the marks of azure-mgmt-appcontainers 5.1 (2026-07-01).
SET_BY_AZURE = ("infrastructureResourceGroup", "zoneRedundant")

_Wired = Wired[JobEnvironmentWiring, tuple[JobEnvironmentSpec, dict[str, str]]]


class JobEnvironment(pulumi.ComponentResource):
    """An environment for GPU jobs. Raises `Refused` for invalid arguments."""

    environment_id: pulumi.Output[str]
    """ARM id of the environment."""
    environment_name: pulumi.Output[str]
    """Its name in Azure."""
    dependencies: OnlyInPython[JobDependencies]
    """The same as arguments of its jobs."""
    around: OnlyInPython[Around]
    """Context and dependencies for its jobs in a program."""

    @overload
    def __init__(self, name: str, args: JobEnvironmentArgs, opts: pulumi.ResourceOptions | None = None) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[JobEnvironmentArgs]) -> None: ...

    @overload
    def __init__(
        self,
        name: str,
        args: _Wired,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None: ...

    def __init__(
        self,
        name: str,
        args: JobEnvironmentArgs | _Wired | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **kw: Any,
    ) -> None:
        """`args`, or its keys as keywords. All problems are raised as one `Refused`, before anything is declared."""
        wired = args if isinstance(args, Wired) else _wired(name, together(args, kw), opts)
        spec, profiles = wired.spec or _resolved(wired)
        super().__init__("azuregpu:index:JobEnvironment", name, None, opts)
        wiring = wired.args
        self._child = pulumi.ResourceOptions(parent=self)
        if spec.existing:
            self.environment_id = pulumi.Output.from_input(spec.existing.text)
        else:
            self.environment_id = self._environment(name, spec, wiring, profiles)
        self.environment_name = self.environment_id.apply(lambda _: spec.name)
        self.dependencies = JobDependencies(
            runs_in=EnvironmentOfJob(id=self.environment_id, profiles=profiles, existing=spec.existing is not None)
        )
        self.around = Around(context=spec.context, dependencies=dependencies_of(wiring))
        self.register_outputs({"environment_id": self.environment_id, "environment_name": self.environment_name})

    def _environment(
        self, name: str, spec: JobEnvironmentSpec, args: JobEnvironmentWiring, of_gpus: dict[str, str]
    ) -> pulumi.Output[str]:
        """Returns the ARM id. Logs go through Azure Monitor, which needs no key of the workspace."""
        logs = args.get("logs")
        profiles = [
            app.WorkloadProfileArgs(name=profile, workload_profile_type=GpuModel(gpu).profile_type)
            for gpu, profile in sorted(of_gpus.items())
        ]
        environment = app.ManagedEnvironment(
            f"{name}-environment",
            environment_name=spec.name,
            resource_group_name=args["resource_group_name"],
            location=declared(spec.location, args.get("location")),
            # Serverless profiles don't allow counts, not even a minimum of 0.
            workload_profiles=[app.WorkloadProfileArgs(name=CONSUMPTION, workload_profile_type=CONSUMPTION), *profiles],
            app_logs_configuration=app.AppLogsConfigurationArgs(destination="azure-monitor") if logs else None,
            tags=spec.context.tags(),
            opts=pulumi.ResourceOptions(
                parent=self,
                ignore_changes=[each for each in SET_BY_AZURE if each not in args.get("overrides", {})],
                transformations=overrides.applied(args.get("overrides"), self),
            ),
        )
        log_settings.declare(name, environment.id, logs, LOG_CATEGORIES, self._child)
        return environment.id


def _wired(name: str, given: object, opts: pulumi.ResourceOptions | None) -> _Wired:
    """Checks the arguments of a component in a program."""
    return common.take(JobEnvironment, name, JobEnvironmentArgs, given, opts)


def _resolved(
    wired: _Wired,
) -> tuple[JobEnvironmentSpec, dict[str, str]]:
    """Resolves the arguments. Raises `Refused` with all problems."""
    args = wired.args
    context, stack_problems = resolve_stack(args["stack"], pulumi.get_project(), pulumi.get_stack())
    group = known(args.get("resource_group_name")) or args.get("resource_group", "")
    spec, problems = resolve(args, context, group)
    wired.refuse([*stack_problems, *problems, *not_sold(spec, spec.needed)])
    profiles, problems = look_up(spec, wired.asked_by)
    wired.refuse(problems)
    return spec, profiles
