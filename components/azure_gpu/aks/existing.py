"""Reads an existing AKS cluster, which is never changed, into `ClusterFacts`; reports one that is missing or elsewhere. Of a new
cluster it reads the network."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_azure_native import containerservice

from azure_gpu.aks import own_network
from azure_gpu.aks.read_pools import NOT_THERE, InState
from azure_gpu.aks.rules import no_route
from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.services.aks import kubernetes_versions
from azure_gpu.catalog.services.aks.network import NOT_READ, NetworkAddresses
from azure_gpu.formats import azure_types
from azure_gpu.shared import existing
from azure_gpu.shared.look_up import OF_STACK, AskedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """Properties of a cluster that its objects depend on. For a created cluster they are known beforehand."""

    entra: bool = True  # logins use Entra
    azure_rbac: bool = True  # role assignments in Azure grant permissions
    issuer_url: str = ""  # of the tokens of its service accounts; empty: none, or not known yet
    kubelet_object_id: str = ""  # of its nodes' identity; empty: none, or not known yet
    pools: InState = NOT_THERE  # in the state
    network: NetworkAddresses = NOT_READ  # of the subnet of its nodes; empty: AKS creates one, or not known
    admin: str = ""  # object id of its default administrator in the state; empty: none, or unreadable
    already_admins: frozenset[str] = frozenset()  # object ids of administrators by assignments outside of the stack


def look_up(spec: ClusterSpec, asked_by: AskedBy = OF_STACK) -> tuple[ClusterFacts, list[Problem]]:
    """Reads an existing cluster, or the network that a new one will be in."""
    if spec.existing is None:
        addresses, problems = own_network.look_up(spec, asked_by)
        return ClusterFacts(network=addresses), problems
    path = f"{spec.path}.existing"
    found, problems = existing.read(
        lambda group, name, opts: containerservice.get_managed_cluster(resource_group_name=group, resource_name=name, opts=opts),
        azure_types.MANAGED_CLUSTER,
        spec.existing,
        path,
        asked_by,
        spec.context.subscription_id,
    )
    if found is None:
        return ClusterFacts(), problems
    if regions.normalise(found.location) != spec.location:
        problems.append(_elsewhere(spec, found.location, path))
    private = found.api_server_access_profile is not None and bool(found.api_server_access_profile.enable_private_cluster)
    if private and spec.on_cluster and not spec.access.reachable:
        problems.append(no_route(f"{spec.path}.access.reachable"))
    day = spec.context.day
    of_version = kubernetes_versions.check(found.kubernetes_version or "", day, path) if found.kubernetes_version else []
    problems += [problem._replace(severity=Severity.WARNING) for problem in of_version]  # only its owner can change it
    facts = ClusterFacts(
        entra=found.aad_profile is not None,
        azure_rbac=found.aad_profile is not None and bool(found.aad_profile.enable_azure_rbac),
        issuer_url=issuer_url(found),
        kubelet_object_id=kubelet_object_id(found),
    )
    return facts, problems


def kubelet_object_id(cluster: containerservice.GetManagedClusterResult) -> str:
    """Object id of the identity with which the cluster's nodes pull images; empty if it has none."""
    kubelet = (cluster.identity_profile or {}).get("kubeletidentity")
    return (kubelet.object_id or "") if kubelet is not None else ""


def issuer_url(cluster: containerservice.GetManagedClusterResult) -> str:
    """Issuer of the tokens of its service accounts; empty without one."""
    return (cluster.oidc_issuer_profile.issuer_url if cluster.oidc_issuer_profile else "") or ""


def _elsewhere(spec: ClusterSpec, location: str, path: str) -> Problem:
    return Problem(
        path=path,
        message=f"the cluster is in {location}, but its pools would be in {spec.location}",
        value=spec.existing.text if spec.existing else None,
        allowed="a cluster in the region of its pools",
        fix=f"set {spec.path}.location: {regions.normalise(location)}, or name a cluster in {spec.location}",
    )
