"""Which stacks a change touches."""

from collections.abc import Sequence

import pytest

from azure_gpu_operations.review.repository import StackFiles, extended, touched

COMMON = "config:\n  azure-gpu:jobs: {a: {workload: mnist}}\n"
DEV = "config:\n  azure-gpu:extends: Pulumi.common.yaml\n"
ALONE = "config:\n  azure-gpu:jobs: {a: {workload: vector_add}}\n  azure-gpu:container_groups: {b: {file: files/group.yaml}}\n"
FILES = [
    StackFiles("alone", "Pulumi.alone.yaml", ALONE, ALONE),
    StackFiles("common", "Pulumi.common.yaml", COMMON, COMMON),
    StackFiles("dev", "Pulumi.dev.yaml", DEV, DEV, "Pulumi.common.yaml", "Pulumi.common.yaml", COMMON, COMMON),
    StackFiles("new", "Pulumi.new.yaml", None, ALONE),
    StackFiles("broken", "Pulumi.broken.yaml", "[", "["),
]


@pytest.mark.parametrize(
    ("changed", "stacks"),
    [
        (["Pulumi.dev.yaml"], ["dev"]),
        (["Pulumi.common.yaml"], ["dev"]),
        (["workloads/mnist/train.py"], ["dev"]),
        (["files/group.yaml"], ["alone", "new"]),
        (["Pulumi.broken.yaml"], ["broken"]),
        (["README.md", "docs/Pulumi.dev.yaml", "tests/x.py"], []),
        (["workloads/vector_add/main.cu"], ["alone", "new"]),
        (["workloads/README.md"], []),
        (["components/azure_gpu/batch/pool/pool.py"], ["alone", "dev", "new", "broken"]),
        (["__main__.py"], ["alone", "dev", "new", "broken"]),
    ],
)
def test_by_what_changed(changed: Sequence[str], stacks: list[str]) -> None:
    assert [each.stack for each in touched(FILES, changed, "")] == stacks


def test_a_project_in_a_folder_of_its_repository() -> None:
    common = extended(DEV, "azure-gpu", "infra/")
    assert common == "infra/Pulumi.common.yaml"
    assert extended(DEV.replace("Pulumi.common", "./../shared/x"), "azure-gpu", "infra/") == "shared/x.yaml"
    inside = [each._replace(file=f"infra/{each.file}", head_extends=common if each.head_extends else "") for each in FILES]
    inside = [each._replace(base_extends=each.head_extends) for each in inside]
    assert [each.stack for each in touched(inside, ["infra/Pulumi.common.yaml"], "infra/")] == ["dev"]
    assert touched(inside, ["Pulumi.common.yaml", "components/x.py"], "infra/") == []
