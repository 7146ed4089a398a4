"""An AKS cluster with GPU pools that scale from zero, and everything on it that makes GPUs usable: or an existing cluster.

The cluster itself has a small system pool without GPUs; each GPU pool is a separate resource, so that changing one replaces only
that one. People and programs log in by Entra, local accounts are off, nodes pull images from the stack's registry as the
cluster's identity, and pods can use the stack's identity or its serving identity. Device plugin with the sharing of each pool,
labels, metrics, a namespace and jobs are included. Left out: Windows pools, networks, ingress, Container insights and the
workspace of managed Prometheus.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack, overload
from weakref import WeakKeyDictionary

import pulumi
from pulumi.runtime.settings import get_monitor
from pulumi_azure_native import authorization, containerservice, managedidentity

from azure_gpu.aks import access as cluster_access, current_user, existing as cluster_existing, inputs, login, read_pools
from azure_gpu.aks.access import Cluster
from azure_gpu.aks.args import AccessArgs, GpuClusterArgs, GpuClusterWiring
from azure_gpu.aks.existing import ClusterFacts
from azure_gpu.aks.gpu_pools import REPLACING_CLUSTER, REPLACING_POOL, VNET_INTEGRATION, GpuPoolSpec
from azure_gpu.aks.resolve import resolve
from azure_gpu.aks.rules import elsewhere
from azure_gpu.aks.spec import GpuClusterSpec, of_cluster
from azure_gpu.catalog import roles
from azure_gpu.catalog.prices.hourly_cost import HourlyCost
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.services.aks import network, workload_identity
from azure_gpu.catalog.services.aks.workload_identity import SERVICE_ACCOUNT, SERVING_ACCOUNT
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.formats.tags import NODE_POOL
from azure_gpu.foundation import common
from azure_gpu.kubernetes import objects, services
from azure_gpu.kubernetes.gpu_objects import declare as gpu_objects_declare
from azure_gpu.kubernetes.manifests import filled
from azure_gpu.shared import (
    assigned_already,
    customer_key,
    log_settings,
    overrides,
    retry_hooks,
    role_command,
    role_of_identity,
    sdk_types,
)
from azure_gpu.shared.attachable import AttachableCluster, ClusterOfWorkspace
from azure_gpu.shared.component import Component, OnlyInPython
from azure_gpu.shared.context import Context, RegistryArgs, after, as_serving, declared, pull_role_of
from azure_gpu.shared.look_up import AskedBy, told
from azure_gpu.shared.program import Described
from azure_gpu.shared.wired import Wired

__all__ = ["HOW_REPLACED", "REPLACING", "GpuCluster"]

REPLACING = [*REPLACING_CLUSTER, *(f"{path} (of a GPU pool)" for path in REPLACING_POOL)]
HOW_REPLACED = "of the\ncluster with all that is in it, or only of the one GPU pool"
# Responses of its API, reasons of scaling, logins, and who changed what. Source: Microsoft Learn,
# articles/aks/monitor-aks-reference.md, resource logs.
LOG_CATEGORIES = ("kube-apiserver", "cluster-autoscaler", "guard", "kube-audit-admin")

# The last credential of a program, by its connection to the engine and by service account, which each have a separate
# identity. Azure creates them only one after another on one identity, and rejects concurrent ones with 409: Microsoft Learn,
# entra/workload-id/workload-identity-federation-considerations, Concurrent updates aren't supported (2024-02-28).
_credentials: WeakKeyDictionary[object, dict[str, pulumi.Resource]] = WeakKeyDictionary()

_Spec = tuple[GpuClusterSpec, ClusterFacts]
_Wired = Wired[GpuClusterWiring, _Spec]


class PoolOfCluster(TypedDict):
    """What work on a GPU pool requires."""

    name: pulumi.Output[str]
    """Name of the agent pool in Azure."""
    resource: str
    """What a pod requests for a GPU, such as nvidia.com/gpu."""
    label: str
    """The label that selects its nodes, `key=value`."""
    tolerates: list[str]
    """The taints that a pod has to tolerate."""


class GpuCluster(Component[GpuClusterArgs, GpuClusterWiring, _Spec], AttachableCluster):
    """A cluster. Raises `Refused` if its arguments are invalid."""

    cluster_id: pulumi.Output[str]
    """ARM id of the cluster."""
    cluster_name: pulumi.Output[str]
    """Its name in Azure."""
    namespace: str | None
    """The namespace that jobs run in; None if no objects are created on the cluster."""
    gpu_pools: dict[str, PoolOfCluster]
    """What work on each pool requires, by the pool's name here."""
    expires_at: pulumi.Output[str] | None
    """When the cluster should be deleted, RFC 3339 in UTC."""
    hourly_cost: pulumi.Output[float] | None
    """List price in USD an hour with the maximum number of nodes. None if unknown, which doesn't mean free."""
    idle_cost: pulumi.Output[float] | None
    """The same with the minimum number of nodes, mainly those of the system pool."""
    kubeconfig: pulumi.Output[str]
    """A kubeconfig that logs in by kubelogin, available once the administrators' roles work; secret."""
    oidc_issuer_url: pulumi.Output[str]
    """Issuer of the tokens of the cluster's service accounts, for credentials that trust them."""
    identity_principal_id: pulumi.Output[str] | None
    """Object id of the cluster's own identity; None for an existing cluster."""
    kubelet_principal_id: pulumi.Output[str]
    """Object id of the identity with which its nodes pull images."""
    node_resource_group: pulumi.Output[str] | None
    """Name of the resource group that AKS creates for its machines and disks; None for an existing cluster."""
    agent_pools: pulumi.Output[dict[str, Any]]
    """State of the pools in the cluster's inputs, for the next run."""
    of_workspace: OnlyInPython[ClusterOfWorkspace]
    """The cluster for an Azure Machine Learning workspace that attaches it."""

    @overload
    def __init__(self, name: str, args: GpuClusterArgs | _Wired, opts: pulumi.ResourceOptions | None = None) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[GpuClusterArgs]) -> None: ...

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)

    @staticmethod
    def _wire(described: Described) -> _Wired:
        """The login is that of the provider's configuration and environment."""
        access = {**login.of_provider(login.configured()), **described.args.get("access", {})}
        described.args.update({"access": access} if access else {})
        return common.wire(described)

    def _resolve(self, args: GpuClusterWiring, context: Context) -> tuple[_Spec, list[Problem]]:
        whole, problems = resolve(self._name, args, context)
        spec = whole.cluster
        images = args["registry"]["workload_images"] if "registry" in args else {}
        identity = spec.pods_can_use_identity and as_serving(args).get("identity_is_own", False)
        stored, served = "storage" in args, "serving" in args
        at = f"{spec.path}.services"
        of_services = services.missing(spec.objects.services, at, identity=identity, storage=stored, serving=served)
        problems += elsewhere(args["customer_managed_key"]["location"], spec) if "customer_managed_key" in args else []
        return (whole, ClusterFacts()), [*problems, *gpu_objects_declare.missing_images(spec.objects, images), *of_services]

    def _look_up(self, spec: _Spec, asked_by: AskedBy) -> tuple[_Spec, list[Problem]]:
        whole, _ = spec
        facts, problems = cluster_existing.look_up(whole.cluster, asked_by)
        if errors(problems):
            return spec, problems
        facts, of_runner = current_user.look_up(self._name, whole.cluster, facts, asked_by, of_stack_file=False)
        pools = read_pools.look_up([self._name], of_stack_file=False)[self._name]
        return (whole, replace(facts, pools=pools)), [*problems, *of_runner]

    def _declare(self, spec: _Spec) -> None:
        whole, facts = spec
        self._spec, self._pool_specs, subnet = whole.cluster, whole.pools, self._args.get("subnet_id")
        self._given = {name: inputs.pool(each, self._spec.kubernetes_version, subnet) for name, each in whole.pools.items()}
        self._hashes: dict[str, str] = {}
        self._disk_set: pulumi.Output[str] | None = None
        self._new_roles = retry_hooks.NewRoles(self)
        self._new_admins = retry_hooks.NewRoles(self, "admins")
        self._again = retry_hooks.hooks(self, self._new_roles)
        cluster = self._existing() if self._spec.existing else self._created(facts)
        pools = self._pools(cluster, facts.pools)
        config = cluster_access.kubeconfig(self._spec, facts, cluster, self)
        self._outputs_of(cluster, facts)
        self.gpu_pools = {
            name: PoolOfCluster(
                name=pools[name].name.apply(lambda found: found or ""),
                resource=nodes.resource,
                label=f"{NODE_POOL}={name}",
                tolerates=list(nodes.taints),
            )
            for name, nodes in whole.cluster.objects.pools.items()
        }
        assigned = self._roles(facts, cluster)
        before: list[pulumi.Resource] = [*pools.values(), *assigned]
        self._config = cluster_access.usable(self._spec, config, assigned, self._new_admins, self)
        self.kubeconfig = pulumi.Output.secret(self._config)
        on_it = self._on_cluster(cluster, before) if self._spec.on_cluster else []
        self.of_workspace = self._offered(of_cluster(whole.cluster), cluster, [*before, *on_it])
        self._announce(whole.idle)

    def _pools(self, cluster: Cluster, before: read_pools.InState) -> dict[str, containerservice.AgentPool]:
        """Declares one after another: AKS changes only one at a time, and rejects others with 409."""
        pools: dict[str, containerservice.AgentPool] = {}
        for pool, each in self._pool_specs.items():
            pools[pool] = self._pool(each, cluster, before, after=list(pools.values())[-1:])
        return pools

    def _outputs_of(self, cluster: Cluster, facts: ClusterFacts) -> None:
        spec = self._spec
        self.cluster_id = cluster.resource_id
        self.cluster_name = cluster.name
        self.namespace = spec.objects.namespace if spec.on_cluster else None
        self.node_resource_group = None if spec.existing else pulumi.Output.from_input(spec.node_resource_group)
        shown = cluster.declared.agent_pool_profiles if cluster.declared is not None else None
        self.agent_pools = read_pools.record(cluster.profiles, shown, self._hashes)
        if cluster.declared is None:
            self.identity_principal_id = None
            self.oidc_issuer_url = pulumi.Output.from_input(facts.issuer_url)
            self.kubelet_principal_id = pulumi.Output.from_input(facts.kubelet_object_id)
        else:
            found = self._read(cluster.group, cluster.name)
            self.oidc_issuer_url = found.apply(cluster_existing.issuer_url)
            self.kubelet_principal_id = found.apply(cluster_existing.kubelet_object_id)

    def _offered(self, plain: ClusterOfWorkspace, cluster: Cluster, on_it: Sequence[pulumi.Resource]) -> ClusterOfWorkspace:
        """The cluster as a workspace attaches it, once everything `on_it` exists."""
        ready = after(cluster.resource_id, on_it)
        return {**plain, "id": ready, "name": cluster.name, "resource_group_name": cluster.group}

    def _existing(self) -> Cluster:
        found = self._spec.existing
        assert found is not None
        return Cluster(
            resource_id=pulumi.Output.from_input(found.text),
            name=pulumi.Output.from_input(found.name),
            group=found.resource_group,
            declared=None,
            provider=self._asked_by.provider_at(found, self._spec.context.subscription_id),
        )

    def _created(self, facts: ClusterFacts) -> Cluster:
        spec, group = self._spec, self._args["resource_group_name"]
        system = inputs.system_pool(spec, self._args.get("subnet_id"))
        in_state = len(facts.pools.listed) > 1
        as_listed = in_state and read_pools.all_match(facts.pools, system, [*self._given.values()])
        pools = read_pools.declared(facts.pools, system, as_listed=as_listed)
        ranges = network.choose_ranges(spec.ranges, facts.network)
        cluster = self._cluster(self._identity(), pools, ranges, facts.pools)
        for config, window in inputs.windows(spec).items():
            containerservice.MaintenanceConfiguration(
                f"{self._name}-{'upgrades' if 'AutoUpgrade' in config else 'node-images'}",
                config_name=config,
                resource_name_=cluster.name,
                resource_group_name=group,
                maintenance_window=window,
                opts=pulumi.ResourceOptions(parent=self, deleted_with=cluster),
            )
        if spec.settings.get("monitoring", "logs") == "logs":
            log_settings.declare(self._name, cluster.id, self._args.get("logs"), LOG_CATEGORIES, self._child)
        return Cluster(resource_id=cluster.id, name=cluster.name, group=group, declared=cluster, profiles=pools.profiles)

    def _identity(self) -> managedidentity.UserAssignedIdentity:
        """A separate one: it gets roles on subnet and zone before the cluster exists, and they end with it."""
        identity = managedidentity.UserAssignedIdentity(
            f"{self._name}-identity",
            resource_name_=self._identity_name,
            resource_group_name=self._args["resource_group_name"],
            location=declared(self._spec.location, self._args.get("location")),
            tags=self._spec.tags,
            opts=self._child,
        )
        self.identity_principal_id = identity.principal_id
        return identity

    def _cluster(
        self,
        identity: managedidentity.UserAssignedIdentity,
        pools: read_pools.Declared,
        ranges: network.Ranges,
        before: read_pools.InState,
    ) -> containerservice.ManagedCluster:
        name, group, own = f"{self._name}-cluster", self._args["resource_group_name"], self._args.get("overrides")
        integrated = self._spec.access.api_server_subnet_id is not None
        given = inputs.cluster(self._spec, self._args.get("access", AccessArgs()), identity.id, pools.profiles, ranges)
        disks = self._disks()
        given |= {"disk_encryption_set_id": disks} if disks is not None else {}
        given |= {"location": declared(self._spec.location, self._args.get("location")), "tags": self._spec.tags}
        changes = self._changes(name, azure_types.MANAGED_CLUSTER, given, own, before)
        if before.name and (changes or not read_pools.is_listed(pools.profiles, before)):
            found = self._read(group, before.name)
            pools = read_pools.as_scaled(pools, found)
            given["agent_pool_profiles"] = pools.profiles
            if integrated:
                found.apply(lambda now: cluster_existing.tell_of_restart(now, self._spec.path, self))
        return containerservice.ManagedCluster(
            name,
            resource_name_=declared(self._spec.name, self._args.get("cluster_name")),
            resource_group_name=group,
            **given,
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=self._roles_beforehand(identity.principal_id),
                replace_on_changes=[each for each in REPLACING_CLUSTER if each != VNET_INTEGRATION or not integrated],
                ignore_changes=[*pools.left_alone, *inputs.kept(self._spec, own)],
                # Its name is fixed, so the old one has to be deleted before its replacement is created.
                delete_before_replace=True,
                transformations=overrides.applied(own, self),
                hooks=self._again,
            ),
        )

    def _changes(
        self,
        name: str,
        azure_type: AzureType,
        given: Mapping[str, Any],
        own: overrides.Overrides | None,
        before: read_pools.InState,
    ) -> bool:
        """Whether a resource that exists has other inputs now, with its `own` overrides; keeps their hash for the next run."""
        kind = sdk_types.args_class(azure_type.token)
        body = sdk_types.as_inputs(kind, given)
        if own:
            body = sdk_types.as_inputs(kind, overrides.in_body(body, own, azure_type))
        self._hashes[name] = hash_of(body)
        return before.changes(name, self._hashes[name])

    def _disks(self) -> pulumi.Output[str] | None:
        """What encrypts the disks of nodes by the stack's key; None without one."""
        if "customer_managed_key" not in self._args or self._spec.existing:
            return None
        if self._disk_set is None:
            self._disk_set = customer_key.disks(
                self,
                self._name,
                self._spec.context.name(azure_types.DISK_ENCRYPTION_SET.arm_type, self._name),
                self._args["customer_managed_key"],
                resource_group_name=self._args["resource_group_name"],
                location=declared(self._spec.location, self._args.get("location")),
                tags=self._spec.tags,
                hooks=self._again,
            ).id
        return self._disk_set

    @property
    def _identity_name(self) -> str:
        return self._spec.context.name(azure_types.USER_ASSIGNED_IDENTITY.arm_type, f"cluster-{self._name}")

    def _beforehand(self) -> list[tuple[str, str, pulumi.Input[str]]]:
        """Roles that the cluster's identity requires in an existing network, and on the key of its disks (source:
        `customer_keys.DISKS_PAGE`): the assignment's name, the role, and its scope."""
        subnet, access = self._args.get("subnet_id"), self._args.get("access", {})
        zone = access.get("private_dns_zone")
        required: list[tuple[str, str, pulumi.Input[str]]] = []
        if subnet is not None:
            required.append(("network-role", roles.NETWORK_CONTRIBUTOR, subnet))
        if "api_server_subnet_id" in access:  # source: `network.VNET_INTEGRATION_PAGE`
            required.append(("api-server-role", roles.NETWORK_CONTRIBUTOR, access["api_server_subnet_id"]))
        if zone is not None and zone not in ("system", "none"):
            required.append(("dns-role", roles.PRIVATE_DNS_ZONE_CONTRIBUTOR, zone))
            # AKS links the zone to the network. Source: MicrosoftDocs/azure-aks-docs, articles/aks/private-clusters.md,
            # 2026-08-21.
            required.append(("zone-network-role", roles.NETWORK_CONTRIBUTOR, _network_of(subnet or "")))
        disks = self._disks()
        if disks is not None:
            required.append(("disks-role", roles.READER, disks))
        return required

    def _roles_beforehand(self, principal_id: pulumi.Output[str]) -> list[authorization.RoleAssignment]:
        return [
            each
            for suffix, role, scope in self._beforehand()
            for each in self._assigned(suffix, role, pulumi.Output.from_input(scope), principal_id)
        ]

    def _pool(
        self, spec: GpuPoolSpec, cluster: Cluster, before: read_pools.InState, *, after: list[containerservice.AgentPool]
    ) -> containerservice.AgentPool:
        subnet, name, given = self._args.get("subnet_id"), f"{self._name}-pool-{spec.name}", self._given[spec.name]
        own = self._args.get("gpu_pools", {})[spec.name].get("overrides")
        azure_name = pulumi.Output.from_input(subnet or "").apply(spec.azure_name)
        changes = self._changes(name, azure_types.AGENT_POOL, given, own, before)
        if changes:
            initial = spec.min_nodes
            found = self._read(cluster.group, cluster.name, cluster.provider, after)
            given["count"] = pulumi.Output.all(found, azure_name).apply(lambda now: read_pools.nodes_of(now[0], now[1], initial))
        return containerservice.AgentPool(
            name,
            agent_pool_name=azure_name,
            resource_name_=cluster.name,
            resource_group_name=cluster.group,
            **given,
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=after,
                replace_on_changes=REPLACING_POOL,
                # Set by the autoscaler, and by stopping the cluster.
                ignore_changes=["powerState"] if changes else ["count", "powerState"],
                # Set in both cases: with a fixed name the provider deletes before it creates, unless told otherwise.
                delete_before_replace=spec.replace == "drain-first",
                deleted_with=cluster.declared,
                provider=cluster.provider,
                transformations=overrides.applied(own, self),
                hooks=self._again,
            ),
        )

    def _roles(self, facts: ClusterFacts, cluster: Cluster) -> list[authorization.RoleAssignment]:
        """The administrators' roles, whose effect is awaited, and the nodes' role to pull images."""
        spec = self._spec
        assigned: list[authorization.RoleAssignment] = []
        if not self._args.get("assign_roles", True):
            self._print_commands(facts)
            return assigned
        registry, nodes = self._args.get("registry"), facts.kubelet_object_id
        if registry is not None and (cluster.declared is not None or (nodes and not self._pulls_already(registry, nodes))):
            assigned += self._assigned("pull-role", pull_role_of(registry), registry["id"], self.kubelet_principal_id)
        if facts.azure_rbac:
            assigned += cluster_access.assign(self._name, spec, facts, cluster, self._new_admins, self)
        return assigned

    def _pulls_already(self, registry: RegistryArgs, nodes: str) -> bool:
        """Whether an existing cluster's nodes have their role by somebody else, as `az aks update --attach-acr` assigns it."""
        scope, role, context = arm_ids.parse(registry.get("existing_id", "")), pull_role_of(registry), self._spec.context
        own, of_stack_file = context.subscription_id, context.component is None
        return scope is not None and assigned_already.outside_of_stack(
            role, scope, nodes, self._asked_by, own, of_stack_file=of_stack_file
        )

    def _assigned(
        self, suffix: str, role: str, scope: pulumi.Input[str], principal_id: pulumi.Input[str]
    ) -> list[authorization.RoleAssignment]:
        """Assigns an identity's role on `scope`; none if an administrator assigns roles."""
        if not self._args.get("assign_roles", True):
            return []
        assigned = role_of_identity.assign(
            f"{self._name}-{suffix}",
            role=role,
            scope=scope,
            principal_id=principal_id,
            subscription_id=self._spec.context.subscription_id,
            opts=pulumi.ResourceOptions(parent=self, hooks=self._new_roles.hooks),
        )
        return [assigned]

    def _read(
        self,
        group: pulumi.Input[str],
        name: pulumi.Input[str],
        provider: pulumi.ProviderResource | None = None,
        after: Sequence[pulumi.Resource] = (),
    ) -> pulumi.Output[containerservice.GetManagedClusterResult]:
        """The cluster as Azure has it. In a preview of a change these values are known, while the changed resource's own outputs,
        except its name, are unknown and would show changes in everything that depends on them."""
        opts = pulumi.InvokeOutputOptions(parent=self, provider=provider, depends_on=list(after))
        return told(containerservice.get_managed_cluster_output(resource_group_name=group, resource_name=name, opts=opts))

    def _print_commands(self, facts: ClusterFacts) -> None:
        """Prints the commands for an administrator to run once the cluster exists."""
        cluster_id = cluster_access.id_of(self._spec, self._args)
        commands: list[str] = []
        if facts.azure_rbac:
            commands += [
                role_command.command(
                    roles.AKS_RBAC_CLUSTER_ADMIN, scope=cluster_id, principal_id=admin.object_id, kind=admin.kind
                )
                for admin in cluster_access.admins(self._spec, self)
            ]
        if "registry" in self._args:
            elsewhere = self._args["registry"].get("subscription_id")
            of_registry = f"{self._args['registry']['name']}{f' --subscription {elsewhere}' if elsewhere else ''}"
            registry = f"$(az acr show --name {of_registry} --query id --output tsv)"
            kubelet = f"$(az aks show --ids {cluster_id} --query identityProfile.kubeletidentity.objectId --output tsv)"
            commands.append(role_command.command(pull_role_of(self._args["registry"]), scope=registry, principal_id=kubelet))
        if not self._spec.existing:
            identity = role_command.principal_of(
                azure_types.USER_ASSIGNED_IDENTITY.id_of(
                    self._spec.context.subscription_id,
                    {
                        "resourceGroupName": self._args.get("resource_group", "<resource-group>"),
                        azure_types.USER_ASSIGNED_IDENTITY.name_parameter: self._identity_name,
                    },
                )
            )
            of_network = [(role, scope) for _, role, scope in self._beforehand()]
            commands += [
                role_command.command(role, scope=scope, principal_id=identity)
                for role, scope in of_network
                if isinstance(scope, str)
            ]
            for role, scope in of_network:
                if isinstance(scope, pulumi.Output):  # of what the stack creates
                    scope.apply(lambda id_, role=role: self._told([role_command.command(role, scope=id_, principal_id=identity)]))
        if commands:
            self._told(commands)

    def _told(self, commands: Sequence[str]) -> None:
        pulumi.log.info("\n".join(["an administrator has to run:", *commands]), self)

    def _on_cluster(self, cluster: Cluster, before: list[pulumi.Resource]) -> list[pulumi.Resource]:
        """Device plugin, labels, metrics, namespace, jobs, and the identities that pods can use."""
        images = self._args["registry"]["workload_images"] if "registry" in self._args else {}
        provider = cluster_access.provider(self._name, self._spec, cluster, self._config, before, self)
        # Azure deletes them with the cluster, and their disks, shares and addresses with its node resource group. Source:
        # MicrosoftDocs/azure-aks-docs, articles/aks/delete-cluster.md, 2024-04-16.
        opts = pulumi.ResourceOptions(parent=self, provider=provider, deleted_with=cluster.declared)
        resources, served = gpu_objects_declare.declare(
            self._name,
            self._spec.objects,
            images=images,
            opts=opts,
            storage=self._args["storage"]["name"] if "storage" in self._args else "",
            service_account=SERVING_ACCOUNT if "serving" in self._args else SERVICE_ACCOUNT,
        )
        cluster_access.admitted(self._spec, self._config, resources[:served])
        in_namespace = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=resources[:1]))
        # Identities that the stack hasn't created aren't changed.
        if cluster.declared is not None and self._spec.pods_can_use_identity:
            args, serving = self._args, self._args.get("serving")
            if args.get("identity_is_own", False):
                own = args.get("identity_id", ""), args.get("identity_client_id", "")
                self._workload_identity(SERVICE_ACCOUNT, "credential", *own, in_namespace)
            if serving is not None and serving["is_own"]:
                self._workload_identity(SERVING_ACCOUNT, "serving-credential", serving["id"], serving["client_id"], in_namespace)
        return resources

    def _workload_identity(
        self,
        service_account: str,
        suffix: str,
        identity_id: pulumi.Input[str],
        client_id: pulumi.Input[str],
        opts: pulumi.ResourceOptions,
    ) -> None:
        """A service account whose tokens Entra accepts for the identity."""
        spec = self._spec
        found = pulumi.Output.from_input(identity_id).apply(arm_ids.parse)
        program = get_monitor()  # different for each program, under mocks too
        made = _credentials.setdefault(program, {}) if program is not None else dict[str, pulumi.Resource]()
        earlier = made.get(service_account)
        credential = managedidentity.FederatedIdentityCredential(
            f"{self._name}-{suffix}",
            federated_identity_credential_resource_name=spec.name,
            resource_name_=found.apply(lambda identity: identity.name if identity else ""),
            resource_group_name=found.apply(lambda identity: identity.resource_group if identity else ""),
            issuer=self.oidc_issuer_url,
            subject=workload_identity.subject(spec.objects.namespace, service_account),
            audiences=[workload_identity.AUDIENCE],
            opts=pulumi.ResourceOptions(parent=self, depends_on=[earlier] if earlier is not None else None),
        )
        made[service_account] = credential
        annotations = {workload_identity.CLIENT_ID_ANNOTATION: client_id}
        account = filled("service-account", name=service_account, namespace=spec.objects.namespace, annotations=annotations)
        objects.declare(f"{self._name}-service-account-{service_account}", account, opts)

    def _announce(self, idle: HourlyCost) -> None:
        """Shows the idle cost, only in a preview, since an update shows its preview first."""
        if pulumi.runtime.is_dry_run():
            cost = idle.text(self._spec.context.day)
            pulumi.log.info(f"cost while idle: {cost}, without disks and addresses", self)


def _network_of(subnet: pulumi.Input[str]) -> pulumi.Input[str]:
    """The id of the network that a subnet is in."""
    if isinstance(subnet, str):
        return subnet.partition("/subnets/")[0]
    return pulumi.Output.from_input(subnet).apply(lambda given: given.partition("/subnets/")[0])


def hash_of(inputs: Mapping[str, Any]) -> str:
    """A hash of a resource's inputs without the number of nodes. Outputs are left out: they rarely change by themselves."""
    given = {key: value for key, value in inputs.items() if key not in ("count", "agentPoolProfiles")}
    return hashlib.sha256(json.dumps(given, sort_keys=True, default=lambda _: "").encode()).hexdigest()[:16]
