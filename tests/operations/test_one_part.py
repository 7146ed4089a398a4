"""Which part of a stack a command means."""

from pathlib import Path

import pytest

from azure_gpu_operations.connection import Connection
from azure_gpu_operations.one_part import COMPUTE, JOB, MACHINE, POOL, Kind, choose
from azure_gpu_operations.stack_view import StackView

NONE = StackView("dev", Connection("s"))
ONE = NONE._replace(jobs={"train": "/j"}, pools={"train": "/p"}, vms={"train": "/v"}, ml_computes={"train": "/c"})
KINDS = [JOB, POOL, MACHINE, COMPUTE]
OFF = """\
config:
  azure-gpu:jobs: {night: {enabled: false}}
  azure-gpu:pools: {night: {enabled: false, size: Standard_NC4as_T4_v3}}
  azure-gpu:vms: {night: {enabled: false, size: Standard_NC4as_T4_v3}}
  azure-gpu:ml_workspace: {computes: {night: {enabled: false}}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(OFF)
    return file


@pytest.mark.parametrize("kind", KINDS)
def test_the_only_one_needs_no_name(kind: Kind) -> None:
    assert choose(kind, ONE, "") == choose(kind, ONE, "train") == ("train", [])


@pytest.mark.parametrize("kind", KINDS)
def test_of_several_one_has_to_be_named_and_a_misspelt_one_is_told_the_right_name(kind: Kind) -> None:
    several = NONE._replace(**{field: {"b": "/b", "train": "/a"} for field in ("jobs", "pools", "vms", "ml_computes")})
    (problem,) = choose(kind, several, "")[1]
    told = f"{kind.option}: the stack has several {kind.noun}s; allowed: b, train; fix: choose one: {kind.option} b"
    assert str(problem) == told
    (problem,) = choose(kind, several, "trian")[1]
    assert str(problem) == (
        f"{kind.option}: the stack has no {kind.noun} of this name; given: 'trian'; allowed: b, train; fix: did you mean train?"
    )
    (problem,) = choose(kind, several, "", option="NAME")[1]
    assert problem.fix == "choose one: b"


@pytest.mark.parametrize("name", ["", "train"])
@pytest.mark.parametrize("kind", KINDS)
def test_where_there_is_none_the_section_is_told(kind: Kind, name: str) -> None:
    chosen, (problem,) = choose(kind, NONE, name)
    assert chosen == ""
    assert problem.message == f"the stack has no {kind.of_stack}"
    assert kind.section in problem.fix


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_is_off_is_told_from_one_that_is_not_there(kind: Kind, file: Path) -> None:
    chosen, (problem,) = choose(kind, ONE, "night", file)
    assert chosen == ""
    where = "ml_workspace.computes" if kind is COMPUTE else kind.section
    assert str(problem) == (
        f"{kind.option}: {where}.night is switched off: enabled: false in Pulumi.dev.yaml; given: 'night'; "
        "fix: remove enabled: false there, then `pulumi up --stack dev`"
    )
    assert choose(kind, ONE, "other", file)[1][0].message == f"the stack has no {kind.noun} of this name"


@pytest.mark.parametrize("kind", [JOB, POOL, MACHINE])
def test_where_the_only_one_is_off_it_is_named(kind: Kind, file: Path) -> None:
    (problem,) = choose(kind, NONE, "", file)[1]
    assert problem.message == f"{kind.section}.night is switched off: enabled: false in Pulumi.dev.yaml"
