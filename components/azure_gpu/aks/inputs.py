"""Inputs of `containerservice`'s resources for a resolved cluster and its pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi_azure_native import containerservice

from azure_gpu.aks.args import AccessArgs
from azure_gpu.aks.gpu_pools import GpuPoolSpec
from azure_gpu.aks.read_pools import SYSTEM_POOL
from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.catalog.services.aks import clusters, network
from azure_gpu.catalog.services.aks.network import Ranges
from azure_gpu.catalog.services.aks.sizes import INSTALL
from azure_gpu.shared import overrides

SCALE_SET = "VirtualMachineScaleSets"


def cluster(
    spec: ClusterSpec, access: AccessArgs, identity_id: pulumi.Input[str], pools: Sequence[Any], ranges: Ranges
) -> dict[str, Any]:
    """The cluster's inputs except name, group, location and tags. `pools`: see `aks.read_pools`; `ranges`: see
    `aks.existing`."""
    policy = spec.settings.get("azure_policy")
    return {
        "kubernetes_version": spec.kubernetes_version or None,
        "dns_prefix": spec.dns_prefix,
        # AKS's default name, MC_<group>_<cluster>_<region>, easily exceeds the limit of 80 characters.
        "node_resource_group": spec.node_resource_group,
        "sku": containerservice.ManagedClusterSKUArgs(name="Base", tier=spec.tier),
        "support_plan": clusters.LONG_TERM_SUPPORT if spec.settings.get("long_term_support", False) else None,
        "identity": containerservice.ManagedClusterIdentityArgs(
            type=containerservice.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=[identity_id]
        ),
        "agent_pool_profiles": list(pools),
        # Logins use Entra and permissions are role assignments in Azure: there is no certificate that can't be revoked.
        "aad_profile": containerservice.ManagedClusterAADProfileArgs(managed=True, enable_azure_rbac=True),
        "enable_rbac": True,
        "disable_local_accounts": not spec.access.local_accounts,
        "oidc_issuer_profile": containerservice.ManagedClusterOIDCIssuerProfileArgs(enabled=True),
        "security_profile": containerservice.ManagedClusterSecurityProfileArgs(
            workload_identity=containerservice.ManagedClusterSecurityProfileWorkloadIdentityArgs(enabled=True)
        ),
        "api_server_access_profile": _api_server(spec, access),
        "network_profile": _network(spec, ranges),
        "auto_scaler_profile": _autoscaler(spec),
        "auto_upgrade_profile": containerservice.ManagedClusterAutoUpgradeProfileArgs(
            upgrade_channel=spec.maintenance.upgrades, node_os_upgrade_channel=spec.maintenance.node_images
        ),
        # The name: Azure/azure-cli, src/azure-cli/azure/cli/command_modules/acs/_consts.py, CONST_AZURE_POLICY_ADDON_NAME.
        "addon_profiles": {"azurepolicy": containerservice.ManagedClusterAddonProfileArgs(enabled=policy)}
        if policy is not None
        else None,
    }


def system_pool(spec: ClusterSpec, subnet_id: pulumi.Input[str] | None) -> containerservice.ManagedClusterAgentPoolProfileArgs:
    """The pool in the cluster's own body, which ARM requires."""
    pool = spec.system
    return containerservice.ManagedClusterAgentPoolProfileArgs(
        name=SYSTEM_POOL,
        mode=containerservice.AgentPoolMode.SYSTEM,
        type=SCALE_SET,
        vm_size=pool.size,
        os_type=containerservice.OSType.LINUX,
        os_sku=pool.os_sku,
        # The initial number if the pool is autoscaled: AKS's default is 1, which it rejects if the minimum is higher.
        # Source: Microsoft Learn, REST reference of Microsoft.ContainerService 2025-09-01, Agent Pools.
        count=pool.nodes,
        enable_auto_scaling=pool.autoscaler,
        min_count=pool.nodes if pool.autoscaler else None,
        max_count=pool.most_nodes if pool.autoscaler else None,
        availability_zones=sorted({*pool.zones}) or None,
        node_taints=[clusters.DEDICATED_TAINT] if pool.dedicated else None,
        # AKS upgrades only the control plane if a pool has no version. Source: Azure/AKS, CHANGELOG.md, 2022-03-27.
        orchestrator_version=spec.kubernetes_version or None,
        upgrade_settings=_upgrade(pool.max_surge, None),
        vnet_subnet_id=subnet_id,
    )


def _api_server(spec: ClusterSpec, settings: AccessArgs) -> containerservice.ManagedClusterAPIServerAccessProfileArgs:
    private = spec.access.network == "private"
    zone = settings.get("private_dns_zone", "system")
    return containerservice.ManagedClusterAPIServerAccessProfileArgs(
        authorized_ip_ranges=list(spec.access.authorized_ranges) or None,
        enable_private_cluster=private,
        # Without a private zone its name has to be public; with one its address stays private.
        enable_private_cluster_public_fqdn=(zone == "none") if private else None,
        private_dns_zone=zone if private else None,
        enable_vnet_integration=spec.access.api_server_subnet_id is not None or None,
        subnet_id=settings.get("api_server_subnet_id"),
        # `az aks command invoke` bypasses the ranges, and is a private cluster's only access from outside.
        disable_run_command=not private,
    )


