"""Identifies the operation of a request to blob storage, and the permissions that it requires.

One table, `operations.tsv`; a request that isn't in it is refused, so nothing is passed on under another name than the one it was
validated by.
Permissions of shared access signatures: Microsoft Learn, rest/api/storageservices/create-service-sas and create-account-sas.
Actions of roles: Microsoft Learn, rest/api/storageservices/authorize-with-azure-active-directory. What built-in roles allow:
Microsoft Learn, role-based-access-control/built-in-roles/storage, read 2026-11-21.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from azure_gpu.catalog import roles
from localazure import tables
from localazure.blobs.errors import blob_error, not_implemented

RBAC = "Microsoft.Storage/storageAccounts/blobServices/"


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
        return self.action == "containers/blobs/read" and not self.on_container


def _rows() -> Iterator[tuple[list[str], list[str]]]:
    """Where an operation stands (level, methods, restype, comp), and what it is."""
    for cells in tables.rows(__file__, "operations.tsv", header=True):
        yield cells[:4], cells[4:]


TABLE = {
    (level, method, restype, comp): Operation(*said[:5], on_container="on_container" in said, creates="creates" in said)
    for (level, methods, restype, comp), said in _rows()
    for method in methods.split()
}
# The built-in roles whose letters are in the table's last column.
_ROLES = {
    "R": (roles.STORAGE_BLOB_DATA_READER,),
    "C": (roles.STORAGE_BLOB_DATA_CONTRIBUTOR,),
    "O": (roles.STORAGE_BLOB_DATA_OWNER,),
    "M": (roles.OWNER, roles.CONTRIBUTOR, roles.STORAGE_ACCOUNT_CONTRIBUTOR),
    "V": (roles.READER,),
}
GRANTING = {said[1]: [role for letter in said[-1] for role in _ROLES[letter]] for _, said in _rows()}  # roles, by action

# What Azure has and this doesn't.
_NOT_SERVED = frozenset(
    {
        "batch", "copy", "expiry", "immutabilitypolicies", "incrementalcopy", "legalhold", "query", "rename", "seal", "undelete",
        "userdelegationkey",
    }
)  # fmt: skip
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
        raise blob_error("UnsupportedHttpVerb")
    for name in query:
        if name.lower() in _REFUSED:
            raise not_implemented(f"the query parameter {name}")
    comp, restype = query.get("comp", "").lower(), query.get("restype", "").lower()
    found = TABLE.get((level, method, restype, comp))
    if found is None:
        if comp in _NOT_SERVED:
            raise not_implemented(f"comp={comp} of blob storage")
        if any(key[0] == level and key[2:] == (restype, comp) for key in TABLE):
            raise blob_error("UnsupportedHttpVerb")
        raise blob_error("InvalidQueryParameterValue", name="comp" if comp else "restype")
    return found
