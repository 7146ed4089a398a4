"""Vector addition as it is built and run where there is no CUDA compiler. Its CUDA half has test_vector_add_cuda.py."""

from pathlib import Path

import pytest

from tests.workloads.workload_runs import Finished, build_vector_add, run

pytestmark = pytest.mark.slow  # it is compiled


@pytest.fixture(scope="session")
def cpu_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vector_add")
    assert "built without CUDA" in build_vector_add(folder, "-DVECTOR_ADD_CUDA=OFF")
    return folder


def add(folder: Path, *options: str) -> Finished:
    return run([folder / "vector_add", *options], folder)


def test_the_articles_run_says_plainly_that_the_cpu_ran(cpu_build: Path) -> None:
    finished = add(cpu_build)
    assert finished.code == 0
    assert finished.lines[:-1] == [
        "[Vector addition of 50000 elements]",
        "No CUDA compiler when this program was built: the kernel body runs on the CPU, 196 blocks of 256 threads",
        "Test PASSED",
        "Done",
    ]
    report = finished.report
    assert (report["device"], report["elements"], report["threads"], report["blocks"]) == ("cpu", 50000, 256, 196)
    assert (report["mismatches"], report["passed"]) == (0, True)
    assert (report["device_memory_mib"], report["cuda_driver"]) == (None, None)
    assert 0 < report["seconds"]["min"] <= report["seconds"]["median"]
    assert report["bandwidth_gb_per_s"] == pytest.approx(3 * 4 * 50000 / report["seconds"]["median"] / 1e9, rel=1e-3)


def test_every_element_is_verified_whatever_the_launch_shape(cpu_build: Path) -> None:
    shapes = [(1, 1, 1), (1, 1024, 1), (255, 256, 1), (256, 256, 1), (257, 256, 2), (1000, 7, 143), (1_000_003, 1023, 978)]
    for elements, threads, blocks in shapes:
        finished = add(cpu_build, f"--elements={elements}", "--threads", str(threads), "--repeats=1", "--device", "cpu")
        assert (finished.code, finished.report["blocks"], finished.report["mismatches"]) == (0, blocks, 0), (elements, threads)
        assert finished.lines[1].startswith("CPU requested: ")


def test_the_verification_can_fail_and_the_index_arithmetic_holds_around_every_border(cpu_build: Path) -> None:
    finished = run(["ctest", "--test-dir", cpu_build, "--output-on-failure", "--tests-regex", "^(verify|shape)$"], cpu_build)
    assert finished.code == 0, finished.stdout
    assert "100% tests passed, 0 tests failed out of 2" in finished.stdout


def test_all_usage_mistakes_are_told_at_once(cpu_build: Path) -> None:
    finished = add(cpu_build, "--elements", "0", "--threads=1025", "--device", "tpu", "--fast", "--repeats")
    assert finished.code == 2
    assert finished.stderr.splitlines() == [
        "vector_add: --elements: '0' is out of range; allowed: 1 to 2199023254528",
        "vector_add: --threads: '1025' is out of range; allowed: 1 to 1024",
        "vector_add: --device: 'tpu' is not a device; allowed: auto, cuda, cpu",
        "vector_add: '--fast' is not an option; see --help",
        "vector_add: --repeats: a value is missing; see --help",
    ]
    assert finished.report["problems"] == [line.removeprefix("vector_add: ") for line in finished.stderr.splitlines()]


def test_a_value_that_an_option_does_not_take_is_refused(cpu_build: Path) -> None:
    lengths, alone = "1 to 2199023254528", "'cpu' can't be combined with --gpus or --chunk, which are for CUDA devices"
    expected = {
        **{
            f"--elements={text}": f"'{text}' is out of range; allowed: {lengths}"
            for text in ("-1", "99999999999999999999", "2199023254529", "18446744073709551617", "-0")
        },
        **{
            f"--elements={text}": f"'{text}' is not a whole number; allowed: {lengths}"
            for text in ("", "many", "1e6", "12abc", "0x10", " 5", "1.0", "-", "+1")
        },
        "--gpus=0": "'0' is out of range; allowed: 1 to 64",
        "--gpus=many": "'many' is not a whole number; allowed: 1 to 64",
        "--chunk=0": f"'0' is out of range; allowed: {lengths}",
    }
    assert {option: add(cpu_build, option).stderr for option in expected} == {
        option: f"vector_add: {option.split('=')[0]}: {said}\n" for option, said in expected.items()
    }
    for option in ("--gpus=2", "--gpus=all", "--chunk=1000"):
        finished = add(cpu_build, "--device=cpu", option)
        assert (finished.code, finished.stderr) == (2, f"vector_add: --device: {alone}\n")
    assert add(cpu_build, "--require-gpu", "--device=cpu").code == 2


def test_more_elements_than_memory_are_refused_before_any_work(cpu_build: Path) -> None:
    finished = add(cpu_build, "--elements", "1000000000000", "--threads", "1024")
    assert finished.code == 2
    assert "not enough memory: 1000000000000 elements need 12.00 TB" in finished.stderr
    assert len(finished.lines) == 1


def test_a_missing_gpu_that_is_required_ends_with_3(cpu_build: Path) -> None:
    for options in (("--require-gpu",), ("--device", "cuda"), ("--gpus", "2")):
        finished = add(cpu_build, *options)
        assert finished.code == 3
        assert finished.report["problems"] == [f"{' '.join(options)}: No CUDA compiler when this program was built"]


def test_help_names_every_option(cpu_build: Path) -> None:
    finished = add(cpu_build, "--help")
    assert finished.code == 0
    for option in ("--elements", "--threads", "--repeats", "--gpus", "--chunk", "--device", "--require-gpu"):
        assert option in finished.stdout
