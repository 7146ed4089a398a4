"""Identifies the operation of a request to blob storage, and the permissions that it requires.

One table; a request that isn't in it is refused, so nothing is passed on under another name than the one it was validated by.
Permissions of shared access signatures: Microsoft Learn, rest/api/storageservices/create-service-sas and create-account-sas.
Actions of roles: Microsoft Learn, rest/api/storageservices/authorize-with-azure-active-directory.
"""

from collections.abc import Mapping
from typing import NamedTuple

from localazure.blobs.errors import BlobError, invalid_query, not_implemented

RBAC = "Microsoft.Storage/storageAccounts/blobServices/"
_READ, _WRITE = "containers/blobs/read", "containers/blobs/write"


class Operation(NamedTuple):
    """One operation. Letters of a signature's permissions: one of them is enough."""

    name: str
    action: str  # of roles, below RBAC
    resource_type: str  # of an account SAS: s, c or o; "" where no account SAS reaches it
    account_letters: str = ""
    service_letters: str = ""  # of a service SAS; "" where none reaches it
    on_container: bool = False  # a service SAS has to be one of the container
    creates: bool = False  # may write a blob that doesn't exist yet only by `c`

    @property
    def reads_blob(self) -> bool:
        """What public access opens on a blob."""
        return self.action == _READ and not self.on_container


def _blob(name: str, action: str, letters: str, **more: bool) -> Operation:
    return Operation(name, action, "o", letters, letters, **more)


_ACCOUNT_INFO = Operation("GetAccountInformation", "read", "s", "rwdlacup", "racwdl")
_TABLE: dict[tuple[str, str, str, str], Operation] = {}  # by level, method, restype, comp


def _row(level: str, methods: str, restype: str, comp: str, operation: Operation) -> None:
    for method in methods.split():
        _TABLE[level, method, restype, comp] = operation


_row("service", "GET", "", "list", Operation("ListContainers", "containers/read", "s", "l"))
_row("service", "GET", "service", "properties", Operation("GetServiceProperties", "read", "s", "r"))
_row("service", "PUT", "service", "properties", Operation("SetServiceProperties", "write", "s", "w"))
_row("service", "GET", "service", "stats", Operation("GetServiceStats", "read", "s", "r"))
_row("service", "GET", "", "blobs", Operation("FindBlobsByTags", "containers/blobs/filter/action", "o", "f"))
_row("service", "GET HEAD", "account", "properties", _ACCOUNT_INFO)

_row("container", "PUT", "container", "", Operation("CreateContainer", "containers/write", "c", "cw"))
_row("container", "GET HEAD", "container", "", Operation("GetContainerProperties", "containers/read", "c", "r"))
_row("container", "GET HEAD", "container", "metadata", Operation("GetContainerMetadata", "containers/read", "c", "r"))
_row("container", "PUT", "container", "metadata", Operation("SetContainerMetadata", "containers/write", "c", "w"))
_row("container", "GET HEAD", "container", "acl", Operation("GetContainerACL", "containers/getAcl/action", ""))
_row("container", "PUT", "container", "acl", Operation("SetContainerACL", "containers/setAcl/action", ""))
_row("container", "DELETE", "container", "", Operation("DeleteContainer", "containers/delete", "c", "d"))
_row("container", "PUT", "container", "lease", Operation("LeaseContainer", "containers/write", "c", "wd"))
_row("container", "GET", "container", "list", Operation("ListBlobs", _READ, "c", "l", "l", on_container=True))
_row(
    "container",
    "GET",
    "container",
    "blobs",
    Operation("FindBlobsByTagsInContainer", "containers/blobs/filter/action", "o", "f", "f", on_container=True),
)
_row("container", "GET HEAD", "account", "properties", _ACCOUNT_INFO)

_row("blob", "GET HEAD", "", "", _blob("GetBlob", _READ, "r"))
_row("blob", "GET HEAD", "", "metadata", _blob("GetBlobMetadata", _READ, "r"))
_row("blob", "GET", "", "blocklist", _blob("GetBlockList", _READ, "r"))
_row("blob", "GET", "", "pagelist", _blob("GetPageRanges", _READ, "r"))
_row("blob", "GET", "", "tags", _blob("GetBlobTags", "containers/blobs/tags/read", "t"))
_row("blob", "PUT", "", "tags", _blob("SetBlobTags", "containers/blobs/tags/write", "t"))
_row("blob", "PUT", "", "", _blob("PutBlob", _WRITE, "cw", creates=True))
_row("blob", "PUT", "", "block", _blob("PutBlock", _WRITE, "w"))
_row("blob", "PUT", "", "blocklist", _blob("PutBlockList", _WRITE, "w"))
_row("blob", "PUT", "", "metadata", _blob("SetBlobMetadata", _WRITE, "w"))
_row("blob", "PUT", "", "properties", _blob("SetBlobProperties", _WRITE, "w"))
_row("blob", "PUT", "", "lease", _blob("LeaseBlob", _WRITE, "wd"))
_row("blob", "PUT", "", "snapshot", _blob("SnapshotBlob", _WRITE, "cw"))
_row("blob", "PUT", "", "appendblock", _blob("AppendBlock", "containers/blobs/add/action", "aw"))
_row("blob", "PUT", "", "page", _blob("PutPage", _WRITE, "w"))
_row("blob", "PUT", "", "tier", _blob("SetBlobTier", _WRITE, "w"))
_row("blob", "DELETE", "", "", _blob("DeleteBlob", "containers/blobs/delete", "d"))
_row("blob", "GET HEAD", "account", "properties", _ACCOUNT_INFO)

# What Azure has and this doesn't.
_NOT_SERVED = frozenset(
    {
        "undelete",
        "rename",
        "query",
        "userdelegationkey",
        "expiry",
        "batch",
        "copy",
        "seal",
        "immutabilitypolicies",
        "legalhold",
        "incrementalcopy",
    }
)
_METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE")
# What is passed on of a query. Everything else is either how the request is signed or nothing that was validated.
PASSED = frozenset(
    {
        "blockid", "blocklisttype", "delimiter", "include", "marker", "maxresults", "prefix", "prevsnapshot",
        "snapshot", "timeout", "where",
    }
)  # fmt: skip
_REFUSED = ("versionid", "deletetype", "startfrom", "endbefore")  # what would change the meaning of the rest


def passed_on(query: Mapping[str, str]) -> dict[str, str]:
    """What the keeper of the blobs gets to see of a query, in the spelling by which it was validated."""
    judged = {name: query[name].lower() for name in ("restype", "comp") if query.get(name)}
    return judged | {name: value for name, value in query.items() if name in PASSED}


def operation_of(level: str, method: str, query: Mapping[str, str]) -> Operation:
    """The operation of a request. BlobError where there is none, or none that is served."""
    if method not in _METHODS:
        raise BlobError(405, "UnsupportedHttpVerb", "The resource doesn't support the specified HTTP verb.")
    for name in query:
        if name.lower() in _REFUSED:
            raise not_implemented(f"the query parameter {name}")
    comp, restype = query.get("comp", "").lower(), query.get("restype", "").lower()
    found = _TABLE.get((level, method, restype, comp))
    if found is None:
        if comp in _NOT_SERVED:
            raise not_implemented(f"comp={comp} of blob storage")
        if any(key[0] == level and key[2:] == (restype, comp) for key in _TABLE):
            raise BlobError(405, "UnsupportedHttpVerb", "The resource doesn't support the specified HTTP verb.")
        raise invalid_query("comp" if comp else "restype")
    return found
