"""A resolved Batch pool as the provider takes it.

In: a `BatchPoolSpec`, and the arguments for what is wired. Out: inputs of `batch.Pool`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_azure_native import batch

from azure_gpu.batch.pool import mounts as pool_mounts
from azure_gpu.batch.pool.args import DEFAULT_RETRIES, BatchPoolWiring, ResourceFileArgs, StartTaskArgs
from azure_gpu.batch.pool.immutable import EXTENSIONS
from azure_gpu.batch.pool.scale import Scale
from azure_gpu.batch.pool.spec import BatchPoolSpec
from azure_gpu.catalog.services import driver_extension
from azure_gpu.shared.context import Surroundings

CONTAINERS = "DockerCompatible"
_WITH_SECRET = re.compile("[?@]")  # what comes before a signature, and behind a password
EXTENSION = "gpu-driver"  # what the extension is called on a node


def deployment(spec: BatchPoolSpec, args: BatchPoolWiring) -> batch.DeploymentConfigurationArgs:
    """Machines, their image and what is installed with them."""
    machines = batch.VirtualMachineConfigurationArgs(
        image_reference=_image(spec, args),
        node_agent_sku_id=spec.request.node_agent,
        container_configuration=_containers(spec, args),
        extensions=_extensions(spec),
    )
    return batch.DeploymentConfigurationArgs(virtual_machine_configuration=machines)


def _image(spec: BatchPoolSpec, args: BatchPoolWiring) -> batch.ImageReferenceArgs:
    if spec.image.of_gallery is not None:
        return batch.ImageReferenceArgs(id=args.get("images", {})[spec.image.gallery_image]["id"])
    if spec.image.image_id:
        return batch.ImageReferenceArgs(id=spec.image.image_id)
    reference = spec.request.image
    if reference is None:
        return batch.ImageReferenceArgs()  # refused before
    return batch.ImageReferenceArgs(
        publisher=reference.publisher, offer=reference.offer, sku=reference.sku, version=spec.image.version
    )


def _containers(spec: BatchPoolSpec, args: BatchPoolWiring) -> batch.ContainerConfigurationArgs | None:
    """The stack's registry, as the identity and without a password, whatever the images: a task may bring another one along."""
    if spec.container_images is None:
        return None
    registries = None
    if "registry" in args and "identity_id" in args:
        of_stack = batch.ContainerRegistryArgs(
            registry_server=args["registry"]["server"],
            identity_reference=batch.ComputeNodeIdentityReferenceArgs(resource_id=args["identity_id"]),
        )
        registries = [of_stack]
    return batch.ContainerConfigurationArgs(
        type=CONTAINERS, container_image_names=list(spec.container_images) or None, container_registries=registries
    )


def _extensions(spec: BatchPoolSpec) -> list[batch.VMExtensionArgs] | None:
    extensions = [
        batch.VMExtensionArgs(
            name=EXTENSION,
            publisher=extension.publisher,
            type=extension.type,
            type_handler_version=driver_extension.handler_version(extension.type),
            auto_upgrade_minor_version=True,
            settings=dict(extension.settings) or None,
        )
        for extension in spec.request.extensions
    ]
    return extensions or None


def kept_as_made(spec: BatchPoolSpec) -> list[str]:
    """What a pool that exists keeps: extensions on Windows were made without a version, and Batch doesn't change an extension."""
    if spec.way.extension_version or not spec.request.extensions:
        return []
    return [f"{EXTENSIONS}[0].typeHandlerVersion"]


def scale_settings(scale: Scale) -> batch.ScaleSettingsArgs:
    """A formula, or fixed numbers."""
    if scale.formula:
        formula = batch.AutoScaleSettingsArgs(formula=scale.formula, evaluation_interval=scale.text_of_interval)
        return batch.ScaleSettingsArgs(auto_scale=formula)
    fixed = batch.FixedScaleSettingsArgs(
        target_dedicated_nodes=scale.dedicated,
        target_low_priority_nodes=scale.spot,  # ARM's name for Spot nodes
        resize_timeout=scale.text_of_timeout,
    )
    return batch.ScaleSettingsArgs(fixed_scale=fixed)


