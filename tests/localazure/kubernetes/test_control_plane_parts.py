"""The command of each part of a control plane."""

from pathlib import Path

from localazure.kubernetes.control_plane_folder import ClusterFolder
from localazure.kubernetes.control_plane_parts import Issuers, Ports, controllers, server, store


def test_each_part_is_called_by_its_own_name_as_the_publishers_programs_are(tmp_path: Path) -> None:
    folder, programs = ClusterFolder(tmp_path / "cluster"), Path("/programs")
    found = [
        store(folder, Ports(1, 2, 3), programs),
        server(folder, Ports(1, 2, 3), programs, Issuers("https://issuer", ""), {}),
        *controllers(folder, programs, ["agent"]),
    ]
    assert {each.name: each.argv[0] for each in found} == {
        "etcd": "/programs/etcd",
        "kube-apiserver": "/programs/kube-apiserver",
        "kube-controller-manager": "/programs/kube-controller-manager",
        "kube-scheduler": "/programs/kube-scheduler",
        "agent": "agent",
    }
    assert [word for each in found for word in each.argv[1:] if not word.startswith("--")] == []
