"""Resource ids of Azure Resource Manager (ARM), read and compared as ARM does: without regard to letter case.

`/subscriptions/S/resourceGroups/G/providers/Microsoft.X/parents/P/children/C` is of type `Microsoft.X/parents/children`.
A role assignment hangs under another resource's id: the last `/providers/` counts.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArmId:
    """One parsed id. `text` keeps the spelling that was given; `key` is what equality means in ARM."""

    text: str
    subscription: str
    resource_group: str  # "" for what lies outside of a group
    type: str  # "Microsoft.ContainerInstance/containerGroups"; "Microsoft.Resources/resourceGroups" for a group itself
    name: str
    scope: str  # the id that this one hangs under: the parent, the resource group, or the resource that an extension is about

    @property
    def key(self) -> str:
        return self.text.lower()

    def is_type(self, arm_type: str) -> bool:
        return self.type.lower() == arm_type.lower()


SUBSCRIPTION_TYPE = "Microsoft.Resources/subscriptions"
RESOURCE_GROUP_TYPE = "Microsoft.Resources/resourceGroups"


def parse(text: str) -> ArmId | None:
    """The id that `text` spells, or None where it isn't one. Doubled slashes, which some clients send, count as one."""
    segments = [segment for segment in text.split("/") if segment]
    if not text.startswith("/") or len(segments) < 2 or segments[0].lower() != "subscriptions":
        return None
    clean = "/" + "/".join(segments)
    subscription = segments[1]
    if len(segments) == 2:
        return ArmId(clean, subscription, "", SUBSCRIPTION_TYPE, subscription, "")
    in_group = len(segments) >= 4 and segments[2].lower() == "resourcegroups"
    group = segments[3] if in_group else ""
    if in_group and len(segments) == 4:
        return ArmId(clean, subscription, group, RESOURCE_GROUP_TYPE, group, f"/subscriptions/{subscription}")
    providers = [index for index, segment in enumerate(segments) if segment.lower() == "providers"]
    if not providers:
        return None
    last = providers[-1]
    pairs = segments[last + 2 :]
    if last + 1 >= len(segments) or not pairs or len(pairs) % 2:
        return None
    arm_type = "/".join([segments[last + 1], *pairs[::2]])
    scope = segments[:last] if len(pairs) == 2 else segments[:-2]
    return ArmId(clean, subscription, group, arm_type, pairs[-1], "/" + "/".join(scope))
