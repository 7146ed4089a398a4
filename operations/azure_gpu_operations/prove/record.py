"""The result of `prove`: its table, and its JSON, which contains no secret, id or address."""

import re
from collections.abc import Sequence
from datetime import datetime
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
