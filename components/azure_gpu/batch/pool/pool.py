"""An Azure Batch pool of nodes with GPUs or InfiniBand, Linux or Windows, including the required drivers.

The installation method of the GPU driver is chosen by size, operating system and containers, and shown in a preview: with the
image, by the driver extension, or from an application package by a start task. By default the pool has no nodes and costs nothing
until a task is pending. Nodes have no keys: they access registry and storage as the stack's identity. Not included: user
accounts, certificates, which were retired, inbound ports, data disks.
"""

from __future__ import annotations

from typing import Any, Unpack, overload

import pulumi
from pulumi.output import contains_unknowns
from pulumi_azure_native import batch, resources

from azure_gpu.batch.account.account import BatchAccount
from azure_gpu.batch.account.existing import of_id
from azure_gpu.batch.pool import inputs, mounts, patch, rules as pool_rules
from azure_gpu.batch.pool.args import BatchPoolArgs, BatchPoolWiring, ContainersArgs
from azure_gpu.batch.pool.immutable import REPLACING, REPLACING_WITHOUT_PATH
from azure_gpu.batch.pool.resolve import dependencies_of, resolve
from azure_gpu.batch.pool.spec import BatchPoolSpec
from azure_gpu.catalog.problems import Problem
from azure_gpu.foundation import common
from azure_gpu.images.args import images_of
from azure_gpu.shared import overrides, refusal, renewal, retry_hooks
from azure_gpu.shared.component import Component, OnlyInPython
from azure_gpu.shared.context import ComponentOfProgram, Context
from azure_gpu.shared.program import Described
from azure_gpu.shared.renewal import Renewal
from azure_gpu.shared.validation import written
from azure_gpu.shared.wired import Wired
from azure_gpu.shared.workloads import not_built

__all__ = ["HOW_REPLACED", "REPLACING", "REPLACING_WITHOUT_PATH", "BatchPool"]

HOW_REPLACED = "and `replace` sets\nwhether the new pool comes beside the old one or after it"

_Wired = Wired[BatchPoolWiring, BatchPoolSpec]


