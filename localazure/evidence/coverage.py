"""docs/coverage.md, made from the kinds and the rows of evidence: `python -m localazure.evidence.coverage`."""

from collections import Counter
from collections.abc import Iterator, Sequence

from localazure import evidence
from localazure.arm.kind import Kind
from localazure.evidence import RANKS, Rank
from localazure.shapes import default_api_version
from localazure.wiring import without_backends

_HEAD = """# What is covered, and how well it is known

Made by `make renew` from the embedded Azure's code; what it doesn't do is in [its limits](limits.md). A rank is the best
evidence:

- **recorded**: a session with Azure shows it. Sessions are named as in the projects that made them: `Test_*` in Azure Service
  Operator, `test_*` in the Azure CLI, `TestBudget*` in Azure PowerShell.
- **documented**: a page, an official client or a public report shows it.
- **assumed**: no source.
"""


def page() -> str:
    return "\n".join([_HEAD, *_figures(), *_types(), *_rules(), *_refusals()]) + "\n"


def operations(kind: Kind) -> list[str]:
    """What can be asked of a resource of the type, in the order of a life."""
    standard = ["PUT", "GET", "GET list", *(["PATCH"] if kind.patchable else []), "DELETE"]
    below = [
        *(f"GET {name}" for name in kind.below("reading")),
        *(f"POST {name}" for name in kind.below("action", "question")),
    ]
    return [*standard, *sorted(below)]


def rank_of(kind: Kind, operation: str) -> Rank:
    return "recorded" if (kind.arm_type, operation) in evidence.recorded() else "documented"


def _figures() -> Iterator[str]:
    of_operations = Counter(rank_of(kind, operation) for kind in without_backends() for operation in operations(kind))
    of_codes = Counter(row.rank for row in evidence.codes().values())
    of_rules = Counter(row.rank for rows in evidence.refusals().values() for row in rows if row.status != "501")
    yield from _table(
        ("", *RANKS),
        [
            (f"operations of {len(without_backends())} types", *(str(of_operations[rank]) for rank in RANKS)),
            ("bodies that are refused", *(str(of_rules[rank]) for rank in RANKS)),
            ("codes of refusals", *(str(of_codes[rank]) for rank in RANKS)),
        ],
    )


def _types() -> Iterator[str]:
    yield "\n## Types and their operations\n"
    yield "What isn't recorded is documented by the REST reference of the type at the API version that is named.\n"
    rows = []
    for kind in sorted(without_backends(), key=lambda each: each.arm_type):
        sessions = {operation: evidence.recorded().get((kind.arm_type, operation)) for operation in operations(kind)}
        shown = sorted({f"{each.name} ({each.date}, {each.api_version})" for each in sessions.values() if each})
        rows.append(
            (
                f"{kind.arm_type} {default_api_version(kind.azure_type)}",
                ", ".join(operation for operation, session in sessions.items() if session) or "-",
                ", ".join(operation for operation, session in sessions.items() if not session) or "-",
                "; ".join(shown) or "-",
                evidence.runs().get(kind.arm_type, "kept and shown"),
            )
        )
    yield from _table(("type", "recorded", "documented", "sessions", "what runs"), rows)


def _refusals() -> Iterator[str]:
    yield "\n## Codes of refusals\n"
    yield "`NotImplemented` with status 501 isn't an error of Azure: it names what the embedded Azure doesn't imitate.\n"
    rows = evidence.codes().values()
    yield from _table(("service", "code", "rank", "source"), [row[:4] for row in rows])


def _rules() -> Iterator[str]:
    yield "\n## Bodies that are refused\n"
    yield "In the order in which they are judged. `localazure/arm/refusals.py` describes paths and conditions; `kept` behind an"
    yield "assumed one says what would fail here without it.\n"
    found: list[tuple[str, ...]] = []
    for rows in evidence.refusals().values():
        for row in rows:
            if row.status != "501":
                source = f"{row.source}, {row.date}" if row.date else row.source
                found.append((row.arm_type, f"`{row.path}`", f"`{row.condition}`", f"{row.status} {row.code}", row.rank, source))
    yield from _table(("type", "path", "condition", "answer", "rank", "source"), found)
    yield "\n## Not judged\n"
    yield "What Azure may refuse though nobody is known to have seen it. It is let through here.\n"
    yield from _table(("type", "what"), [tuple(row) for row in evidence.not_judged()])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    yield from (f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows)


if __name__ == "__main__":
    print(page(), end="")
