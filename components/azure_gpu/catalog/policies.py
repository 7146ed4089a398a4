"""Azure Policy definitions that deny resources of the declared types: Enterprise-Scale's landing zone and Azure's built-in ones.

Each row is one condition of a definition's `if`, without its parameters, as a property of ARM's body and a condition in the
words of `formats.conditions`; `formats.policy_rules` evaluates it. The effect of all of them is `deny`: by default in a landing
zone, or by the assignment that the row names. Definitions that change or deploy something, and those about pods, aren't rows.
A definition of which the assignment's parameter decides has `{parameter}` in its property, or `@allowed[]` in its condition.
"""

import re
from functools import cache
from typing import NamedTuple

from azure_gpu.catalog import tables
from azure_gpu.catalog.tables import Table

TABLE = Table(
    tables.beside(__file__, "policies.csv"),
    {
        "assignment": "the assignment's name, Enterprise-Scale's where it has one; none: it assigns it nowhere",
        "definition": "the definition's name: a GUID of a built-in one",
        "title": "its display name",
        "type": "of the resources that it denies; *: all but resource groups",
        "property": "the path in the body that its alias leads to",
        "condition": "when it denies, in the words of `formats.conditions`",
        "answer": "the key of a stack file by which the resource complies; empty: it does by default",
        "weather": "whether the weather `landing-zone` assigns it: yes; no where it denies private stacks, or nobody assigns it",
        "repository": "where the definition was read",
        "path": "its file there",
        "commit": "and its commit",
    },
)
PARAMETER = "{parameter}"
GROUPS = "Microsoft.Resources/subscriptions/resourceGroups"  # as definitions call them
_NAMED = r"policyAssignments/([^\s\"',}]+)"


class Policy(NamedTuple):
    """One row."""

    assignment: str
    definition: str
    title: str
    type: str
    property: str
    condition: str
    answer: str
    in_weather: bool
    source: str

    @property
    def parametrized(self) -> bool:
        """Whether it denies what the assignment's parameter says."""
        return PARAMETER in self.property or "@allowed" in self.condition

    @property
    def in_a_landing_zone(self) -> bool:
        """Whether the weather `landing-zone` denies by it, which has no parameter of a company's."""
        return not self.parametrized and self.in_weather

    def is_of(self, definition: str) -> bool:
        """Whether it is of this definition, which has a parameter."""
        return self.parametrized and self.definition == definition

    def concerns(self, arm_type: str) -> bool:
        """Whether it looks at resources of a type."""
        groups = GROUPS.lower()
        asked = groups if arm_type.lower() == "microsoft.resources/resourcegroups" else arm_type.lower()
        return self.type.lower() == asked or (self.type == "*" and asked != groups)


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
            in_weather=row.yes("weather"),
            source=f"{row['repository']}, {row['path']} at {row['commit'][:8]}",
        )
        for row in tables.read(TABLE)
    )


def answer(definition_id: str, arm_type: str) -> str:
    """What a stack file sets so that a definition lets resources of a type through. Empty where the table doesn't say it."""
    found = (
        each.answer
        for each in everything()
        if definition_id.lower().endswith(f"/{each.definition.lower()}") and each.concerns(arm_type)
    )
    return next((f"set {each}" for each in found if each), "")


def denial(text: str) -> str:
    """What answers a denial by one of these: assignment, property and key. Empty where the error names none of them."""
    lowered = text.replace("\\", "").lower()
    of_type = [each for each in everything() if f"policydefinitions/{each.definition.lower()}" in lowered]
    if not of_type:
        return ""
    found = of_type[0]
    named = re.search(_NAMED, text.replace("\\", ""), re.IGNORECASE)
    assignment = named[1] if named else found.assignment
    answer = f"set {found.answer}" if found.answer else "remove what `overrides` set there"
    return f"the policy assignment {assignment} ({found.title}) denies this value of {found.property}: {answer}"
