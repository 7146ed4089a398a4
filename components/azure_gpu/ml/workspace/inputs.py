"""Inputs of a workspace's resources: of its vault, of the workspace itself, and of its computes and assets."""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_azure_native import keyvault, machinelearningservices as ml

from azure_gpu.catalog.services.aks.device_plugin import GPU_RESOURCE
from azure_gpu.catalog.services.machine_learning.compute import SSH_PORT
from azure_gpu.formats.tags import MODEL_STORE
from azure_gpu.ml.workspace.args import DEFAULT_RETENTION_DAYS, InstanceTypeArgs, KeyVaultArgs, OutboundRuleArgs
from azure_gpu.ml.workspace.assets import MODEL_TYPES, AssetSpec, CodeSpec, EnvironmentSpec, ModelSpec, Routes
from azure_gpu.ml.workspace.existing import ISOLATION
from azure_gpu.ml.workspace.roles import Scopes
from azure_gpu.ml.workspace.spec import ComputeSpec, KubernetesSpec, MachinesSpec, MlWorkspaceSpec
from azure_gpu.shared.attachable import VmOfWorkspace
from azure_gpu.shared.context import CustomerKey


def vault(
    spec: MlWorkspaceSpec, settings: KeyVaultArgs, tenant_id: pulumi.Input[str], *, public: bool
) -> keyvault.VaultPropertiesArgs:
    """Properties of the vault that the workspace keeps secrets in."""
    private = spec.network == "private"
    return keyvault.VaultPropertiesArgs(
        sku=keyvault.SkuArgs(family=keyvault.SkuFamily.A, name=keyvault.SkuName.STANDARD),
        tenant_id=tenant_id,
        enable_rbac_authorization=True,  # authorize with Azure RBAC, like the rest of the stack
        enable_soft_delete=True,  # Azure's own default, which can't be turned off
        soft_delete_retention_in_days=int(settings.get("retention_days", DEFAULT_RETENTION_DAYS)),
        enable_purge_protection=True if settings.get("purge_protection", True) else None,  # Azure rejects false
        public_network_access=None if public else "disabled",  # as the service's specification spells it
        # The workspace has access as a trusted service, from any network.
        network_acls=keyvault.NetworkRuleSetArgs(
            bypass=keyvault.NetworkRuleBypassOptions.AZURE_SERVICES,
            default_action=keyvault.NetworkRuleAction.DENY if private else keyvault.NetworkRuleAction.ALLOW,
        ),
    )


def workspace(spec: MlWorkspaceSpec, scopes: Scopes, identity_id: pulumi.Input[str], key: CustomerKey | None) -> dict[str, Any]:
    """The workspace's inputs except its name, group and tags."""
    return {
        "location": spec.location,
        "kind": "Default",
        "sku": ml.SkuArgs(name="Basic", tier=ml.SkuTier.BASIC),
        "identity": ml.ManagedServiceIdentityArgs(
            type=ml.ManagedServiceIdentityType.USER_ASSIGNED,
            user_assigned_identities=[identity_id, *([key["identity_id"]] if key else [])],
        ),
        "encryption": _encryption(key) if key else None,
        "primary_user_assigned_identity": identity_id,
        "storage_account": scopes.storage,
        "key_vault": scopes.vault,
        "container_registry": scopes.registry,
        "application_insights": scopes.insights,
        "system_datastores_auth_mode": ml.SystemDatastoresAuthMode.IDENTITY,  # the storage account has no keys
        "public_network_access": (
            ml.PublicNetworkAccessType.DISABLED if spec.network == "private" else ml.PublicNetworkAccessType.ENABLED
        ),
        "managed_network": _managed_network(spec),
        "hbi_workspace": spec.settings.get("high_business_impact", False),
        "v1_legacy_mode": False,  # v2 of the service, which has endpoints
        "friendly_name": spec.settings.get("friendly_name") or None,
        "description": spec.settings.get("description") or None,
    }


