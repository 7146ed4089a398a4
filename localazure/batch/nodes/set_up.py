"""Prepares a node before its start task: the pool's application packages, file systems and container images.

That a node of a closed account needs a DNS record of a private endpoint: Microsoft Learn, batch/private-connectivity; that it is
unusable without one: MicrosoftDocs/SupportArticles-docs pull request 1368 (2024-02-02). The code and its words aren't recorded.
"""

import asyncio

from azure_gpu.formats import azure_types
from localazure.arm.store import Resource
from localazure.batch.failures import NodeError
from localazure.batch.nodes import container_images, mounts, mpi, node_programs, packages
from localazure.batch.nodes.node import Node
from localazure.kinds import endpoint_interfaces
from localazure.services import Services
from localazure.weather import role_delay

_GROUP = "nodemanagement"


async def prepare(node: Node) -> None:
    """NodeError where something of it isn't available: the node is unusable then."""
    services = node.context.services
    await role_delay.machine_starts(services)
    _check_reach(node.context.account, services)
    await asyncio.to_thread(mounts.mount, node.settings.mounts, node.root, services)
    node.package_variables = await packages.of_pool(node.settings.packages, node)
    await container_images.prefetch(node.settings, services)
    await asyncio.to_thread(node_programs.install_gpus, node.folder, node.id, node.record["allocated"], node.settings)
    await asyncio.to_thread(node_programs.install_hostname, node.folder, node.id, node.address)
    if mpi.brought_by(node.settings):
        await mpi.install(node)


def _check_reach(account: str, services: Services) -> None:
    """NodeError where the account is closed to the public and no zone has the name of its private endpoint for nodes."""
    found = services.store.get(account)
    if found is None or found.properties.get("publicNetworkAccess") != "Disabled":
        return
    groups = services.store.of_type(azure_types.PRIVATE_DNS_ZONE_GROUP.arm_type)
    registered = {each.id.scope.lower() for each in groups if each.properties.get("privateDnsZoneConfigs")}
    endpoints = services.store.of_type(azure_types.PRIVATE_ENDPOINT.arm_type)
    if not any(each.key in registered and _leads_to(each, found) for each in endpoints):
        raise NodeError("NodeNotReady", Message="No private DNS zone has the name of the account's node management endpoint.")


def _leads_to(endpoint: Resource, account: Resource) -> bool:
    return any(
        str(each.get("privateLinkServiceId")).lower() == account.key
        and _GROUP in {str(group).lower() for group in each.get("groupIds") or ()}
        for each in endpoint_interfaces.links_of(endpoint)
    )
