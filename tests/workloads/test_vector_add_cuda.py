"""The CUDA half of vector_add, compiled by NVIDIA's compiler.

On a machine with a GPU it runs there. Without one it runs against `cuda_stand_in.cpp`, which shows that the program calls CUDA's
runtime rightly and ends as it should when the runtime refuses; only a GPU shows that the kernel runs on one (`make check-gpu`).
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.workloads.workload_runs import VECTOR_ADD, Finished, build_vector_add, cache_folder, made_once, run

# The compiler is a download of 100 MB, and takes several seconds of CPU for every generation of GPUs.
pytestmark = pytest.mark.slow

COMPILER = ("nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-cuda-runtime", "nvidia-nvvm", "nvidia-cuda-nvdisasm")
VERSION = "13.5.37"
DRIVER = Path("/proc/driver/nvidia/version")
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
    folder = cache_folder() / f"cuda-tools-{VERSION}"
    packages = [f"{package}=={VERSION}" for package in COMPILER]
    install = [find_uv_bin(), "pip", "install", "--quiet", "--no-deps", "--target", folder, *packages]
    try:
        made_once(folder, lambda: subprocess.run(install, check=True))
    except subprocess.CalledProcessError:
        pytest.skip("needs a CUDA compiler, or a package index that has it: nvcc is neither on PATH nor in CUDACXX")
    return next(folder.glob("nvidia/*/bin/nvcc"))


@pytest.fixture(scope="session")
def cuda_build(nvcc: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For every generation where there is a GPU; elsewhere no machine code runs, and that of one is enough."""
    folder = tmp_path_factory.mktemp("vector_add_cuda")
    chosen = [] if DRIVER.exists() else ["-DCMAKE_CUDA_ARCHITECTURES=75-real"]  # a T4's
    assert "building for the GPU and the CPU" in build_vector_add(folder, f"-DCMAKE_CUDA_COMPILER={nvcc}", *chosen)
    return folder


def link_with_stand_in(nvcc: Path, cuda_build: Path, name: str, main: Path) -> Path:
    """The same objects, linked with the stand-in where NVIDIA's runtime would be."""
    program = cuda_build / f"{name}_with_stand_in"
    sources = [main, Path(__file__).with_name("cuda_stand_in.cpp"), cuda_build / "libvector_add_parts.a"]
    linked = run([nvcc, "-std=c++20", "-cudart", "none", "-I", VECTOR_ADD / "src", *sources, "-o", program], cuda_build)
    assert linked.code == 0, linked.stderr
    return program


@pytest.fixture(scope="session")
def with_stand_in(nvcc: Path, cuda_build: Path) -> Path:
    return link_with_stand_in(nvcc, cuda_build, "vector_add", VECTOR_ADD / "src" / "main.cpp")


def add(program: Path, *options: str, fault: str = "", devices: int = 1) -> Finished:
    return run([program, *options], program.parent, CUDA_STAND_IN=fault, CUDA_STAND_IN_DEVICES=str(devices))


def test_a_gpu_prints_the_articles_lines_and_a_machine_without_one_says_so(cuda_build: Path) -> None:
    finished = add(cuda_build / "vector_add")
    assert finished.code == 0
    if DRIVER.exists():
        assert finished.lines[:-1] == LINES_OF_THE_ARTICLE
        assert add(cuda_build / "vector_add", "--elements=100000007", "--require-gpu").code == 0
    else:
        assert finished.lines[1].startswith("No CUDA device: ")
        assert finished.lines[1].endswith(": the kernel body runs on the CPU, 196 blocks of 256 threads")
        assert add(cuda_build / "vector_add", "--require-gpu").code == 3
        measured = run([cuda_build / "vector_add_bench"], cuda_build)
        assert measured.code == 3
        assert measured.stderr.startswith("vector_add_bench: No CUDA device: ")


