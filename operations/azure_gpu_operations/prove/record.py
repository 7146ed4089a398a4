"""The JSON record of `prove`, and the comparison with a new result.

A record is for `git` or the artefacts of a CI; it contains no secret, id or address.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from azure_gpu_operations.prove.proof import Proof

FORMAT = 1


def as_json(stack: str, proofs: Sequence[Proof], at: datetime) -> dict[str, Any]:
    rows = [
        {
            **each._asdict(),
            "service": each.service.value,
            "usd": None if each.usd is None else float(each.usd),
        }
        for each in proofs
    ]
    return {"format": FORMAT, "stack": stack, "at": at.isoformat(timespec="seconds"), "passed": _passed(proofs), "proofs": rows}


def write(file: Path, record: dict[str, Any]) -> None:
    file.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def read(file: Path) -> dict[str, Any] | None:
    """The last record; None without a file. ValueError if it isn't a record."""
    if not file.exists():
        return None
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["format"] == FORMAT and isinstance(content["proofs"], list):
            return content
    except (ValueError, TypeError, KeyError):
        pass
    raise ValueError(f"{file}: not a record of `prove`; name a new file, or one written by --record")


def compared(before: dict[str, Any], proofs: Sequence[Proof]) -> list[str]:
    """Lines for the differences from the record."""
    known = {(row["service"], row["place"]): row for row in before["proofs"]}
    lines: list[str] = []
    for each in proofs:
        row = known.pop((each.service.value, each.place), None)
        if row is None:
            lines.append(f"{each.service.title} {each.place}: not in the record of {before['at']}")
            continue
        changes = [] if row["passed"] == each.passed else ["passed now" if each.passed else "passed before"]
        if row["device"] != each.device and each.device:
            changes.append(f"ran on {row['device'] or 'an unknown device'}")
        if row["first_line_seconds"] and each.first_line_seconds:
            ratio = each.first_line_seconds / row["first_line_seconds"]
            changes.append(f"first line after {ratio:.2f} of the time")
        lines += [f"{each.service.title} {each.place}: {', '.join(changes)}"] if changes else []
    lines += [f"{service} {place}: in the record of {before['at']}, but not tested now" for service, place in known]
    return lines


def _passed(proofs: Sequence[Proof]) -> bool:
    return bool(proofs) and all(each.passed for each in proofs)
