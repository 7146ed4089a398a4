"""Which members an object has at an API version: a shape is that of one version, and clients send others.

`versions.tsv` has a row for each member that came or went, learned from the models of Azure's management packages for Python,
of which each describes one version or many: azure-mgmt-appcontainers 1.0 to 5.1, -batch 9 to 19, -compute 33, -containerinstance
1.5 to 10.1, -containerregistry 10.3 and 15, -containerservice 30 to 41.8, -keyvault 10.3, -msi 7, -network 19, -storage 21 to 25.
Its columns: object, member, the last version without it, the first version that has it no more, and the same two of previews; `*`
is "in none". Previews of environments of Container Apps are those of Azure/azure-rest-api-specs, Microsoft.App, of which
2023-05-02-preview and 2023-08-01-preview were read; that the one before lacks what these have is assumed. Recorded answers are
above them: what one shows at a version that lacks it by the packages isn't in the table.
"""

import functools
from collections.abc import Mapping
from typing import Literal, NamedTuple

from localazure import tables

Presence = Literal["there", "missing", "unknown"]
_NEVER, _NOTHING = "*", "-"


class _Row(NamedTuple):
    until: str  # the last version without it; "" where none is known
    gone: str  # the first version that has it no more; "" where none is known
    until_preview: str
    gone_preview: str


def presence(name: str, member: str, version: str) -> Presence:
    """Whether the object `name` has a member at `version`; "unknown" where no package tells it apart."""
    row = _rows().get((name, member))
    if row is None:
        return "unknown"
    until, gone = (row.until_preview, row.gone_preview) if "preview" in version and row.until_preview else (row.until, row.gone)
    if until == _NEVER or (until and version <= until) or (gone and version >= gone):
        return "missing"
    return "there"


@functools.cache
def _rows() -> Mapping[tuple[str, str], _Row]:
    known = tables.rows(__file__, "versions.tsv")
    return {(name, member): _Row(*("" if each == _NOTHING else each for each in rest)) for name, member, *rest in known}
