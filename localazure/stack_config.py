"""A stack's configuration for the embedded Azure: a copy of `Pulumi.<stack>.yaml` in the state folder, connected to this server.

The copy is what the engine is given (`--config-file`), so that the checkout stays as it is in git. It differs by the
provider's five connection keys, by the address of the sources where the stack names none, and by how its secrets are encrypted.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from azure_gpu.formats import bounded_yaml
from localazure.entra.identity import Identity
from localazure.errors import CommandError
from localazure.folder import SECRET_MODE, LocalFolder, write_whole
from localazure.subscriptions import SUBSCRIPTION

ENCRYPTION = ("encryptionsalt", "secretsprovider", "encryptedkey")
IMAGE_SOURCE = "azure-gpu:image_source"


def connect(folder: LocalFolder, identity: Identity, url: str, checkout: Path, stack: str) -> Path:
    """Writes the copy and returns its path. CommandError where the stack has no file, or a value that can't be read here."""
    source = _read(checkout / f"Pulumi.{stack}.yaml", checkout)
    target = folder.stack_config(stack)
    earlier = _mapping(target) if target.exists() else {}
    write_whole(target, bounded_yaml.dump(connected(source, earlier, identity, url)), SECRET_MODE)
    return target


def connected(source: dict[str, Any], earlier: dict[str, Any], identity: Identity, url: str) -> dict[str, Any]:
    """`source`, connected. `earlier` is the copy of the last time: the stack's secrets are encrypted with the salt it holds."""
    config = source.get("config") or {}
    encrypted = list(_encrypted(config, ""))
    if encrypted:
        raise CommandError(
            f"{', '.join(encrypted)}: encrypted secrets can't be read here; remove them from the stack file and set them in a "
            "separate stack file for this machine"
        )
    kept = {key: value for key, value in source.items() if key not in (*ENCRYPTION, "config")}
    encryption = {key: earlier[key] for key in ENCRYPTION if key in earlier}
    return {**encryption, **kept, "config": {IMAGE_SOURCE: f"{url}/checkout.git#HEAD", **config, **connection(identity, url)}}


def _encrypted(value: Any, path: str) -> Iterator[str]:
    """Where a configuration holds values that Pulumi has encrypted, at any depth."""
    if isinstance(value, dict):
        if set(value) == {"secure"}:
            yield path
        for key, inner in value.items():
            yield from _encrypted(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _encrypted(inner, f"{path}[{number}]")


def connection(identity: Identity, url: str) -> dict[str, str]:
    """The five keys by which the provider finds a cloud and signs in to it; its secret comes from ARM_CLIENT_SECRET."""
    return {
        "azure-native:metadataHost": url.removeprefix("https://"),
        "azure-native:disableInstanceDiscovery": "true",
        "azure-native:subscriptionId": SUBSCRIPTION,
        "azure-native:tenantId": identity.tenant_id,
        "azure-native:clientId": identity.client_id,
    }


def _read(path: Path, checkout: Path) -> dict[str, Any]:
    if not path.exists():
        known = sorted(each.name.removeprefix("Pulumi.").removesuffix(".yaml") for each in checkout.glob("Pulumi.*.yaml"))
        raise CommandError(f"{path.name} not found in {checkout}; stacks: {', '.join(known) or 'none'}")
    return _mapping(path)


def _mapping(path: Path) -> dict[str, Any]:
    try:
        content = bounded_yaml.load(path.read_text(encoding="utf-8")) or {}
    except (bounded_yaml.BoundedYamlError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("config") or {}, dict):
        raise CommandError(f"{path}: the stack file and its `config` must be mappings")
    return content
