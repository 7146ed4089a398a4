"""Logins for registries of a container group that don't support Azure identities."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.shared.wording import give_secret


class RegistryLoginArgs(TypedDict):
    """A login for a registry. Plain, except the password. The stack's registry needs none: the identity pulls."""

    server: NotRequired[str]
    """Host name of the registry, without https://, such as index.docker.io. Required."""
    username: NotRequired[str]
    """The user name. Required."""
    password: NotRequired[pulumi.Input[str]]
    """Wired: the password or token, encrypted in the stack file and in the state. Required."""


def problems_of(registries: Sequence[RegistryLoginArgs], path: str) -> list[Problem]:
    """Validates the registries of the group at `path`."""
    problems: list[Problem] = []
    seen: set[str] = set()
    for index, registry in enumerate(registries):
        here = f"{path}.registries[{index}]"
        problems += _missing(registry, here)
        server = registry.get("server")
        if server is None:
            continue
        if not server or "/" in server:
            problems.append(
                Problem(
                    path=f"{here}.server",
                    message="not a valid host name of a registry",
                    value=server,
                    allowed="a host name, such as ghcr.io or index.docker.io",
                    fix=f"write {server.split('://')[-1].split('/')[0] or 'the host name'}",
                    source="Microsoft Learn, container-instances-reference-yaml, 2024-08-29",
                )
            )
        if server.lower() in seen:
            fix = "remove one of them"
            problems.append(
                Problem(path=f"{here}.server", message="duplicate registry", value=server, allowed="each once", fix=fix)
            )
        seen.add(server.lower())
    return problems


def _missing(registry: RegistryLoginArgs, path: str) -> list[Problem]:
    problems = [
        Problem(path=f"{path}.{key}", message="required, but not set", fix=f"add {key}")
        for key in ("server", "username")
        if key not in registry
    ]
    if "password" not in registry:
        problems.append(
            Problem(
                path=f"{path}.password",
                message="required, but not set",
                allowed="a secret",
                fix=give_secret(f"{path}.password"),
            )
        )
    return problems
