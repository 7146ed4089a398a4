"""Somebody's program, on which Pulumi's own mechanics are tried: options, names and numbers come from the configuration."""

from pathlib import Path

import pulumi
import pulumi_azure_native as azure

from azure_gpu import BatchAccount, BatchPool, ContainerGroup, Foundation
from azure_gpu.container_instances.args import ContainerSettings
from azure_gpu.shared import workloads

config = pulumi.Config()
if config.get_bool("transformed"):
    pulumi.runtime.register_resource_transform(lambda args: pulumi.ResourceTransformResult(args.props, args.opts))
if checkout := config.get("checkout"):  # a checkout that nobody else can read
    workloads.CHECKOUT, workloads.WORKLOADS = Path(checkout), Path(checkout) / "workloads"
own = azure.Provider("azure", **config.require_object("login"))
rest = pulumi.ResourceOptions(providers=[own])
moved = config.get("base") or "base"
base = Foundation(
    moved,
    location="westeurope",
    identity="create",
    registry="create",
    storage="create",
    protect_data=False,
    workloads=["vector_add"],
    image_source=config.require("image_source"),
    opts=pulumi.ResourceOptions.merge(
        rest, pulumi.ResourceOptions(aliases=[pulumi.Alias(name="base")] if moved != "base" else None)
    ),
)
account = BatchAccount("batch", foundation=base, opts=rest)
pool = BatchPool(
    "t4",
    batch_account=account,
    size="Standard_NC4as_T4_v3",
    containers=config.get_bool("containers") or False,
    replace="drain-first",
    pool_name="steady",
    expires_after="2099-03-31",
    tags={"group": base.resource_group_name},
    opts=rest,
)
renamed = config.get("group") or "add"
aliases = [pulumi.Alias(name="add")] if renamed != "add" else None
containers: dict[str, ContainerSettings] = {
    f"one{number}": {"workload": "vector_add"} for number in range(config.get_int("containers_in_group") or 1)
}
group = ContainerGroup(
    renamed,
    foundation=base,
    group_name="somebodys-group",
    containers=containers,
    opts=pulumi.ResourceOptions.merge(rest, pulumi.ResourceOptions(aliases=aliases)),
)
pulumi.export("pool", pool.pool_id)
pulumi.export("group", group.group_id)
pulumi.export("registry", base.registry_id)
pulumi.export("image", base.workload_images["vector_add"])
