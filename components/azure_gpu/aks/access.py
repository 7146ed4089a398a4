"""Access to a cluster: its administrators' roles, and the Kubernetes provider that creates objects on it.

The provider is used only after the role assignment works. Without local accounts AKS returns a kubeconfig with an interactive
login; the one used here runs kubelogin and holds no secret.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_azure_native import authorization, containerservice

from azure_gpu.aks import current_user, login as cluster_kubeconfig
from azure_gpu.aks.args import GpuClusterWiring
from azure_gpu.aks.existing import ClusterFacts
from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.catalog import roles
from azure_gpu.formats import azure_types
from azure_gpu.kubernetes import admission, api_server
from azure_gpu.kubernetes.api_server import NotAllowedError, NotReachedError, Permission
from azure_gpu.kubernetes.gpu_objects import serving
from azure_gpu.shared import role_of_identity
from azure_gpu.shared.hooks import called
from azure_gpu.shared.look_up import told
from azure_gpu.shared.principals import Principal
from azure_gpu.shared.retry_hooks import NewRoles

# A specific permission: a cluster may deny a query for all (`*`) to a principal who has all. Source:
# kubeguard/guard 5bcf8b53, authz/providers/azure/rbac/checkaccessreqhelper.go.
NEEDED = Permission(verb="create", resource="daemonsets", group="apps")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster, created or existing, with its wired values."""

    resource_id: pulumi.Output[str]
    name: pulumi.Output[str]
    group: pulumi.Input[str]
    declared: containerservice.ManagedCluster | None  # None: an existing cluster
    provider: pulumi.ProviderResource | None = None  # of its subscription, if that is another
    profiles: Sequence[Any] = ()  # the pools in its inputs


def id_of(spec: ClusterSpec, args: GpuClusterWiring) -> str:
    """The cluster's ARM id, known before the cluster exists."""
    if spec.existing:
        return spec.existing.text
    group = args.get("resource_group", "<resource-group>")
    return azure_types.MANAGED_CLUSTER.id_of(
        spec.context.subscription_id, {"resourceGroupName": group, "resourceName": spec.name}
    )


def admins(spec: ClusterSpec, parent: pulumi.Resource) -> tuple[Principal, ...]:
    """The administrators: those in the settings, else whoever runs the program first.

    Whether the latter is a person or a program isn't known: `az login` returns the same for both.
    """
    return spec.access.administrators or (Principal(current_user.object_id(pulumi.InvokeOptions(parent=parent)), ""),)


def kubeconfig(spec: ClusterSpec, facts: ClusterFacts, cluster: Cluster, parent: pulumi.Resource) -> pulumi.Output[str]:
    """The text of a kubeconfig; a secret if it grants access by itself, as that of a cluster without Entra."""
    answer = told(
        containerservice.list_managed_cluster_user_credentials_output(
            resource_group_name=cluster.group,
            resource_name=cluster.name,
            opts=pulumi.InvokeOptions(parent=parent, provider=cluster.provider),
        )
    )

    def written(kubeconfigs: Sequence[containerservice.outputs.CredentialResultResponse]) -> str:
        found = cluster_kubeconfig.kubeconfig_of([{"value": each.value} for each in kubeconfigs])
        if not facts.entra:
            return json.dumps(found, indent=2)
        return cluster_kubeconfig.with_kubelogin(
            found,
            spec.name,
            spec.access.login or "azurecli",
            authority_host=spec.access.authority_host,
            disable_instance_discovery=spec.access.disable_instance_discovery,
        )

    # Azure's whole response is secret; the server and certificate that are kept of it are not.
    text = answer.kubeconfigs.apply(written)
    return pulumi.Output.unsecret(text) if facts.entra else pulumi.Output.secret(text)


def assign(
    name: str, spec: ClusterSpec, facts: ClusterFacts, cluster: Cluster, new: NewRoles, parent: pulumi.Resource
) -> list[authorization.RoleAssignment]:
    """The role of each administrator on the cluster, but of those who have it already. `new` notes those of this run."""
    opts = pulumi.ResourceOptions(parent=parent, hooks=new.hooks if spec.on_cluster else None)
    return [
        role_of_identity.assign(
            _name_of(name, admin) if spec.access.administrators else current_user.name_of_default(name),
            role=roles.AKS_RBAC_CLUSTER_ADMIN,
            scope=cluster.resource_id,
            principal_id=admin.object_id,
            kind=admin.kind,
            subscription_id=spec.existing.subscription if spec.existing else spec.context.subscription_id,
            opts=pulumi.ResourceOptions.merge(
                opts, _of_configured(name, admin, facts) if spec.access.administrators else _of_default(name, admin)
            ),
        )
        for admin in admins(spec, parent)
        if admin.object_id not in facts.already_admins
    ]


