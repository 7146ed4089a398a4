"""Soft-deleted resources: recoverable, and their names are taken, until their retention ends or they are purged.

They are documents of the store. Days count by the server's date, so that a clock fault lets time pass.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from azure_gpu.formats.arm_ids import parse
from localazure.arm.store import Body, Resource
from localazure.services import Services


@dataclass(frozen=True, slots=True)
class DeletedResource:
    """One deleted resource."""

    id: str  # as it was spelt
    location: str
    tags: dict[str, str]
    body: Body
    service: Body
    private: Body
    deleted_at: str
    purged_on: str  # from this day on the name is free

    @property
    def name(self) -> str:
        return self.id.rsplit("/", 1)[1]


class Bin:
    """The deleted resources of one type, by a key that its service chooses: a name in all of Azure, or an id."""

    def __init__(self, kind: str) -> None:
        self._prefix = f"deleted/{kind}/"

    def keep(self, key: str, resource: Resource, days: int, services: Services) -> None:
        last = services.clock.as_of + timedelta(days=days)
        kept = {
            "id": resource.id.text,
            "location": resource.location,
            "tags": resource.tags,
            "body": resource.body,
            "service": resource.service,
            "private": resource.private,
            "deleted_at": services.clock.stamp(),
            "purged_on": last.isoformat(),
        }
        services.store.put_document(self._prefix + key.lower(), kept)

    def find(self, key: str, services: Services) -> DeletedResource | None:
        """None where nothing of this key was deleted, or its time is over."""
        name = self._prefix + key.lower()
        kept = services.store.document(name)
        found = DeletedResource(**kept) if kept else None
        if found is not None and found.purged_on <= services.clock.as_of.isoformat():
            self.forget(key, services)
            return None
        return found

    def all(self, services: Services) -> Iterator[DeletedResource]:
        for name in services.store.documents(self._prefix):
            found = self.find(name.removeprefix(self._prefix), services)
            if found is not None:
                yield found

    def forget(self, key: str, services: Services) -> None:
        """What was deleted is gone for good, or came back."""
        services.store.delete_document(self._prefix + key.lower())
        services.store.delete_document(self._parts(key))

    # What lay below it, and comes back with it

    def keep_part(self, key: str, part: Resource, services: Services) -> None:
        """`part` goes because what has this key goes."""
        kept = services.store.document(self._parts(key)) or {}
        kept[part.id.text] = {"body": part.body, "service": part.service, "private": part.private, "created_at": part.created_at}
        services.store.put_document(self._parts(key), kept)

    def restore_parts(self, key: str, services: Services) -> None:
        now = services.clock.stamp()
        for text, kept in (services.store.document(self._parts(key)) or {}).items():
            parsed = parse(text)
            if parsed is not None and services.store.get(parsed.key) is None:
                services.store.put(Resource(id=parsed, **kept, changed_at=now))

    def _parts(self, key: str) -> str:
        return f"parts-of-{self._prefix}{key.lower()}"