def _network(spec: ClusterSpec, ranges: Ranges) -> containerservice.ContainerServiceNetworkProfileArgs:
    return containerservice.ContainerServiceNetworkProfileArgs(
        network_plugin=containerservice.NetworkPlugin.AZURE,
        network_plugin_mode=containerservice.NetworkPluginMode.OVERLAY,
        network_policy=None if spec.network_policy == "none" else spec.network_policy,
        network_dataplane=network.CILIUM if spec.network_policy == "cilium" else None,
        pod_cidr=ranges.pods,
        service_cidr=ranges.services,
        dns_service_ip=network.dns_address(ranges.services),
        outbound_type=spec.outbound,
        load_balancer_sku=containerservice.LoadBalancerSku.STANDARD,
    )


def kept(spec: ClusterSpec, given: Mapping[str, Any] | None) -> list[str]:
    """Paths for `ignore_changes`: what was chosen when the cluster was created, and isn't changed of one that exists: its policy
    engine, and ranges by the network of a subnet, which may have other addresses by now. `given`: the cluster's overrides."""
    policy = [] if "network_policy" in spec.settings else ["networkProfile.networkPolicy", "networkProfile.networkDataplane"]
    of_subnet = spec.subnet is not None
    pods = ["networkProfile.podCidr"] if of_subnet and not spec.ranges.pods else []
    services = ["networkProfile.serviceCidr", "networkProfile.dnsServiceIP"] if of_subnet and not spec.ranges.services else []
    return [*overrides.left_alone(policy, given), *pods, *services]


def _autoscaler(spec: ClusterSpec) -> containerservice.ManagedClusterPropertiesAutoScalerProfileArgs | None:
    if "idle_minutes" not in spec.settings:
        return None
    wait = f"{spec.settings['idle_minutes']}m"
    return containerservice.ManagedClusterPropertiesAutoScalerProfileArgs(
        scale_down_unneeded_time=wait, scale_down_delay_after_add=wait
    )


def windows(spec: ClusterSpec) -> Mapping[str, containerservice.MaintenanceWindowArgs]:
    """The maintenance windows that the cluster's channels require, by AKS's name of the configuration."""
    settings = spec.maintenance
    window = containerservice.MaintenanceWindowArgs(
        duration_hours=settings.hours,
        start_time=settings.start,
        utc_offset=settings.utc_offset,
        schedule=containerservice.ScheduleArgs(
            weekly=containerservice.WeeklyScheduleArgs(day_of_week=settings.day, interval_weeks=1)
        ),
    )
    channels = {
        clusters.CLUSTER_WINDOW: settings.upgrades != "none",
        # The system's own updater has no window.
        clusters.NODES_WINDOW: settings.node_images in ("NodeImage", "SecurityPatch"),
    }
    return {name: window for name, required in channels.items() if required}


def _upgrade(max_surge: str, drain_minutes: int | None) -> containerservice.AgentPoolUpgradeSettingsArgs | None:
    if not max_surge and drain_minutes is None:
        return None
    return containerservice.AgentPoolUpgradeSettingsArgs(max_surge=max_surge or None, drain_timeout_in_minutes=drain_minutes)


def pool(spec: GpuPoolSpec, kubernetes_version: str, subnet_id: pulumi.Input[str] | None) -> dict[str, Any]:
    """A GPU pool's inputs except its names."""
    request = spec.request
    return {
        "mode": containerservice.AgentPoolMode.USER,
        "type": SCALE_SET,
        "vm_size": spec.nodes.size,
        "os_type": containerservice.OSType.LINUX,
        "os_sku": request.os_sku or None,
        "orchestrator_version": kubernetes_version or None,
        "count": spec.min_nodes,  # the initial number; see the system pool
        "enable_auto_scaling": True,
        "min_count": spec.min_nodes,
        "max_count": spec.max_nodes,
        "availability_zones": spec.zones or None,
        "node_labels": spec.labels,
        "node_taints": list(spec.nodes.taints),
        "gpu_profile": containerservice.GPUProfileArgs(driver=request.driver) if request.driver != INSTALL else None,
        "gpu_instance_profile": request.mig_profile or None,
        "scale_set_priority": containerservice.ScaleSetPriority.SPOT if request.spot else None,
        "scale_set_eviction_policy": request.spot.eviction_policy if request.spot else None,
        "spot_max_price": request.spot.max_price if request.spot else None,
        "os_disk_size_gb": spec.settings.get("os_disk_gb"),
        "max_pods": spec.settings.get("max_pods"),
        "upgrade_settings": _upgrade(request.max_surge, spec.settings.get("drain_minutes")),
        "vnet_subnet_id": subnet_id,
        "tags": spec.tags,
    }
