"""Inputs of a virtual machine: its disk, administrator, security and identity.

Its size, image, priority and boot diagnostics are in `vm.py`.
"""

from __future__ import annotations

import pulumi
from pulumi_azure_native import compute

from azure_gpu.vm import proof as vm_proof
from azure_gpu.vm.args import DEFAULT_DISK_TYPE, AdminArgs, GpuVmWiring
from azure_gpu.vm.spec import GpuVmSpec


def identity(args: GpuVmWiring) -> compute.VirtualMachineIdentityArgs:
    """The stack's identity, which already has its roles; else a system-assigned one."""
    if "identity_id" in args:
        kind = compute.ResourceIdentityType.USER_ASSIGNED
        return compute.VirtualMachineIdentityArgs(type=kind, user_assigned_identities=[args["identity_id"]])
    return compute.VirtualMachineIdentityArgs(type=compute.ResourceIdentityType.SYSTEM_ASSIGNED)


def disk(spec: GpuVmSpec) -> compute.OSDiskArgs:
    return compute.OSDiskArgs(
        create_option=compute.DiskCreateOptionTypes.FROM_IMAGE,
        caching=compute.CachingTypes.READ_WRITE,
        disk_size_gb=spec.disk_gb,
        managed_disk=compute.ManagedDiskParametersArgs(storage_account_type=spec.disk.get("type", DEFAULT_DISK_TYPE)),
        delete_option=compute.DiskDeleteOptionTypes.DELETE,  # otherwise it is kept, and costs
    )


def plan(spec: GpuVmSpec) -> compute.PlanArgs | None:
    """The purchase plan of a Marketplace image that has one."""
    known = spec.image.known
    agreed = known.plan if known is not None else None
    return compute.PlanArgs(name=agreed.name, product=agreed.product, publisher=agreed.publisher) if agreed is not None else None


def os_profile(spec: GpuVmSpec, args: GpuVmWiring) -> compute.OSProfileArgs:
    if spec.operating_system == "Windows":
        return compute.OSProfileArgs(
            computer_name=spec.computer_name,
            admin_username=spec.user,
            admin_password=pulumi.Output.secret(args.get("admin", {}).get("password", "")),
            windows_configuration=compute.WindowsConfigurationArgs(provision_vm_agent=True, enable_automatic_updates=True),
        )
    public_key = " ".join(args.get("admin", AdminArgs()).get("ssh_public_key", "").split())
    key = compute.SshPublicKeyArgs(path=f"/home/{spec.user}/.ssh/authorized_keys", key_data=public_key)
    return compute.OSProfileArgs(
        computer_name=spec.computer_name,
        admin_username=spec.user,
        custom_data=vm_proof.custom_data(spec.proved_gpus) if spec.proved_gpus else None,
        linux_configuration=compute.LinuxConfigurationArgs(
            disable_password_authentication=True,
            provision_vm_agent=True,
            ssh=compute.SshConfigurationArgs(public_keys=[key]),
        ),
    )


def security(spec: GpuVmSpec) -> compute.SecurityProfileArgs | None:
    """None is standard security, which only newer API versions can name."""
    encrypted = spec.disk.get("encryption_at_host", False)
    if not spec.trusted_launch and not encrypted:
        return None
    uefi = compute.UefiSettingsArgs(v_tpm_enabled=True, secure_boot_enabled=spec.secure_boot)
    return compute.SecurityProfileArgs(
        encryption_at_host=True if encrypted else None,
        security_type=compute.SecurityTypes.TRUSTED_LAUNCH if spec.trusted_launch else None,
        uefi_settings=uefi if spec.trusted_launch else None,
    )
