"""Private networks: the DNS zones of private endpoints, the subnets of a network and their sizes, with the rules about them."""

import ipaddress
import re
from collections.abc import Iterator, Sequence
from datetime import date
from ipaddress import IPv4Network

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.aks.addresses import DEFAULT_POD_CIDR, DEFAULT_SERVICE_CIDR, OVERLAP_PAGE
from azure_gpu.catalog.services.machine_learning.workspaces import PRIVATE_ZONES, PRIVATE_ZONES_PAGE
from azure_gpu.catalog.sources import Dated, Source

JOBS_PAGE = Source("Microsoft Learn, container-apps/networking, Environment selection", Dated.OBSERVED, date(2026, 11, 29))
TASKS_PAGE = Source(
    "Microsoft Learn, container-registry/manage-network-bypass-policy-for-tasks", Dated.OBSERVED, date(2026, 11, 29)
)
BLOB_ZONE = "privatelink.blob.core.windows.net"
FILE_ZONE = "privatelink.file.core.windows.net"
REGISTRY_ZONE = "privatelink.azurecr.io"
VAULT_ZONE = "privatelink.vaultcore.azure.net"
BATCH_ZONE = "privatelink.batch.azure.com"
ML_ZONES = PRIVATE_ZONES
ZONES = (BLOB_ZONE, FILE_ZONE, REGISTRY_ZONE, VAULT_ZONE, BATCH_ZONE, *ML_ZONES)
"""The zones that names of private endpoints are in. Source: `PRIVATE_ZONES_PAGE`."""

DEFAULT_ADDRESS_SPACE = "10.72.0.0/20"
LONGEST_PREFIX = 23  # of the whole network: its subnet for jobs has a sixteenth of it, and Container Apps requires a /27
_ZONE = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft.Network/privateDnsZones/([^/]+)", re.IGNORECASE
)
ENDPOINTS, JOBS, MACHINES, CLUSTERS, POOLS = "endpoints", "jobs", "machines", "clusters", "pools"


def subnets(address_space: str) -> dict[str, str]:
    """Returns the ranges of the subnets: a quarter each for the nodes of clusters and of Batch pools, a sixteenth each for
    endpoints, jobs and machines; the rest stays free."""
    first, clusters, pools, _ = IPv4Network(address_space).subnets(2)
    endpoints, jobs, machines, _ = first.subnets(2)
    ranges = {ENDPOINTS: endpoints, JOBS: jobs, MACHINES: machines, CLUSTERS: clusters, POOLS: pools}
    return {name: str(each) for name, each in ranges.items()}


def check_space(address_space: str, path: str) -> Iterator[Problem]:
    """The problems of the addresses of a network."""
    try:
        given = IPv4Network(address_space)
    except ValueError:
        fix = f"write {DEFAULT_ADDRESS_SPACE}"
        yield Problem(
            path, "not a valid address range", address_space, f"such as {DEFAULT_ADDRESS_SPACE}", fix, source=str(JOBS_PAGE)
        )
        return
    if given.prefixlen > LONGEST_PREFIX:
        yield Problem(
            path=path,
            message="the network is too small: the subnet for jobs has a sixteenth of it, and Container Apps requires a /27",
            value=address_space,
            allowed=f"/{LONGEST_PREFIX} or larger",
            fix=f"write {given.network_address}/20",
            source=str(JOBS_PAGE),
            code=Code.IMPOSSIBLE,
        )
    for what, taken in (("services", DEFAULT_SERVICE_CIDR), ("pods", DEFAULT_POD_CIDR)):
        if given.overlaps(ipaddress.IPv4Network(taken)):
            yield Problem(
                path=path,
                message=f"overlaps the addresses of a cluster's {what}, {taken}",
                value=address_space,
                allowed=f"a range without addresses of {DEFAULT_SERVICE_CIDR} and {DEFAULT_POD_CIDR}",
                fix=f"write {DEFAULT_ADDRESS_SPACE}",
                source=str(OVERLAP_PAGE),
                code=Code.IMPOSSIBLE,
            )


def check_zones(zones: Sequence[str], path: str) -> Iterator[Problem]:
    """The problems of the ids of existing zones."""
    seen: set[str] = set()
    for index, zone in enumerate(zones):
        found = _ZONE.fullmatch(zone)
        if found is None:
            yield Problem(
                path=f"{path}[{index}]",
                message="not a valid private DNS zone",
                value=zone,
                allowed="/subscriptions/<id>/resourceGroups/<name>/providers/Microsoft.Network/privateDnsZones/<name>",
                fix="`az network private-dns zone show --query id` prints it",
                source=str(PRIVATE_ZONES_PAGE),
            )
            continue
        name = found[1].lower()
        if name in seen or name not in ZONES:
            yield Problem(
                path=f"{path}[{index}]",
                message="the zone is listed twice: a network resolves a name in one of them"
                if name in seen
                else "no private endpoint of this stack has a name in this zone",
                value=zone,
                allowed=f"one each of {', '.join(ZONES)}",
                fix="remove it",
                source=str(PRIVATE_ZONES_PAGE),
                code=Code.IMPOSSIBLE,
            )
        seen.add(name)
