"""Drivers, CUDA versions and GPUs. Expectations are literals read in NVIDIA's tables."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import drivers
from azure_gpu.catalog.drivers import check_driver, highest_cuda, minimum_driver, runs
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.sizes import size_tables
from azure_gpu.catalog.sizes.model import Gpu, Vendor
from tests.support.rows import each_row

MODELS = size_tables.packaged().gpus
GPUS = list(MODELS.values())
A10 = MODELS["NVIDIA A10"]
A100_80 = MODELS["NVIDIA A100 80GB"]
GB200 = MODELS["NVIDIA GB200"]
H100 = MODELS["NVIDIA H100 80GB SXM"]
K80 = MODELS["NVIDIA Tesla K80 (half a card)"]
M60 = MODELS["NVIDIA Tesla M60 (half a card)"]
MI300X = MODELS["AMD Instinct MI300X"]
P100 = MODELS["NVIDIA Tesla P100"]
RTX_PRO_6000 = MODELS["NVIDIA RTX PRO 6000 Blackwell Server Edition"]
T4 = MODELS["NVIDIA T4"]
V100 = MODELS["NVIDIA Tesla V100 16GB"]


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


# --- CUDA versions and drivers: NVIDIA CUDA Toolkit 13.1 release notes ---


@each_row(
    ("cuda", "linux", "windows"),
    [
        ("9.0", "384.81", "385.54"),
        ("9.2", "396.26", "397.44"),
        ("10.0", "410.48", "411.31"),
        ("10.1", "418.39", "418.96"),
        ("10.2", "440.33", "441.22"),
        ("11.0", "450.36.06", "451.22"),
        ("11.8", "450.80.02", "452.39"),
        ("12.0", "525.60.13", "527.41"),
        ("12.9", "525.60.13", "527.41"),
        ("13.0", "580.65.06", "580"),
        ("13.3", "580.65.06", "580"),
    ],
)
def test_a_cuda_version_needs_a_driver_from_this_one_on(cuda: str, linux: str, windows: str) -> None:
    assert (minimum_driver(cuda), minimum_driver(cuda, windows=True)) == (linux, windows)


@pytest.mark.parametrize("cuda", ["", "latest", "7.0", "14.0", "10.3"])
def test_an_unknown_cuda_version_has_no_known_driver(cuda: str) -> None:
    assert minimum_driver(cuda) is None


@each_row(
    ("driver", "cuda"),
    [
        ("384.81", "9.0"),
        ("384.80", "8.0"),
        ("410.104", "10.0"),
        ("418.87.01", "10.1"),
        ("460.32.03", "11.2"),
        ("470.82.01", "11.4"),
        ("535.309.01", "12.2"),
        ("570.211.01", "12.8"),
        ("580.159.04", "13.0"),
        ("595.58.03", "13.1"),
        ("304.137", None),
        ("620.10", None),  # newer than all: what it is made for isn't known
        ("newest", None),
    ],
)
def test_a_driver_is_made_for_this_cuda_version(driver: str, cuda: str | None) -> None:
    assert highest_cuda(driver) == cuda


@pytest.mark.parametrize(
    ("driver", "cuda"), [("411.82", "10.0"), ("411.30", "9.2"), ("560.94", "12.6"), ("580.88", "13.0"), ("591.44", "13.1")]
)
def test_windows_counts_its_drivers_in_its_own_way(driver: str, cuda: str) -> None:
    assert highest_cuda(driver, windows=True) == cuda


@each_row(
    ("highest", "cuda", "expected"),
    [
        ("9.0", "9.0", True),
        ("9.0", "8.0", True),
        ("9.0", "9.1", False),
        ("9.0", "10.1", False),
        ("10.1", "10.2", False),
        ("11", "11.8", True),
        ("11", "10.2", True),
        ("11", "12.0", False),
        ("11.4", "11.8", True),
        ("13.0", "13.3", True),
        ("12.8", "13.0", False),
        ("", "12.0", None),
        ("11", "newest", None),
    ],
)
def test_a_driver_runs_older_cuda_versions_and_since_11_those_of_its_major_version(
    highest: str, cuda: str, expected: bool | None
) -> None:
    assert runs(highest, cuda) is expected


@pytest.mark.parametrize(
    ("driver", "branch"),
    [("470.82.01", 470), ("472.50", 470), ("411.82", 410), ("560.94", 560), ("580.159.04", 580), ("200.1", None)],
)
def test_a_driver_has_a_branch(driver: str, branch: int | None) -> None:
    assert drivers.branch_of(driver) == branch


# --- drivers and GPUs: NVIDIA's matrix of toolkits, drivers and architectures ---


@each_row(
    ("version", "gpu"),
    [
        ("411.82", K80), ("384.81", K80), ("470.82.01", K80), ("474.64", K80),
        ("411.82", V100), ("580.173.02", V100), ("580.173.02", P100), ("580.173.02", M60),
        ("411.82", T4), ("418.39", T4), ("580.159.04", T4), ("595.58.03", T4),
        ("450.36.06", A100_80), ("580.159.04", A100_80), ("570.211.01", A10),
        ("525.60.13", H100), ("580.159.04", H100), ("570.26", GB200), ("595.58.03", RTX_PRO_6000),
    ],
)  # fmt: skip
def test_a_driver_that_knows_the_gpu_is_taken(version: str, gpu: Gpu) -> None:
    assert check_driver(version, gpu, "driver.version") == []


@each_row(
    ("version", "gpu", "said"),
    [
        ("580.159.04", K80, "branch 470 is the last"),
        ("495.29.05", K80, "branch 470 is the last"),
        ("590.44.01", V100, "branch 580 is the last"),
        ("595.58.03", M60, "branch 580 is the last"),
        ("590.44.01", P100, "branch 580 is the last"),
        ("411.82", A100_80, "needs branch 450 or later"),
        ("411.82", H100, "needs branch 525 or later"),
        ("520.61.05", H100, "needs branch 525 or later"),
        ("396.26", T4, "needs branch 410 or later"),
        ("535.54.03", GB200, "needs branch 570 or later"),
        ("367.48", V100, "needs branch 384 or later"),
        ("580.159.04", MI300X, "NVIDIA drivers don't support"),
    ],
)
def test_a_driver_that_does_not_know_the_gpu_is_refused(version: str, gpu: Gpu, said: str) -> None:
    problem = only(check_driver(version, gpu, "driver.version"))
    assert (problem.code, problem.severity, problem.path) == (Code.WRONG_DRIVER, Severity.ERROR, "driver.version")
    assert problem.value == version
    assert said in problem.message
    assert problem.fix
    assert problem.source


@pytest.mark.parametrize("version", ["", "latest", "411", "9.0", "580.159.04.1", "v580.1", "٣٨٤.81"])
def test_what_is_no_driver_version_is_named(version: str) -> None:
    problem = only(check_driver(version, K80, "driver.version"))
    assert (problem.code, problem.value) == (Code.INVALID, version)


def test_without_a_gpu_any_driver_is_taken() -> None:
    assert check_driver("411.82", None, "driver.version") == []


@given(st.one_of(st.text(max_size=12), st.from_regex(r"\d{3}\.\d{2}(\.\d{2})?", fullmatch=True)), st.sampled_from(GPUS))
def test_no_driver_raises_and_each_has_at_most_one_problem_with_a_gpu(version: str, gpu: Gpu) -> None:
    assert len(check_driver(version, gpu, "driver")) <= 1


@given(st.fractions(Fraction(8), Fraction(13), max_denominator=10), st.fractions(Fraction(8), Fraction(13), max_denominator=10))
def test_a_driver_for_a_newer_cuda_version_runs_at_least_as_much(one: Fraction, other: Fraction) -> None:
    older, newer = (f"{int(value)}.{int(value * 10) % 10}" for value in sorted((one, other)))
    for cuda in ("8.0", "9.0", "10.1", "11.8", "12.4", "13.0"):
        assert not runs(older, cuda) or runs(newer, cuda)


def test_every_nvidia_gpu_of_the_sizes_has_its_generation_in_the_table() -> None:
    generations = {gpu.architecture for gpu in GPUS if gpu.vendor is Vendor.NVIDIA}
    assert generations <= set(drivers.ARCHITECTURES)
    assert generations >= {"Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Hopper", "Blackwell"}
