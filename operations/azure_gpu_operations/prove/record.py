"""The result of `prove`: its table, its JSON record, and the comparison with a new result.

A record is for `git` or the artefacts of a CI; it contains no secret, id or address.
"""

import json
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from azure_gpu_operations.console import console
from azure_gpu_operations.job_cost import money
from azure_gpu_operations.prove.proof import Proof
from azure_gpu_operations.tables import Heading, of_rows, print_table

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


NOT_KNOWN = "-"
_NO_NAME = re.compile(r"\((?:R|TM)\)| Processor\b| CPU\b")  # of a processor's name
_HEADINGS = (
    Heading("service"),
    Heading("part"),
    Heading("ran on", 3, wraps=14),
    Heading("passed"),
    Heading("first line", 1),
    Heading("measured", 4, wraps=14),
    Heading("cost", 2),
)


def show(proofs: Sequence[Proof], *, wide: bool = False) -> None:
    out = console()
    print_table(out, of_rows(_HEADINGS, map(cells, proofs)), wide=wide)
    for each in proofs:
        for line in why(each):
            out.print(line, markup=False, soft_wrap=True)


def cells(proof: Proof) -> tuple[str, ...]:
    first = proof.first_line_seconds
    return (
        proof.service.title,
        proof.place,
        _NO_NAME.sub("", proof.device) or NOT_KNOWN,
        "yes" if proof.passed else "NO",
        NOT_KNOWN if first is None else f"{first:.1f} s",
        ", ".join(proof.measured) or NOT_KNOWN,
        NOT_KNOWN if proof.usd is None else money(proof.usd),
    )


def why(proof: Proof) -> list[str]:
    if proof.passed:
        return []
    return [f"{proof.service.title} {proof.place} failed:", *(f"  {line}" for line in proof.why)]
