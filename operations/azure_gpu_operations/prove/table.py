"""The table of a proof, as people read it.

In: proofs. Out: a table on standard output, and below it why what wasn't proved wasn't.
"""

from collections.abc import Sequence

from rich.table import Table

from azure_gpu_operations.console import columns, console
from azure_gpu_operations.job_cost import money
from azure_gpu_operations.prove.proof import Proof

NOT_KNOWN = "-"


def show(proofs: Sequence[Proof]) -> None:
    out = console()
    table = Table(*columns("service", "part", "ran on", "passed", "first line", "measured", "cost"), pad_edge=False)
    for each in proofs:
        table.add_row(*cells(each))
    out.print(table)
    for each in proofs:
        for line in why(each):
            out.print(line, markup=False, soft_wrap=True)


def cells(proof: Proof) -> tuple[str, ...]:
    first = proof.first_line_seconds
    return (
        proof.service.title,
        proof.place,
        proof.device or NOT_KNOWN,
        "yes" if proof.passed else "NO",
        NOT_KNOWN if first is None else f"{first:.1f} s",
        ", ".join(proof.measured) or NOT_KNOWN,
        NOT_KNOWN if proof.usd is None else money(proof.usd),
    )


def why(proof: Proof) -> list[str]:
    if proof.passed:
        return []
    return [f"{proof.service.title} {proof.place} wasn't proved:", *(f"  {line}" for line in proof.why)]
