"""Which stacks a change touches."""

from collections.abc import Sequence

import pytest

from azure_gpu_operations.review.touched import StackFiles, touched

COMMON = "config:\n  azure-gpu:jobs: {a: {workload: mnist}}\n"
DEV = "config:\n  azure-gpu:extends: Pulumi.common.yaml\n"
ALONE = "config:\n  azure-gpu:jobs: {a: {workload: vector_add}}\n"
FILES = [
    StackFiles("alone", "Pulumi.alone.yaml", ALONE, ALONE),
    StackFiles("common", "Pulumi.common.yaml", COMMON, COMMON),
    StackFiles("dev", "Pulumi.dev.yaml", DEV, DEV),
    StackFiles("new", "Pulumi.new.yaml", None, ALONE),
    StackFiles("broken", "Pulumi.broken.yaml", "[", "["),
]


@pytest.mark.parametrize(
    ("changed", "stacks"),
    [
        (["Pulumi.dev.yaml"], ["dev"]),
        (["Pulumi.common.yaml"], ["dev"]),
        (["Pulumi.broken.yaml"], ["broken"]),
        (["README.md", "docs/Pulumi.dev.yaml", "tests/x.py"], []),
        (["workloads/vector_add/main.cu"], ["alone", "new"]),
        (["workloads/README.md"], []),
        (["components/azure_gpu/batch/pool/pool.py"], ["alone", "dev", "new", "broken"]),
        (["__main__.py"], ["alone", "dev", "new", "broken"]),
    ],
)
def test_by_what_changed(changed: Sequence[str], stacks: list[str]) -> None:
    assert [each.stack for each in touched(FILES, changed, "azure-gpu", "")] == stacks


def test_a_project_in_a_folder_of_its_repository() -> None:
    inside = [each._replace(file=f"infra/{each.file}") for each in FILES]
    assert [each.stack for each in touched(inside, ["infra/Pulumi.common.yaml"], "azure-gpu", "infra/")] == ["dev"]
    assert touched(inside, ["Pulumi.common.yaml", "components/x.py"], "azure-gpu", "infra/") == []
