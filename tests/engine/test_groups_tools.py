"""JobSet and Kueue: what counts as a complete build, and that the library releases the versions that are built."""

from pathlib import Path

from azure_gpu.catalog.services import groups
from engine import groups_tools, pins


def _complete(folder: Path) -> Path:
    for name in ("jobset-controller", "kueue-controller", "charts"):
        program = folder / name
        folder.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    for chart in (f"jobset-{groups.JOBSET.version}", f"kueue-{groups.KUEUE.version}"):
        (folder / chart).mkdir()
        (folder / chart / "Chart.yaml").write_text("")
    pins.note(folder, groups_tools.GROUPS)
    return folder


def test_the_library_releases_the_versions_that_are_built() -> None:
    pinned = groups_tools.GROUPS.requires
    assert pinned["sigs.k8s.io/jobset"] == f"v{groups.JOBSET.version}"
    assert pinned["sigs.k8s.io/kueue"] == f"v{groups.KUEUE.version}"
    built = f"{groups.JOBSET.version}-{groups.KUEUE.version}"
    assert built == groups_tools.VERSION


def test_a_complete_build_is_taken_and_a_part_of_one_is_not(tmp_path: Path) -> None:
    folder = _complete(tmp_path / "groups")
    assert groups_tools.problem(folder) is None
    (folder / f"jobset-{groups.JOBSET.version}" / "Chart.yaml").unlink()
    assert groups_tools.problem(folder) == "the chart of jobset is missing"
    (folder / "charts").chmod(0o644)
    assert groups_tools.problem(folder) == "charts is missing or can't be executed"
    assert groups_tools.problem(tmp_path / "nowhere") == "it isn't there"


def test_a_build_of_other_sources_is_not_taken(tmp_path: Path) -> None:
    folder = _complete(tmp_path / "groups")
    (folder / "sources").write_text("0" * 64, encoding="ascii")
    assert groups_tools.problem(folder) == "it was built out of other sources"
