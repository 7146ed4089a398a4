"""Leaves out what Pulumi's SDKs do for an engine alone, where a program runs without one.

The providers' SDKs add an alias to each resource for its type in every other API version, and compute a URN of each: two thirds
of a program's time. 0.22 s of CPU become 0.08 for a cluster with 28 resources. And each resource is registered with a trace of
the program's stack: a sixth of what is left.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pulumi
from pulumi.runtime import resource
from pulumi.runtime.proto import source_pb2

from azure_gpu.shared.provider_keys import PROVIDER

_SDKS = (f"{PROVIDER}:", "kubernetes:")


@contextmanager
def left_out() -> Iterator[None]:
    merge, trace = pulumi.ResourceOptions.merge, resource._get_stack_trace

    def merged(first: pulumi.ResourceOptions | None, second: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
        found = merge(first, second)
        found.aliases = [each for each in found.aliases or () if not _is_of_sdk(each)] or None
        return found

    # The SDK has no other way in.
    # pyrefly: ignore[bad-assignment]
    pulumi.ResourceOptions.merge = staticmethod(merged)
    resource._get_stack_trace = source_pb2.StackTrace
    try:
        yield
    finally:
        pulumi.ResourceOptions.merge = merge
        resource._get_stack_trace = trace


def _is_of_sdk(alias: object) -> bool:
    if not isinstance(alias, pulumi.Alias) or not isinstance(alias.type_, str):
        return False
    return alias.type_.startswith(_SDKS) and alias.name is ... and alias.parent is ...
