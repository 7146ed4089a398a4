"""A pool of Azure Batch: nodes with GPUs or InfiniBand, Linux or Windows, with the software that they need, for tasks to run on.

How the GPU's driver comes onto the nodes is chosen by size, operating system and containers, and said in a preview: with the
image, by the driver extension, or from an application package that a start task installs. Without other words the pool has no
node and costs nothing until a task waits. Nodes have no keys: they reach registry and storage as the stack's identity. Left out:
user accounts, certificates, which ended, inbound ports, data disks.
"""

from __future__ import annotations

import pulumi
from pulumi_azure_native import batch

from azure_gpu.batch.pool import inputs, rules as pool_rules
from azure_gpu.batch.pool.args import BatchPoolArgs, Replace
from azure_gpu.batch.pool.immutable import REPLACING, REPLACING_WITHOUT_PATH
from azure_gpu.batch.pool.resolve import of_surroundings, resolve
from azure_gpu.batch.pool.spec import BatchPoolSpec
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.batch.request import ImageKind
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.refusal import refuse
from azure_gpu.shared.workloads import Workload, not_built

__all__ = ["HOW_REPLACED", "REPLACING", "REPLACING_WITHOUT_PATH", "BatchPool"]

HOW_REPLACED = "and `replace` says\nwhether the new pool comes beside the old one or after it"


class BatchPool(pulumi.ComponentResource):
    """A pool. Raises `Refused` where its arguments can't be had."""

    resource_id: pulumi.Output[str]
    """ARM id of the pool, with the name that it has now."""
    expires_at: pulumi.Output[str] | None
    """The instant at which the pool should be gone, RFC 3339 in UTC."""
    hourly_cost: pulumi.Output[float] | None
    """List price in USD an hour of all the nodes that there can be: the fixed number, or the most that the formula asks for. None
    where it isn't known, which is never the same as free."""
    pool: batch.Pool
    """The pool itself, for what this component doesn't offer. Not an output."""

    def __init__(self, name: str, args: BatchPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("azuregpu:index:BatchPool", name, None, opts)
        context, stack_problems = resolve_stack(args["stack"], pulumi.get_project(), pulumi.get_stack())
        spec, problems = resolve(name, args, context, of_surroundings(args))
        refuse([*stack_problems, *problems, *_missing(name, args)])

        subnet = pulumi.Output.from_input(args.get("subnet_id", ""))
        self.pool = batch.Pool(
            f"{name}-pool",
            pool_name=subnet.apply(spec.name),
            account_name=args["account"]["name"],
            resource_group_name=args["account"]["resource_group_name"],
            vm_size=spec.size,
            deployment_configuration=inputs.deployment(spec, args),
            scale_settings=inputs.scale_settings(spec.scale),
            task_slots_per_node=spec.task_slots,
            inter_node_communication=inputs.inter_node(spec),
            start_task=inputs.start_task(spec, args),
            application_packages=inputs.packages(spec, args),
            mount_configuration=inputs.mounts(args),
            network_configuration=inputs.network(spec, args),
            target_node_communication_mode=batch.NodeCommunicationMode(spec.communication.value),
            identity=inputs.identity(args),
            metadata=[batch.MetadataItemArgs(name=key, value=value) for key, value in sorted(spec.metadata.items())],
            tags=spec.tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                replace_on_changes=REPLACING,
                replacement_trigger=subnet.apply(spec.digest),
                # Said either way: the provider would delete a pool of a name that is said before it makes another.
                delete_before_replace=spec.replace is Replace.DRAIN_FIRST,
            ),
        )
        self.resource_id = self.pool.id
        self.expires_at = pulumi.Output.from_input(spec.expires_at) if spec.expires_at else None
        self.hourly_cost = pulumi.Output.from_input(spec.hourly_cost) if spec.hourly_cost is not None else None
        self._announce(spec)
        self.register_outputs({"resource_id": self.resource_id, "expires_at": self.expires_at, "hourly_cost": self.hourly_cost})

    def _announce(self, spec: BatchPoolSpec) -> None:
        """Why the nodes are made as they are. In a preview alone, as an update shows its preview first."""
        if pulumi.runtime.is_dry_run():
            image = spec.request.image if spec.image.kind is ImageKind.MARKETPLACE else spec.image.key
            pulumi.log.info(f"nodes start from {image} with {spec.request.node_agent}: {spec.way.why}", self)


def _missing(name: str, args: BatchPoolArgs) -> list[Problem]:
    """What the pool needs of its surroundings and doesn't find there."""
    images = args["registry"]["workload_images"] if "registry" in args else {}
    wanted = args.get("containers", {}).get("workloads", [])
    unbuilt = [
        not_built(Workload(workload), images, f"pools.{name}.containers.workloads[{index}]")
        for index, workload in enumerate(wanted)
        if workload not in images
    ]
    found = pool_rules.surroundings_problems(name, args, identity="identity_id" in args, storage="storage" in args)
    return [*unbuilt, *found]
