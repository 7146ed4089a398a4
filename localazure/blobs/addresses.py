"""Parses the URL of a blob, container or account strictly: `/blob/<account>/<container>/<blob>` and a query.

The names of an `Address` are safe to pass on; BlobError 400 for anything else. A path that two readers could take for two things
is refused: dot segments, bytes that aren't UTF-8, control characters.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes, urlsplit

from localazure.blobs.errors import BlobError, blob_error
from localazure.blobs.hosts import SUFFIX

PREFIX = "/blob/"
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
# Microsoft Learn, rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata, for the next five.
CONTAINER_NAME = re.compile(r"(?=.{3,63}$)[a-z0-9]+(?:-[a-z0-9]+)*")
CONTAINER_RULE = "3 to 63 lowercase letters, digits and hyphens, no hyphen at either end and no two in a row"
_SYSTEM_CONTAINERS = ("$root", "$web", "$logs")
_LONGEST_BLOB_NAME = 1024
_MOST_SEGMENTS = 254
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_SAFE = "/-._~!$'()*,;=:@"


@dataclass(frozen=True, slots=True)
class Address:
    """Names as people write them, decoded. "" for what an address doesn't reach down to."""

    account: str
    container: str = ""
    blob: str = ""

    @property
    def level(self) -> str:
        return "blob" if self.blob else "container" if self.container else "service"

    @property
    def path(self) -> str:
        """`/<account>/<container>/<blob>`, percent-encoded."""
        parts = [self.account, *filter(None, (self.container, quote(self.blob, safe=_SAFE)))]
        return "/" + "/".join(parts) + ("" if self.container else "/")


class RequestedUrl(NamedTuple):
    """A whole URL: the account, container or blob that it names, and its decoded query."""

    address: Address
    query: dict[str, str]


def of_path(raw_path: str) -> Address:
    """The address that a request's path names. BlobError 400 where it can't be read in one way alone."""
    if not raw_path.startswith(PREFIX):
        raise blob_error("InvalidUri", why=f"it does not begin with {PREFIX}")
    account, _, rest = raw_path[len(PREFIX) :].partition("/")
    container, _, blob = rest.partition("/")
    if not _ACCOUNT.fullmatch(account):
        raise BlobError(
            400, "InvalidUri", "The requested URI does not represent any resource on the server: there is no such account name."
        )
    return Address(account, _container(container), _blob(blob))


def of_url(url: str, server: str) -> RequestedUrl | None:
    """What a whole URL names; None where it leads to another server than `server`, such as https://localhost:8443."""
    try:
        parts = urlsplit(url)
        scheme, host, port = _origin(url)
        account = host.removesuffix(SUFFIX) if host.endswith(SUFFIX) else ""
        same = (
            parts.username is None
            and parts.password is None
            and (scheme, "localhost" if account else host, port) == _origin(server)
        )
    except ValueError:
        return None
    path = f"{PREFIX}{account}{parts.path}" if account else parts.path
    if not same or not path.startswith(PREFIX):
        return None
    return RequestedUrl(of_path(path), query_of(parts.query))


def query_of(raw_query: str) -> dict[str, str]:
    """A query's parameters, decoded. A name that stands there twice is refused: servers differ in which one counts."""
    query: dict[str, str] = {}
    for pair in filter(None, raw_query.split("&")):
        name, _, value = pair.partition("=")
        name, value = _decoded(name.replace("+", "%20")), _decoded(value.replace("+", "%20"))
        if name in query or _CONTROL.search(name + value):
            raise blob_error("InvalidQueryParameterValue", name=name)
        query[name] = value
    lower = {name.lower() for name in query}
    if len(lower) != len(query):
        raise blob_error("InvalidQueryParameterValue", name="a name that stands there twice")
    return query


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    return parts.scheme.lower(), "localhost" if host == "127.0.0.1" else host, parts.port


def _container(raw: str) -> str:
    if not raw or raw in _SYSTEM_CONTAINERS:
        return raw
    name = _decoded(raw)
    if not CONTAINER_NAME.fullmatch(name) and name not in _SYSTEM_CONTAINERS:
        raise BlobError(
            400,
            "InvalidResourceName",
            f"The specified resource name contains invalid characters: a container has {CONTAINER_RULE}.",
        )
    return name


def _blob(raw: str) -> str:
    name = _decoded(raw).replace("\\", "/")  # the service reads a backslash as a slash
    if _CONTROL.search(name):
        raise blob_error("InvalidUri", why="a blob's name holds a control character")
    segments = name.split("/")
    if any(segment in (".", "..") for segment in segments):
        raise blob_error("InvalidUri", why="a blob's name holds a dot segment")
    if len(name) > _LONGEST_BLOB_NAME or len(segments) > _MOST_SEGMENTS:
        raise BlobError(
            400,
            "InvalidResourceName",
            f"The specified resource name is too long: a blob has {_LONGEST_BLOB_NAME} characters and {_MOST_SEGMENTS} segments "
            "at most.",
        )
    return name


def _decoded(raw: str) -> str:
    if re.search("%(?![0-9A-Fa-f]{2})", raw):
        raise blob_error("InvalidUri", why="incomplete percent-encoding")
    try:
        return unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        raise blob_error("InvalidUri", why="invalid UTF-8") from None
