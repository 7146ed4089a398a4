"""What the engine keeps of an online endpoint once its template has changed it: what Azure then shows, so that nothing drifts.

In: the endpoint as Azure shows it after the template, and what was declared. Out: the outputs that the engine is to keep. A
refresh compares them with what Azure shows by then, and knows no `ignore_changes`: pulumi-azure-native doesn't ask for it. Left
as they were when the endpoint was created, without traffic, every refresh would call its traffic a change; taken as Azure shows
them, it would never find one that somebody else has made. So whatever is declared here stays as it was declared.
"""

from collections.abc import Mapping
from typing import Any

LOOKUP = "azure-native:machinelearningservices:getOnlineEndpoint"
# All that Azure shows of one, as the provider keeps it.
OUTPUTS = ("azureApiVersion", "id", "identity", "kind", "location", "name", "properties", "sku", "systemData", "tags", "type")


def kept(
    shown: Mapping[str, Any], body: Mapping[str, Any], traffic: Mapping[str, int], mirror: Mapping[str, int]
) -> dict[str, Any]:
    """`shown`: by the names of ARM. `body`: location, tags, identity and properties as they were declared."""
    found: dict[str, Any] = dict(shown.get("properties") or {})
    for name, declared in (("traffic", traffic), ("mirrorTraffic", mirror)):
        if _without_nothing(found.get(name) or {}) != _without_nothing(declared):
            found[name] = dict(declared)
    declared_properties: Mapping[str, Any] = body["properties"]
    for name in ("authMode", "publicNetworkAccess", "description"):
        if (found.get(name) or None) != declared_properties.get(name):
            found[name] = declared_properties.get(name)
    return {**shown, "properties": {name: value for name, value in found.items() if value is not None}, "tags": body["tags"]}


def scoring_uri_of(shown: Mapping[str, Any]) -> str:
    """Where requests go; empty where Azure doesn't say."""
    properties: Mapping[str, Any] = shown.get("properties") or {}
    return str(properties.get("scoringUri") or "")


def _without_nothing(shares: Mapping[str, Any]) -> dict[str, int]:
    """A share of 0 is as good as none."""
    return {name: int(share) for name, share in shares.items() if share}
