"""Drivers, CUDA versions and GPUs. Expectations are literals read in NVIDIA's tables."""

from fractions import Fraction

from hypothesis import given, strategies as st

from azure_gpu.catalog import drivers
from azure_gpu.catalog.drivers import check_driver, runs
from azure_gpu.catalog.sizes import size_tables
from azure_gpu.catalog.sizes.model import Gpu

MODELS = size_tables.packaged().gpus
GPUS = list(MODELS.values())


@given(st.one_of(st.text(max_size=12), st.from_regex(r"\d{3}\.\d{2}(\.\d{2})?", fullmatch=True)), st.sampled_from(GPUS))
def test_no_driver_raises_and_each_has_at_most_one_problem_with_a_gpu(version: str, gpu: Gpu) -> None:
    assert len(check_driver(version, gpu, "driver")) <= 1


@given(st.fractions(Fraction(8), Fraction(13), max_denominator=10), st.fractions(Fraction(8), Fraction(13), max_denominator=10))
def test_a_driver_for_a_newer_cuda_version_runs_at_least_as_much(one: Fraction, other: Fraction) -> None:
    older, newer = (f"{int(value)}.{int(value * 10) % 10}" for value in sorted((one, other)))
    for cuda in ("8.0", "9.0", "10.1", "11.8", "12.4", "13.0"):
        assert not runs(older, cuda) or runs(newer, cuda)


def test_every_nvidia_gpu_of_the_sizes_has_its_generation_in_the_table() -> None:
    generations = {gpu.architecture for gpu in GPUS if gpu.vendor == "NVIDIA"}
    assert generations <= set(drivers.ARCHITECTURES)
    assert generations >= {"Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Hopper", "Blackwell"}
