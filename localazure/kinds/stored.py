"""Types that are stored and shown, and do nothing: one class for all rows of `localazure/evidence/types.toml` without one.

Tokens and names in the paths of types that the program doesn't declare are those of pulumi-azure-native 3.29, as in
`azure_gpu.formats.azure_types`.
"""

import copy
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from azure_gpu.formats import azure_types, conditions
from azure_gpu.formats.arm_ids import ArmId, parse
from azure_gpu.formats.azure_types import AzureType
from localazure import evidence
from localazure.arm import removal
from localazure.arm.kind import Change, Kind, merged
from localazure.arm.store import Body, Resource, Store
from localazure.kinds import attached_identities
from localazure.kinds.network_common import missing_reference
from localazure.services import SUBSCRIPTION, Services

_GROUP = "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}"


class Stored(Kind):
    """A type with the rules of its row: what can be attached to it, what it refers to, and what lies below it."""

    def check(self, change: Change) -> None:
        if "has_identity" in self.row:
            attached_identities.check(change)
        super().check(change)
        self.check_references(change)

    def check_references(self, change: Change) -> None:
        for path, arm_type in self.row.get("references", {}).items():
            for given in conditions.found(path, "set", change.body, {}):
                check_reference({"id": given}, change, arm_type)

    def begun(self, change: Change) -> Body:
        own = attached_identities.own(change.stored, change.services) if "has_identity" in self.row else {}
        return merged(own, super().begun(change))

    def view(self, resource: Resource, services: Services) -> Body:
        shown = super().view(resource, services)
        return attached_identities.shown(shown, services) if "has_identity" in self.row else shown

    def check_removal(self, resource: Resource, services: Services) -> None:
        super().check_removal(resource, services)
        if "kept_by" in self.row:
            removal.refuse_with_children(resource, self.row["kept_by"], services)

    def implied(self, resource_id: ArmId, store: Store) -> Resource | None:
        above = store.get(self.parent_id(resource_id))
        return self._below(above) if above is not None and resource_id.name.lower() == self.row.get("singleton") else None

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        found = super().listed(scope, conditions, services)
        above = services.store.get(scope)
        return [self._below(above)] if not found and above is not None and "singleton" in self.row else found

    def _below(self, above: Resource) -> Resource:
        """The one resource of a type that is there with its parent, as it is before it is changed."""
        name = parse(f"{above.id.text}/{self.arm_type.rsplit('/', 1)[1]}/{self.row['singleton']}")
        if name is None:
            raise ValueError(f"the id of what lies above is none: {above.id.text!r}")
        return Resource(id=name, body=copy.deepcopy(self.row["defaults"]))


def without_class(others: tuple[Kind, ...]) -> Iterator[Kind]:
    """A type for each row of the table that none of `others` serves."""
    served = {each.arm_type for each in others}
    yield from (of(arm_type) for arm_type in evidence.types() if arm_type not in served)


def of(arm_type: str) -> Kind:
    return type("Stored", (Stored,), {"azure_type": type_of(arm_type)})()


def type_of(arm_type: str) -> AzureType:
    """A type of the table. KeyError for one that neither the program nor the table declares."""
    return _declared()[arm_type]


@functools.cache
def _declared() -> Mapping[str, AzureType]:
    found = {each.arm_type: each for each in azure_types.ALL}
    for arm_type, row in evidence.types().items():
        if "declared_as" in row:
            token, *names = row["declared_as"]
            namespace, *kinds = arm_type.split("/")
            steps = "".join(f"/{kind}/{{{name}}}" for kind, name in zip(kinds, names, strict=True))
            found[arm_type] = AzureType(token, arm_type, f"{_GROUP}/providers/{namespace}{steps}")
    return found


def check_reference(reference: Any, change: Change, arm_type: str) -> str:
    """The id in `{"id": …}`, whose resource has to be there; "" where nothing is given."""
    given = str((reference or {}).get("id") or "")
    if not given:
        return ""
    parsed = parse(given)
    if parsed is None or not parsed.is_type(arm_type) or parsed.subscription != SUBSCRIPTION:
        raise missing_reference(given, change.id.text)
    if change.services.store.get(parsed.key) is None:
        raise missing_reference(given, change.id.text)
    return given
