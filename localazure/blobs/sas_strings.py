"""The string that a shared access signature signs, for each of its two kinds and by its version.

Sources: Microsoft Learn, rest/api/storageservices/create-account-sas and create-service-sas, "Construct the signature string".
"""

from collections.abc import Mapping, Sequence

OLDEST = "2015-04-05"  # ours; clients that sign by older versions are gone
_RESPONSE_HEADERS = ("rscc", "rscd", "rsce", "rscl", "rsct")


def account(given: Mapping[str, str], name: str) -> str:
    lines = [name, *_values(given, ("sp", "ss", "srt", "st", "se", "sip", "spr", "sv"))]
    if given["sv"] >= "2020-12-06":
        lines.append(given.get("ses", ""))
    return "\n".join(lines) + "\n"


def service(given: Mapping[str, str], resource: str, snapshot: str) -> str:
    version = given["sv"]
    lines = [*_values(given, ("sp", "st", "se")), resource, *_values(given, ("si", "sip", "spr", "sv"))]
    if version >= "2018-11-09":
        lines += [given["sr"], snapshot]
    if version >= "2020-12-06":
        lines.append(given.get("ses", ""))
    return "\n".join([*lines, *_values(given, _RESPONSE_HEADERS)])


def _values(given: Mapping[str, str], names: Sequence[str]) -> list[str]:
    return [given.get(name, "") for name in names]
