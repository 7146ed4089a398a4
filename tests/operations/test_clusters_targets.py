"""Which cluster or edge of a stack is meant, and where an edge's kubeconfig is."""

from pathlib import Path

import pytest

from azure_gpu_operations.clusters import targets
from azure_gpu_operations.clusters.kubeconfig import read
from azure_gpu_operations.clusters.targets import AKS, EDGE, ClusterSelection, ClusterTarget, choose
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.shell.kubectl import kubeconfig
from azure_gpu_operations.stack_view import StackView
from tests.support.embedded import CHECKOUT

VIEW = StackView(
    "dev",
    Connection("s"),
    clusters={"gpu": "/gpu", "other": "/other"},
    edges={"box": "box"},
    namespaces={"gpu": "gpu-jobs", "box": "v"},
)
STACK = """\
config:
  azure-gpu:edges:
    box: {kubeconfig_file: boxes/one.yaml, context: admin, namespace: v}
    locked: {kubeconfig: {secure: v1:x}, namespace: v}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "Pulumi.dev.yaml"
    made.write_text(STACK)
    return made


def test_the_only_one_is_meant_and_its_namespace_is_the_stacks(file: Path) -> None:
    only = VIEW._replace(clusters={"gpu": "/gpu"})
    assert choose(only, AKS, ClusterSelection(), file) == (ClusterTarget("gpu", "/gpu", namespace="gpu-jobs"), [])
    assert choose(only, AKS, ClusterSelection(namespace="mine"), file)[0] == ClusterTarget("gpu", "/gpu", namespace="mine")


def test_one_of_several_has_to_be_named(file: Path) -> None:
    place, (problem,) = choose(VIEW, AKS, ClusterSelection(), file)
    assert place is None
    assert str(problem) == "--cluster: the stack has several clusters; allowed: gpu, other; fix: choose one: --cluster gpu"
    _, (problem,) = choose(VIEW, AKS, ClusterSelection("gpuu"), file)
    assert problem.fix == "did you mean gpu?"


def test_a_cluster_that_is_off_is_told_from_one_that_is_not_there(file: Path) -> None:
    clusters = "azure-gpu:clusters:\n    night: {enabled: false, gpu_pools: {t4: {enabled: false}}}\n"
    file.write_text(STACK.replace("azure-gpu:edges:", f"{clusters}  azure-gpu:edges:"))
    only = VIEW._replace(clusters={})  # the one that is off is the only one that the file has
    for view, kind, named, message in (
        (VIEW, AKS, "night", "clusters.night is switched off: enabled: false in Pulumi.dev.yaml"),
        (only, AKS, "", "clusters.night is switched off: enabled: false in Pulumi.dev.yaml"),
        (VIEW, EDGE, "night", "the stack has no edge of this name"),
        (VIEW, AKS, "t4", "the stack has no cluster of this name"),
    ):
        _, (problem,) = choose(view, kind, ClusterSelection(named), file)
        assert (problem.path, problem.message) == ("--cluster", message)


def test_an_edges_kubeconfig_is_found_where_the_stack_file_says(file: Path) -> None:
    place, problems = choose(VIEW, EDGE, ClusterSelection(), file)
    assert problems == []
    assert place == ClusterTarget("box", kubeconfig=CHECKOUT / "boxes/one.yaml", context="admin", namespace="v")


def test_a_kubeconfig_that_lies_encrypted_has_to_be_given(file: Path) -> None:
    locked = VIEW._replace(edges={"locked": "x"})
    _, (problem,) = choose(locked, EDGE, ClusterSelection(), file)
    assert problem.fix == "add --kubeconfig FILE"
    place, problems = choose(locked, EDGE, ClusterSelection(kubeconfig=Path("k")), file)
    assert (place, problems) == (ClusterTarget("locked", kubeconfig=Path("k")), [])
    assert [each.name for each in targets.all_of(VIEW._replace(edges={"box": "", "locked": ""}), file)] == ["gpu", "other", "box"]


@pytest.mark.parametrize(
    "text", [None, "config: [", "config:\n  azure-gpu:edges: [box]\n", STACK.replace("boxes/one.yaml", "[1]")]
)
def test_a_stack_file_that_says_nothing_of_the_edge_leaves_it_to_the_command_line(file: Path, text: str | None) -> None:
    file.unlink() if text is None else file.write_text(text)
    place, (problem,) = choose(VIEW, EDGE, ClusterSelection(), file)
    assert place is None
    assert str(problem).startswith("--kubeconfig: the stack's file has no `kubeconfig_file` for this edge")
    assert [each.name for each in targets.all_of(VIEW, file)] == ["gpu", "other"]


def test_an_aks_cluster_takes_no_kubeconfig(file: Path) -> None:
    _, (problem,) = choose(VIEW, AKS, ClusterSelection(kubeconfig=Path("k")), file)
    assert problem.path == "--kubeconfig"


def test_the_shells_kubeconfig_signs_in_as_the_azure_cli_does_and_keeps_local_accounts() -> None:
    entra = (
        "clusters: [{name: a, cluster: {server: 'https://a:443', certificate-authority-data: QUJD}}]\n"
        "users: [{name: a, user: {exec: {command: kubelogin, args: [get-token, --login, devicecode]}}}]\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n"
    )
    local = entra.replace("{exec: {command: kubelogin, args: [get-token, --login, devicecode]}}", "{token: secret}")
    made = kubeconfig({"gpu": read(entra), "old": read(local)}, {"gpu": "gpu-jobs"})
    assert made["current-context"] == "gpu"
    assert made["contexts"][0]["context"] == {"cluster": "gpu", "user": "gpu", "namespace": "gpu-jobs"}
    assert made["users"][0]["user"]["exec"]["args"][-2:] == ["--login", "azurecli"]
    assert made["users"][1]["user"] == {"token": "secret"}
    assert made["clusters"][0]["cluster"]["certificate-authority-data"] == "QUJD"
