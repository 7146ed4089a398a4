"""What a company shares with its stacks, in a subscription of its own."""

import pulumi
import pulumi_azure_native as azure

from azure_gpu import BatchAccount, Foundation, GpuCluster, MlWorkspace

config = pulumi.Config()
login = {**config.require_object("login"), "subscription_id": config.require("subscription")}
# pyrefly: ignore[no-matching-overload]
opts = pulumi.ResourceOptions(provider=azure.Provider("hub", **login))
base = Foundation(
    "hub",
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
account = BatchAccount("pools", foundation=base, opts=opts)
cluster = GpuCluster("gpu", foundation=base, expires_after="2099-03-31", opts=opts)
workspace = MlWorkspace("ml", foundation=base, opts=opts)
pulumi.export("identity", base.identity_id)
pulumi.export("registry", base.registry_id)
pulumi.export("log_workspace", base.log_workspace_id)
pulumi.export("storage", base.storage_account_id)
pulumi.export("image", base.workload_images["vector_add"])
pulumi.export("batch_account", account.account_id)
pulumi.export("cluster", cluster.cluster_id)
pulumi.export("workspace", workspace.workspace_id)
