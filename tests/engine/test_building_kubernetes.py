"""The folder of Kubernetes' programs: what is built, what is taken from PATH, and when it is made anew. Go is pretended."""

import os
from pathlib import Path

import pytest

from tests.engine.pretended_machine import Machine

SERVERS = {
    "etcd": "etcd Version: 3.6.8",
    "kube-apiserver": "Kubernetes v1.36.2",
    "kube-controller-manager": "Kubernetes v1.36.2",
    "kube-scheduler": "Kubernetes v1.36.2",
}
PROGRAMS = [*SERVERS, "kubectl", "kubelogin", "node-streams"]


@pytest.fixture(autouse=True)
def _machine_with_go(machine: Machine) -> None:
    machine.has_go()


def test_the_folder_has_every_program_under_its_name(machine: Machine) -> None:
    result = machine.run("kubernetes")
    assert (result.returncode, result.stdout) == (0, f"{machine.built_kubernetes}\n")
    assert "about 5 minutes" in result.stderr
    assert all(os.access(machine.built_kubernetes / name, os.X_OK) for name in PROGRAMS)
    assert "-tags=withoutkubectl" not in machine.options("kubernetes")
    assert machine.builds() == ["kubernetes", "kubelogin"], "the one program is called by several names"


def test_pulumi_and_kubernetes_lie_apart(machine: Machine) -> None:
    machine.run("kubernetes")
    assert machine.run().stdout == f"{machine.built}\n"
    assert not (machine.built / "kubectl").exists()


def test_a_build_of_kubernetes_is_used_again_without_go_and_without_a_word(machine: Machine) -> None:
    machine.run("kubernetes")
    (machine.path / "go").unlink()
    again = machine.run("kubernetes")
    assert (again.returncode, again.stdout, again.stderr) == (0, f"{machine.built_kubernetes}\n", "")


def test_check_says_which_program_is_missing_and_builds_nothing(machine: Machine) -> None:
    machine.run("kubernetes")
    (machine.built_kubernetes / "kubelogin").unlink()
    result = machine.run("kubernetes", "--check")
    assert (result.returncode, result.stdout) == (1, "")
    assert "kubelogin is missing" in result.stderr
    assert machine.builds() == ["kubernetes", "kubelogin"]


def test_a_build_out_of_other_sources_is_made_again(machine: Machine) -> None:
    machine.run("kubernetes")
    (machine.built_kubernetes / "sources").write_text("those of last week")
    result = machine.run("kubernetes")
    assert (result.returncode, result.stdout) == (0, f"{machine.built_kubernetes}\n")
    assert "out of other sources" in result.stderr
    assert machine.run("kubernetes", "--check").returncode == 0


def test_a_recent_kubectl_and_kubelogin_on_path_are_taken_and_the_rest_is_built(machine: Machine) -> None:
    machine.has("kubectl", "Client Version: v1.37.1")
    machine.has("kubelogin", "git hash: v0.2.14/1234567")
    result = machine.run("kubernetes")
    assert result.returncode == 0, result.stderr
    assert {name: _target(machine, name) for name in ("kubectl", "kubelogin")} == {
        "kubectl": machine.path / "kubectl",
        "kubelogin": machine.path / "kubelogin",
    }
    assert machine.builds() == ["kubernetes"]
    assert "-tags=withoutkubectl" in machine.options("kubernetes")


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("kubectl", "Client Version: v1.35.9"),
        ("kubectl", "Client Version: v2.36.2"),
        ("kubectl", "what?"),
        ("kubelogin", "git hash: v0.2.12"),
        ("kubelogin", "git hash: v0.1.99"),
    ],
)
def test_an_older_or_unknown_program_on_path_is_not_taken(machine: Machine, name: str, answer: str) -> None:
    machine.has(name, answer)
    machine.run("kubernetes")
    assert machine.builds() == ["kubernetes", "kubelogin"]
    assert _target(machine, name) != machine.path / name


def test_a_whole_control_plane_on_path_is_taken_and_only_the_streams_are_built(machine: Machine) -> None:
    for name, answer in {**SERVERS, "kubectl": "Client Version: v1.36.2", "kubelogin": "v0.2.13"}.items():
        machine.has(name, answer)
    result = machine.run("kubernetes")
    assert (result.returncode, result.stdout) == (0, f"{machine.built_kubernetes}\n")
    assert machine.builds() == ["node-streams"]
    assert "a minute" in result.stderr
    assert _target(machine, "kube-apiserver") == machine.path / "kube-apiserver"


def test_servers_are_taken_together_or_not_at_all(machine: Machine) -> None:
    for name in ("etcd", "kube-apiserver", "kube-controller-manager"):
        machine.has(name, SERVERS[name])
    machine.run("kubernetes")
    assert machine.builds() == ["kubernetes", "kubelogin"]
    assert _target(machine, "kube-apiserver") == machine.built_kubernetes / "kubernetes"


def test_a_program_that_has_gone_from_path_is_noticed(machine: Machine) -> None:
    machine.has("kubectl", "Client Version: v1.37.1")
    machine.run("kubernetes")
    (machine.path / "kubectl").unlink()
    result = machine.run("kubernetes")
    assert "kubectl is missing" in result.stderr
    assert _target(machine, "kubectl") == machine.built_kubernetes / "kubernetes"


def test_our_own_build_on_path_is_no_reason_to_link_to_it(machine: Machine) -> None:
    machine.run("kubernetes")
    (machine.built_kubernetes / "sources").unlink()
    result = machine.run("kubernetes", PATH=f"{machine.built_kubernetes}:{machine.path}")
    assert result.returncode == 0, result.stderr
    assert _target(machine, "kubectl") == machine.built_kubernetes / "kubernetes"


def test_a_missing_go_is_one_line_that_says_what_it_is_for(machine: Machine) -> None:
    (machine.path / "go").unlink()
    result = machine.run("kubernetes")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1].startswith("missing: Go 1.26 or later, to build Kubernetes")


def _target(machine: Machine, name: str) -> Path:
    return (machine.built_kubernetes / name).resolve()