def inter_node(spec: BatchPoolSpec) -> batch.InterNodeCommunicationState:
    """Whether nodes talk to each other."""
    states = batch.InterNodeCommunicationState
    return states.ENABLED if spec.inter_node else states.DISABLED


def start_task(spec: BatchPoolSpec, args: BatchPoolWiring) -> batch.StartTaskArgs | None:
    """What runs on each node before any task: what is said, or what the way to get the driver needs."""
    task = spec.request.start_task
    if task is None:
        return None
    said = args.get("start_task", StartTaskArgs(command=""))
    level = batch.ElevationLevel.ADMIN if task.elevated else batch.ElevationLevel.NON_ADMIN
    account = batch.AutoUserSpecificationArgs(scope=batch.AutoUserScope.POOL, elevation_level=level)
    return batch.StartTaskArgs(
        command_line=task.command_line,
        user_identity=batch.UserIdentityArgs(auto_user=account),
        wait_for_success=task.wait_for_success,
        max_task_retry_count=int(said.get("retries", DEFAULT_RETRIES)),
        environment_settings=_variables(said) or None,
        resource_files=[_file(file, args) for file in said.get("resource_files", [])] or None,
    )


def _variables(said: StartTaskArgs) -> list[batch.EnvironmentSettingArgs]:
    """In the order of their names, so that writing them in another order changes nothing."""
    plain: Mapping[str, Any] = said.get("environment", {})
    secret = {name: pulumi.Output.secret(value) for name, value in said.get("secret_environment", {}).items()}
    return [batch.EnvironmentSettingArgs(name=name, value=value) for name, value in sorted({**plain, **secret}.items())]


def _file(file: ResourceFileArgs, args: Surroundings) -> batch.ResourceFileArgs:
    identity_reference = None
    if file.get("use_identity", False):
        identity_reference = batch.ComputeNodeIdentityReferenceArgs(resource_id=args.get("identity_id"))
    return batch.ResourceFileArgs(
        http_url=_address(file.get("url")),
        storage_container_url=_address(file.get("container_url")),
        auto_storage_container_name=file.get("auto_storage_container"),
        blob_prefix=file.get("prefix"),
        file_path=file.get("path"),
        file_mode=file.get("mode"),
        identity_reference=identity_reference,
    )


def _address(url: pulumi.Input[str] | None) -> pulumi.Input[str] | None:
    """With a signature or a password in it, it is a secret; one that another resource gives may have one."""
    if url is None or (isinstance(url, str) and not _WITH_SECRET.search(url)):
        return url
    return pulumi.Output.secret(url)


def packages(spec: BatchPoolSpec, args: BatchPoolWiring) -> list[batch.ApplicationPackageReferenceArgs] | None:
    """Application packages by the ARM ids of their applications."""
    account = args["account"]
    root = pulumi.Output.concat(
        f"/subscriptions/{args['stack']['subscription_id']}/resourceGroups/",
        account["resource_group_name"],
        "/providers/Microsoft.Batch/batchAccounts/",
        account["name"],
        "/applications/",
    )
    return [
        batch.ApplicationPackageReferenceArgs(id=pulumi.Output.concat(root, application), version=version or None)
        for application, version in spec.packages
    ] or None


def mounts(args: BatchPoolWiring) -> list[batch.MountConfigurationArgs] | None:
    """Storage that nodes mount."""
    return pool_mounts.configuration(args.get("mounts", {}), args)


def network(spec: BatchPoolSpec, args: BatchPoolWiring) -> batch.NetworkConfigurationArgs | None:
    """The subnet, and whether nodes have public addresses; None where Batch's own defaults are meant."""
    addresses = None
    if not spec.public_addresses:
        addresses = batch.PublicIPAddressConfigurationArgs(provision=batch.IPAddressProvisioningType.NO_PUBLIC_IP_ADDRESSES)
    if addresses is None and "subnet_id" not in args:
        return None
    return batch.NetworkConfigurationArgs(subnet_id=args.get("subnet_id"), public_ip_address_configuration=addresses)


def identity(args: Surroundings) -> batch.BatchPoolIdentityArgs | None:
    """The stack's identity, which nodes and tasks use."""
    if "identity_id" not in args:
        return None
    return batch.BatchPoolIdentityArgs(type=batch.PoolIdentityType.USER_ASSIGNED, user_assigned_identities=[args["identity_id"]])
