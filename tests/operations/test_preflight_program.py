"""What the program says of a stack, as preflight takes it."""

from datetime import date
from pathlib import Path

import pytest

from operations.preflight import program

ROOT = Path(__file__).parents[2]
FILE = """config:
  azure-native:subscriptionId: 00000000-0000-0000-0000-000000000000
  azure-gpu:team: vision
  azure-gpu:location: {location}
  azure-gpu:foundation:
    identity: create
    registry: create
    storage: create
"""


@pytest.mark.parametrize(("location", "region"), [("West Europe", "westeurope"), ("westeuropa", "")])
def test_a_region_that_is_not_known_is_a_problem_and_is_not_asked_of_azure(tmp_path: Path, location: str, region: str) -> None:
    file = tmp_path / "Pulumi.mine.yaml"
    file.write_text(FILE.format(location=location))
    taken = program.take(ROOT, file, "mine", "2026-11-21")
    assert (taken.day, taken.region) == (date(2026, 11, 21), region)
    assert ("location" in [problem.path for problem in taken.problems]) == (not region)


def test_what_a_foundation_creates_names_its_providers_and_the_names_to_ask_for(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.mine.yaml"
    file.write_text(FILE.format(location="westeurope"))
    taken = program.take(ROOT, file, "mine", "")
    assert taken.namespaces == ("Microsoft.ContainerRegistry", "Microsoft.ManagedIdentity", "Microsoft.Storage")
    assert [name.kind.value for name in taken.names] == ["registry", "storage"]
    assert taken.assigns_roles
    assert taken.group == ""
