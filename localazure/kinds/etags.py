"""Etags as services write them that keep their resources in Cosmos DB: log workspaces, components of Application Insights."""

import hashlib

from localazure.arm.store import Resource


def cosmos_etag(resource: Resource) -> str:
    """`"4705c6bf-0000-0800-0000-68747b150000"`: another one after each change."""
    found = hashlib.sha256(f"{resource.key}{resource.changed_at}{resource.state}".encode()).hexdigest()
    return f'"{found[:8]}-0000-0800-0000-{found[8:16]}0000"'
