"""Somebody's program: a container group, a Batch pool, a cluster and an endpoint, twice in one stack, by an explicit provider."""

import sys
from typing import Any

import pulumi
import pulumi_azure_native as azure
import pulumi_kubernetes as kubernetes

from azure_gpu import BatchAccount, BatchPool, ContainerGroup, Foundation, GpuCluster, MlEndpoint, MlWorkspace
from azure_gpu.ml.endpoint.args import MlDeploymentArgs

config = pulumi.Config()
LAST_DAY = "2099-03-31"


def tagged(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
    """Tags everything that takes tags, and hands the options back."""
    given: dict[str, Any] = dict(args.props)
    if given.get("tags"):
        given["tags"] = {**given["tags"], "cost-center": "42"}
    return pulumi.ResourceTransformResult(given, args.opts)


pulumi.runtime.register_resource_transform(tagged)
pulumi.export("python", sys.prefix)
login = config.require_object("login")
own: pulumi.ProviderResource = azure.Provider("azure", **login)
opts = pulumi.ResourceOptions(providers=[own])
for name in ("one", "two"):
    base = Foundation(
        name,
        location="eastus",
        identity="create",
        registry="create",
        log_workspace="create",
        storage="create",
        protect_data=False,
        workloads=["vector_add"],
        image_source=config.require("image_source"),
        opts=opts,
    )
    ContainerGroup(f"{name}-add", foundation=base, workload="vector_add", opts=opts)
    account = BatchAccount(f"{name}-batch", foundation=base, opts=opts)
    pool = BatchPool(f"{name}-t4", batch_account=account, size="Standard_NC4as_T4_v3", expires_after=LAST_DAY, opts=opts)
    cluster = GpuCluster(
        f"{name}-gpu",
        foundation=base,
        gpu_pools={"t4": {"size": "Standard_NC4as_T4_v3", "max_nodes": 1}},
        expires_after=LAST_DAY,
        opts=opts,
    )
    inside = kubernetes.Provider(f"{name}-inside", kubeconfig=cluster.kubeconfig)
    kubernetes.core.v1.ConfigMap(
        f"{name}-own", data={"issuer": cluster.oidc_issuer_url}, opts=pulumi.ResourceOptions(provider=inside)
    )
    image = "mcr.microsoft.com/azureml/minimal-py312-inference:latest"
    workspace = MlWorkspace(
        f"{name}-ml",
        foundation=base,
        environments={"light": {"version": "1", "image": image, "conda_file": "conda.yml"}},
        code={"answers": {"version": "1", "uri": f"https://{name}.blob.core.windows.net/programs/light"}},
        opts=opts,
    )
    blue = MlDeploymentArgs(environment="light", code={"code": "answers", "script": "score.py"}, instance_type="Standard_DS3_v2")
    endpoint = MlEndpoint(f"{name}-colours", workspace=workspace, auth="key", deployments={"blue": blue}, opts=opts)
    pulumi.export(name, {"pool": pool.pool_id, "cluster": cluster.cluster_id, "uri": endpoint.scoring_uri})
