"""The names that the shipped stacks, the examples and the happy cases give: of resources in the program, which make up their
URNs, and in Azure or on a cluster. One line each, as text, so that a review shows a naming rule that has changed.

A changed URN or name replaces what is up, with what is in it. `python -m tests.components.golden_names --renew` writes the
table again; a commit that does so for a line that was there says in CHANGELOG.md what becomes of existing stacks.
"""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from azure_gpu.formats.azure_types import BY_TOKEN
from tests.components import recorded_bodies

TABLE = recorded_bodies.ROOT / "tests" / "data" / "names.tsv"
_HEADING = "stack\tresource\tname"
RANDOM = "(random)"  # the provider makes it


def table() -> str:
    return "\n".join([_HEADING, *sorted(set(_lines()))]) + "\n"


def _lines() -> Iterator[str]:
    for stack, declared in recorded_bodies.recorded().items():
        if ".happy." in stack or stack.startswith(("stack.", "example.")):
            for urn, resource in declared["resources"].items():
                yield "\t".join((stack, urn.split("::", 2)[2], _name(urn, resource["wire"])))


def _name(urn: str, inputs: Mapping[str, Any]) -> str:
    token = urn.split("::")[-2].rpartition("$")[2]
    if token in BY_TOKEN:
        return str(inputs.get(BY_TOKEN[token].name_parameter, RANDOM))
    metadata = inputs.get("metadata") or {}
    return "/".join(each for each in (metadata.get("namespace"), metadata.get("name")) if each)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="the table of names")
    parser.add_argument("--renew", action="store_true", required=True)
    parser.parse_args()
    TABLE.write_text(table(), encoding="utf-8")