class BatchPool(Component[BatchPoolArgs, BatchPoolWiring, BatchPoolSpec]):
    """A pool. Raises `Refused` for invalid arguments."""

    pool_id: pulumi.Output[str]
    """ARM id of the pool, with its current name."""
    pool_name: pulumi.Output[str]
    """Its current name in the account."""
    expires_at: pulumi.Output[str] | None
    """The end of the pool's last day, RFC 3339 in UTC."""
    hourly_cost: pulumi.Output[float] | None
    """List price in USD per hour at the maximum number of nodes: the fixed number, or the formula's maximum. None where it isn't
    known, which doesn't mean free."""
    pool: OnlyInPython[batch.Pool]
    """The azure-native resource."""

    @overload
    def __init__(self, name: str, args: BatchPoolArgs | _Wired, opts: pulumi.ResourceOptions | None = None) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[BatchPoolArgs]) -> None: ...

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)

    @staticmethod
    def _wire(described: Described) -> _Wired:
        around = common.put_into(described, "batch_account", BatchAccount, "account", of_id)
        described.args["images"] = images_of(described.args)
        return common.wire(described, around, described.args["account"]["resource_group_name"])

    def _resolve(self, args: BatchPoolWiring, context: Context) -> tuple[BatchPoolSpec, list[Problem]]:
        spec, problems = resolve(self._name, args, context, dependencies_of(args))
        path = context.path("pools", self._name)
        limits = args["account"].get("limits")
        of_quota = pool_rules.quota(spec, limits, path) if limits is not None else []
        return spec, [*problems, *_missing(path, args), *of_quota]

    def _declare(self, spec: BatchPoolSpec) -> None:
        renewed = self._renewal(spec)
        containers = self._containers(spec, self._args)
        self.pool = self._pool(spec, self._args, renewed, containers)
        if self._in_program and "id" in self._args["account"]:
            self._args["account"]["id"].apply(lambda known: self._warn_of_new_account(spec, known), run_with_unknowns=True)
        self.pool_id = self.pool.id
        self.pool_name = self.pool.name
        self._announce(spec)

    def _warn_of_new_account(self, spec: BatchPoolSpec, account_id: object) -> None:
        """Warns of the first quota of an account that a preview shows as one to create: its id is unknown."""
        if contains_unknowns(account_id):
            refusal.warn(pool_rules.quota(spec, None, str(ComponentOfProgram("BatchPool", self._name))), self)

    def _renewal(self, spec: BatchPoolSpec) -> Renewal:
        """What replaces the pool. In a program, with side-by-side replacement, its name changes for the same reasons."""
        if self._in_program and spec.replace != "drain-first":
            return renewal.NOTHING
        digest = self._subnet.apply(spec.digest)
        return renewal.declare(f"{self._name}-pool", digest, self, in_program=self._in_program)

    @property
    def _subnet(self) -> pulumi.Output[str]:
        return pulumi.Output.from_input(self._args.get("subnet_id", ""))

    def _pool(
        self, spec: BatchPoolSpec, wiring: BatchPoolWiring, renewed: Renewal, containers: list[resources.Deployment]
    ) -> batch.Pool:
        provider = wiring["account"].get("provider")
        return batch.Pool(
            f"{self._name}-pool",
            pool_name=renewed.through(self._subnet.apply(spec.name)),
            account_name=wiring["account"]["name"],
            resource_group_name=wiring["account"]["resource_group_name"],
            vm_size=spec.size,
            deployment_configuration=inputs.deployment(spec, wiring),
            scale_settings=inputs.scale_settings(spec.request),
            task_slots_per_node=spec.request.task_slots,
            inter_node_communication=inputs.inter_node(spec),
            start_task=inputs.start_task(spec, wiring),
            application_packages=inputs.packages(spec, wiring),
            mount_configuration=mounts.configuration(wiring.get("mounts", {}), wiring),
            network_configuration=inputs.network(spec, wiring),
            target_node_communication_mode=batch.NodeCommunicationMode(spec.request.communication),
            identity=inputs.identity(wiring),
            metadata=[batch.MetadataItemArgs(name=key, value=value) for key, value in sorted(spec.metadata.items())],
            tags=spec.tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=containers,
                replace_on_changes=REPLACING,
                ignore_changes=inputs.kept_as_made(spec),
                replacement_trigger=renewed.trigger,
                # Set in both cases: with a fixed name, azure-native deletes before it creates unless told otherwise.
                delete_before_replace=spec.replace == "drain-first",
                transformations=overrides.applied(wiring.get("overrides"), self),
                provider=provider,
                hooks=retry_hooks.hooks(self, otherwise=lambda error: patch.instead(error, self, provider)),
            ),
        )

    def _containers(self, spec: BatchPoolSpec, args: BatchPoolWiring) -> list[resources.Deployment]:
        """Declares the mounted containers, where the stack creates the account."""
        if "storage" not in args or not spec.own_containers:
            return []
        account = pulumi.Output.from_input(args["storage"]["id"]).apply(lambda found: found.rsplit("/", 1)[-1])
        made = resources.Deployment(
            f"{self._name}-containers",
            deployment_name=spec.containers_name,
            resource_group_name=args["storage"].get("resource_group_name", args["resource_group_name"]),
            properties=resources.DeploymentPropertiesArgs(
                mode=resources.DeploymentMode.INCREMENTAL, template=mounts.template(account, spec.own_containers)
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        return [made]

    def _announce(self, spec: BatchPoolSpec) -> None:
        """Logs image and installation method, only in a preview, as an update shows its preview first."""
        if pulumi.runtime.is_dry_run():
            image = spec.request.image if spec.image.kind == "Marketplace" else spec.image.key
            pulumi.log.info(f"nodes start from {image} with {spec.request.node_agent}: {spec.install_method.why}", self)


def _missing(path: str, args: BatchPoolWiring) -> list[Problem]:
    """Returns problems for dependencies that the pool requires and that are missing."""
    images = args["registry"]["workload_images"] if "registry" in args else {}
    requested = written(args.get("containers", ContainersArgs())).get("workloads", [])
    unbuilt = [
        not_built(workload, images, f"{path}.containers.workloads[{index}]")
        for index, workload in enumerate(requested)
        if workload not in images
    ]
    found = pool_rules.missing_dependencies(path, args, identity="identity_id" in args, storage="storage" in args)
    return [*unbuilt, *found]
