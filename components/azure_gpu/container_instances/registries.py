"""Registries that a group's images come from, beside the stack's own: with a name and a password, because they know no identity.

In: `RegistryLoginArgs`. Out: problems.
"""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.shared.wording import give_secret


class RegistryLoginArgs(TypedDict):
    """How a registry knows who pulls. Plain, but for the password. The stack's own needs none of it: the identity pulls."""

    server: NotRequired[str]
    """Host name of the registry, without https://, such as index.docker.io. Needed."""
    username: NotRequired[str]
    """The name to log in with. Needed."""
    password: NotRequired[pulumi.Input[str]]
    """Wired: the password or token, encrypted in the stack file and in the state. Needed."""


def problems_of(registries: Sequence[RegistryLoginArgs], path: str) -> list[Problem]:
    """What is wrong with the registries of the group at `path`."""
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
                    message="this is no host name of a registry",
                    value=server,
                    allowed="a host name, such as ghcr.io or index.docker.io",
                    fix=f"write {server.split('://')[-1].split('/')[0] or 'the host name'}",
                    source="Microsoft Learn, container-instances-reference-yaml, 2024-08-29",
                )
            )
        if server.lower() in seen:
            fix = "remove one of them"
            problems.append(
                Problem(path=f"{here}.server", message="this registry is here twice", value=server, allowed="each once", fix=fix)
            )
        seen.add(server.lower())
    return problems


def _missing(registry: RegistryLoginArgs, path: str) -> list[Problem]:
    problems = [
        Problem(path=f"{path}.{key}", message=f"the {what} is needed and not given", fix=f"add {key}")
        for key, what in (("server", "registry's host name"), ("username", "name to log in with"))
        if key not in registry
    ]
    if "password" not in registry:
        problems.append(
            Problem(
                path=f"{path}.password",
                message="the password is needed and not given",
                allowed="a secret",
                fix=give_secret(f"{path}.password"),
            )
        )
    return problems
