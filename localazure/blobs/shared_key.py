"""Validates requests that are signed with an account's key.

Source: Microsoft Learn, rest/api/storageservices/authorize-with-shared-key, version 2009-09-19 and later of the service.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import unquote

from localazure.blobs.errors import blob_error

SCHEME = "SharedKey"
SIGNED_HEADERS = (  # in this order; Batch signs the same
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
)
_CLOCK_SKEW = timedelta(minutes=15)


def signature(key: str, text: str) -> str:
    """HMAC-SHA256 of `text` with a key in base64, in base64."""
    return base64.b64encode(hmac.digest(base64.b64decode(key), text.encode(), hashlib.sha256)).decode("ascii")


def is_signed_by(keys: Iterable[str], text: str, given: str) -> bool:
    """Whether one of the keys made the signature. Says nothing through the time it takes."""
    try:
        expected = base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        return False
    digests = [hmac.digest(base64.b64decode(key), text.encode(), hashlib.sha256) for key in keys]
    return any([hmac.compare_digest(digest, expected) for digest in digests])


def check(
    authorization: str,
    account: str,
    keys: Iterable[str],
    method: str,
    raw_path: str,
    raw_query: str,
    headers: Mapping[str, str],
    now: datetime,
) -> None:
    """BlobError 403 where the Authorization header doesn't carry a signature of this request by one of the keys."""
    name, _, given = authorization.partition(" ")[2].strip().partition(":")
    # The Python clients take all of an address's path for the account's name: "blob/data".
    if name.removeprefix("blob/") != account:
        raise blob_error("AuthenticationFailed", detail=f"The account name '{name}' is not that of the address, '{account}'.")
    _check_date(headers, now)
    signed = string_to_sign(name, method, raw_path, raw_query, headers)
    if not is_signed_by(keys, signed, given):
        shown = signed.replace("\n", "\\n")
        raise blob_error(
            "AuthenticationFailed",
            detail="The MAC signature found in the HTTP request is not the same as any computed signature. "
            f"String to sign: '{shown}'.",
        )


def string_to_sign(name: str, method: str, raw_path: str, raw_query: str, headers: Mapping[str, str]) -> str:
    """`headers` by lower-case name; `raw_path` and `raw_query` as they were sent."""
    length = headers.get("content-length", "")
    standard = {**headers, "content-length": "" if length == "0" else length}
    if "x-ms-date" in headers:
        standard["date"] = ""
    own = sorted((each for each in headers if each.startswith("x-ms-")), key=_collated)
    lines = [method, *(standard.get(each, "") for each in SIGNED_HEADERS)]
    lines += [f"{each}:{' '.join(headers[each].split())}" for each in own]
    lines += [f"/{name}{raw_path}"]
    parameters: dict[str, list[str]] = {}
    for pair in filter(None, raw_query.split("&")):
        parameter, _, value = pair.partition("=")
        parameters.setdefault(unquote(parameter).lower(), []).append(unquote(value))
    lines += [f"{parameter}:{','.join(sorted(values))}" for parameter, values in sorted(parameters.items())]
    return "\n".join(lines)


def _collated(name: str) -> list[tuple[int, str]]:
    """Headers in the order of a dictionary: a hyphen and an underscore stand before digits, digits before letters."""
    return [("_-".find(each) if each in "_-" else 2 + each.isalpha(), each) for each in name]


def _check_date(headers: Mapping[str, str], now: datetime) -> None:
    given = headers.get("x-ms-date") or headers.get("date", "")
    try:
        sent = parsedate_to_datetime(given)
        age = abs(now - sent)
    except (ValueError, TypeError, OverflowError):
        raise blob_error("AuthenticationFailed", detail="Request date header not specified, or no date.") from None
    if age > _CLOCK_SKEW:
        raise blob_error("AuthenticationFailed", detail=f"Request date header too old: '{given}'.")
