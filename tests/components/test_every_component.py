"""Invariants of every component, over all that is recorded of the cases, the shipped stacks and the examples.

That the record is what the program declares today is `test_recorded_bodies.py`'s.
"""

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.components import recorded_bodies
from tests.components.recording import DEPLOYER, ROLE_ASSIGNMENT, SECRET_SIGNATURE

PAGES = Path(__file__).parents[2] / "docs" / "components"
COMPONENT = re.compile(r"azuregpu:index:(\w+)::([^:]+)$")
# Keys of inputs that hold what opens something, wherever in a body they are, and without which no case would have one.
SECRET_KEYS = {
    "adminPassword",
    "primarySharedKey",
    "privateKey",
    "secureValue",
    "sslCertPemFile",
    "sslKeyPemFile",
    "stringData",
    "workspaceKey",
}
NEVER_KNOWN = {"ContainerGroup": {"hourly_cost"}}  # the catalog has no prices of container groups


@functools.cache
def declared() -> dict[str, dict[str, Any]]:
    """What was recorded of everything that isn't refused, by the name of its case or stack."""
    return {name: each for name, each in recorded_bodies.recorded().items() if "resources" in each}


def resources() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every resource, with the name of the case and its URN."""
    for name, each in declared().items():
        for urn, resource in each["resources"].items():
            yield name, urn, resource


def outputs_on_page(component: str) -> set[str]:
    """The outputs that the reference page of a component lists, which is made from its annotations."""
    file = re.sub("(?<=[a-z])(?=[A-Z])", "_", component).lower()
    _, _, after = (PAGES / f"{file}.md").read_text().partition("## Outputs")
    table = re.split(r"\n(?:## |Only in Python)", after)[0]
    return set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))


def components() -> list[str]:
    """The names of the components that have a page."""
    pages = sorted(each.stem for each in PAGES.glob("*.md") if each.name != "README.md")
    return ["".join(word.capitalize() for word in page.split("_")) for page in pages]


def test_the_parent_of_every_resource_is_the_component_whose_name_its_name_begins_with() -> None:
    strangers: list[str] = []
    for name, urn, resource in resources():
        if COMPONENT.search(urn) or "pulumi:providers:" in urn:  # of another subscription
            continue
        parent = COMPONENT.search(resource["parent"])
        if parent is None or not urn.rsplit("::", 1)[1].startswith(f"{parent[2]}-"):
            strangers.append(f"{name}: {urn} has the parent {resource['parent'] or 'none'}")
    assert strangers == []


def test_every_component_is_recorded_and_registers_outputs() -> None:
    by_case = {(name, urn) for name, urn, _ in resources() if COMPONENT.search(urn)}
    registered = {(name, urn) for name, each in declared().items() for urn in each["outputs"] if COMPONENT.search(urn)}
    assert by_case == registered
    assert {found[1] for _, urn in by_case if (found := COMPONENT.search(urn))} == set(components())


@pytest.mark.parametrize("component", components())
def test_a_component_registers_the_outputs_that_its_page_lists_and_no_other(component: str) -> None:
    """An output without a value isn't on the wire, so that one case needn't show all."""
    listed = outputs_on_page(component) - NEVER_KNOWN.get(component, set())
    assert listed
    registered: set[str] = set()
    for each in declared().values():
        for urn, outputs in each["outputs"].items():
            found = COMPONENT.search(urn)
            if found and found[1] == component:
                registered |= outputs.keys()
    assert registered == listed


def test_every_role_assignment_says_which_kind_its_principal_is() -> None:
    """Without it Azure looks the principal up, and a new identity isn't found at first. Whoever deploys is there already."""
    assigned = [resource["wire"] for _, urn, resource in resources() if ROLE_ASSIGNMENT in urn]
    assert {each["principalId"] for each in assigned if not each.get("principalType")} == {DEPLOYER}
    assert {each["principalType"] for each in assigned if each.get("principalType")} <= {"ServicePrincipal", "User", "Group"}
    assert "ServicePrincipal" in {each.get("principalType") for each in assigned}


def test_every_role_assignment_names_a_principal_and_a_scope_that_are_known() -> None:
    incomplete = [
        f"{name}: {urn}"
        for name, urn, resource in resources()
        if ROLE_ASSIGNMENT in urn and not (resource["wire"].get("principalId") and resource["wire"].get("scope"))
    ]
    assert incomplete == []


def test_no_secret_is_sent_without_its_mark() -> None:
    seen: set[str] = set()
    readable: list[str] = []

    def look(value: Any, where: str) -> None:
        if isinstance(value, list):
            for each in value:
                look(each, where)
        elif isinstance(value, dict):
            for key, each in value.items():
                if key in SECRET_KEYS and each is not None:
                    seen.add(key)
                    if not (isinstance(each, dict) and SECRET_SIGNATURE in each):
                        readable.append(f"{where}: {key}")
                look(each, where)

    for name, urn, resource in resources():
        look(resource["wire"], f"{name}: {urn}")
    assert readable == []
    assert {"secureValue", "stringData"} <= seen


def test_what_exists_is_looked_up_and_never_adopted() -> None:
    assert [urn for _, urn, resource in resources() if resource["import_id"]] == []
