"""A virtual machine with a GPU: a Data Science machine, one of Microsoft's images for GPUs, or a custom image.

It is in a separate network without inbound access or in an existing subnet, uses the stack's identity, gets the GPU's driver from
its image or from Azure's extension, checks it at every start, and is deallocated by Azure every evening. A workspace of Azure
Machine Learning can attach it. Left out: data disks, load balancers, backups, NAT gateways, existing machines.
"""

from __future__ import annotations

from typing import Any, Unpack, overload

import pulumi
from pulumi_azure_native import compute, devtestlab, network

from azure_gpu.catalog import roles, spot_price
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import driver_extension
from azure_gpu.catalog.services.machines import shutdown, smi
from azure_gpu.foundation import common
from azure_gpu.images.args import images_of
from azure_gpu.shared import overrides, renewal, role_of_identity
from azure_gpu.shared.attachable import AttachableVm, VmOfWorkspace
from azure_gpu.shared.component import Component, OnlyInPython
from azure_gpu.shared.context import Context, declared, pull_role_of
from azure_gpu.shared.program import Described
from azure_gpu.shared.validation import written
from azure_gpu.shared.wired import Wired
from azure_gpu.vm import inputs, proof as vm_proof
from azure_gpu.vm.args import DEFAULT_SHUTDOWN, GpuVmArgs, GpuVmWiring, ShutdownArgs
from azure_gpu.vm.interface import NetworkDeclaration
from azure_gpu.vm.resolve import resolve
from azure_gpu.vm.spec import GpuVmSpec, of_workspace

__all__ = ["HOW_REPLACED", "REPLACING", "GpuVm"]

# Source: hashicorp/terraform-provider-azurerm, azurerm_linux_virtual_machine and azurerm_windows_virtual_machine, which make a
# new machine for these; Azure rejects a change of osProfile with PropertyChangeNotAllowed (Azure/azure-sdk-for-node 2297).
REPLACING = [
    "evictionPolicy",
    "location",
    "osProfile",
    "plan",
    "priority",
    "securityProfile.securityType",
    "securityProfile.uefiSettings",
    "storageProfile.imageReference",
    "storageProfile.osDisk.managedDisk",
    "zones",
]
_EVICTION = {"deallocate": "Deallocate", "delete": "Delete"}
HOW_REPLACED = "and the old one is\ndeleted first, with its disk, because its name is fixed"

_Wired = Wired[GpuVmWiring, GpuVmSpec]


