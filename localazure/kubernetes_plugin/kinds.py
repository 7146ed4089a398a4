"""Which kind of object a resource is, and which resources this plugin refuses by name."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from localazure.plugin.installation import how_to_have

TABLE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("kinds.toml").read_text(encoding="utf-8"))


_OTHERS = {"helm": "Helm", "helm.sh": "Helm", "yaml": "YAML files", "kustomize": "Kustomize"}  # by module: what it is


class Kind(NamedTuple):
    """What the API calls a group, version and kind."""

    group: str  # "" is the core group
    version: str
    name: str

    @classmethod
    def of(cls, api_version: str, name: str) -> "Kind":
        group, _, version = api_version.rpartition("/")
        return cls("" if group == "core" else group, version, name)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def key(self) -> str:
        """By which tables know it, of any version."""
        return f"{self.group}/{self.name}"

    @property
    def built_in(self) -> bool:
        return self.group in TABLE["built_in_groups"]

    @property
    def namespaced(self) -> bool | None:
        """None: only a server that has the kind knows."""
        return self.name not in TABLE["cluster_wide"] if self.built_in else None

    def __str__(self) -> str:
        return f"{self.api_version}/{self.name}"


def token_of(urn: str) -> str:
    return urn.split("::")[-2].split("$")[-1]


def kind_of(token: str, inputs: Mapping[str, Any]) -> Kind:
    """The inputs' apiVersion and kind, as the SDK always sets them; an import has the token alone. LookupError: refused."""
    refused = _refusal(token, inputs)
    if refused:
        raise LookupError(refused)
    api_version, name = inputs.get("apiVersion"), inputs.get("kind")
    if not (isinstance(api_version, str) and isinstance(name, str)):
        _, api_version, name = token.split(":", 2)
    return Kind.of(api_version, name)


def _refusal(token: str, inputs: Mapping[str, Any]) -> str:
    parts = token.split(":")
    if len(parts) != 3 or parts[0] != "kubernetes":
        return f"'{token}' isn't a resource type of the provider kubernetes"
    module, name = parts[1], parts[2]
    what = _OTHERS.get(module.split("/")[0], "")
    if name.endswith("Patch") and inputs.get("kind") != name:
        what = "a patch of an object that others own"
    if what:
        return (
            f"the resource type '{token}' ({what}) is not implemented by this stand-in of pulumi-kubernetes; "
            f"{how_to_have('kubernetes')}"
        )
    if name.endswith("List") and module.split("/")[0].removeprefix("core") in TABLE["built_in_groups"]:
        return (
            f"'{token}': lists exist for YAML manifests and Helm charts and cannot be created directly; "
            "use the type of what is in them"
        )
    return ""
