"""Creates and validates shared access signatures: URLs that carry their own permission.

A signature that isn't valid is a BlobError 403 in the service's words. The string that is signed, for each of the two kinds and
by its version: Microsoft Learn, rest/api/storageservices/create-account-sas and create-service-sas, "Construct the signature
string".
"""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import quote

from localazure.blobs import shared_key
from localazure.blobs.addresses import Address
from localazure.blobs.errors import blob_error, not_implemented

VERSION = "2021-12-02"  # by which we sign: one that every client of today takes
_VERSION = re.compile(r"20\d\d-\d\d-\d\d")
_OLDEST = "2015-04-05"  # ours; clients that sign by older versions are gone
_RESPONSE_HEADERS = ("rscc", "rscd", "rsce", "rscl", "rsct")
_RESOURCES = ("b", "bs", "c")  # a blob, a snapshot of one, a container
_LETTERS = "racwdxltmeop"  # in the order that the service wants
_ISO = ("%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ", "%Y-%m-%d")


class Signed(NamedTuple):
    """What a good signature says."""

    letters: str  # permissions
    resource_types: str  # of an account SAS: letters of s, c and o; "" of any other
    on_container: bool  # a service SAS of a whole container


def check_signature(given: Mapping[str, str], address: Address, keys: list[str]) -> None:
    """BlobError 403 where none of the keys made the signature over what the query says."""
    text = _text(given, address)
    if not shared_key.is_signed_by(keys, text, given["sig"]):
        shown = text.replace("\n", "\\n")
        raise blob_error("AuthenticationFailed", detail=f"Signature did not match. String to sign used was {shown}.")


def is_signed_by(key: str, given: Mapping[str, str], address: Address) -> bool:
    return shared_key.is_signed_by([key], _text(given, address), given["sig"])


def _text(given: Mapping[str, str], address: Address) -> str:
    """The string that was signed. BlobError where there is none for what the query says."""
    if "skoid" in given:
        raise not_implemented("signatures by a user delegation key")
    if "si" in given:
        raise not_implemented("signatures by a stored access policy")
    version = given.get("sv", "")
    if not _VERSION.fullmatch(version) or version < _OLDEST:
        raise blob_error("AuthenticationFailed", detail=f"sv is missing or no version that is taken: '{version}'.")
    if "ss" in given:
        return account_text(given, address.account)
    return service_text(given, *_resource(given, address))


def signed(given: Mapping[str, str], client: str, now: datetime) -> Signed:
    """What a signature says, once it has been found good."""
    _check_time(given, now)
    if given.get("spr", "https") not in ("https", "https,http", "http,https"):
        raise blob_error("AuthorizationProtocolMismatch")
    if "sip" in given:
        _check_client(given["sip"], client)
    if "ss" in given:
        if "b" not in given["ss"]:
            raise blob_error("AuthorizationServiceMismatch")
        return Signed(given.get("sp", ""), given.get("srt", ""), False)
    if not given.get("sp"):
        raise blob_error("AuthenticationFailed", detail="sp is mandatory. Cannot be empty.")
    return Signed(given["sp"], "", given["sr"] == "c")


def make(address: Address, letters: str, expires: datetime, key: str) -> str:
    """The query of an address for a blob or a container, signed with a key."""
    given = {
        "sv": VERSION,
        "sr": "b" if address.blob else "c",
        "sp": "".join(letter for letter in _LETTERS if letter in letters),
        "se": expires.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "spr": "https",
    }
    given["sig"] = shared_key.signature(key, _text(given, address))
    return "&".join(f"{name}={quote(each, safe='')}" for name, each in given.items())


def parse_time(text: str) -> datetime | None:
    text = re.sub(r"(\.\d{6})\d+Z$", r"\1Z", text)  # Azure writes seven digits behind a second's point; Python reads six
    for form in _ISO:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _resource(given: Mapping[str, str], address: Address) -> tuple[str, str]:
    """What is signed for: its canonical name, and the snapshot."""
    kind = given.get("sr", "")
    if kind in ("d", "bv"):
        raise not_implemented(f"shared access signatures of the resource '{kind}'")
    if kind not in _RESOURCES:
        raise blob_error("AuthenticationFailed", detail="sr is mandatory. Cannot be empty.")
    container = f"/blob/{address.account}/{address.container}"
    snapshot = given.get("snapshot", "") if kind == "bs" else ""
    return (container if kind == "c" else f"{container}/{address.blob}"), snapshot


def _check_time(given: Mapping[str, str], now: datetime) -> None:
    start, expiry = parse_time(given.get("st", "")), parse_time(given.get("se", ""))
    if expiry is None or (given.get("st") and start is None):
        raise blob_error("AuthenticationFailed", detail="Signed expiry time or start time is missing or is no time.")
    if (start is not None and now < start) or now >= expiry:
        raise blob_error(
            "AuthenticationFailed",
            detail=f"Signature not valid in the specified time frame: Start [{given.get('st', '')}] - Expiry [{given['se']}] - "
            f"Current [{now:%a, %d %b %Y %H:%M:%S} GMT]",
        )


def _check_client(allowed: str, client: str) -> None:
    first, _, last = allowed.partition("-")
    try:
        # pyrefly: ignore[unsupported-operation]
        inside = ipaddress.ip_address(first) <= ipaddress.ip_address(client) <= ipaddress.ip_address(last or first)
    except (ValueError, TypeError):
        inside = False
    if not inside:
        raise blob_error("AuthorizationSourceIPMismatch", client=client)


def account_text(given: Mapping[str, str], name: str) -> str:
    lines = [name, *_values(given, ("sp", "ss", "srt", "st", "se", "sip", "spr", "sv"))]
    if given["sv"] >= "2020-12-06":
        lines.append(given.get("ses", ""))
    return "\n".join(lines) + "\n"


def service_text(given: Mapping[str, str], resource: str, snapshot: str) -> str:
    version = given["sv"]
    lines = [*_values(given, ("sp", "st", "se")), resource, *_values(given, ("si", "sip", "spr", "sv"))]
    if version >= "2018-11-09":
        lines += [given["sr"], snapshot]
    if version >= "2020-12-06":
        lines.append(given.get("ses", ""))
    return "\n".join([*lines, *_values(given, _RESPONSE_HEADERS)])


def _values(given: Mapping[str, str], names: Sequence[str]) -> list[str]:
    return [given.get(name, "") for name in names]