def _encryption(key: CustomerKey) -> ml.EncryptionPropertyArgs:
    """Azure/bicep-registry-modules, avm/res/machine-learning-services/workspace (0021497a) sends the version, too."""
    return ml.EncryptionPropertyArgs(
        status=ml.EncryptionStatus.ENABLED,
        identity=ml.IdentityForCmkArgs(user_assigned_identity=key["identity_id"]),
        key_vault_properties=ml.KeyVaultPropertiesArgs(key_identifier=key["uri_with_version"], key_vault_arm_id=key["vault_id"]),
    )


def _managed_network(spec: MlWorkspaceSpec) -> ml.ManagedNetworkSettingsArgs | None:
    if not spec.in_managed_network:
        return None
    return ml.ManagedNetworkSettingsArgs(
        isolation_mode=ISOLATION[spec.managed_network],
        firewall_sku=spec.firewall.capitalize() if spec.has_firewall else None,
        outbound_rules={name: _rule(rule) for name, rule in sorted(spec.outbound_rules.items())} or None,
    )


def _rule(
    rule: OutboundRuleArgs,
) -> ml.FqdnOutboundRuleArgs | ml.ServiceTagOutboundRuleArgs | ml.PrivateEndpointOutboundRuleArgs:
    mine = ml.RuleCategory.USER_DEFINED
    if "fqdn" in rule:
        return ml.FqdnOutboundRuleArgs(type="FQDN", category=mine, destination=rule["fqdn"])
    if "service_tag" in rule:
        return ml.ServiceTagOutboundRuleArgs(
            type="ServiceTag",
            category=mine,
            destination=ml.ServiceTagDestinationArgs(
                service_tag=rule["service_tag"], protocol=rule.get("protocol", "TCP"), port_ranges=rule.get("ports", "443")
            ),
        )
    return ml.PrivateEndpointOutboundRuleArgs(
        type="PrivateEndpoint",
        category=mine,
        destination=ml.PrivateEndpointDestinationArgs(
            service_resource_id=rule.get("resource_id"), subresource_target=rule.get("subresource"), spark_enabled=False
        ),
    )


def identity(identity_id: pulumi.Input[str]) -> ml.ManagedServiceIdentityArgs:
    """The stack's identity, with which work on a compute pulls images and reads data."""
    return ml.ManagedServiceIdentityArgs(type=ml.ManagedServiceIdentityType.USER_ASSIGNED, user_assigned_identities=[identity_id])


def machines(spec: MachinesSpec, location: str, subnet_id: pulumi.Input[str] | None) -> ml.AmlComputeArgs:
    """Machines of the workspace, without user logins."""
    return ml.AmlComputeArgs(
        compute_type="AmlCompute",
        compute_location=location,
        description=spec.settings.get("description") or None,
        disable_local_auth=True,
        properties=ml.AmlComputePropertiesArgs(
            vm_size=spec.size,
            vm_priority=spec.priority,
            os_type=ml.OsType.LINUX,
            scale_settings=ml.ScaleSettingsArgs(
                min_node_count=spec.min_nodes,
                max_node_count=spec.max_nodes,
                node_idle_time_before_scale_down=f"PT{spec.idle_minutes}M",
            ),
            remote_login_port_public_access=ml.RemoteLoginPortPublicAccess.DISABLED,
            enable_node_public_ip=spec.public_addresses,
            subnet=ml.ResourceIdArgs(id=subnet_id) if subnet_id is not None else None,
        ),
    )


def kubernetes(spec: KubernetesSpec, cluster_id: pulumi.Input[str]) -> ml.KubernetesArgs:
    """An attached cluster."""
    return ml.KubernetesArgs(
        compute_type="Kubernetes",
        description=spec.settings.get("description") or None,
        resource_id=cluster_id,
        properties=ml.KubernetesPropertiesArgs(
            namespace=spec.namespace,
            default_instance_type=spec.default_instance_type or None,
            instance_types={name: _instance_type(each) for name, each in sorted(spec.settings.get("instance_types", {}).items())}
            or None,
        ),
    )


