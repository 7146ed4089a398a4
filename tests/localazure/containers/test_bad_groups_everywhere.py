"""Groups that Azure never took: `import` and ContainerGroup with `file:` each refuse them in own words."""

import json
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.catalog.problems import errors
from azure_gpu.container_instances.resolve import resolve
from azure_gpu.shared.context import resolve_stack
from azure_gpu_operations.__main__ import main
from tests.support.container_group_files import GPU_YAML
from tests.support.container_group_templates import GPU_TEMPLATE
from tests.support.embedded import SUBSCRIPTION

REQUESTS = "properties.containers[0].properties.resources.requests"
SUBNET = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/n/providers/Microsoft.Network/virtualNetworks/v/subnets/s"
# Without the key of the command line that Azure never sees, so that the line numbers stay those of Microsoft's page.
K80 = GPU_YAML.replace("additional_properties: {}", "location: eastus").replace(
    "k8s-gcrio.azureedge.net/cuda-vector-add", "k8s.gcr.io/cuda-vector-add"
)
BAD = {
    "region": K80.replace("eastus", "westus"),
    "count": K80.replace("count: 1", "count: 3"),
    "cpu": K80.replace("cpu: 1.0", "cpu: 8"),
    "windows": K80.replace("osType: Linux", "osType: Windows"),
    "network": K80.replace("  osType", f"  subnetIds: [{{id: {SUBNET}}}]\n  osType"),
    "spot": K80.replace("  osType", "  priority: Spot\n  osType"),
}


def imported(capsys: pytest.CaptureFixture[str], folder: Path, text: str, file: str = "f.yaml") -> list[str]:
    """What `import` refuses, as `line: path: message`."""
    (folder / file).write_text(text)
    code = main(["import", str(folder / file), "--as-of", "2019-06-01"])
    told = capsys.readouterr()
    assert code == 1
    lines = [line.removeprefix(f"error: {folder / file}:") for line in told.err.splitlines() if line.startswith("error: ")]
    return [line.partition(";")[0] for line in lines]


def declared(text: str, file: str = "f.yaml") -> list[str]:
    """What the program refuses of a stack file that names the file, as `path: message`."""
    args: Any = {"subscription_id": SUBSCRIPTION, "team": "t", "location": "eastus", "today": "2026-11-20"}
    context, _ = resolve_stack(args, "azure-gpu", "dev")
    own: Any = {"file": file, "as_of": "2019-06-01", "expires_after": "2019-06-30"}
    _, problems = resolve("g", own, context, lambda _: text)
    return [f"{problem.path}: {problem.message}" for problem in errors(problems)]


@pytest.mark.parametrize(
    ("bad", "of_import", "of_program"),
    [
        (
            "region",
            "1: location: Container Instances had no K80 in this region",
            "location: Container Instances had no K80 in this region",
        ),
        ("count", f"14: {REQUESTS}.gpu.count: a container had 1, 2 or 4 GPUs", "gpu.count: a container had 1, 2 or 4 GPUs"),
        ("cpu", f"11: {REQUESTS}.cpu: a group with 1 K80 has at most 6 CPU", "cpu: a group with 1 K80 has at most 6 CPU"),
        (
            "windows",
            "16: properties.osType: a container group with a GPU runs Linux only",
            "os_type: a container group with a GPU runs Linux only",
        ),
        ("network", "16: properties.subnetIds: a container group with a GPU", "subnet_id: a container group with a GPU"),
        (
            "spot",
            "16: properties.priority: a Spot container group can't have a GPU",
            "priority: a Spot container group can't have a GPU",
        ),
    ],
)
def test_a_group_that_azure_never_took_is_refused_by_both_readers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, bad: str, of_import: str, of_program: str
) -> None:
    assert [line.startswith(of_import) for line in imported(capsys, tmp_path, BAD[bad])] == [True]
    assert [line.startswith(f"container_groups.g.{of_program}") for line in declared(BAD[bad])] == [True]


def test_all_of_it_comes_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = BAD["count"].replace("cpu: 1.0", "cpu: 0").replace("osType: Linux", "osType: Windows")
    assert [line.partition(":")[0] for line in imported(capsys, tmp_path, text)] == ["11", "14", "16"]
    assert {line.partition(":")[0] for line in declared(text)} == {
        "container_groups.g.gpu.count",
        "container_groups.g.cpu",
        "container_groups.g.os_type",
    }


@pytest.mark.parametrize(
    ("text", "message", "of_import"),
    [
        ("services: {web: {image: nginx}}\n", "1: this is a file of Docker Compose", ""),
        ("- 1\n", "1: not a container group", "1: not a file that is read"),
        (K80.replace("  containers", "\tcontainers"), "5: line 5 is indented with tabs", ""),
    ],
)
def test_what_is_no_group_is_refused_by_both_readers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, message: str, of_import: str
) -> None:
    assert [line.startswith(of_import or message) for line in imported(capsys, tmp_path, text)] == [True]
    assert [line.startswith(f"f.yaml:{message}") for line in declared(text)] == [True]


def test_a_manifest_of_kubernetes_is_no_container_group() -> None:
    """`import` takes it for what it is: jobs of a cluster or an edge."""
    told = declared("apiVersion: v1\nkind: Pod\n")
    assert [line.startswith("f.yaml:1: this is a manifest of Kubernetes") for line in told] == [True]


def test_an_unquoted_date_is_taken_by_both_readers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = K80.replace("'2018-10-01'", "2018-10-01")
    assert declared(text) == []
    (tmp_path / "f.yaml").write_text(text)
    assert main(["import", str(tmp_path / "f.yaml"), "--as-of", "2019-06-01"]) == 0
    assert "f.yaml:2: apiVersion: YAML reads this as a date" in capsys.readouterr().err


def _without_default(template: dict[str, Any]) -> dict[str, Any]:
    del template["parameters"]["containerGroupName"]["defaultValue"]
    return template


def _in_a_circle(template: dict[str, Any]) -> dict[str, Any]:
    (resource,) = template["resources"]
    names = ("one", "two")
    template["resources"] = [
        {**resource, "name": name, "dependsOn": [other]} for name, other in zip(names, reversed(names), strict=True)
    ]
    return template


@pytest.mark.parametrize(
    ("spoil", "of_reader"),
    [(_without_default, "parameters.containerGroupName: the value"), (_in_a_circle, "circular dependency: ")],
)
def test_a_template_that_cannot_be_evaluated_is_refused_by_both_readers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, spoil: Any, of_reader: str
) -> None:
    text = json.dumps(spoil(json.loads(GPU_TEMPLATE)), indent=1)
    assert any(of_reader in line for line in imported(capsys, tmp_path, text, "t.json"))
    assert any(of_reader in line for line in declared(text, "t.json"))
