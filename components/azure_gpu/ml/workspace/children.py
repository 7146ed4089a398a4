"""Declares the content of a workspace, which may be an existing one: computes, the extension on clusters, models, environments
and code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import pulumi
from pulumi_azure_native import kubernetesconfiguration, machinelearningservices as ml, storage

from azure_gpu.catalog.services.machine_learning.extension import EXTENSION_TYPE
from azure_gpu.formats import arm_ids
from azure_gpu.formats.tags import MODEL_STORE
from azure_gpu.ml.workspace import attached as workspace_extension, inputs
from azure_gpu.ml.workspace.args import ComputeArgs, ExtensionArgs, MlWorkspaceWiring
from azure_gpu.ml.workspace.assets import AssetSpec, ModelSpec
from azure_gpu.ml.workspace.immutable import REPLACING_ATTACHED, REPLACING_COMPUTE, reject_changed_content
from azure_gpu.ml.workspace.spec import ComputeSpec, KubernetesSpec, MachinesSpec, MlWorkspaceSpec
from azure_gpu.shared import overrides
from azure_gpu.shared.attachable import ClusterOfWorkspace
from azure_gpu.shared.context import StorageArgs, declared as declared_location
from azure_gpu.shared.overrides import Overrides

EXTENSION_NAME = "azureml"  # as in its documentation; also its namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceTarget:
    """The workspace in which resources are declared."""

    path: str  # of the workspace in the settings
    name: str  # of the component, the prefix of resources' names
    workspace: pulumi.Output[str]  # its name in Azure, known once resources can be created in it
    workspace_id: pulumi.Output[str]
    group: pulumi.Input[str]
    declared: ml.Workspace | None  # None: an existing workspace
    parent: pulumi.Resource
    provider: pulumi.ProviderResource | None = None  # of its subscription, if that is another

    def child(self, own: Overrides | None = None, **more: Any) -> pulumi.ResourceOptions:
        """Options of resources in the workspace, which are deleted with it. `own`: the overrides of the resource."""
        return pulumi.ResourceOptions(
            parent=self.parent,
            deleted_with=self.declared,
            provider=self.provider,
            transformations=overrides.applied(own, self.parent),
            **more,
        )


def computes(spec: MlWorkspaceSpec, args: MlWorkspaceWiring, target: WorkspaceTarget) -> dict[str, ml.Compute]:
    """All computes."""
    extensions = _extensions(spec, args, target)
    declared: dict[str, ml.Compute] = {}
    for name, each in spec.computes.items():
        own, machines = args.get("computes", {})[name], each if isinstance(each, MachinesSpec) else None
        before = [extensions[each.cluster]] if each.cluster in extensions else []
        declared[name] = ml.Compute(
            f"{target.name}-compute-{name}",
            compute_name=pulumi.Output.from_input(own.get("subnet_id", "")).apply(machines.azure_name) if machines else name,
            workspace_name=target.workspace,
            resource_group_name=target.group,
            location=declared_location(spec.location, args.get("location")),
            # Work on an attached machine is that of the machine.
            identity=None if each.vm else inputs.identity(args.get("identity_id", "")),
            properties=_properties(each, own, spec, args),
            tags=each.tags,
            opts=target.child(
                own.get("overrides"),
                depends_on=before,
                replace_on_changes=REPLACING_COMPUTE if machines else REPLACING_ATTACHED,
                # Always set: with a fixed name the provider deletes before it creates, unless told otherwise.
                delete_before_replace=machines.replace == "drain-first" if machines else True,
            ),
        )
    return declared


def _properties(
    compute: ComputeSpec, own: ComputeArgs, spec: MlWorkspaceSpec, args: MlWorkspaceWiring
) -> ml.AmlComputeArgs | ml.KubernetesArgs | ml.VirtualMachineArgs:
    if isinstance(compute, MachinesSpec):
        return inputs.machines(compute, spec.location, own.get("subnet_id"))
    if isinstance(compute, KubernetesSpec):
        return inputs.kubernetes(compute, args.get("clusters", {})[compute.cluster]["id"])
    return inputs.machine(compute, args.get("vms", {})[compute.vm], own.get("private_key", ""))


def _extensions(
    spec: MlWorkspaceSpec, args: MlWorkspaceWiring, target: WorkspaceTarget
) -> dict[str, kubernetesconfiguration.Extension]:
    """The extension of each cluster on which the stack installs it, by the cluster's name in the stack file."""
    declared: dict[str, kubernetesconfiguration.Extension] = {}
    for compute in spec.computes.values():
        if not isinstance(compute, KubernetesSpec) or compute.extension is None or compute.cluster in declared:
            continue
        cluster = args.get("clusters", {})[compute.cluster]
        if workspace_extension.installed(compute.extension, cluster):
            declared[compute.cluster] = _extension(compute.cluster, compute.extension, cluster, target)
    return declared


