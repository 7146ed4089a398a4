"""Networks: what doesn't answer from outside of one, and what reaches nothing outside of it.

Everything that asks this Azure is outside, unless the fault `inside` names the network that it is in. There, a private endpoint
is reached by a name of a zone that is linked to the network (Microsoft Learn, private-link/private-endpoint-dns).
"""

from azure_gpu.formats import azure_types
from localazure.arm.store import Body, Resource
from localazure.kinds import endpoint_interfaces
from localazure.services import Services

NOWHERE = "http://192.0.2.1:9"  # of a range that nothing has: RFC 5737


def kubeconfig(cluster: Resource, text: str, server: str, services: Services) -> str:
    """The kubeconfig of a private cluster as AKS hands it out: with the name that its network knows. `server`: where it is."""
    private = (cluster.service.get("properties") or {}).get("privateFQDN")
    if not private or not services.weather.holds("private-clusters"):
        return text
    pools = services.store.of_type(azure_types.AGENT_POOL.arm_type, cluster.key)
    if {_network(str(pool.properties.get("vnetSubnetID"))) for pool in pools} & services.deviations.networks():
        return text  # where this name resolves
    return text.replace(server, f"https://{private}:443")


def is_shut(resource: Resource, services: Services) -> bool:
    """Whether a resource answers by private endpoints alone, none of which is reached."""
    return resource.properties.get("publicNetworkAccess") == "Disabled" and not by_endpoint(resource.key, services)


def by_endpoint(key: str, services: Services) -> bool:
    """Whether the private endpoints of a resource are reached, as all are without the weather's part."""
    if not services.weather.holds("private-endpoints"):
        return True
    networks = services.deviations.networks()
    endpoints = services.store.of_type(azure_types.PRIVATE_ENDPOINT.arm_type) if networks else ()
    return any(
        _leads_to(endpoint, key) and network in networks and _is_named(endpoint, network, services)
        for endpoint in endpoints
        for network in [_network(str((endpoint.properties.get("subnet") or {}).get("id")))]
    )


def _leads_to(endpoint: Resource, key: str) -> bool:
    return any(str(each.get("privateLinkServiceId")).lower() == key for each in endpoint_interfaces.links_of(endpoint))


def _is_named(endpoint: Resource, network: str, services: Services) -> bool:
    """Whether the network resolves its names: by a linked zone, or one of the company, where a policy registers names."""
    groups = services.store.of_type(azure_types.PRIVATE_DNS_ZONE_GROUP.arm_type, endpoint.key)
    if not groups:
        return services.weather.holds("landing-zone")
    zones = [
        str((each.get("properties") or each).get("privateDnsZoneId"))
        for group in groups
        for each in group.properties.get("privateDnsZoneConfigs") or ()
    ]
    links = [link for zone in zones for link in services.store.of_type(azure_types.PRIVATE_ZONE_LINK.arm_type, zone.lower())]
    return any(str((link.properties.get("virtualNetwork") or {}).get("id")).lower() == network for link in links)


def _network(subnet_id: str) -> str:
    return subnet_id.lower().rpartition("/subnets/")[0]


def leads_nowhere(subnets: list[Body], services: Services) -> str:
    """The subnet without a way out among those of a container group, or "". One that isn't here is taken to have one."""
    for subnet in subnets if services.weather.holds("no-way-out") else ():
        found = services.store.at(str(subnet.get("id") or ""), azure_types.SUBNET)
        if found is not None and not (found.properties.get("natGateway") or {}).get("id"):
            return found.id.name
    return ""


def proxies() -> dict[str, str]:
    """Variables by which programs reach nothing but this machine."""
    way = {name: NOWHERE for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
    return {**way, "no_proxy": "localhost,127.0.0.1", "NO_PROXY": "localhost,127.0.0.1"}
