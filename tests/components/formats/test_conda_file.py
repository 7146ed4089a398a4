"""Conda files as people write them, and texts that are none."""

import pytest

from azure_gpu.formats import conda_file
from azure_gpu.formats.conda_file import CondaFileError, Package
from tests.support.tables import of_table

# The conda_dependencies.yml of the second source document, and the myenv.yml of the fifth.
WORKBENCH = """
name: project_environment
dependencies:
  - python=3.5.2
  - tensorflow-gpu
  - pip:
    - azure-ml-api-sdk==0.1.0a10
    - https://cntk.ai/PythonWheel/GPU/cntk-2.1-cp35-cp35m-linux_x86_64.whl
    - --extra-index-url https://azuremldownloads.azureedge.net/python-repository/preview
"""
INFERENCE = """
channels: [conda-forge]
dependencies:
- python=3.6.2
- conda-forge::tensorflow-gpu=1.12
- pip: ["Scikit_Learn >= 0.20", "jax[cuda12, extra]==0.4"]
"""


def test_packages_of_conda_and_of_pip_are_read_by_the_names_that_both_compare() -> None:
    found = conda_file.read(WORKBENCH)
    assert [(each.name, each.constraint, each.pip) for each in found] == [
        ("python", "=3.5.2", False),
        ("tensorflow-gpu", "", False),
        ("azure-ml-api-sdk", "==0.1.0a10", True),
        ("cntk", "", True),
        ("", "", True),
    ]


def test_extras_and_spaces_are_read() -> None:
    found = conda_file.read(INFERENCE)
    assert found[1:] == (
        Package("tensorflow-gpu", (), "=1.12", False, "conda-forge::tensorflow-gpu=1.12"),
        Package("scikit-learn", (), ">= 0.20", True, "Scikit_Learn >= 0.20"),
        Package("jax", ("cuda12", "extra"), "==0.4", True, "jax[cuda12, extra]==0.4"),
    )


BILLIONS = "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))


@of_table(
    "text",
    "why",
    more=[
        ("dependencies: [" + "a, " * 50_000 + "a]", "characters"),
        ("[" * 2_000, "64 deep"),
        (BILLIONS + "dependencies: [*a9]", "more than 50000 values"),
    ],
)
def test_a_text_that_is_no_conda_file_is_refused_with_why(text: str, why: str) -> None:
    with pytest.raises(CondaFileError, match=why):
        conda_file.read(text)