class GpuVm(Component[GpuVmArgs, GpuVmWiring, GpuVmSpec], AttachableVm):
    """A virtual machine with a GPU. Raises `Refused` if its arguments are invalid."""

    vm_id: pulumi.Output[str]
    """ARM id of the machine."""
    vm_name: pulumi.Output[str]
    """Its name in Azure."""
    principal_id: pulumi.Output[str]
    """Object id of its system-assigned identity; empty if it uses another."""
    expires_at: pulumi.Output[str] | None
    """When the machine should be deleted, RFC 3339 in UTC."""
    hourly_cost: pulumi.Output[float] | None
    """List price in USD an hour while it runs, without its disk. None if unknown, which doesn't mean free."""
    idle_cost: pulumi.Output[float] | None
    """Cost while it is deallocated: its disk, a public address, a Bastion. None if unknown."""
    of_workspace: OnlyInPython[VmOfWorkspace]
    """The machine for a workspace that attaches it."""

    @overload
    def __init__(self, name: str, args: GpuVmArgs | _Wired, opts: pulumi.ResourceOptions | None = None) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[GpuVmArgs]) -> None: ...

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)

    @staticmethod
    def _wire(described: Described) -> _Wired:
        described.args["images"] = images_of(described.args)
        return common.wire(described)

    def _resolve(self, args: GpuVmWiring, context: Context) -> tuple[GpuVmSpec, list[Problem]]:
        return resolve(self._name, args, context, args.get("images"))

    def _declare(self, spec: GpuVmSpec) -> None:
        self._spec = spec
        self._group = self._args["resource_group_name"]
        self._location = declared(spec.location, self._args.get("location"))
        connected = NetworkDeclaration(self._name, spec, self._group, self._location, self).declare(self._args.get("subnet_id"))
        machine = self._machine(connected.interface)
        self._roles(machine)
        extension = self._extension(machine) if spec.driver.kind == "extension" else None
        if spec.proved_gpus:
            self._proof(machine, extension)
        self._shutdown(machine)
        self.vm_id = machine.id
        self.vm_name = machine.name
        self.principal_id = machine.identity.apply(lambda found: (found.principal_id if found else "") or "")
        self.of_workspace = {**of_workspace(spec), "id": machine.id, "address": connected.address}
        self._announce()

    def _machine(self, interface: network.NetworkInterface) -> compute.VirtualMachine:
        spec, spot = self._spec, self._spec.spot
        price = spot.get("max_price", spot_price.ANY_PRICE) if spot is not None else None
        renewed = renewal.declare(f"{self._name}-machine", spec.proved_gpus > 0, self, in_program=self._in_program)
        return compute.VirtualMachine(
            f"{self._name}-machine",
            vm_name=renewed.through(declared(spec.name, self._args.get("vm_name"))),
            resource_group_name=self._group,
            location=self._location,
            zones=[spec.settings["zone"]] if "zone" in spec.settings else None,
            hardware_profile=compute.HardwareProfileArgs(vm_size=spec.size),
            priority=compute.VirtualMachinePriorityTypes.SPOT if spot is not None else None,
            eviction_policy=_EVICTION[spot.get("eviction", "deallocate")] if spot is not None else None,
            billing_profile=compute.BillingProfileArgs(max_price=price) if spot is not None else None,
            identity=inputs.identity(self._args),
            storage_profile=compute.StorageProfileArgs(
                image_reference=compute.ImageReferenceArgs(
                    **spec.image.arguments(spec.image.reference, self._args.get("images", {}))
                ),
                os_disk=inputs.disk(spec),
            ),
            plan=inputs.plan(spec),
            os_profile=inputs.os_profile(spec, self._args),
            network_profile=compute.NetworkProfileArgs(
                network_interfaces=[compute.NetworkInterfaceReferenceArgs(id=interface.id, primary=True)]
            ),
            security_profile=inputs.security(spec),
            # Keeps the serial console's log, in which a failed check appears; in storage of Azure's.
            diagnostics_profile=compute.DiagnosticsProfileArgs(boot_diagnostics=compute.BootDiagnosticsArgs(enabled=True)),
            tags=spec.tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                replace_on_changes=REPLACING,
                delete_before_replace=True,
                # A machine gets its script at its creation. A changed script must not replace it; turning the check on for a
                # machine without a script must.
                ignore_changes=["osProfile.customData"],
                replacement_trigger=renewed.trigger,
                transformations=overrides.applied(self._args.get("overrides"), self),
            ),
        )

    def _roles(self, machine: compute.VirtualMachine) -> None:
        """Roles that a machine's own identity requires to run the stack's images; the stack's identity has them from the
        foundation."""
        if "identity_id" in self._args:
            return
        principal = machine.identity.apply(lambda identity: identity.principal_id if identity else "")
        required: list[tuple[str, str, pulumi.Input[str]]] = []
        if "registry" in self._args:
            registry = self._args["registry"]
            required.append(("pull-role", pull_role_of(registry), registry["id"]))
        if "storage" in self._args:
            required.append(("blob-role", roles.STORAGE_BLOB_DATA_CONTRIBUTOR, self._args["storage"]["id"]))
        if not self._args.get("assign_roles", True):
            if required:
                names = " and ".join(roles.NAMES[role] for _, role, _ in required)
                text = f"an administrator has to assign the roles {names} to the identity of machine {self._spec.name}"
                pulumi.log.info(text, self)
            return
        for suffix, role, scope in required:
            role_of_identity.assign(
                f"{self._name}-{suffix}",
                role=role,
                scope=scope,
                principal_id=principal,
                subscription_id=self._spec.context.subscription_id,
                opts=self._child,
            )

    def _extension(self, machine: compute.VirtualMachine) -> compute.VirtualMachineExtension:
        kind = self._spec.driver.extension
        return compute.VirtualMachineExtension(
            f"{self._name}-driver",
            vm_extension_name=kind,
            vm_name=machine.name,
            resource_group_name=self._group,
            location=self._location,
            publisher=driver_extension.PUBLISHER,
            type=kind,
            type_handler_version=driver_extension.handler_version(kind),
            auto_upgrade_minor_version=True,
            # No tags, and the version of its creation: Azure rejects changes to extensions of a deallocated machine.
            opts=pulumi.ResourceOptions(parent=self, deleted_with=machine, ignore_changes=["typeHandlerVersion"]),
        )

    def _proof(self, machine: compute.VirtualMachine, extension: compute.VirtualMachineExtension | None) -> None:
        """Makes an update fail if the driver doesn't work."""
        windows = self._spec.operating_system == "Windows"
        script = vm_proof.windows_script(self._spec.proved_gpus) if windows else vm_proof.wait_script()
        compute.VirtualMachineRunCommandByVirtualMachine(
            f"{self._name}-proof",
            run_command_name=smi.PROOF_COMMAND,
            vm_name=machine.name,
            resource_group_name=self._group,
            location=self._location,
            source=compute.VirtualMachineRunCommandScriptSourceArgs(script=script),
            async_execution=False,
            timeout_in_seconds=vm_proof.RUN_SECONDS,
            treat_failure_as_deployment_failure=True,
            # No tags, as with the extension, and the script of its creation, which fits the machine's own: that of a newer
            # version of this library would be rejected while the machine is deallocated.
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[extension] if extension is not None else None,
                deleted_with=machine,
                ignore_changes=["source", "timeoutInSeconds"],
            ),
        )

    def _shutdown(self, machine: compute.VirtualMachine) -> None:
        settings = written(self._spec.settings.get("shutdown", ShutdownArgs()))
        if not settings.get("enabled", True):
            return
        mail_to = settings.get("mail_to")
        notification = devtestlab.NotificationSettingsArgs(
            status=devtestlab.EnableStatus.ENABLED if mail_to else devtestlab.EnableStatus.DISABLED,
            email_recipient=mail_to or None,
            time_in_minutes=shutdown.NOTICE_MINUTES,
        )
        devtestlab.GlobalSchedule(
            f"{self._name}-shutdown",
            # The service finds a machine's schedule by the machine's name.
            name=pulumi.Output.from_input(self._args.get("vm_name", self._spec.name)).apply(shutdown.schedule_name),
            resource_group_name=self._group,
            location=self._location,
            status=devtestlab.EnableStatus.ENABLED,
            task_type=shutdown.TASK,
            daily_recurrence=devtestlab.DayDetailsArgs(time=shutdown.time_of(settings.get("time", DEFAULT_SHUTDOWN))),
            time_zone_id=settings.get("timezone", shutdown.UTC),
            target_resource_id=machine.id,
            notification_settings=notification,
            tags=self._spec.tags,
            opts=self._child,
        )

    def _announce(self) -> None:
        """Shows cost and driver, only in a preview, since an update shows its preview first."""
        if not pulumi.runtime.is_dry_run():
            return
        spec, day = self._spec, self._spec.context.day
        running, stays = spec.cost.running.text(day), spec.cost.stays.text(day)
        pulumi.log.info(f"driver: {spec.driver.why}", self)
        pulumi.log.info(f"cost without its disk: {running}; while deallocated, with its disk: {stays}", self)
        if spec.network.bastion == "basic":
            pulumi.log.info("the Bastion costs as long as it exists, used or not, even while the machine is deallocated", self)
