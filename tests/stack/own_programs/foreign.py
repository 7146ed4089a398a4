"""A program of somebody's own, without this project's components: ten faults, each marked, among what is as it should be."""

# pyright: reportArgumentType=false
import base64
from typing import Any

import pulumi
import pulumi_azure_native as azure
import pulumi_kubernetes as kubernetes

ENDS = {"expires-at": "2999-01-01T00:00:00Z"}

group = azure.resources.ResourceGroup("group", location="eastus")
within: Any = {"resource_group_name": group.name, "location": group.location}
logs = azure.operationalinsights.Workspace("logs", **within)
identity = azure.managedidentity.UserAssignedIdentity("identity", **within)
assigned: Any = {"type": "UserAssigned", "user_assigned_identities": [identity.id]}

azure.storage.StorageAccount(  # FAULT storage-shared-key: nothing forbids the account's keys
    "keys",
    sku={"name": "Standard_LRS"},
    kind="StorageV2",
    allow_blob_public_access=False,
    public_network_access="Disabled",
    **within,
)
storage = azure.storage.StorageAccount(
    "identities",
    sku={"name": "Standard_LRS"},
    kind="StorageV2",
    # Not known before an update: nobody may say anything of it.
    allow_shared_key_access=logs.customer_id.apply(lambda customer: not customer),
    allow_blob_public_access=False,
    **within,
)
azure.containerregistry.Registry(
    "images",
    sku={"name": "Premium"},
    admin_user_enabled=True,  # FAULT registry-admin-user
    public_network_access="Disabled",
    **within,
)

azure.containerinstance.ContainerGroup(
    "web",
    os_type="Linux",
    containers=[
        {
            "name": "web",
            "image": "mcr.microsoft.com/azuredocs/aci-helloworld:latest",
            "resources": {"requests": {"cpu": 1, "memory_in_gb": 1.5}},
            "environment_variables": [
                {"name": "LOG_LEVEL", "value": "info"},
                {"name": "API_TOKEN", "secure_value": pulumi.Output.secret("kept")},
                {"name": "DB_PASSWORD", "value": "in plain text"},  # FAULT plain-text-secret
            ],
        }
    ],
    ip_address={"type": "Public", "ports": [{"port": 80, "protocol": "TCP"}]},  # FAULT public-address
    **within,
)

account = azure.batch.BatchAccount(
    "batch",
    allowed_authentication_modes=["AAD", "TaskAuthenticationToken"],
    auto_storage={"storage_account_id": storage.id, "authentication_mode": "BatchAccountManagedIdentity"},
    identity=assigned,
    **within,
)
azure.batch.Pool(
    "train",
    resource_group_name=group.name,
    account_name=account.name,
    vm_size="STANDARD_NC6",  # FAULT gpu-retired: since 2023-09-06
    scale_settings={"auto_scale": {"formula": "$TargetDedicatedNodes = min(2, $PendingTasks.GetSample(1));"}},
    deployment_configuration={
        "virtual_machine_configuration": {
            "image_reference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2404", "version": "latest"},
            "node_agent_sku_id": "batch.node.ubuntu 24.04",
        }
    },
    tags=ENDS,
)

workspace = azure.machinelearningservices.Workspace(
    "ml",
    storage_account=storage.id,
    key_vault=azure.keyvault.Vault(
        "vault",
        resource_group_name=group.name,
        location=group.location,
        properties={
            "tenant_id": azure.authorization.get_client_config_output().tenant_id,
            "sku": {"name": "standard", "family": "A"},
            "enable_rbac_authorization": True,
        },
    ).id,
    application_insights=azure.applicationinsights.Component(
        "insights", kind="web", application_type="web", workspace_resource_id=logs.id, ingestion_mode="LogAnalytics", **within
    ).id,
    identity={"type": "SystemAssigned"},
    public_network_access="Enabled",
    **within,
)
azure.machinelearningservices.Compute(
    "warm",
    workspace_name=workspace.name,
    properties=azure.machinelearningservices.AmlComputeArgs(
        compute_type="AmlCompute",
        properties=azure.machinelearningservices.AmlComputePropertiesArgs(
            vm_size="Standard_NC4as_T4_v3",
            vm_priority="Dedicated",
            remote_login_port_public_access="Disabled",
            scale_settings=azure.machinelearningservices.ScaleSettingsArgs(
                min_node_count=1,  # FAULT gpu-scale-to-zero
                max_node_count=2,
                node_idle_time_before_scale_down="PT2M",
            ),
        ),
    ),
    tags=ENDS,
    **within,
)
endpoint = azure.machinelearningservices.OnlineEndpoint(
    "digits",
    workspace_name=workspace.name,
    identity=assigned,
    properties={"auth_mode": "AADToken", "public_network_access": "Enabled"},
    tags=ENDS,
    **within,
)
azure.machinelearningservices.OnlineDeployment(
    "blue",
    workspace_name=workspace.name,
    endpoint_name=endpoint.name,
    properties=azure.machinelearningservices.ManagedOnlineDeploymentArgs(
        endpoint_compute_type="Managed",
        instance_type="Standard_NC4as_T4_v3",
        scale_settings=azure.machinelearningservices.DefaultScaleSettingsArgs(scale_type="Default"),
    ),
    sku={"name": "Default", "capacity": 1},
    **within,  # its endpoint has the last day
)

cluster = azure.containerservice.ManagedCluster(
    "cluster",
    dns_prefix="cluster",
    identity=assigned,
    disable_local_accounts=True,
    aad_profile={"managed": True, "enable_azure_rbac": True},
    api_server_access_profile={"authorized_ip_ranges": ["203.0.113.0/24", "0.0.0.0/0"]},  # FAULT public-kubernetes-api
    agent_pool_profiles=[{"name": "system", "mode": "System", "vm_size": "Standard_D4s_v5", "count": 1}],
    **within,
)
azure.containerservice.AgentPool(
    "a100",  # FAULT gpu-end-date: neither the pool nor its cluster has one
    resource_group_name=group.name,
    resource_name_=cluster.name,
    vm_size="Standard_NC24ads_A100_v4",  # FAULT gpu-price-resource: six of them
    enable_auto_scaling=True,
    min_count=0,
    max_count=6,
    count=0,
    mode="User",
)

credentials = azure.containerservice.list_managed_cluster_user_credentials_output(
    resource_group_name=group.name, resource_name=cluster.name
)
provider = kubernetes.Provider(
    "kubernetes", kubeconfig=credentials.kubeconfigs[0].value.apply(lambda text: base64.b64decode(text).decode())
)
gpu: Any = {"limits": {"nvidia.com/gpu": "1"}}
securities: Any = {"safe": {}, "debug": {"privileged": True}}  # FAULT kubernetes-privileged
for name, security in securities.items():
    kubernetes.apps.v1.Deployment(
        name,
        spec={
            "selector": {"match_labels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "containers": [
                        {
                            "name": "work",
                            "image": "nvcr.io/nvidia/cuda:12.4.1-base-ubuntu22.04",
                            "resources": gpu,
                            "security_context": security,
                            "volume_mounts": [{"name": "scratch", "mount_path": "/scratch"}],
                        }
                    ],
                    "volumes": [{"name": "scratch", "empty_dir": {}}],
                },
            },
        },
        opts=pulumi.ResourceOptions(provider=provider),
    )
