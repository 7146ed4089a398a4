"""What `run` is asked to run, and on how many nodes, with every problem of the command line."""

from pathlib import Path
from typing import Any

import pytest

from azure_gpu.formats.build_context import context_hash
from azure_gpu_operations.clusters.targets import AKS, EDGE
from azure_gpu_operations.run import workers
from azure_gpu_operations.run.context import BASE_IMAGE
from azure_gpu_operations.run.protocol import BATCH, JOB, LOCAL, ML_CLUSTER, PLACES, VM
from azure_gpu_operations.run.target import Target, TargetOptions, check_requirements, resolve
from azure_gpu_operations.run.workers import Group, group
from tests.support.embedded import CHECKOUT


def target(*, process: dict[str, str] | None = None, **asked: Any) -> Target:
    found, problems = resolve(TargetOptions(**asked), process or {})
    assert problems == []
    return found


def problems(*, process: dict[str, str] | None = None, **asked: Any) -> dict[str, str]:
    found = resolve(TargetOptions(**asked), process or {})[1]
    assert len({problem.path for problem in found}) == len(found), "two problems with one word"
    return {problem.path: str(problem) for problem in found}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "train.py"
    file.write_text("print(1)\n")
    return file


def test_nothing_said_is_the_jobs_own_image() -> None:
    assert target() == Target()


def test_a_workloads_name_is_its_folder_whole() -> None:
    context = target(target="vector_add").context
    assert context is not None
    assert context.image == f"vector_add:{context_hash(CHECKOUT / 'workloads' / 'vector_add')}"


def test_a_folder_with_a_dockerfile_is_taken_whole(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_bytes(b"\0")
    context = target(target=str(tmp_path)).context
    assert context is not None
    assert sorted(context.files) == ["Dockerfile", "model/weights"]


def test_a_script_is_taken_with_its_requirements(script: Path, tmp_path: Path) -> None:
    (tmp_path / "needs.txt").write_text("numpy\n")
    context = target(target=str(script), requirements=str(tmp_path / "needs.txt")).context
    assert context is not None
    assert sorted(context.files) == ["Dockerfile", "requirements.txt", "train.py"]


def test_a_build_has_an_hour_or_the_limit_that_is_set(script: Path) -> None:
    contexts = [target(target=str(script), build_minutes=minutes).context for minutes in (None, 120.0)]
    assert [context and context.build_minutes for context in contexts] == [60, 120]


@pytest.mark.parametrize("image", ["docker.io/library/python:3.11", "nvidia/cuda:12.4.1-base-ubuntu22.04", "ubuntu:24.04"])
def test_a_word_with_a_registry_or_a_tag_is_an_image(image: str) -> None:
    assert target(target=image) == Target(image=image)


def test_variables_and_secrets_are_taken_and_secrets_come_from_the_environment() -> None:
    found = target(environment=("A=1", "B=x=y", "C="), secret_environment=("TOKEN",), process={"TOKEN": "hunter2"})
    assert found.environment == {"A": "1", "B": "x=y", "C": ""}
    assert found.secrets == {"TOKEN": "hunter2"}


def test_a_misspelt_workload_names_those_that_there_are() -> None:
    text = problems(target="minst")["TARGET"]
    assert "not a workload, script or image" in text
    assert "mnist, scoring, vector_add" in text
    assert "did you mean mnist?" in text


def test_a_script_that_is_not_there_names_the_nearest_one(script: Path) -> None:
    text = problems(target=str(script.with_name("trian.py")))["TARGET"]
    assert "the script doesn't exist" in text
    assert f"did you mean {script}?" in text


def test_an_ending_alone_makes_no_script_the_one_that_was_meant(script: Path) -> None:
    script.with_name("ok.py").write_text("")
    assert "did you mean" not in problems(target=str(script.with_name("nope.py")))["TARGET"]


@pytest.mark.parametrize("spelt", ["./nowhere/train.py", "train_that_is_not_there.py", "../nothing"])
def test_what_is_spelt_like_a_path_is_a_script(spelt: str) -> None:
    assert "the script doesn't exist" in problems(target=spelt)["TARGET"]


def test_every_problem_comes_at_once_and_no_secret_is_shown(script: Path) -> None:
    found = problems(
        target=str(script),
        requirements="nowhere.txt",
        base="Python:3.11",
        environment=("A",),
        secret_environment=("TOKEN=hunter2",),
        timeout_minutes=0.0,
    )
    assert set(found) == {"--requirements", "--base", "--env", "--secret-env", "--timeout"}
    assert "the requirements file doesn't exist" in found["--requirements"]
    assert "A secret" not in found["--secret-env"]
    assert not any("hunter2" in text for text in found.values())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"environment": ("1A=x",)}, "not a valid variable name"),
        ({"environment": ("A=1", "A=2")}, "set twice"),
        ({"secret_environment": ("TOKEN",)}, "not set or empty in the environment"),
        ({"environment": ("T=1",), "secret_environment": ("T",)}, "also set by --env"),
        ({"target": "mnist", "requirements": "x.txt"}, "only supported for scripts"),
        ({"target": "ubuntu:24.04", "base": "python:3.12"}, "only supported for scripts"),
        ({"timeout_minutes": 20000.0}, "out of range"),
        ({"build_minutes": 4.0}, "at least 5 and at most 480"),
        ({"build_minutes": 481.0}, "at least 5 and at most 480"),
        ({"target": "Ubuntu:24.04"}, "capital letters"),
    ],
)
def test_a_word_that_can_not_be_meant_is_refused_with_the_reason(given: dict[str, Any], said: str) -> None:
    texts = list(problems(process={"T": "x"}, **given).values())
    assert len(texts) == 1
    assert said in texts[0]


