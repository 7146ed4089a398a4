"""Replaces secrets and references to existing resources in a stack file, so that an embedded Azure can deploy it. Pure.

A placeholder keeps the form of its value. Equal values have equal placeholders at the base and in the change, so that unchanged
values show no difference.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from azure_gpu.formats import arm_ids, bounded_yaml
from azure_gpu.formats.stack_file import Steps
from azure_gpu.shared.provider_keys import PROVIDER, SUBSCRIPTION_ID
from azure_gpu.stack.common_file import EXTENDS, merge
from azure_gpu.stack.keys import config_key
from azure_gpu_operations.review.model import Placeholder

# Subscriptions of an embedded Azure: its own, and another one.
OWN, OTHER = "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000001"
_ENCRYPTION = ("encryptionsalt", "secretsprovider", "encryptedkey")
_PEOPLE = ("users", "groups", "service_principals")
_GUID = re.compile(r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_SUBSCRIPTION = re.compile(r"(?i)^(/subscriptions/)([^/]+)(?=/|$)")


class ExistingReference(NamedTuple):
    """A resource that the file names by its id."""

    id: str
    section: str
    location: str


class Prepared(NamedTuple):
    """A stack file for an embedded Azure."""

    text: str
    """YAML without secrets and real subscriptions."""
    secrets: tuple[tuple[Steps, str], ...]
    """Paths of secrets, and the values to encrypt there."""
    edges: tuple[tuple[Steps, str], ...]
    """Paths of edge clusters' kubeconfigs, and the required context; "": any."""
    resources: tuple[ExistingReference, ...]
    """Resources that must exist."""
    people: tuple[str, ...]
    """Object ids of the directory, in whose place others have to be put."""
    location: str
    as_of: str
    """The day that the file itself sets; "": none."""
    as_of_key: str
    placeholders: tuple[Placeholder, ...]


class InvalidStackFileError(ValueError):
    """The text isn't a stack file. The message is for the user."""


def with_common(text: str, common: str | None, project: str) -> str:
    """A stack's file with what the file that it extends has, which it then extends no more. The text itself where it extends
    none, or where one of the two can't be read, which the program says. `common`: that file's text; None: it isn't there."""
    key = config_key(EXTENDS, project)
    try:
        content, under = bounded_yaml.load(text), bounded_yaml.load(common or "")
        config = cast(dict[str, Any], cast(dict[str, Any], content)["config"])
        below = cast(dict[str, Any], cast(dict[str, Any], under)["config"])
        if key not in config or key in below:
            return text
        own = {each: value for each, value in below.items() if str(each).startswith(config_key("", project))}
        merged = {each: value for each, value in merge(own, config).items() if each != key}
    except (bounded_yaml.BoundedYamlError, KeyError, TypeError, AttributeError):
        return text
    return bounded_yaml.dump({**cast(dict[str, Any], content), "config": merged})


def prepared(text: str, project: str) -> Prepared:
    """`project`: its name, which is the namespace of its keys."""
    try:
        content = bounded_yaml.load(text) or {}
    except bounded_yaml.BoundedYamlError as error:
        raise InvalidStackFileError(str(error)) from None
    config = content.get("config") or {} if isinstance(content, dict) else None
    if not isinstance(config, dict):
        raise InvalidStackFileError("a stack file must be a mapping whose key `config` is a mapping")
    whole, given = cast(dict[str, Any], content), cast(dict[str, Any], config)
    location = str(given.get(config_key("location", project)) or "")
    own = str(given.get(SUBSCRIPTION_ID) or "")
    secrets: list[tuple[Steps, str]] = []
    placeholders: list[Placeholder] = []
    kept: dict[str, Any] = {}
    for key, value in given.items():
        if str(key).startswith(f"{PROVIDER}:"):
            continue  # where the provider finds its cloud: the embedded Azure's own
        path = str(key).removeprefix(config_key("", project))
        kept[str(key)] = _readable(value, (str(key),), path, secrets, placeholders, own)
    edges = tuple(_without_kubeconfigs(kept, config_key("edges", project), placeholders))
    secrets = [each for each in secrets if each[0] not in {steps for steps, _ in edges}]
    rest = {key: value for key, value in whole.items() if key not in (*_ENCRYPTION, "config", "environment")}
    if "environment" in whole:
        placeholders.append(Placeholder("environment", "Pulumi ESC environments aren't read"))
    named: dict[str, ExistingReference] = {}
    people: dict[str, None] = {}
    for section, value in kept.items():
        for text_in, region, key in _texts(value, location):
            if arm_ids.parse(text_in) is not None:
                named[text_in.lower()] = ExistingReference(text_in, section.removeprefix(config_key("", project)), region)
            elif key in _PEOPLE and _GUID.match(text_in):
                people[text_in] = None
    return Prepared(
        text=bounded_yaml.dump({**rest, "config": kept}),
        secrets=tuple(secrets),
        edges=edges,
        resources=tuple(named.values()),
        people=tuple(people),
        location=location,
        as_of=str(given.get(config_key("as_of", project)) or ""),
        as_of_key=config_key("as_of", project),
        placeholders=tuple(placeholders),
    )


