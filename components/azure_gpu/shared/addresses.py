"""Rejects a login within an address: everybody who may read the resource in Azure, or the deployment, would have it."""

from collections.abc import Iterator

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.sources import observed
from azure_gpu.formats.likely_secrets import without_login

HISTORY_PAGE = observed("PSRule.Rules.Azure, rules/Azure.Deployment.SecureParameter", 2026, 11, 30)


def check_login(address: str, path: str, *, allowed: str, fix: str) -> Iterator[Problem]:
    """`allowed`, `fix`: how the same is read without a login."""
    shown = without_login(address)
    if shown != address:
        yield Problem(
            path=path,
            message="a user name, token or signature in the URL, which everybody who may read the stack's resources would see",
            value=shown,
            allowed=allowed,
            fix=f"remove it from the URL, and revoke it if it was ever used here; {fix}",
            source=str(HISTORY_PAGE),
        )
