"""`count` container groups, declared through our component, in bare components of the same shape, or flat.

The three declare the same Azure resources with the same inputs, so that what differs in time is the component.
"""

import pulumi
from pulumi_azure_native import containerinstance

from azure_gpu.container_instances.group import ContainerGroup
from azure_gpu.shared.context import StackArgs
from azure_gpu.shared.wired import Wired

LOCATION = "westeurope"
GROUP = "bench"
SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
TAGS = {"project": "azure-gpu-bench", "stack": pulumi.get_stack(), "team": "bench"}

config = pulumi.Config()
count = config.require_int("count")
shape = config.require("shape")


def group_name(number: int) -> str:
    return f"group-{number:04d}"


def declare(name: str, group: str, opts: pulumi.ResourceOptions | None = None) -> containerinstance.ContainerGroup:
    return containerinstance.ContainerGroup(
        name,
        container_group_name=group,
        resource_group_name=GROUP,
        location=LOCATION,
        os_type="Linux",
        restart_policy="OnFailure",
        tags=TAGS,
        containers=[
            containerinstance.ContainerArgs(
                name=group,
                image="mcr.microsoft.com/azuredocs/aci-helloworld:latest",
                environment_variables=[containerinstance.EnvironmentVariableArgs(name="NUMBER", value=group)],
                resources=containerinstance.ResourceRequirementsArgs(
                    requests=containerinstance.ResourceRequestsArgs(cpu=1.0, memory_in_gb=1.5)
                ),
            )
        ],
        opts=opts,
    )


class Bare(pulumi.ComponentResource):
    """A component that only declares: the cost of having a component at all."""

    def __init__(self, name: str) -> None:
        super().__init__("bench:index:Bare", name)
        group = declare(f"{name}-group", name, pulumi.ResourceOptions(parent=self))
        self.register_outputs({"resource_id": group.id})


stack = StackArgs(subscription_id=SUBSCRIPTION, team="bench", location=LOCATION, today="2026-01-01")
for number in range(count):
    name = group_name(number)
    if shape == "component":
        ContainerGroup(
            name,
            Wired(
                {
                    "stack": stack,
                    "resource_group_name": GROUP,
                    "group_name": name,
                    "image": "mcr.microsoft.com/azuredocs/aci-helloworld:latest",
                    "environment": {"NUMBER": name},
                }
            ),
        )
    elif shape == "bare":
        Bare(name)
    else:
        declare(f"{name}-group", name)
