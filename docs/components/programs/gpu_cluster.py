import pulumi
import pulumi_azure_native as azure
import pulumi_kubernetes as kubernetes

from azure_gpu import GpuCluster

rg = azure.resources.ResourceGroup("rg", location="westeurope")
cluster = GpuCluster(
    "gpu",
    resource_group_name=rg.name,
    gpu_pools={"t4": {"size": "Standard_NC4as_T4_v3", "max_nodes": 2}},
    expires_after="2026-12-31",
)
inside = kubernetes.Provider("inside", kubeconfig=cluster.kubeconfig)
settings = kubernetes.core.v1.ConfigMap("settings", data={"mode": "quick"}, opts=pulumi.ResourceOptions(provider=inside))
pulumi.export("pools", cluster.gpu_pools)
