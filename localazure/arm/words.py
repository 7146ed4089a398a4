"""Words in braces that stand for a value in the table of types, `localazure/evidence/types.toml`: `{name}`, `{now}`, `{new id}`.

A text that is one word alone becomes the word's value, whatever its type. GUIDs and etags of a resource are always the same.
Among defaults `{@path}` is a fact, and `{was.path}` what stood there.
"""

import copy
import hashlib
import re
import uuid
from collections.abc import Callable
from typing import Any

from azure_gpu.formats.conditions import Judged, value_at
from localazure.arm.store import Body, Resource
from localazure.services import Services

_NAMESPACE = uuid.UUID("5c1f7f3e-8f0e-5e0b-9f5b-0d8e6f3c2b11")  # of the GUIDs below; chosen once
_WORD = re.compile(r"\{([A-Za-z@_. ]+)\}")

Meaning = Callable[[str], Any]


def guid(text: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, text))


def number(text: str, below: int) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) % below


def filled(value: Any, meant: Meaning) -> Any:
    """A copy of `value` with what its words mean. What isn't known is left out of objects."""
    match value:
        case str():
            alone = _WORD.fullmatch(value)
            return meant(alone[1]) if alone else _WORD.sub(lambda found: str(meant(found[1])), value)
        case list():
            return [filled(each, meant) for each in value]
        case dict():
            found = {name: filled(each, meant) for name, each in value.items()}
            return {name: each for name, each in found.items() if each is not None}
        case _:
            return value


def of(resource: Resource, services: Services) -> Meaning:
    return lambda word: _meaning(word, resource, services)


def of_defaults(judged: Judged, otherwise: Meaning) -> Meaning:
    def meant(word: str) -> Any:
        if word.startswith("@"):
            return copy.deepcopy(value_at(judged.facts, word[1:]))
        return value_at(judged.before, word[4:]) if word.startswith("was.") else otherwise(word)

    return meant


def _meaning(word: str, resource: Resource, services: Services) -> Any:
    meant = {
        "name": resource.id.name,
        "NAME": resource.id.name.upper(),
        "progress": "Completed" if resource.state == "Succeeded" else "InProgress",
        "host": resource.id.name.lower(),
        "sku": (resource.body.get("sku") or {}).get("name"),
        "digest": hashlib.sha256(resource.key.encode()).hexdigest()[:32],
        "subscription": resource.id.subscription,
        "location": resource.location,
        "tenant": services.settings.tenant_id,
        "now": services.clock.stamp(),
        "created": resource.created_at,
        "changed": resource.changed_at,
        "new id": str(uuid.uuid4()),
        "guid": guid(resource.key + resource.created_at),
        "id guid": guid(resource.key),
        "changed guid": guid(resource.key + resource.changed_at),
        **_digests(resource),
    }
    return meant[word] if word in meant else _of_account(resource, services)[word]


def _digests(resource: Resource) -> Body:
    """Parts of etags, as services write them that keep their resources in Cosmos DB, and as Azure Storage does."""
    change = hashlib.sha256(f"{resource.key}{resource.changed_at}{resource.state}".encode()).hexdigest()
    stored = hashlib.sha256((resource.key + resource.changed_at).encode()).hexdigest()
    return {"changed short": change[:8], "changed long": change[8:16], "CHANGED": stored[:15].upper()}


def _of_account(resource: Resource, services: Services) -> Body:
    """What a service of a storage account shows of its account."""
    account = services.store.get(resource.id.scope)
    sku = None if account is None else {**account.service.get("sku", {}), "name": account.body["sku"]["name"]}
    return {"sku of the account": sku}
