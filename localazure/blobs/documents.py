"""Bodies that are XML documents: read whole and checked before they are passed on, as the keeper takes a damaged one for a fault
of its own.

Entities are refused: a document of this service has no need of any, and a few lines of them unfold to gigabytes.
"""

import xml.etree.ElementTree as ElementTree
from collections.abc import AsyncIterator
from xml.parsers import expat

from localazure.blobs.errors import BlobError, blob_error

ROOTS = {
    "PutBlockList": "BlockList",
    "SetBlobTags": "Tags",
    "SetContainerACL": "SignedIdentifiers",
    "SetServiceProperties": "StorageServiceProperties",
}
_MAY_BE_EMPTY = ("SetContainerACL",)
_MOST_BYTES = 16 * 1024 * 1024  # a list of 50,000 blocks is 5 MB


async def checked(operation: str, content: AsyncIterator[bytes], headers: dict[str, str]) -> AsyncIterator[bytes]:
    """The document as one chunk. BlobError 400 where it is none, or one of another kind."""
    whole = await _whole(content)
    headers["content-length"] = str(len(whole))
    if whole or operation not in _MAY_BE_EMPTY:
        _check(operation, whole)
    return _one(whole)


def _check(operation: str, document: bytes) -> None:
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = _no_entity
    try:
        parser.Parse(document, True)
        root = ElementTree.fromstring(document)  # noqa: S314 - it holds no entities
    except (expat.ExpatError, ElementTree.ParseError, ValueError, LookupError) as error:
        raise _invalid(f"it can't be read: {error}") from error
    if root.tag != ROOTS[operation]:
        raise _invalid(f"it is a '{root.tag}' and not a '{ROOTS[operation]}'")


def _no_entity(*_: object) -> None:
    raise ValueError("it declares an entity")


async def _whole(content: AsyncIterator[bytes]) -> bytes:
    whole = bytearray()
    async for chunk in content:
        whole += chunk
        if len(whole) > _MOST_BYTES:
            raise blob_error("RequestBodyTooLarge")
    return bytes(whole)


async def _one(whole: bytes) -> AsyncIterator[bytes]:
    yield whole


def _invalid(why: str) -> BlobError:
    return blob_error("InvalidXmlDocument", why=why)
