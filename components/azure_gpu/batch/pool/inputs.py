"""Converts a `BatchPoolSpec` to inputs of `batch.Pool`. Outputs and secrets are taken from the arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pulumi
from pulumi_azure_native import batch

from azure_gpu.batch.pool.args import DEFAULT_RETRIES, BatchPoolWiring, ResourceFileArgs, StartTaskArgs
from azure_gpu.batch.pool.immutable import EXTENSIONS
from azure_gpu.batch.pool.spec import BatchPoolSpec
from azure_gpu.catalog.services import driver_extension
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.services.batch.scale import DEFAULT_RESIZE_TIMEOUT
from azure_gpu.shared.context import Dependencies

CONTAINERS = "DockerCompatible"
_WITH_SECRET = re.compile("[?@]")  # separators of a signature and of a password
EXTENSION = "gpu-driver"  # the extension's name on a node


def deployment(spec: BatchPoolSpec, args: BatchPoolWiring) -> batch.DeploymentConfigurationArgs:
    """Returns the configuration of the virtual machines: image, containers and extensions."""
    machines = batch.VirtualMachineConfigurationArgs(
        image_reference=batch.ImageReferenceArgs(**spec.image.arguments(spec.request.image, args.get("images", {}))),
        node_agent_sku_id=spec.request.node_agent,
        container_configuration=_containers(spec, args),
        extensions=_extensions(spec),
    )
    return batch.DeploymentConfigurationArgs(virtual_machine_configuration=machines)


def _containers(spec: BatchPoolSpec, args: BatchPoolWiring) -> batch.ContainerConfigurationArgs | None:
    """Returns the stack's registry, accessed as the identity, for any images: a task may use others."""
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
    """Returns properties to ignore: extensions on Windows were created without a version, and Batch can't change them."""
    if spec.install_method.extension_version or not spec.request.extensions:
        return []
    return [f"{EXTENSIONS}[0].typeHandlerVersion"]


def scale_settings(request: PoolRequest) -> batch.ScaleSettingsArgs:
    """Returns the scale settings: a formula, or fixed numbers."""
    if request.evaluation_interval is not None:
        interval = _iso(request.evaluation_interval)
        formula = batch.AutoScaleSettingsArgs(formula=request.autoscale_formula, evaluation_interval=interval)
        return batch.ScaleSettingsArgs(auto_scale=formula)
    fixed = batch.FixedScaleSettingsArgs(
        target_dedicated_nodes=request.dedicated_nodes or 0,
        target_low_priority_nodes=request.spot_nodes or 0,  # ARM's name for Spot nodes
        resize_timeout=_iso(request.resize_timeout or DEFAULT_RESIZE_TIMEOUT),
    )
    return batch.ScaleSettingsArgs(fixed_scale=fixed)


def _iso(duration: timedelta) -> str:
    """A duration as ARM writes it: PT15M."""
    return f"PT{int(duration.total_seconds() // 60)}M"


def inter_node(spec: BatchPoolSpec) -> batch.InterNodeCommunicationState:
    """Returns whether nodes can communicate with each other."""
    states = batch.InterNodeCommunicationState
    return states.ENABLED if spec.request.inter_node else states.DISABLED


def start_task(spec: BatchPoolSpec, args: BatchPoolWiring) -> batch.StartTaskArgs | None:
    """Returns the start task: the configured one, or the one that installs the driver."""
    task = spec.request.start_task
    if task is None:
        return None
    settings = args.get("start_task", StartTaskArgs(command=""))
    level = batch.ElevationLevel.ADMIN if task.elevated else batch.ElevationLevel.NON_ADMIN
    account = batch.AutoUserSpecificationArgs(scope=batch.AutoUserScope.POOL, elevation_level=level)
    return batch.StartTaskArgs(
        command_line=task.command_line,
        user_identity=batch.UserIdentityArgs(auto_user=account),
        wait_for_success=task.wait_for_success,
        max_task_retry_count=settings.get("retries", DEFAULT_RETRIES),
        environment_settings=_variables(settings) or None,
        resource_files=[_file(file, args) for file in settings.get("resource_files", [])] or None,
    )


def _variables(settings: StartTaskArgs) -> list[batch.EnvironmentSettingArgs]:
    """Returns the variables sorted by name, so that their order in the settings has no effect."""
    plain: Mapping[str, Any] = settings.get("environment", {})
    secret = {name: pulumi.Output.secret(value) for name, value in settings.get("secret_environment", {}).items()}
    return [batch.EnvironmentSettingArgs(name=name, value=value) for name, value in sorted({**plain, **secret}.items())]


def _file(file: ResourceFileArgs, args: Dependencies) -> batch.ResourceFileArgs:
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
    """Marks a URL with a signature or a password as secret, and every output, which may have one."""
    if url is None or (isinstance(url, str) and not _WITH_SECRET.search(url)):
        return url
    return pulumi.Output.secret(url)


def packages(spec: BatchPoolSpec, args: BatchPoolWiring) -> list[batch.ApplicationPackageReferenceArgs] | None:
    """Returns application packages by the ARM ids of their applications."""
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
        for application, version in spec.request.package_references
    ] or None


def network(spec: BatchPoolSpec, args: BatchPoolWiring) -> batch.NetworkConfigurationArgs | None:
    """Returns subnet and public addresses of the nodes; None for Batch's defaults."""
    addresses = None
    if not spec.request.public_addresses:
        addresses = batch.PublicIPAddressConfigurationArgs(provision=batch.IPAddressProvisioningType.NO_PUBLIC_IP_ADDRESSES)
    if addresses is None and "subnet_id" not in args:
        return None
    return batch.NetworkConfigurationArgs(subnet_id=args.get("subnet_id"), public_ip_address_configuration=addresses)


def identity(args: Dependencies) -> batch.BatchPoolIdentityArgs | None:
    """Returns the stack's identity, which nodes and tasks use."""
    if "identity_id" not in args:
        return None
    return batch.BatchPoolIdentityArgs(type=batch.PoolIdentityType.USER_ASSIGNED, user_assigned_identities=[args["identity_id"]])
