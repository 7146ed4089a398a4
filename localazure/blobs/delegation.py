"""User delegation keys: with them a client signs addresses in the name of its token, without the account's key.

Source: Microsoft Learn, rest/api/storageservices/get-user-delegation-key.
"""

import re
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from localazure.blobs import sas
from localazure.blobs.access import Access, Grant, Incoming
from localazure.blobs.errors import BlobError
from localazure.services import Services

_MOST_BYTES = 4096
_TOLD_VERSION = "2025-11-05"


async def answer(request: Request, incoming: Incoming, grant: Grant, access: Access, services: Services) -> Response:
    """The key for the span of time that the body requests."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > _MOST_BYTES:
            raise BlobError(
                413, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit."
            )
    text = content.decode("utf-8", errors="replace")
    start, expiry = _element(text, "Start"), _element(text, "Expiry")
    ends, now = sas.parse_time(expiry), services.clock.now()
    begins = sas.parse_time(start) if start else now
    if begins is None or ends is None or not now < ends <= max(begins, now) + sas.DELEGATION_LIFE + timedelta(minutes=15):
        raise BlobError(
            400,
            "InvalidXmlDocument" if ends is None else "InvalidXmlNodeValue",
            "XML specified is not valid: Start and Expiry have to be a span of at most 7 days that ends later than now.",
        )
    key = sas.DelegationKey(
        grant.principal, services.settings.tenant_id, start or f"{now:%Y-%m-%dT%H:%M:%SZ}", expiry, "b", _TOLD_VERSION
    )
    told = {
        "SignedOid": key.object_id,
        "SignedTid": key.tenant_id,
        "SignedStart": key.start,
        "SignedExpiry": key.expiry,
        "SignedService": key.service,
        "SignedVersion": key.version,
        "Value": access.delegation_value(key, incoming.address.account),
    }
    elements = "".join(f"<{name}>{value}</{name}>" for name, value in told.items())
    document = f'<?xml version="1.0" encoding="utf-8"?><UserDelegationKey>{elements}</UserDelegationKey>'
    return Response(document, media_type="application/xml", headers={"x-ms-version": _TOLD_VERSION})


def _element(text: str, name: str) -> str:
    """The text of an element without markup in it; times have none."""
    found = re.search(f"<{name}>([^<>&]*)</{name}>", text)
    return found[1].strip() if found else ""
