"""The record of a proof, and how another one compares with it.

In: proofs, a file of JSON. Out: the file; lines for people. A record has what was seen and when; it is for `git` or a CI's
artefacts, and holds no secret, id or address.
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


def write(file: Path, told: dict[str, Any]) -> None:
    file.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def read(file: Path) -> dict[str, Any] | None:
    """The last record; None where there is none. ValueError where the file is something else."""
    if not file.exists():
        return None
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        if told["format"] == FORMAT and isinstance(told["proofs"], list):
            return told
    except (ValueError, TypeError, KeyError):
        pass
    raise ValueError(f"{file}: this is no record of a proof; name a new file, or one that --record has written")


def compared(before: dict[str, Any], proofs: Sequence[Proof]) -> list[str]:
    """What is different from the record, a line each."""
    known = {(row["service"], row["place"]): row for row in before["proofs"]}
    lines: list[str] = []
    for each in proofs:
        row = known.pop((each.service.value, each.place), None)
        if row is None:
            lines.append(f"{each.service.title} {each.place}: it wasn't in the record of {before['at']}")
            continue
        changes = [] if row["passed"] == each.passed else ["passed now" if each.passed else "passed then"]
        if row["device"] != each.device and each.device:
            changes.append(f"ran on {row['device'] or 'nothing that said what it is'}")
        if row["first_line_seconds"] and each.first_line_seconds:
            ratio = each.first_line_seconds / row["first_line_seconds"]
            changes.append(f"first line after {ratio:.2f} of the time")
        lines += [f"{each.service.title} {each.place}: {', '.join(changes)}"] if changes else []
    lines += [f"{service} {place}: in the record of {before['at']}, and not proved now" for service, place in known]
    return lines


def _passed(proofs: Sequence[Proof]) -> bool:
    return bool(proofs) and all(each.passed for each in proofs)
