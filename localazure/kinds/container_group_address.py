"""The address of a container group: its ports, its DNS name label, and what the service shows of them.

The address is this machine's: `127.0.0.1`, and a name that no name server knows. Codes and sentences of the service were read in
  - MissingIpAddressPorts, UnreferencedIpAddressPorts: hashicorp/terraform-provider-azurerm issues 1697 and 5091
  - the sentence of an invalid label: derekbekoe/vscode-spot issue 38; of a taken one: shahiddev/docker-k8s-workshop pull 2
  - the code DnsNameLabelNotAvailable: read in two public troubleshooting tables alone
That two containers of a group can't have the same port: terraform-provider-azurerm issue 11102.
"""

import hashlib
import re
from collections.abc import Iterator

from azure_gpu.catalog.services.container_instances_parts import MOST_PORTS, PORTS
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse as parse_id
from localazure.arm.errors import ArmError
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.kinds.container_group_form import PROTOCOLS, refusal

ADDRESS = "127.0.0.1"
SUFFIX = "azurecontainer.local"
UNSECURE = "Unsecure"
_LABEL = re.compile(r"[a-z](?:[a-z0-9-]{3,61})[a-z0-9]")
_SUBNET = "Microsoft.Network/virtualNetworks/subnets"
Port = tuple[int, str]


def malformed(group: str, properties: Body) -> Iterator[ArmError]:
    """What is wrong with the address and the network, only from the body."""
    yield from _repeated_ports(properties.get("containers") or [])
    subnets, address = properties.get("subnetIds") or [], properties.get("ipAddress")
    for index, subnet in enumerate(subnets):
        parsed = parse_id(subnet["id"])
        if parsed is None or not parsed.is_type(_SUBNET):
            yield refusal(f"properties.subnetIds[{index}].id", f"'{subnet['id']}' is not the id of a subnet.")
    if properties.get("dnsConfig") and not subnets:
        yield refusal("properties.dnsConfig", "'dnsConfig' requires a container group in a virtual network.")
    if address:
        yield from _malformed_address(group, address, properties, in_network=bool(subnets))


def _malformed_address(group: str, address: Body, properties: Body, *, in_network: bool) -> Iterator[ArmError]:
    path = "properties.ipAddress"
    if address["type"] not in ("Public", "Private"):
        yield refusal(f"{path}.type", f"The type '{address['type']}' of an ipAddress isn't one of Public, Private.")
    elif in_network != (address["type"] == "Private"):
        network = "in a virtual network" if in_network else "outside of any virtual network"
        yield refusal(f"{path}.type", f"A container group {network} can't have a {address['type'].lower()} address.")
    ports = [_port(port) for port in address["ports"]]
    if not ports:
        message = f"The ports in the 'ipAddress' of container group '{group}' cannot be empty."
        yield refusal(f"{path}.ports", message, "MissingIpAddressPorts")
    if len(ports) > MOST_PORTS:
        yield refusal(f"{path}.ports", f"The 'ipAddress' of container group '{group}' has more than {MOST_PORTS} ports.")
    if len(set(ports)) < len(ports):
        yield refusal(f"{path}.ports", f"The 'ipAddress' of container group '{group}' has the same port twice.")
    for number, protocol in ports:
        if number not in PORTS or protocol not in PROTOCOLS:
            yield refusal(f"{path}.ports", f"'{number}/{protocol}' isn't a valid port; allowed: 1 to {PORTS[-1]}, TCP or UDP.")
    used = {_port(port) for container in properties["containers"] for port in container["properties"].get("ports") or []}
    unused = [str(number) for number, protocol in ports if (number, protocol) not in used]
    if unused:
        message = (
            f"Following ports '{','.join(unused)}' in the 'ipAddress' are not used by any container in container group '{group}'."
        )
        yield refusal(f"{path}.ports", message, "UnreferencedIpAddressPorts")
    label = address.get("dnsNameLabel")
    if label is not None and not _LABEL.fullmatch(label):
        message = (
            f"The DNS name label '{label}' in container group '{group}' is invalid. It can contain only lowercase letters, "
            "numbers and hyphens. The first character must be a letter. The last character must be a letter or number. The value "
            "must be between 5 and 63 characters long."
        )
        yield refusal(f"{path}.dnsNameLabel", message)
    if label is not None and address["type"] == "Private":
        yield refusal(f"{path}.dnsNameLabel", "A private address takes no DNS name label.")


def _repeated_ports(containers: list[Body]) -> Iterator[ArmError]:
    seen: dict[Port, str] = {}
    for index, container in enumerate(containers):
        for port in container["properties"].get("ports") or []:
            number, protocol = _port(port)
            first = seen.setdefault((number, protocol), container["name"])
            if first != container["name"]:
                message = f"The containers '{first}' and '{container['name']}' both have the port {number}/{protocol}."
                yield refusal(f"properties.containers[{index}].properties.ports", message)


def _port(port: Body) -> Port:
    return port["port"], (port.get("protocol") or "TCP").upper()


def check_label(change: Change) -> None:
    """ArmError where another group has the same name in DNS."""
    requested = fqdn(change.id.resource_group, change.body)
    if not requested:
        return
    for other in change.services.store.of_type(azure_types.CONTAINER_GROUP.arm_type):
        if other.key != change.id.key and fqdn(other.id.resource_group, other.body) == requested:
            label = change.properties["ipAddress"]["dnsNameLabel"]
            message = (
                f"The DNS name label '{label}' in container group '{change.id.name}' not available. Try using a different label."
            )
            raise refusal("properties.ipAddress.dnsNameLabel", message, "DnsNameLabelNotAvailable")


def answered(resource: Resource) -> Body:
    """What the service adds to `ipAddress`: the address, and the name of one with a label."""
    if not resource.properties.get("ipAddress"):
        return {}
    name = fqdn(resource.id.resource_group, resource.body)
    return {"ip": ADDRESS, **({"fqdn": name} if name else {})}


def fqdn(resource_group: str, body: Body) -> str:
    """The name in DNS; "" without a label. A scope other than Unsecure puts a hash between label and region, as in Azure."""
    address = body["properties"].get("ipAddress") or {}
    label = address.get("dnsNameLabel")
    if not label:
        return ""
    scope = address.get("autoGeneratedDomainNameLabelScope", UNSECURE)
    within = {
        "TenantReuse": "tenant",
        "SubscriptionReuse": "subscription",
        "ResourceGroupReuse": f"group {resource_group.lower()}",
        "Noreuse": f"group {resource_group.lower()}, never again",
    }.get(scope)
    between = f"{hashlib.sha256(f'{within} {label}'.encode()).hexdigest()[:16]}." if within else ""
    return f"{label}.{between}{body['location']}.{SUFFIX}"