def without_kubeconfig_files(text: str, project: str) -> str:
    """The file as what is decided without Azure reads it: kubeconfigs that lie in files of their own, which may not be here, are
    encrypted values. The text itself where it has none. `text`: one that `prepared` takes."""
    content = cast(dict[str, Any], bounded_yaml.load(text) or {})
    config = cast(dict[str, Any], content.get("config") or {})
    edges = config.get(config_key("edges", project))
    found = [
        cast(dict[str, Any], edge)
        for edge in (cast(dict[str, Any], edges).values() if isinstance(edges, dict) else ())
        if isinstance(edge, dict) and "kubeconfig_file" in edge and "kubeconfig" not in edge
    ]
    for edge in found:
        del edge["kubeconfig_file"]
        edge["kubeconfig"] = {"secure": ""}
    return bounded_yaml.dump(content) if found else text


def with_people(text: str, principals: Mapping[str, str]) -> str:
    """The file with other object ids in the place of people."""
    for person, principal in principals.items():
        text = text.replace(person, principal)
    return text


def _readable(
    value: Any, steps: Steps, path: str, secrets: list[tuple[Steps, str]], placeholders: list[Placeholder], own: str
) -> Any:
    if isinstance(value, dict):
        mapping = cast(dict[Any, Any], value)
        if set(mapping) == {"secure"}:
            secrets.append((steps, _stand_in(path, str(mapping["secure"]))))
            placeholders.append(Placeholder(path, "a secret, replaced"))
            return ""
        return {
            str(key): _readable(inner, (*steps, str(key)), f"{path}.{key}", secrets, placeholders, own)
            for key, inner in mapping.items()
        }
    if isinstance(value, list):
        listed = cast(list[Any], value)
        return [
            _readable(inner, (*steps, number), f"{path}[{number}]", secrets, placeholders, own)
            for number, inner in enumerate(listed)
        ]
    if isinstance(value, str) and (found := _SUBSCRIPTION.match(value)) and arm_ids.parse(value) is not None:
        elsewhere = bool(own) and found[2].lower() != own.lower()
        placeholders.append(Placeholder(path, "an existing resource, replaced by one with Azure's defaults"))
        return _SUBSCRIPTION.sub(rf"\g<1>{OTHER if elsewhere else OWN}", value)
    return value


def _without_kubeconfigs(kept: dict[str, Any], section: str, placeholders: list[Placeholder]) -> Iterator[tuple[Steps, str]]:
    """Takes the kubeconfigs of clusters at the edge out, which a review must not ask."""
    edges = kept.get(section)
    for name, edge in cast(dict[str, Any], edges).items() if isinstance(edges, dict) else ():
        if not isinstance(edge, dict):
            continue
        given = cast(dict[str, Any], edge)
        found = [key for key in ("kubeconfig", "kubeconfig_file") if key in given]
        if len(found) == 1:  # otherwise the program reports the problem
            del given[found[0]]
            placeholders.append(Placeholder(f"edges.{name}.{found[0]}", "replaced by a cluster that runs nothing"))
            context = given.get("context")
            yield (section, str(name), "kubeconfig"), context if isinstance(context, str) else ""


def _stand_in(path: str, ciphertext: str) -> str:
    """Base64 of 64 bytes, which is the form of most keys of Azure."""
    return base64.b64encode(hashlib.sha512(f"{path}\0{ciphertext}".encode()).digest()).decode()


def _texts(value: Any, location: str, key: str = "") -> Iterator[tuple[str, str, str]]:
    """Each text with the region and the key around it."""
    if isinstance(value, dict):
        mapping = cast(dict[str, Any], value)
        own = mapping.get("location")
        for name, inner in mapping.items():
            yield from _texts(inner, own if isinstance(own, str) else location, str(name))
    elif isinstance(value, list):
        for inner in cast(list[Any], value):
            yield from _texts(inner, location, key)
    elif isinstance(value, str):
        yield value, location, key
