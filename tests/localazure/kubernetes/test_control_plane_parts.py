"""The command of each part of a control plane."""

from pathlib import Path

from localazure.kubernetes.control_plane_folder import ClusterFolder
from localazure.kubernetes.control_plane_parts import PORTS, part
from localazure.kubernetes.programs import NEEDED


def test_each_part_is_called_by_its_own_name_as_the_publishers_programs_are(tmp_path: Path) -> None:
    told = {**dict.fromkeys(PORTS, 1), "issuer": "https://issuer", "keys": ""}
    found = [part(name, ClusterFolder(tmp_path), Path("/programs"), told) for name in NEEDED]
    assert {each.name: each.argv[0] for each in found} == {name: f"/programs/{name}" for name in NEEDED}
    assert [word for each in found for word in each.argv[1:] if not word.startswith("--") or word.endswith("=")] == []
