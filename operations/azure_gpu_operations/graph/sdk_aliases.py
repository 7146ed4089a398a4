"""What the providers' SDKs give each resource by themselves, left out: an alias for its type in every other API version.

The SDK of Pulumi works out URNs for all of them, which takes two thirds of a program's time where no engine runs it; of a cluster
with 28 resources 0.22 s of CPU become 0.08. In: nothing. Out: a block in which resources have the aliases alone that a program
gives them.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pulumi

from azure_gpu.shared.provider_keys import PROVIDER

_SDKS = (f"{PROVIDER}:", "kubernetes:")


@contextmanager
def left_out() -> Iterator[None]:
    merge = pulumi.ResourceOptions.merge

    def merged(first: pulumi.ResourceOptions | None, second: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
        found = merge(first, second)
        found.aliases = [each for each in found.aliases or () if not _is_of_sdk(each)] or None
        return found

    pulumi.ResourceOptions.merge = staticmethod(merged)  # pyright: ignore[reportAttributeAccessIssue] - the SDK has no other way in
    try:
        yield
    finally:
        pulumi.ResourceOptions.merge = merge


def _is_of_sdk(alias: object) -> bool:
    if not isinstance(alias, pulumi.Alias) or not isinstance(alias.type_, str):
        return False
    return alias.type_.startswith(_SDKS) and alias.name is ... and alias.parent is ...
