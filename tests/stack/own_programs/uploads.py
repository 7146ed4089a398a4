"""Somebody's program whose workload is built from a folder of this machine, as from a checkout that no one can read."""

from pathlib import Path

import pulumi

from azure_gpu import ContainerGroup, Foundation
from azure_gpu.shared import workloads

config = pulumi.Config()
workloads.CHECKOUT = Path(config.require("checkout"))
workloads.WORKLOADS = workloads.CHECKOUT / "workloads"
base = Foundation(
    "base",
    location="westeurope",
    identity="create",
    registry="create",
    protect_data=False,
    workloads=["vector_add"],
    image_source="upload",
)
group = ContainerGroup("add", foundation=base, workload="vector_add", restart_policy="Never")
pulumi.export("group", group.group_id)
pulumi.export("registry", base.registry_id)
pulumi.export("image", base.workload_images["vector_add"])
