"""A group of Azure Container Instances: containers on one machine, with GPUs or without.

The service supported GPUs until 2025-07-14; groups without GPUs are still supported. Not included: policies of confidential
computing, customer-managed keys, standby pools, security contexts.
"""

from __future__ import annotations

from typing import Any, Unpack, overload

import pulumi
from pulumi_azure_native import containerinstance

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Problem
from azure_gpu.container_instances import inputs
from azure_gpu.container_instances.args import ContainerGroupArgs, ContainerGroupWiring
from azure_gpu.container_instances.resolve import resolve
from azure_gpu.container_instances.spec import ContainerGroupSpec
from azure_gpu.foundation import common
from azure_gpu.shared import log_settings, overrides, renewal, retry_hooks
from azure_gpu.shared.component import Component, OnlyInPython
from azure_gpu.shared.context import Context, declared
from azure_gpu.shared.wired import Wired

# Properties that the service can't change on an existing group; it updates everything else in place by restarting the containers:
# image, command, variables, volumes, ports and DNS label, tags. The number of containers changes CPU and memory too, and has no
# path: it is the resource's `replacement_trigger`.
# Sources: Microsoft Learn, container-instances/container-instances-update (2024-08-29: OS type; CPU, memory and GPU; restart
# policy; network profile; availability zone), the service's refusal InvalidContainerGroupUpdate, and
# pulumi/pulumi-azure-native issue 918.
REPLACING = ["containers[*].resources", "location", "osType", "restartPolicy", "subnetIds", "zones"]
REPLACING_WITHOUT_PATH = ["the number of containers, without init containers"]

# Container output, and messages of the service about containers, in tables of the same names: Microsoft Learn, azure-monitor,
# supported-logs/microsoft-containerinstance-containergroups-logs; the built-in policy 41ebf9df-66cb-48e9-a8d0-98afb4e150ce
# (Azure/azure-policy) sends both. A key of the workspace isn't needed: container-instances-log-analytics (2026-07-25). The
# setting restarts the group: monitor-azure-container-instances-reference (2025-11-17).
LOG_CATEGORIES = ("ContainerInstanceLog", "ContainerEvent")

_Wired = Wired[ContainerGroupWiring, ContainerGroupSpec]


class ContainerGroup(Component[ContainerGroupArgs, ContainerGroupWiring, ContainerGroupSpec]):
    """A container group. Raises `Refused` for invalid arguments."""

    group_id: pulumi.Output[str]
    """ARM id of the group."""
    group_name: pulumi.Output[str]
    """Its name in Azure."""
    expires_at: pulumi.Output[str] | None
    """The end of the group's last day, RFC 3339 in UTC; None without one."""
    hourly_cost: pulumi.Output[float] | None
    """List price of the running group in USD per hour; None where it isn't known, which doesn't mean free."""
    group: OnlyInPython[containerinstance.ContainerGroup]
    """The azure-native resource."""

    @overload
    def __init__(self, name: str, args: ContainerGroupArgs | _Wired, opts: pulumi.ResourceOptions | None = None) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[ContainerGroupArgs]) -> None: ...

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)

    _wire = staticmethod(common.wire)

    def _resolve(self, args: ContainerGroupWiring, context: Context) -> tuple[ContainerGroupSpec, list[Problem]]:
        spec, problems = resolve(self._name, args, context)
        return spec, [*problems, *inputs.missing(spec, args)]

    def _declare(self, spec: ContainerGroupSpec) -> None:
        self.group = self._group(spec, self._args)
        if spec.settings.get("send_logs", True):
            log_settings.declare(self._name, self.group.id, self._args.get("logs"), LOG_CATEGORIES, self._child)
        self.group_id = self.group.id
        self.group_name = self.group.name.apply(lambda name: name or "")
        self._announce(spec)

    def _group(self, spec: ContainerGroupSpec, wiring: ContainerGroupWiring) -> containerinstance.ContainerGroup:
        settings, count = spec.settings, f"{len(spec.containers)} containers"
        renewed = renewal.declare(f"{self._name}-group", count, self, in_program=self._in_program)
        return containerinstance.ContainerGroup(
            f"{self._name}-group",
            container_group_name=renewed.through(declared(spec.group_name, wiring.get("group_name"))),
            resource_group_name=wiring["resource_group_name"],
            location=declared(spec.location, wiring.get("location")),
            os_type=settings.get("os_type", "Linux"),
            restart_policy=settings.get("restart_policy", "OnFailure"),  # as for a job
            containers=[inputs.container(container, spec, wiring) for container in spec.containers],
            init_containers=[inputs.init_container(container, wiring) for container in spec.init_containers] or None,
            volumes=[inputs.volume(name, volume) for name, volume in sorted(spec.volumes.items())] or None,
            identity=inputs.identity(wiring),
            image_registry_credentials=inputs.credentials(spec, wiring),
            ip_address=inputs.address(spec),
            dns_config=containerinstance.DnsConfigurationArgs(**settings["dns_config"]) if "dns_config" in settings else None,
            subnet_ids=[{"id": settings["subnet_id"]}] if "subnet_id" in settings else None,
            zones=list(settings.get("zones", [])) or None,
            priority=settings.get("priority"),  # omitted where it isn't set, like the SKU: Azure has the same defaults
            sku=settings.get("sku"),
            tags=spec.tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                replace_on_changes=REPLACING,
                replacement_trigger=renewed.trigger,
                delete_before_replace=True,  # its name is fixed, so the old one must be deleted before its replacement is created
                transformations=overrides.applied(wiring.get("overrides"), self),
                hooks=retry_hooks.hooks(self),
            ),
        )

    def _announce(self, spec: ContainerGroupSpec) -> None:
        """Logs how long deploying a group with GPUs takes and from when on it is billed, only in a preview, as an update shows
        its preview first."""
        if spec.gpu is not None and pulumi.runtime.is_dry_run():
            time, billed = (facts.one("container_instances", name) for name in ("time to deploy", "billed time"))
            pulumi.log.info(
                f"{spec.group_name} has GPUs: deploying it takes {time.value}. It is billed {billed.value}. "
                f"Source: {time.source}",
                self,
            )
