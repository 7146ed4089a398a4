"""Networks: what doesn't answer from outside of one, and what reaches nothing outside of it.

Everything that asks this Azure is outside: no network is imitated in which something could be.
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.store import Body, Resource
from localazure.services import Services
from localazure.weather.parts import NO_WAY_OUT, PRIVATE_CLUSTERS, PRIVATE_ENDPOINTS

NOWHERE = "http://192.0.2.1:9"  # of a range that nothing has: RFC 5737


def kubeconfig(cluster: Resource, text: str, server: str, services: Services) -> str:
    """The kubeconfig of a private cluster as AKS hands it out: with the name that its network knows. `server`: where it is."""
    private = (cluster.service.get("properties") or {}).get("privateFQDN")
    if not private or not services.weather.holds(PRIVATE_CLUSTERS):
        return text
    return text.replace(server, f"https://{private}:443")


def is_shut(resource: Resource, services: Services) -> bool:
    """Whether a resource answers by private endpoints alone."""
    return services.weather.holds(PRIVATE_ENDPOINTS) and resource.properties.get("publicNetworkAccess") == "Disabled"


def leads_nowhere(subnets: list[Body], services: Services) -> str:
    """The subnet without a way out among those of a container group, or "". One that isn't here is taken to have one."""
    for subnet in subnets if services.weather.holds(NO_WAY_OUT) else ():
        parsed = parse(str(subnet.get("id") or ""))
        is_subnet = parsed is not None and parsed.is_type(azure_types.SUBNET.arm_type)
        found = services.store.get(parsed.key) if parsed is not None and is_subnet else None
        if found is not None and not (found.properties.get("natGateway") or {}).get("id"):
            return found.id.name
    return ""


def proxies() -> dict[str, str]:
    """Variables by which programs reach nothing but this machine."""
    way = {name: NOWHERE for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
    return {**way, "no_proxy": "localhost,127.0.0.1", "NO_PROXY": "localhost,127.0.0.1"}
