"""Requirements that can't be installed in an image to which their file goes alone, told before anything is built."""

import pytest

from azure_gpu_operations.run.context import BASE_IMAGE
from azure_gpu_operations.run.target import check_requirements


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
