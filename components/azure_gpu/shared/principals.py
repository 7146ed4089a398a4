"""Users, groups and service principals in settings, by their object ids in Entra."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, NotRequired, TypedDict, cast

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused

# As a role assignment spells them.
USER, GROUP, SERVICE_PRINCIPAL = "User", "Group", "ServicePrincipal"
_KINDS = (("users", USER), ("groups", GROUP), ("service_principals", SERVICE_PRINCIPAL))
_OBJECT_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class PrincipalsArgs(TypedDict):
    """Principals by their object ids in Entra. All of it is plain."""

    users: NotRequired[Sequence[str]]
    """People: `az ad signed-in-user show --query id`. Default: none."""
    groups: NotRequired[Sequence[str]]
    """Groups: `az ad group show --group <name> --query id`. Default: none."""
    service_principals: NotRequired[Sequence[str]]
    """Service principals and managed identities, such as a pipeline's: `az ad sp show --id <client id> --query id`. Default:
    none."""


class Principal(NamedTuple):
    """One principal."""

    object_id: str
    kind: str  # as role assignments spell it, which Azure checks; empty: not known


def resolve(given: PrincipalsArgs) -> tuple[Principal, ...]:
    """Resolves the principals, without duplicates."""
    # pyrefly: ignore[not-iterable]
    return tuple(dict.fromkeys(Principal(each.lower(), kind) for key, kind in _KINDS for each in given.get(key, [])))


def check(given: PrincipalsArgs, path: str) -> Iterator[Problem]:
    """Yields a problem for each invalid object id."""
    for kind, ids in cast(Mapping[str, Sequence[str]], given).items():
        for index, each in enumerate(ids):
            if _OBJECT_ID.fullmatch(each) is None:
                yield refused("principals.not_an_id", f"{path}.{kind}[{index}]", each)
