"""The string that a shared access signature signs, for each of its three kinds and by its version.

Sources: Microsoft Learn, rest/api/storageservices/create-account-sas, create-service-sas and
create-user-delegation-sas, "Construct the signature string"; of versions later than 2025-07-05 azure-storage-blob 12.31.
"""

from collections.abc import Mapping, Sequence

OLDEST = "2015-04-05"  # ours; clients that sign by older versions are gone
OLDEST_DELEGATION = "2018-11-09"
_RESPONSE_HEADERS = ("rscc", "rscd", "rsce", "rscl", "rsct")


def account(given: Mapping[str, str], name: str) -> list[str]:
    lines = [name, *_values(given, ("sp", "ss", "srt", "st", "se", "sip", "spr", "sv"))]
    if given["sv"] >= "2020-12-06":
        lines.append(given.get("ses", ""))
    return ["\n".join(lines) + "\n"]


def service(given: Mapping[str, str], resource: str, snapshot: str) -> list[str]:
    version = given["sv"]
    lines = [*_values(given, ("sp", "st", "se")), resource, *_values(given, ("si", "sip", "spr", "sv"))]
    if version >= "2018-11-09":
        lines += [given["sr"], snapshot]
    if version >= "2020-12-06":
        lines.append(given.get("ses", ""))
    return ["\n".join([*lines, *_values(given, _RESPONSE_HEADERS)])]


def delegation(
    given: Mapping[str, str], resource: str, snapshot: str, headers: Mapping[str, str], query: Mapping[str, str]
) -> list[str]:
    """One string, or two where no source tells from which version on signed headers have lines of their own."""
    version = given["sv"]
    lines = [*_values(given, ("sp", "st", "se")), resource, *_values(given, ("skoid", "sktid", "skt", "ske", "sks", "skv"))]
    if version >= "2020-02-10":
        lines += _values(given, ("saoid", "suoid", "scid"))
    if version >= "2025-07-05":
        lines += _values(given, ("skdutid", "sduoid"))
    lines += [*_values(given, ("sip", "spr", "sv")), given["sr"], snapshot]
    if version >= "2020-12-06":
        lines.append(given.get("ses", ""))
    rest = _values(given, _RESPONSE_HEADERS)
    plain = "\n".join([*lines, *rest])
    if version < "2025-07-05":
        return [plain]
    bound = "\n".join([*lines, *_bound(given, headers, query), *rest])
    return [bound] if given.get("srh") or given.get("srq") else [bound, plain]


def _bound(given: Mapping[str, str], headers: Mapping[str, str], query: Mapping[str, str]) -> list[str]:
    """The headers and parameters that a request has to carry with the values that were signed."""
    signed_headers = [f"{name}:{headers.get(name.lower(), '')}\n" for name in filter(None, given.get("srh", "").split(","))]
    signed_query = [f"\n{name}:{query.get(name, '')}" for name in filter(None, given.get("srq", "").split(","))]
    return ["".join(signed_headers), "".join(signed_query)]


def _values(given: Mapping[str, str], names: Sequence[str]) -> list[str]:
    return [given.get(name, "") for name in names]
