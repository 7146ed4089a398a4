import pulumi
import pulumi_azure_native as azure

from azure_gpu import GpuVm

rg = azure.resources.ResourceGroup("rg", location="westeurope")
key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHXXeRHIIAXVT6HGEJYUc3xq3F8F9fTuFQ4jAJGjD5FY me"
vm = GpuVm(
    "trainer",
    resource_group_name=rg.name,
    size="Standard_NC4as_T4_v3",
    admin={"ssh_public_key": key},
    shutdown=False,
    expires_after="2026-12-31",
)
pulumi.export("vm", vm.vm_id)
