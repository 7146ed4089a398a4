"""A group of Azure Container Instances with one container, with GPUs or without.

The service took GPUs until 2025-07-14; groups without them go on. Left out: several containers, volumes, ports.
"""

from collections.abc import Sequence

import pulumi
from pulumi_azure_native import containerinstance

from catalog.problems import Problem
from components.container_group_args import ContainerGroupArgs, ContainerGroupSpec, resolve
from components.context import RegistryArgs, resolve_stack
from components.refusal import Refused, refuse

# What the service can't change on a group that exists; everything else it updates in place, by starting the containers again.
# Source: Microsoft Learn, container-instances/container-instances-update, and pulumi/pulumi-azure-native issue 918.
REPLACING = ["containers[*].resources", "location", "osType", "restartPolicy", "subnetIds"]


class ContainerGroup(pulumi.ComponentResource):
    """One container group. Raises `Refused` where its arguments can't be had."""

    resource_id: pulumi.Output[str]
    """ARM id of the group."""
    expires_at: pulumi.Output[str] | None
    """The instant at which the group should be gone, RFC 3339 in UTC; None where it has no end."""
    hourly_cost: pulumi.Output[float] | None
    """List price of the running group in USD an hour; None where it isn't known, which is never the same as free."""
    group: containerinstance.ContainerGroup
    """The group itself, for what this component doesn't offer. Not an output."""

    def __init__(self, name: str, args: ContainerGroupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("azuregpu:index:ContainerGroup", name, None, opts)
        context, stack_problems = resolve_stack(args["stack"], pulumi.get_project(), pulumi.get_stack())
        spec, problems = resolve(name, args, context)
        refuse([*stack_problems, *problems])

        self.group = containerinstance.ContainerGroup(
            f"{name}-group",
            container_group_name=spec.group_name,
            resource_group_name=args["resource_group_name"],
            location=spec.location,
            os_type=spec.os_type,
            restart_policy=spec.restart_policy,
            containers=[_container(name, spec, args)],
            identity=_identity(args),
            image_registry_credentials=_credentials(spec, args),
            diagnostics=_diagnostics(args),
            subnet_ids=[containerinstance.ContainerGroupSubnetIdArgs(id=args["subnet_id"])] if "subnet_id" in args else None,
            tags=spec.tags,
            # The group's name is fixed, so the old one has to be gone before its replacement comes.
            opts=pulumi.ResourceOptions(parent=self, replace_on_changes=REPLACING, delete_before_replace=True),
        )
        self.resource_id = self.group.id
        self.expires_at = pulumi.Output.from_input(spec.expires_at) if spec.expires_at else None
        self.hourly_cost = pulumi.Output.from_input(spec.hourly_cost) if spec.hourly_cost is not None else None
        self.register_outputs({"resource_id": self.resource_id, "expires_at": self.expires_at, "hourly_cost": self.hourly_cost})


def _container(name: str, spec: ContainerGroupSpec, args: ContainerGroupArgs) -> containerinstance.ContainerArgs:
    gpu = containerinstance.GpuResourceArgs(count=spec.gpu.count, sku=spec.gpu.sku) if spec.gpu else None
    return containerinstance.ContainerArgs(
        name=spec.container_name,
        image=_image(name, spec, args),
        command=list(spec.command) or None,
        environment_variables=_variables(spec, args) or None,
        resources=containerinstance.ResourceRequirementsArgs(
            requests=containerinstance.ResourceRequestsArgs(cpu=spec.cpu, memory_in_gb=spec.memory_in_gb, gpu=gpu)
        ),
    )


def _image(name: str, spec: ContainerGroupSpec, args: ContainerGroupArgs) -> pulumi.Input[str]:
    if spec.workload is None:
        return args.get("image", "")
    images = args["registry"]["workload_images"] if "registry" in args else {}
    if spec.workload not in images:
        problem = Problem(
            path=f"container_groups.{name}.workload",
            message="no registry has built this workload",
            value=spec.workload.value,
            allowed=", ".join(images) or "none",
            fix="give the foundation a registry, and this workload to build",
        )
        raise Refused([problem])
    return images[spec.workload]


def _variables(spec: ContainerGroupSpec, args: ContainerGroupArgs) -> Sequence[containerinstance.EnvironmentVariableArgs]:
    """In the order of their names, so that writing them in another order changes nothing."""
    plain = {name: containerinstance.EnvironmentVariableArgs(name=name, value=value) for name, value in spec.environment.items()}
    secret = {
        name: containerinstance.EnvironmentVariableArgs(name=name, secure_value=pulumi.Output.secret(value))
        for name, value in args.get("secret_environment", {}).items()
    }
    return [variable for _, variable in sorted({**plain, **secret}.items())]


def _identity(args: ContainerGroupArgs) -> containerinstance.ContainerGroupIdentityArgs | None:
    if "identity_id" not in args:
        return None
    return containerinstance.ContainerGroupIdentityArgs(
        type=containerinstance.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=[args["identity_id"]]
    )


def _credentials(
    spec: ContainerGroupSpec, args: ContainerGroupArgs
) -> list[containerinstance.ImageRegistryCredentialArgs] | None:
    """Pulling as the identity, without a password, where the image comes from the stack's registry."""
    if "registry" not in args or "identity_id" not in args or not _is_from(args["registry"], spec):
        return None
    return [containerinstance.ImageRegistryCredentialArgs(server=args["registry"]["server"], identity=args["identity_id"])]


def _is_from(registry: RegistryArgs, spec: ContainerGroupSpec) -> bool:
    # A login server is `name.azurecr.io`, or `name-<hash>.azurecr.io` where the registry's own name may be taken elsewhere.
    return spec.image is None or spec.image.registry.split(".")[0].split("-")[0] == registry["name"].lower()


def _diagnostics(args: ContainerGroupArgs) -> containerinstance.ContainerGroupDiagnosticsArgs | None:
    """Logs to the workspace. With a key, the one exception to identities over keys: the service takes nothing else."""
    if "logs" not in args:
        return None
    return containerinstance.ContainerGroupDiagnosticsArgs(
        log_analytics=containerinstance.LogAnalyticsArgs(
            workspace_id=args["logs"]["workspace_id"],
            workspace_key=args["logs"]["workspace_key"],
            log_type=containerinstance.LogAnalyticsLogType.CONTAINER_INSTANCE_LOGS,
        )
    )