def _extension(
    name: str, settings: ExtensionArgs, cluster: ClusterOfWorkspace, target: WorkspaceTarget
) -> kubernetesconfiguration.Extension:
    secrets: dict[str, pulumi.Input[str]] = {}
    if "certificate" in settings:
        secrets["sslCertPemFile"] = pulumi.Output.secret(settings["certificate"])
    if "key" in settings:
        secrets["sslKeyPemFile"] = pulumi.Output.secret(settings["key"])
    return kubernetesconfiguration.Extension(
        f"{target.name}-extension-{name}",
        extension_name=EXTENSION_NAME,
        cluster_rp="Microsoft.ContainerService",
        cluster_resource_name="managedClusters",
        cluster_name=cluster["name"],
        # The id is known once all of the stack's objects on the cluster exist.
        resource_group_name=pulumi.Output.all(cluster["resource_group_name"], cluster["id"]).apply(lambda values: str(values[0])),
        extension_type=EXTENSION_TYPE,
        auto_upgrade_minor_version=True,
        release_train="Stable",
        scope=kubernetesconfiguration.ScopeArgs(
            cluster=kubernetesconfiguration.ScopeClusterArgs(release_namespace=EXTENSION_NAME)
        ),
        # No identity: Azure rejects one on AKS, Azure/azure-powershell issues 22455 and 24321.
        configuration_settings=dict(workspace_extension.configuration_settings(settings, cluster)),
        configuration_protected_settings=secrets or None,
        opts=pulumi.ResourceOptions(parent=target.parent),
    )


def model_store(spec: MlWorkspaceSpec, args: MlWorkspaceWiring, target: WorkspaceTarget) -> list[pulumi.Resource]:
    """The container for uploaded models, if the stack has created the account, and its datastore."""
    account = args.get("storage")
    if account is None or not (target.declared is not None or spec.assets.stores_models):
        return []
    account_name = _account_name(args)
    declared: list[pulumi.Resource] = []
    if account.get("is_own", False):
        declared.append(
            storage.BlobContainer(
                f"{target.name}-{MODEL_STORE}-container",
                container_name=MODEL_STORE,
                account_name=account_name,
                resource_group_name=args["resource_group_name"],
                public_access=storage.PublicAccess.NONE,
                opts=pulumi.ResourceOptions(parent=target.parent, protect=spec.context.protect),
            )
        )
    declared.append(
        ml.Datastore(
            f"{target.name}-{MODEL_STORE}",
            name=_store_name(args, target),
            workspace_name=target.workspace,
            resource_group_name=target.group,
            properties=inputs.datastore(account_name, by_workspace=target.declared is not None),
            opts=target.child(depends_on=declared[:]),
        )
    )
    return declared


def _account_name(args: MlWorkspaceWiring) -> pulumi.Output[str]:
    return pulumi.Output.from_input(storage_id(args)).apply(lambda found: found.rsplit("/", 1)[-1])


