"""Values of bodies that several readers take: names, durations, identities, sizes."""

import re

from azure_gpu.catalog import durations
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats.body_reader import BodyReader, PartInFile, mapping
from azure_gpu.formats.likely_secrets import is_secret_name

AZURE_REGISTRIES = (".azurecr.io", ".azurecr.us", ".azurecr.cn")
_CLOCK = re.compile(r"(\d+):(\d{1,2}):(\d{1,2}(?:\.\d+)?)")


def last(name: str | None) -> str:
    """The resource's own name, of a name or id with its parents."""
    return (name or "").rstrip("/").rsplit("/", 1)[-1]


def size_of(reader: BodyReader, key: str) -> str | None:
    """The size in the catalog's spelling, if known."""
    text = reader.text(key)
    found = SIZES.find(text) if text else None
    return found.name if found else text


def seconds(reader: BodyReader, key: str) -> float | int | None:
    """A duration, ISO 8601 or hh:mm:ss."""
    text = reader.text(key)
    if text is None:
        return None
    clock = _CLOCK.fullmatch(text)
    found = durations.seconds(f"PT{clock[1]}H{clock[2]}M{clock[3]}S" if clock else text.upper())
    if found is None:
        reader.leave(key, "expected a duration, such as PT15M")
        return None
    return int(found) if found == int(found) else found


def minutes(reader: BodyReader, key: str) -> int | None:
    """A duration in whole minutes, rounded up."""
    found = seconds(reader, key)
    return None if found is None else int(-(-found // 60))


def milliseconds(reader: BodyReader, key: str) -> float | int | None:
    """Milliseconds as seconds."""
    number = reader.number(key)
    found = number / 1000 if number is not None else None
    return int(found) if found is not None and found == int(found) else found


def shares(reader: BodyReader, key: str) -> dict[str, int]:
    """Percent by name, without those of 0."""
    inner = reader.inside(key)
    return {name: share for name in inner.names() if (share := inner.whole(name))}


def asset(reader: BodyReader, key: str) -> str | None:
    """Of Azure Machine Learning: `azureml:name`, `azureml:name:version` and a bare name, without the scheme. `@latest` has no
    version."""
    text = reader.text(key)
    if text is None or text.startswith(("/", "azureml://")):
        return text
    name, at, label = text.removeprefix("azureml:").partition("@")
    if at:
        reader.change(key, f"{label} isn't a version", f"add the version: {name}:<version>")
    return name


def variables(reader: BodyReader, key: str, message: str, fix: str) -> dict[str, str]:
    """Environment variables, without those that are likely secrets, for which `message` tells why and `fix` what to do."""
    inner = reader.inside(key)
    found: dict[str, str] = {}
    for name in inner.names():
        if is_secret_name(name):
            inner.leave(name, message, fix)
        elif (value := inner.text(name, free=True)) is not None:
            found[name] = value
    return found


def identity(head: BodyReader, what: str) -> list[PartInFile]:
    """A user's own identity, which becomes the stack's. Any other is reported."""
    value = mapping(head.peek("identity"))
    ids = [str(name) for name in mapping(value.get("userAssignedIdentities")) if str(name).startswith("/")]
    if len(ids) == 1 and str(value.get("type")).lower() == "userassigned":
        head.skip("identity")
        return [PartInFile("foundation", "identity", {"existing": ids[0]}, head.at("identity"))]
    if str(value.get("type")).lower() == "none":
        head.skip("identity")
    head.leave_given("identity", f"{what} uses the stack's identity", "set foundation.identity to existing: <its ARM id>")
    return []