def test_the_kernel_reads_and_writes_128_bits_at_a_time(nvcc: Path, tmp_path: Path) -> None:
    disassembler = shutil.which("nvdisasm") or nvcc.with_name("nvdisasm")
    if not Path(disassembler).exists():
        pytest.skip("needs nvdisasm, which this machine's CUDA toolkit lacks")
    machine_code = tmp_path / "vector_add.cubin"
    source = VECTOR_ADD / "src" / "cuda_device.cu"
    compiled = run([nvcc, "-std=c++20", "-cubin", "-arch=sm_90", source, "-o", machine_code], tmp_path)
    assert compiled.code == 0, compiled.stderr
    listing = run([disassembler, "-c", machine_code], tmp_path).stdout
    (addition,) = [part for part in listing.split(".section\t.text.") if "add_all" in part.partition("\n")[0]]
    assert addition.count("LDG.E.128") >= 2
    assert addition.count("STG.E.128") >= 1
    assert " STL" not in addition  # nothing goes through a thread's slow local memory


def test_the_articles_lines_are_printed_in_its_order(with_stand_in: Path) -> None:
    finished = add(with_stand_in, "--require-gpu", "--repeats", "3")
    assert finished.code == 0
    assert finished.lines[:-1] == LINES_OF_THE_ARTICLE
    assert finished.stderr == "stand-in: all device memory was freed\n"
    report = finished.report
    assert (report["device"], report["device_name"], report["repeats"]) == ("cuda", "Stand-in for a GPU", 3)
    assert (report["device_memory_mib"], report["cuda_driver"]) == (16384, "12.9")
    assert (report["seconds"], report["bandwidth_gb_per_s"]) == ({"min": 0.0005, "median": 0.0005}, 1.2)
    assert (report["to_device_gb_per_s"], report["from_device_gb_per_s"], report["overlapped_gb_per_s"]) == (0.8, 0.4, None)
    assert (report["gpus"], report["chunks"], report["pinned"], report["mismatches_on_device"]) == (1, 1, True, 0)


@pytest.mark.parametrize(
    ("elements", "chunk", "devices", "chunks"),
    [
        (100, 30, 1, 4),
        (99_999, 33_333, 1, 3),
        (100_003, 10_001, 1, 10),
        (100_003, 10_001, 3, 12),
        (100_003, 25_000, 2, 5),
        (5, 4, 8, 2),
    ],
)
def test_chunks_of_any_length_on_any_number_of_devices_add_every_element(
    with_stand_in: Path, elements: int, chunk: int, devices: int, chunks: int
) -> None:
    options = (f"--elements={elements}", f"--chunk={chunk}", "--gpus=all", "--repeats=2")
    finished = add(with_stand_in, *options, devices=devices)
    assert (finished.code, finished.stderr) == (0, "stand-in: all device memory was freed\n")
    assert finished.lines[1].startswith(f"{chunks} chunks of {chunk} elements, ")
    assert [line for line in finished.lines if line.startswith(("Copy", "Test", "Done"))] == [
        line for line in LINES_OF_THE_ARTICLE if line.startswith(("Copy", "Test", "Done"))
    ]
    report = finished.report
    assert (report["chunks"], report["mismatches"], report["mismatches_on_device"]) == (chunks, 0, 0)
    assert report["overlapped_gb_per_s"] > 0
    assert report["to_device_gb_per_s"] is None


def test_vectors_beyond_the_devices_memory_go_in_chunks_by_themselves(with_stand_in: Path) -> None:
    finished = add(with_stand_in, "--elements=1000003", "--repeats=1", fault="little-memory")
    assert (finished.code, finished.report["mismatches"]) == (0, 0)
    assert finished.report["chunks"] * finished.report["chunk"] >= 1000003
    assert 3 * 12 * finished.report["chunk"] <= 3_000_000


def test_each_of_several_devices_adds_its_share(with_stand_in: Path) -> None:
    finished = add(with_stand_in, "--elements=1000003", "--gpus=3", "--repeats=2", devices=4)
    assert (finished.code, finished.report["gpus"], finished.report["chunks"]) == (0, 3, 3)
    assert finished.lines[2].endswith(" threads on each of 3 devices")