def usable(
    spec: ClusterSpec,
    config: pulumi.Output[str],
    assigned: Sequence[pulumi.Resource],
    new: NewRoles,
    parent: pulumi.Resource,
) -> pulumi.Output[str]:
    """The kubeconfig, available once the roles `assigned` exist and, if this run assigned one and creates objects on the cluster,
    once it works.

    A login that is still denied in the end gets a warning; a cluster that doesn't answer fails the run.
    """

    async def once_it_works(values: Sequence[str]) -> str:
        text = str(values[0])
        if new.assigned:
            await _until_allowed(spec, text, parent)
        return text

    return pulumi.Output.all(config, *(each.urn for each in assigned)).apply(once_it_works)


async def _until_allowed(spec: ClusterSpec, config: str, parent: pulumi.Resource) -> None:
    pulumi.log.info(f"waiting until the new role assignment takes effect, up to {roles.DELAY_MINUTES} minutes", parent)
    try:
        await asyncio.to_thread(api_server.wait_until_allowed, config, NEEDED, roles.DELAY_MINUTES * 60)
    except NotAllowedError as error:
        pulumi.log.warn(
            f"{spec.path}: {error}. Creating objects on the cluster may fail; the next `pulumi up` continues.", parent
        )
    except NotReachedError as error:
        raise pulumi.RunError(f"cluster {spec.name}: {error}") from None


def admitted(spec: ClusterSpec, config: pulumi.Output[str], served: Sequence[pulumi.Resource]) -> None:
    """Fails an update whose cluster would deny the pods of `served`, which are first created with the first GPU node."""
    if pulumi.runtime.is_dry_run() or not served or not called():
        return

    async def ask(values: Sequence[Any]) -> None:
        if why := await asyncio.to_thread(admission.check, str(values[0]), values[1]):
            raise pulumi.RunError(f"cluster {spec.name}: {why}")

    pods = list(admission.pods(list(serving.manifests(spec.objects))))
    pulumi.Output.all(config, pods, *(each.urn for each in served)).apply(ask)


_OF_ANY = ["principalType"]  # can't be changed; earlier assignments always have User


def _name_of(cluster: str, admin: Principal) -> str:
    return f"{cluster}-admin-{admin.object_id[:8]}"


def _of_default(name: str, runs: Principal) -> pulumi.ResourceOptions:
    """The assignment stays with whoever ran the first `up`, also if it was named after that administrator before."""
    return pulumi.ResourceOptions(
        ignore_changes=["principalId", *_OF_ANY],
        aliases=[pulumi.Alias(name=_name_of(name, runs))],
        transformations=[_without_kind],
    )


def _of_configured(name: str, admin: Principal, facts: ClusterFacts) -> pulumi.ResourceOptions:
    """A configured administrator who was the default before keeps that assignment, since Azure rejects a duplicate."""
    was_default = facts.admin.lower() == admin.object_id.lower()
    return pulumi.ResourceOptions(
        ignore_changes=_OF_ANY, aliases=[pulumi.Alias(name=current_user.name_of_default(name))] if was_default else None
    )


def _without_kind(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
    """Removes the principal's type, which isn't known: the SDK's default is User, and Azure rejects that for a program."""
    return pulumi.ResourceTransformationResult({**args.props, "principal_type": None}, args.opts)


def provider(
    name: str,
    spec: ClusterSpec,
    cluster: Cluster,
    config: pulumi.Output[str],
    before: Sequence[pulumi.Resource],
    parent: pulumi.Resource,
) -> kubernetes.Provider:
    """The Kubernetes provider of the cluster. Another kubeconfig for the same cluster replaces nothing; another cluster replaces
    all objects, even with the same id."""
    own = cluster.declared is not None
    return kubernetes.Provider(
        f"{name}-kubernetes",
        kubeconfig=config,
        cluster_identifier=cluster.resource_id,
        # An object that isn't declared any more doesn't block an update while the stack's cluster is unreachable, nor does one of
        # a state of before `deleted_with` block destroying it; objects that are missing in the state are adopted. Neither is safe
        # with an existing cluster, which stays; and who refreshes from outside the network or the ranges of a cluster that isn't
        # public would lose its objects from the state, after which a Job that has ended and gone is created, and runs, again.
        delete_unreachable=own and spec.access.network == "public",
        upsert_existing_objects=own,
        opts=pulumi.ResourceOptions(
            parent=parent,
            depends_on=list(before),
            replace_with=[cluster.declared] if cluster.declared is not None else None,
        ),
    )
