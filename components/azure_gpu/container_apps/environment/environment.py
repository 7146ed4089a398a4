"""An environment of Azure Container Apps for GPU jobs, with a workload profile for each GPU of its jobs.

It is created, or an existing one is used, which is looked up and never changed. The profiles are serverless: they cost nothing
while no job runs. Not included: dedicated profiles, and ingress, which jobs don't use.
"""

from __future__ import annotations

from typing import Any, Unpack, overload

import pulumi
from pulumi_azure_native import app

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.container_apps import serverless_of
from azure_gpu.container_apps.environment.args import EnvironmentOfJob, JobDependencies, JobEnvironmentArgs, JobEnvironmentWiring
from azure_gpu.container_apps.environment.existing import look_up
from azure_gpu.container_apps.environment.spec import JobEnvironmentSpec, not_sold, resolve
from azure_gpu.foundation import common
from azure_gpu.shared import log_settings, overrides
from azure_gpu.shared.component import Component, OnlyInPython
from azure_gpu.shared.context import Context, check_region, declared, dependencies_of, known
from azure_gpu.shared.look_up import AskedBy
from azure_gpu.shared.program import Around
from azure_gpu.shared.wired import Wired

CONSUMPTION = "Consumption"  # the profile without GPUs, by name and type; every environment with workload profiles has it
# Container output, and messages of the service about containers. Source: the categories of Microsoft.App/managedEnvironments.
LOG_CATEGORIES = ("ContainerAppConsoleLogs", "ContainerAppSystemLogs")
# Properties that Azure sets and whose change replaces an environment. An imported environment has them in its inputs, and would
# be replaced because nothing here sets them. Source: the marks of azure-mgmt-appcontainers 5.1 (2026-07-01).
SET_BY_AZURE = ("infrastructureResourceGroup", "zoneRedundant")

_Spec = tuple[JobEnvironmentSpec, dict[str, str]]  # with the workload profile of each GPU
_Wired = Wired[JobEnvironmentWiring, _Spec]


class JobEnvironment(Component[JobEnvironmentArgs, JobEnvironmentWiring, _Spec]):
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
    def __init__(self, name: str, args: JobEnvironmentArgs | _Wired, opts: pulumi.ResourceOptions | None = None) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[JobEnvironmentArgs]) -> None: ...

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)

    _wire = staticmethod(common.wire)

    def _resolve(self, args: JobEnvironmentWiring, context: Context) -> tuple[_Spec, list[Problem]]:
        group = known(args.get("resource_group_name")) or args.get("resource_group", "")
        spec, problems = resolve(args, context, group)
        of_region = check_region(args.get("location"), context.own_path("location"))
        return (spec, {}), [*of_region, *problems, *not_sold(spec, spec.needed)]

    def _look_up(self, spec: _Spec, asked_by: AskedBy) -> tuple[_Spec, list[Problem]]:
        environment, _ = spec
        profiles, problems = look_up(environment, asked_by)
        return (environment, profiles), problems

    def _declare(self, spec: _Spec) -> None:
        environment, profiles = spec
        found = environment.existing
        self.environment_id = pulumi.Output.from_input(found.text) if found else self._environment(environment, profiles)
        self.environment_name = self.environment_id.apply(lambda _: environment.name)
        runs_in = EnvironmentOfJob(id=self.environment_id, profiles=profiles, existing=found is not None)
        self.dependencies = JobDependencies(runs_in=runs_in)
        self.around = Around(context=environment.context, dependencies=dependencies_of(self._args))

    def _environment(self, spec: JobEnvironmentSpec, of_gpus: dict[str, str]) -> pulumi.Output[str]:
        """Returns the ARM id. Logs go through Azure Monitor, which needs no key of the workspace."""
        args, logs = self._args, self._args.get("logs")
        profiles = [
            app.WorkloadProfileArgs(name=profile, workload_profile_type=serverless_of(gpu))
            for gpu, profile in sorted(of_gpus.items())
        ]
        environment = app.ManagedEnvironment(
            f"{self._name}-environment",
            environment_name=spec.name,
            resource_group_name=args["resource_group_name"],
            location=declared(spec.location, args.get("location")),
            # Serverless profiles don't allow counts, not even a minimum of 0.
            workload_profiles=[app.WorkloadProfileArgs(name=CONSUMPTION, workload_profile_type=CONSUMPTION), *profiles],
            # Source: Microsoft Learn, container-apps/networking, read 2026-11-29.
            vnet_configuration=app.VnetConfigurationArgs(infrastructure_subnet_id=args["subnet_id"], internal=True)
            if "subnet_id" in args
            else None,
            app_logs_configuration=app.AppLogsConfigurationArgs(destination="azure-monitor") if logs else None,
            tags=spec.context.tags(),
            opts=pulumi.ResourceOptions(
                parent=self,
                # The kind of its network is that of its creation: Microsoft Learn, container-apps/networking.
                replace_on_changes=["vnetConfiguration"] if "subnet_id" in args else None,
                ignore_changes=[each for each in SET_BY_AZURE if each not in args.get("overrides", {})],
                transformations=overrides.applied(args.get("overrides"), self),
            ),
        )
        log_settings.declare(self._name, environment.id, logs, LOG_CATEGORIES, self._child)
        return environment.id
