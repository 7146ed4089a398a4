"""What `import` says of a group whose parts don't fit each other: the same that the program would say of what is pasted."""

from pathlib import Path

import pytest
import yaml

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.formats.container_group_file import read
from azure_gpu_operations.importing.judging import check_wiring
from tests.support import container_group_files
from tests.support.container_group_files import SIDECAR_2018, VOLUMES_2019

ROWS = Path(__file__).with_name("import_wirings.yaml")


def found(text: str) -> list[Problem]:
    groups, problems = read(text, "f.yaml")
    assert errors(problems) == []
    return list(check_wiring(groups[0]))


@pytest.mark.parametrize("row", yaml.safe_load(ROWS.read_text(encoding="utf-8")), ids=lambda row: row["says"])
def test_parts_that_dont_fit_are_refused_by_line(row: dict[str, str]) -> None:
    text = getattr(container_group_files, row["file"])
    assert row["was"] in text
    (problem,) = errors(found(text.replace(row["was"], row["now"])))
    assert str(problem).startswith(row["says"])


def test_what_has_to_be_added_is_announced() -> None:
    text = SIDECAR_2018.replace("type: Public", "type: Private").replace("    dnsNameLabel: shop-front\n", "")
    (problem,) = found(text)
    assert errors([problem]) == []
    assert str(problem).startswith("f.yaml:26: properties.ipAddress.type: a private group lies in a subnet, and the file names")
    (problem,) = found(VOLUMES_2019.replace("      - name: code\n        mountPath: /code\n", ""))
    assert str(problem).startswith("f.yaml:43: properties.volumes[2].name: no container mounts this volume")
