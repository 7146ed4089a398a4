"""Public addresses and Bastion hosts: kept, validated by their rules, and shown.

Source: Microsoft Learn, REST reference of Microsoft.Network 2024-05-01.
"""

from azure_gpu.formats import azure_types
from localazure.arm.errors import refused
from localazure.arm.kind import Change, Kind, merged
from localazure.arm.store import Body, Resource
from localazure.arm.words import number
from localazure.kinds.network_common import named, users_of
from localazure.services import Services


class PublicAddresses(Kind):
    azure_type = azure_types.PUBLIC_IP_ADDRESS

    def facts(self, change: Change) -> Body:
        return {"new": change.creating, "id": change.id.text}

    def defaults(self, change: Change) -> Body:
        name = (change.body.get("sku") or {}).get("name", "Basic")
        method = {"publicIPAllocationMethod": "Dynamic" if name == "Basic" else "Static"}
        return merged(super().defaults(change), {"properties": method})

    async def provision(self, change: Change) -> Body:
        """An address of those kept for documentation (RFC 5737): it leads nowhere."""
        shown: Body = {"ipAddress": f"203.0.113.{1 + number(change.id.key, 254)}"}
        label = (change.properties.get("dnsSettings") or {}).get("domainNameLabel")
        if label:
            shown["dnsSettings"] = {"fqdn": f"{label}.{change.body['location']}.cloudapp.azure.local"}
        return {"properties": shown}

    def live(self, resource: Resource, services: Services) -> Body:
        used = users_of(resource.key, "publicIPAddress", services)
        return {"properties": {"ipConfiguration": {"id": _configuration_of(used[0], resource.key)}} if used else {}}

    def check_removal(self, resource: Resource, services: Services) -> None:
        used = users_of(resource.key, "publicIPAddress", services)
        if used:
            by = _configuration_of(used[0], resource.key)
            raise refused("PublicIPAddressCannotBeDeleted", address=resource.id.text, by=by)


class BastionHosts(Kind):
    azure_type = azure_types.BASTION_HOST

    def check(self, change: Change) -> None:
        super().check(change)
        own: Body = (change.properties.get("ipConfigurations") or [{}])[0].get("properties") or {}
        address = str((own.get("publicIPAddress") or {}).get("id") or "").lower()
        for other in users_of(address, "publicIPAddress", change.services, but=change.id.key) if address else ():
            by = _configuration_of(other, address)
            raise refused("PublicIPAddressInUse", resource=change.id.text, address=address, by=by)

    def live(self, resource: Resource, services: Services) -> Body:  # noqa: ARG002
        given = resource.properties.get("ipConfigurations") or []
        parts = [merged({"properties": {"privateIPAllocationMethod": "Dynamic"}}, each) for each in given]
        return {"properties": {"ipConfigurations": named(parts, resource.id, "bastionHostIpConfigurations")} if parts else {}}


def _configuration_of(user: Resource, key: str) -> str:
    """The id of the configuration that uses an address."""
    kind = "bastionHostIpConfigurations" if user.id.is_type(azure_types.BASTION_HOST.arm_type) else "ipConfigurations"
    for each in user.properties.get("ipConfigurations") or ():
        if str(((each.get("properties") or {}).get("publicIPAddress") or {}).get("id") or "").lower() == key:
            return f"{user.id.text}/{kind}/{each['name']}"
    return user.id.text
