"""The CUDA half of vector_add, compiled by NVIDIA's compiler.

On a machine with a GPU it runs there. Without one it runs against `cuda_stand_in.cpp`, which shows that the program calls CUDA's
runtime rightly and ends as it should when the runtime refuses; only a GPU shows that the kernel runs on one.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.workloads.workload_runs import VECTOR_ADD, Finished, build_vector_add, cache_folder, made_once, run

pytestmark = pytest.mark.slow  # the compiler is a download of 100 MB, and takes 15 s for every generation of GPUs

COMPILER = ("nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-cuda-runtime", "nvidia-nvvm")
VERSION = "13.5.37"
LINES_OF_THE_ARTICLE = [
    "[Vector addition of 50000 elements]",
    "Copy input data from the host memory to the CUDA device",
    "CUDA kernel launch with 196 blocks of 256 threads",
    "Copy output data from the CUDA device to the host memory",
    "Test PASSED",
    "Done",
]


@pytest.fixture(scope="session")
def nvcc() -> Path:
    """A CUDA compiler: the machine's, or the one that NVIDIA publishes as Python packages."""
    installed = os.environ.get("CUDACXX") or shutil.which("nvcc")
    if installed:
        return Path(installed)
    folder = cache_folder() / f"nvcc-{VERSION}"
    packages = [f"{package}=={VERSION}" for package in COMPILER]
    install = [find_uv_bin(), "pip", "install", "--quiet", "--no-deps", "--target", folder, *packages]
    try:
        made_once(folder, lambda: subprocess.run(install, check=True))
    except subprocess.CalledProcessError:
        pytest.skip("needs a CUDA compiler, or a package index that has it: nvcc is neither on PATH nor in CUDACXX")
    return next(folder.glob("nvidia/*/bin/nvcc"))


@pytest.fixture(scope="session")
def cuda_build(nvcc: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vector_add_cuda")
    assert "building for the GPU and the CPU" in build_vector_add(folder, f"-DCMAKE_CUDA_COMPILER={nvcc}")
    return folder


@pytest.fixture(scope="session")
def with_stand_in(nvcc: Path, cuda_build: Path) -> Path:
    """The same objects, linked with the stand-in where NVIDIA's runtime would be."""
    program = cuda_build / "vector_add_with_stand_in"
    sources = [VECTOR_ADD / "src" / "main.cpp", Path(__file__).with_name("cuda_stand_in.cpp")]
    objects = [cuda_build / "libvector_add_parts.a"]
    linked = run([nvcc, "-std=c++17", "-cudart", "none", "-I", VECTOR_ADD / "src", *sources, *objects, "-o", program], cuda_build)
    assert linked.code == 0, linked.stderr
    return program


def add(program: Path, *options: str, fault: str = "") -> Finished:
    return run([program, *options], program.parent, CUDA_STAND_IN=fault)


def test_a_gpu_prints_the_articles_lines_and_a_machine_without_one_says_so(cuda_build: Path) -> None:
    finished = add(cuda_build / "vector_add")
    assert finished.code == 0
    if Path("/proc/driver/nvidia/version").exists():
        assert finished.lines[:-1] == LINES_OF_THE_ARTICLE
        assert add(cuda_build / "vector_add", "--elements=100000007", "--require-gpu").code == 0
    else:
        assert finished.lines[1].startswith("No CUDA device: ")
        assert finished.lines[1].endswith(": the kernel body runs on the CPU, 196 blocks of 256 threads")
        assert add(cuda_build / "vector_add", "--require-gpu").code == 3


def test_the_articles_lines_are_printed_in_its_order(with_stand_in: Path) -> None:
    finished = add(with_stand_in, "--require-gpu", "--repeats", "3")
    assert finished.code == 0
    assert finished.lines[:-1] == LINES_OF_THE_ARTICLE
    assert finished.stderr == "stand-in: all device memory was freed\n"
    report = finished.report
    assert (report["device"], report["device_name"], report["repeats"]) == ("cuda", "Stand-in for a GPU", 3)
    assert (report["device_memory_mib"], report["cuda_driver"]) == (16384, "12.9")
    assert (report["seconds"], report["bandwidth_gb_per_s"]) == ({"min": 0.0005, "median": 0.0005}, 1.2)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("no-image", "launching the kernel: as the stand-in was asked (cudaErrorNoKernelImageForDevice)"),
        ("fault", "running the kernel: as the stand-in was asked (cudaErrorIllegalAddress)"),
    ],
)
def test_an_error_of_the_device_ends_with_1_and_frees_its_memory(with_stand_in: Path, fault: str, message: str) -> None:
    finished = add(with_stand_in, fault=fault)
    assert finished.code == 1
    assert finished.report["problems"] == [message]
    assert "all device memory was freed" in finished.stderr
    assert "Test PASSED" not in finished.lines


def test_one_element_that_is_not_a_number_fails_the_whole_test(with_stand_in: Path) -> None:
    finished = add(with_stand_in, fault="wrong-element")
    assert finished.code == 1
    assert "Test FAILED" in finished.lines
    assert "Done" not in finished.lines
    assert (finished.report["mismatches"], finished.report["passed"]) == (1, False)
    assert "the first: element 49999 is nan" in finished.stderr


def test_too_little_device_memory_is_told_with_both_figures(with_stand_in: Path) -> None:
    finished = add(with_stand_in, fault="small-memory")
    assert finished.code == 2
    assert finished.report["problems"] == ["not enough device memory: the vectors need 600.00 kB, 1.00 kB of 17.18 GB are free"]


def test_no_device_is_the_cpu_unless_a_gpu_is_required(with_stand_in: Path) -> None:
    assert add(with_stand_in, fault="no-device").report["device"] == "cpu"
    assert add(with_stand_in, "--require-gpu", fault="no-device").code == 3