def test_fewer_devices_than_are_asked_for_end_with_3(with_stand_in: Path) -> None:
    finished = add(with_stand_in, "--gpus=4", devices=2)
    assert finished.code == 3
    assert finished.report["problems"] == ["--gpus 4: the driver has 2 CUDA devices"]


def test_memory_that_can_not_be_locked_is_told_and_used_all_the_same(with_stand_in: Path) -> None:
    finished = add(with_stand_in, fault="no-pinning")
    assert (finished.code, finished.report["pinned"]) == (0, False)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("no-image", "launching the kernel: as the stand-in was asked (cudaErrorNoKernelImageForDevice)"),
        ("fault", "copying the vectors to the device: as the stand-in was asked (cudaErrorIllegalAddress)"),
        (
            "lost",
            "copying the vectors to the device: as the stand-in was asked (cudaErrorECCUncorrectable): the device is lost to "
            "this process; the kernel's log names the cause in a line `NVRM: Xid`",
        ),
    ],
)
@pytest.mark.parametrize("chunk", ["50000", "1000"])
def test_an_error_of_the_device_ends_with_1_and_frees_its_memory(
    with_stand_in: Path, fault: str, message: str, chunk: str
) -> None:
    finished = add(with_stand_in, f"--chunk={chunk}", fault=fault)
    assert finished.code == 1
    assert finished.report["problems"] == [
        message if chunk == "50000" else message.replace("copying the vectors to the device", "running a chunk")
    ]
    assert "all device memory was freed" in finished.stderr
    assert "Test PASSED" not in finished.lines


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "exclusive",
            "as the stand-in was asked (cudaErrorDevicesUnavailable): it is in exclusive mode, and another process holds it",
        ),
        ("prohibited", "its compute mode is prohibited: no process may use it; `nvidia-smi -c DEFAULT` allows it"),
    ],
)
def test_a_device_that_nobody_or_another_may_use_is_no_device(with_stand_in: Path, fault: str, message: str) -> None:
    finished = add(with_stand_in, "--require-gpu", fault=fault)
    assert finished.code == 3
    assert finished.report["problems"] == [f"--require-gpu: CUDA device 0: {message}"]
    assert add(with_stand_in, fault=fault).report["device"] == "cpu"


def test_one_element_that_is_not_a_number_fails_the_whole_test(with_stand_in: Path) -> None:
    finished = add(with_stand_in, fault="wrong-element")
    assert finished.code == 1
    assert "Test FAILED" in finished.lines
    assert "Done" not in finished.lines
    report = finished.report
    assert (report["mismatches"], report["mismatches_on_device"], report["passed"]) == (1, 1, False)
    assert "the first: element 49999 is nan" in finished.stderr


def test_a_copy_that_goes_wrong_is_told_from_a_wrong_addition(with_stand_in: Path) -> None:
    finished = add(with_stand_in, fault="wrong-copy")
    assert finished.code == 1
    assert "the device counts 0 wrong elements, the host 1: a copy between them went wrong" in finished.stderr
    assert (finished.report["mismatches_on_device"], finished.report["passed"]) == (0, False)


def test_too_little_device_memory_is_told_with_both_figures(with_stand_in: Path) -> None:
    finished = add(with_stand_in, fault="small-memory")
    assert finished.code == 2
    assert finished.report["problems"] == ["not enough device memory: the vectors need 600.00 kB, 1.00 kB of 17.18 GB are free"]
    chunks = add(with_stand_in, "--elements=10000000000", "--chunk=1000000000")
    assert chunks.code == 2


def test_memory_that_the_device_refuses_is_named(with_stand_in: Path) -> None:
    finished = add(with_stand_in, fault="no-allocation")
    assert finished.code == 2
    assert finished.report["problems"][0].startswith("not enough device memory: allocating ")
    assert finished.report["problems"][0].endswith("(cudaErrorMemoryAllocation)")


def test_no_device_is_the_cpu_unless_a_gpu_is_required(with_stand_in: Path) -> None:
    assert add(with_stand_in, fault="no-device").report["device"] == "cpu"
    assert add(with_stand_in, "--require-gpu", fault="no-device").code == 3