def test_a_script_in_another_language_is_told_where_it_would_go(tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text("echo\n")
    assert "only Python scripts can be built into an image" in problems(target=str(tmp_path / "train.sh"))["TARGET"]


def test_a_folder_without_a_dockerfile_and_one_with_a_link_are_refused(tmp_path: Path) -> None:
    assert "the folder has no Dockerfile" in problems(target=str(tmp_path))["TARGET"]
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    (tmp_path / "link").symlink_to("/etc/hosts")
    assert "link is a link" in problems(target=str(tmp_path))["TARGET"]


def test_a_script_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8 text" in problems(target=str(tmp_path / "x.py"))["TARGET"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-r base.txt", "refers to another file"),
        ("--constraint=limits.txt", "refers to another file"),
        ("-e .", "refers to local files"),
        (".[gpu]", "refers to local files"),
        ("./wheels/a-1.0-py3-none-any.whl", "refers to local files"),
        ("a @ file:///wheels/a.whl", "refers to local files"),
        ("git+https://user:hunter2@github.com/pypa/sampleproject.git", "requires git"),
        ("sampleproject @ git+https://github.com/pypa/sampleproject.git@main", "requires git"),
    ],
)
def test_what_the_image_will_not_have_is_refused_with_its_line(line: str, said: str) -> None:
    (problem,) = check_requirements(f"# needs\nnumpy==2.2.6\n{line}\n", BASE_IMAGE)
    assert problem.message.startswith("line 3 ")
    assert said in problem.message
    assert problem.fix
    assert "hunter2" not in str(problem)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "numpy==2.2.6  # not -r base.txt\n",
        "torch>=2 ; python_version >= '3.11'\n--index-url https://download.pytorch.org/whl/cu124\n",
        "-r https://example.org/requirements.txt\n",
        "a @ https://example.org/a.zip\n",
        "requests[socks]\nuvicorn==0.30.*\n--hash=sha256:00\n",
    ],
)
def test_what_pip_finds_by_itself_is_taken(text: str) -> None:
    assert check_requirements(text, BASE_IMAGE) == []


def test_a_base_of_ones_own_may_have_git() -> None:
    assert check_requirements("git+https://github.com/pypa/sampleproject.git\n", "python:3.11") == []


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
