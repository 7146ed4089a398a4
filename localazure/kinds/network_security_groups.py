"""Network security groups, and their rules, which stand in a group's body or are separate resources: it is the same rules.

A group's body says all of its rules: one without any takes them away. Source: Microsoft Learn, REST reference of
Microsoft.Network 2024-05-01; what is shown: Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01).
"""

from collections.abc import Iterable
from datetime import date

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from localazure import evidence
from localazure.arm import refusals as table
from localazure.arm.errors import refused
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.kinds.network_common import etag, keep_members, named, users_of
from localazure.kinds.stored import type_of
from localazure.services import Services

SECURITY_RULE = type_of("Microsoft.Network/networkSecurityGroups/securityRules")


class NetworkSecurityGroups(Kind):
    azure_type = azure_types.NETWORK_SECURITY_GROUP

    def check(self, change: Change) -> None:
        given = change.properties.get("securityRules") or ()
        rules = ((str(rule.get("name") or ""), rule.get("properties") or {}) for rule in given)
        check_rules(rules, change.as_of)

    async def provision(self, change: Change) -> Body:
        change.body["properties"] = {**change.properties, "securityRules": change.properties.get("securityRules") or []}
        keep_members(change, "securityRules", SECURITY_RULE)
        return {}

    def live(self, resource: Resource, services: Services) -> Body:
        waiting: list[Body] = resource.properties.get("securityRules") or []  # in the answer to a PUT that has just begun
        rules = named(waiting, resource.id, "securityRules") if waiting else shown_rules(resource.id, services)
        shown: Body = {"securityRules": rules, "defaultSecurityRules": _default_rules(resource)}
        users = users_of(resource.key, "networkSecurityGroup", services)
        for name, kind in (("networkInterfaces", azure_types.NETWORK_INTERFACE), ("subnets", azure_types.SUBNET)):
            found = [{"id": one.id.text} for one in users if one.id.is_type(kind.arm_type)]
            if found:
                shown[name] = found
        return {"properties": shown}

    def check_removal(self, resource: Resource, services: Services) -> None:
        used = users_of(resource.key, "networkSecurityGroup", services)
        if used:
            by = ", ".join(one.id.text for one in used)
            raise refused("InUseNetworkSecurityGroupCannotBeDeleted", group=resource.id.text, by=by)


class SecurityRules(Kind):
    azure_type = SECURITY_RULE

    def check(self, change: Change) -> None:
        others = [one for one in rules_of(change.id.scope, change.services) if one.key != change.id.key]
        check_rules([*((one.id.name, one.properties) for one in others), (change.id.name, change.properties)], change.as_of)


def check_rules(rules: Iterable[tuple[str, Body]], as_of: date) -> None:
    """The rules of one group by name and properties. ArmError for the last one that doesn't fit to those before it."""
    seen: dict[tuple[str, int], str] = {}
    for name, properties in rules:
        place = (str(properties.get("direction")).lower(), properties.get("priority", 0))
        facts = {"taken": seen.get(place, "")}
        table.judge(SECURITY_RULE.arm_type, {"name": name, "properties": properties}, as_of, facts=facts)
        seen[place] = name


def rules_of(group: str, services: Services) -> list[Resource]:
    return services.store.of_type(SECURITY_RULE.arm_type, group)


def shown_rules(group: ArmId, services: Services) -> list[Body]:
    return [
        {
            "id": one.id.text,
            "name": one.id.name,
            "type": one.id.type,
            "etag": etag(one),
            "properties": {**one.properties, "provisioningState": "Succeeded"},
        }
        for one in rules_of(group.text, services)
    ]


def _default_rules(group: Resource) -> list[Body]:
    rules = [
        {
            "name": name,
            "properties": {
                "description": description,
                "protocol": "*",
                "sourcePortRange": "*",
                "destinationPortRange": "*",
                "sourceAddressPrefix": source,
                "destinationAddressPrefix": destination,
                "access": name.partition("Deny")[1] or "Allow",
                "priority": priority,
                "direction": direction,
                **evidence.types()[SECURITY_RULE.arm_type]["defaults"]["properties"],
            },
        }
        for name, priority, direction, source, destination, description in evidence.types()[
            azure_types.NETWORK_SECURITY_GROUP.arm_type
        ]["default_rules"]
    ]
    return named(rules, group.id, "defaultSecurityRules")
