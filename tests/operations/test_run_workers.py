"""A group of workers: which places take several nodes and GPUs, and what the others say."""

import pytest

from azure_gpu_operations.clusters.targets import AKS, EDGE
from azure_gpu_operations.run import workers
from azure_gpu_operations.run.workers import BATCH, JOB, LOCAL, ML_CLUSTER, PLACES, VM, Group, group


def test_a_run_is_one_worker_with_what_its_place_gives_unless_the_words_say_more() -> None:
    assert group(None, None) == Group(nodes=1, gpus=None)
    assert not group(None, 2).is_several
    assert group(4, 0) == Group(nodes=4, gpus=0)
    assert group(4, 0).is_several


@pytest.mark.parametrize("place", PLACES)
def test_one_node_may_be_written_everywhere(place: str) -> None:
    assert workers.problems(1, None, place) == []
    assert workers.problems(None, None, place) == []


@pytest.mark.parametrize("place", [JOB, LOCAL, VM])
def test_a_place_of_one_node_names_those_that_have_several(place: str) -> None:
    (problem,) = workers.problems(2, None, place)
    assert (problem.path, problem.value, problem.allowed) == ("--nodes", 2, "1")
    assert all(f"--on {each}" in problem.fix for each in (BATCH, ML_CLUSTER))


def test_a_program_on_a_whole_node_is_told_of_as_many_gpus_as_it_is_given() -> None:
    assert Group().devices == {}
    assert Group(gpus=2).devices == {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert Group(gpus=0).devices == {"CUDA_VISIBLE_DEVICES": "-1"}


def test_what_is_out_of_range_or_taken_elsewhere_is_said_together() -> None:
    assert [problem.path for problem in workers.problems(101, None, BATCH)] == ["--nodes"]
    assert [problem.path for problem in workers.problems(0, 17, AKS)] == ["--nodes", "--gpus"]
    assert [problem.path for problem in workers.problems(2, None, AKS)] == []
    assert "1 to 1000" in workers.problems(1001, None, EDGE)[0].allowed
    assert "1 to 100" in workers.problems(-1, None, BATCH)[0].allowed
    (on_job,) = workers.problems(None, 2, JOB)
    assert on_job.message.startswith("only supported with --on ")
    assert workers.problems(1, 16, EDGE) == []