def _store_name(args: MlWorkspaceWiring, target: WorkspaceTarget) -> pulumi.Input[str]:
    """Name of the datastore. In an existing workspace it is that of the stack's account, to avoid conflicts with others."""
    return MODEL_STORE if target.declared is not None else _account_name(args).apply(lambda name: f"{MODEL_STORE}_{name}")


def models(
    spec: MlWorkspaceSpec, args: MlWorkspaceWiring, target: WorkspaceTarget, store: list[pulumi.Resource]
) -> dict[str, ml.ModelVersion]:
    """All models."""
    return {
        key: _version(
            ml.ModelVersion, key, each, inputs.model(each, _uri(each, args, target)), target, store if each.stored else ()
        )
        for key, each in spec.assets.models.items()
    }


def _uri(spec: ModelSpec, args: MlWorkspaceWiring, target: WorkspaceTarget) -> pulumi.Input[str]:
    """Address of a model. A path in the stack's container becomes one in its datastore, in Azure's notation."""
    if not spec.stored:
        return spec.settings.get("uri", "")

    def spelt(workspace_id: str, store: str) -> str:
        found = arm_ids.parse(workspace_id)
        if found is None:  # only with mocks
            return f"azureml://datastores/{store}/paths/{spec.stored}"
        return (
            f"azureml://subscriptions/{found.subscription}/resourcegroups/{found.resource_group}"
            f"/workspaces/{found.name}/datastores/{store}/paths/{spec.stored}"
        )

    return pulumi.Output.all(target.workspace_id, _store_name(args, target)).apply(lambda both: spelt(*both))


def environments(spec: MlWorkspaceSpec, args: MlWorkspaceWiring, target: WorkspaceTarget) -> dict[str, ml.EnvironmentVersion]:
    """All environments."""
    declared: dict[str, ml.EnvironmentVersion] = {}
    for key, each in spec.assets.environments.items():
        image: pulumi.Input[str] = each.settings.get("image", "")
        version: pulumi.Input[str] = each.version
        if each.workload is not None and "registry" in args:
            image = args["registry"]["workload_images"][each.workload]
            version = version or pulumi.Output.from_input(image).apply(lambda reference: reference.rsplit(":", 1)[-1])
        declared[key] = _version(ml.EnvironmentVersion, key, each, inputs.environment(each, image), target, version=version)
    return declared


def code(spec: MlWorkspaceSpec, target: WorkspaceTarget) -> dict[str, ml.CodeVersion]:
    """All code."""
    return {key: _version(ml.CodeVersion, key, each, inputs.code(each), target) for key, each in spec.assets.code.items()}


_Version = TypeVar("_Version", "ml.ModelVersion", "ml.EnvironmentVersion", "ml.CodeVersion")


def _version(
    kind: type[_Version],
    key: str,
    spec: AssetSpec[Any],
    properties: Any,
    target: WorkspaceTarget,
    depends_on: Sequence[pulumi.Resource] = (),
    version: pulumi.Input[str] | None = None,
) -> _Version:
    """A version. A new one is created before the old one, which may still be in use, is deleted."""
    below = spec.path.removeprefix(f"{target.path}.").replace(".", "-")
    own = spec.settings.get("overrides")
    return kind(
        f"{target.name}-{kind.__name__.removesuffix('Version').lower()}-{key}",
        name=spec.name,
        version=spec.version if version is None else version,
        workspace_name=target.workspace,
        resource_group_name=target.group,
        properties=properties,
        opts=pulumi.ResourceOptions.merge(
            target.child(own, depends_on=depends_on, delete_before_replace=False),
            reject_changed_content(f"{target.name}-{below}", spec.path),
        ),
    )


def storage_id(args: MlWorkspaceWiring) -> pulumi.Input[str]:
    """ARM id of the stack's storage account."""
    return cast(StorageArgs, args.get("storage"))["id"]
