"""What the program says of a stack, as preflight takes it."""

from datetime import date
from pathlib import Path

import pytest

from azure_gpu.catalog.problems import errors
from azure_gpu_operations import planned
from azure_gpu_operations.preflight.needs import names_of, namespaces_of, region_of

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


@pytest.mark.parametrize(
    ("location", "region"), [("West Europe", "westeurope"), ("belgiumcentral", "belgiumcentral"), ("west-europe", "")]
)
def test_what_is_no_region_is_a_problem_and_is_not_asked_of_azure(tmp_path: Path, location: str, region: str) -> None:
    file = tmp_path / "Pulumi.mine.yaml"
    file.write_text(FILE.format(location=location))
    taken = planned.inventory(ROOT, file, "mine", "2026-11-21")
    assert (taken.day, region_of(taken)) == (date(2026, 11, 21), region)
    assert ("location" in [problem.path for problem in errors(taken.problems)]) == (not region)


def test_what_a_foundation_creates_names_its_providers_and_the_names_to_ask_for(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.mine.yaml"
    file.write_text(FILE.format(location="westeurope"))
    taken = planned.inventory(ROOT, file, "mine", "")
    assert namespaces_of(taken) == ["Microsoft.ContainerRegistry", "Microsoft.ManagedIdentity", "Microsoft.Storage"]
    assert [name.kind.value for name in names_of(taken)] == ["registry", "storage"]
    assert taken.assigns_roles
    assert taken.group == ""
    file.write_text(
        FILE.format(location="westeurope").replace("    registry: create", "    registry: create\n    log_workspace: create")
    )
    assert {"Microsoft.OperationalInsights", "Microsoft.Insights"} <= set(namespaces_of(planned.inventory(ROOT, file, "mine")))


ENDPOINT = """  azure-gpu:ml_workspace:
    models: {digits: {version: "1", path: digits/1}}
    environments: {own: {version: "1", image: a.io/b:1}}
  azure-gpu:ml_endpoints:
    digits:
      deployments:
        blue: {model: digits, environment: own, instance_type: Standard_NC4as_T4_v3}
        green: {model: digits, environment: own, instance_type: Standard_F2s_v2, instances: 3}
      traffic: {blue: 100, green: 0}
      expires_after: "2026-11-30"
"""


def test_an_endpoint_uses_machines_with_a_gpu_and_without_and_brings_what_a_workspace_needs(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.mine.yaml"
    file.write_text(FILE.format(location="westeurope") + ENDPOINT)
    taken = planned.inventory(ROOT, file, "mine", "2026-11-21")
    assert [(use.service.value, use.size, use.nodes) for use in taken.uses] == [("ml-endpoint", "Standard_NC4as_T4_v3", 1)]
    (own,) = taken.ml_machines
    assert (own.size, own.nodes, own.vcpus) == ("Standard_F2s_v2", 4, 2), "a fifth more is kept for upgrades, rounded up"
    assert {"Microsoft.MachineLearningServices", "Microsoft.KeyVault", "Microsoft.Insights"} <= set(namespaces_of(taken))


CLUSTER = """  azure-gpu:clusters:
    shared: {{azure_policy: {on}, on_cluster: false, expires_after: "2026-11-30"}}
"""


@pytest.mark.parametrize(("on", "asked"), [("true", True), ("false", False)])
def test_the_policy_add_on_of_a_cluster_brings_its_provider(tmp_path: Path, on: str, asked: bool) -> None:
    file = tmp_path / "Pulumi.mine.yaml"
    file.write_text(FILE.format(location="westeurope") + CLUSTER.format(on=on))
    taken = planned.inventory(ROOT, file, "mine", "2026-11-21")
    assert ("Microsoft.PolicyInsights" in namespaces_of(taken)) == asked


def test_a_file_that_is_not_there_or_no_stack_file_is_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "Pulumi.x.yaml"
    broken.write_text("config: [")
    for file in (tmp_path / "none.yaml", broken):
        with pytest.raises(planned.UnreadableStackFileError) as wrong:
            planned.inventory(ROOT, file, "x", "")
        assert str(file) in str(wrong.value)
        assert "\n" not in str(wrong.value)