def _instance_type(settings: InstanceTypeArgs) -> ml.InstanceTypeSchemaArgs:
    amounts = {"cpu": settings.get("cpu", "1"), "memory": settings.get("memory", "2Gi")}
    gpus = {GPU_RESOURCE: str(int(settings["gpus"]))} if settings.get("gpus") else {}
    return ml.InstanceTypeSchemaArgs(
        node_selector=dict(settings.get("node_selector", {})) or None,
        resources=ml.InstanceTypeSchemaResourcesArgs(requests=amounts, limits={**amounts, **gpus}),
    )


def machine(spec: ComputeSpec, vm: VmOfWorkspace, private_key: pulumi.Input[str]) -> ml.VirtualMachineArgs:
    """An attached virtual machine."""
    return ml.VirtualMachineArgs(
        compute_type="VirtualMachine",
        compute_location=vm["location"],
        description=spec.settings.get("description") or None,
        resource_id=vm["id"],
        properties=ml.VirtualMachineSchemaPropertiesArgs(
            address=vm["address"],
            ssh_port=SSH_PORT,
            virtual_machine_size=vm["size"],
            administrator_account=ml.VirtualMachineSshCredentialsArgs(
                username=vm["admin_user"], private_key_data=pulumi.Output.secret(private_key)
            ),
        ),
    )


def datastore(account_name: pulumi.Input[str], *, by_workspace: bool) -> ml.AzureBlobDatastoreArgs:
    """The container of models, which users read with their own permissions. `by_workspace`: the workspace's identity also has
    permission, and lists the content for people."""
    shown_by = ml.ServiceDataAccessAuthIdentity
    return ml.AzureBlobDatastoreArgs(
        datastore_type=ml.DatastoreType.AZURE_BLOB.value,
        account_name=account_name,
        container_name=MODEL_STORE,
        endpoint="core.windows.net",
        protocol="https",
        credentials=ml.NoneDatastoreCredentialsArgs(credentials_type=ml.CredentialsType.NONE.value),
        service_data_access_auth_identity=shown_by.WORKSPACE_USER_ASSIGNED_IDENTITY if by_workspace else shown_by.NONE,
    )


def model(spec: ModelSpec, uri: pulumi.Input[str]) -> ml.ModelVersionPropertiesArgs:
    """A version of the model at `uri`."""
    return ml.ModelVersionPropertiesArgs(
        model_uri=uri, model_type=MODEL_TYPES[spec.settings.get("type", "custom")], **_of_version(spec)
    )


def environment(spec: EnvironmentSpec, image: pulumi.Input[str]) -> ml.EnvironmentVersionPropertiesArgs:
    """A version of an environment with this image."""
    return ml.EnvironmentVersionPropertiesArgs(
        image=image,
        conda_file=spec.conda or None,
        inference_config=_routes(spec.routes) if spec.routes is not None else None,
        os_type=ml.OperatingSystemType.LINUX,
        **_of_version(spec),
    )


def code(spec: CodeSpec) -> ml.CodeVersionPropertiesArgs:
    """A version of code."""
    return ml.CodeVersionPropertiesArgs(code_uri=spec.settings["uri"], **_of_version(spec))


def _of_version(spec: AssetSpec[Any]) -> dict[str, Any]:
    """What versions of models, environments and code have in common."""
    tags = dict(spec.settings.get("tags", {})) or None
    return {"description": spec.settings.get("description") or None, "tags": tags, "is_anonymous": False}


def _routes(spec: Routes) -> ml.InferenceContainerPropertiesArgs:
    return ml.InferenceContainerPropertiesArgs(
        liveness_route=ml.RouteArgs(path=spec.liveness, port=spec.port),
        readiness_route=ml.RouteArgs(path=spec.readiness, port=spec.port),
        scoring_route=ml.RouteArgs(path=spec.scoring, port=spec.port),
    )
