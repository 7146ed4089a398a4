"""Azure Policy definitions that deny resources of the declared types: Enterprise-Scale's landing zone and Azure's built-in ones.

Each row is one condition of a definition's `if`, without its parameters, as a property of ARM's body and a condition in the
words of the embedded Azure's table of refusals, which evaluates it. The effect of all of them is `deny`: by default in a landing
zone, or by the assignment that the row names. Definitions that change or deploy something, and those about pods, aren't rows.
"""

import re
from functools import cache
from typing import NamedTuple

from azure_gpu.catalog import tables
from azure_gpu.catalog.tables import Table

TABLE = Table(
    tables.beside(__file__, "policies.csv"),
    {
        "assignment": "the assignment's name, Enterprise-Scale's where it has one",
        "definition": "the definition's name: a GUID of a built-in one",
        "title": "its display name",
        "type": "of the resources that it denies",
        "property": "the path in the body that its alias leads to",
        "condition": "when it denies, in the words of the table of refusals",
        "answer": "the key of a stack file by which the resource complies; empty: it does by default",
        "repository": "where the definition was read",
        "path": "its file there",
        "commit": "and its commit",
    },
)
_NAMED = re.compile(r"policyAssignments/([^\s\"',}]+)", re.IGNORECASE)


class Policy(NamedTuple):
    """One row."""

    assignment: str
    definition: str
    title: str
    type: str
    property: str
    condition: str
    answer: str
    source: str


@cache
def everything() -> tuple[Policy, ...]:
    """All rows. The file is read at the first call."""
    return tuple(
        Policy(
            assignment=row.filled("assignment"),
            definition=row.filled("definition"),
            title=row.filled("title"),
            type=row.filled("type"),
            property=row.filled("property"),
            condition=row.filled("condition"),
            answer=row["answer"],
            source=f"{row['repository']}, {row['path']} at {row['commit'][:8]}",
        )
        for row in tables.read(TABLE)
    )


def denial(text: str) -> str:
    """What answers a denial by one of these: assignment, property and key. Empty where the error names none of them."""
    lowered = text.replace("\\", "").lower()
    of_type = [each for each in everything() if f"policydefinitions/{each.definition.lower()}" in lowered]
    if not of_type:
        return ""
    found = of_type[0]
    named = _NAMED.search(text.replace("\\", ""))
    assignment = named[1] if named else found.assignment
    answer = f"set {found.answer}" if found.answer else "remove what `overrides` set there"
    return f"the policy assignment {assignment} ({found.title}) denies this value of {found.property}: {answer}"
