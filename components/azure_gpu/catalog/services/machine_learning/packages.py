"""Python packages that exist with and without GPU support: whether an environment needs a GPU, and warnings for CPU-only
packages.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused


class Package(NamedTuple):
    """A requested package."""

    name: str  # in lower case, with hyphens
    extras: tuple[str, ...] = ()  # cuda12 of jax[cuda12]
    constraint: str = ""  # such as ==2.1.0+cpu
    pip: bool = True  # pip brings it
    text: str = ""  # as it is written


# CPU-only packages, with their replacements for a GPU.
CPU_ONLY: dict[str, str] = {
    "tensorflow-cpu": "tensorflow[and-cuda]",
    "intel-tensorflow": "tensorflow[and-cuda]",
    "cpuonly": "pytorch-cuda",
    "pytorch-cpu": "pytorch-cuda",
    "onnxruntime": "onnxruntime-gpu",
    "mxnet-mkl": "a package mxnet-cu… of the image's CUDA version",
    "faiss-cpu": "faiss-gpu",
    "cntk": "cntk-gpu",
    "py-xgboost-cpu": "py-xgboost-gpu",
    "paddlepaddle": "paddlepaddle-gpu",
}
# Packages that need a GPU, by name or prefix.
GPU_ONLY = frozenset(
    {"tensorflow-gpu", "pytorch-cuda", "onnxruntime-gpu", "faiss-gpu", "cntk-gpu", "py-xgboost-gpu", "paddlepaddle-gpu", "apex"}
)
_GPU_BEGINNINGS = ("cupy-cuda", "mxnet-cu", "nvidia-cu", "tensorrt", "cudatoolkit", "cudnn", "cuda-toolkit")
_GPU_EXTRAS = ("and-cuda", "cuda", "cuda11", "cuda12", "cuda13")


def need_gpu(packages: Iterable[Package]) -> bool:
    """Whether one of the packages needs a GPU."""
    return any(
        package.name in GPU_ONLY or package.name.startswith(_GPU_BEGINNINGS) or set(package.extras) & set(_GPU_EXTRAS)
        for package in packages
    )


def problems(packages: Iterable[Package], path: str) -> Iterator[Problem]:
    """A warning for each CPU-only package of an environment for GPUs."""
    for package in packages:
        instead = CPU_ONLY.get(package.name, "")
        if not instead and "+cpu" in package.constraint:
            instead = f"{package.name} of a version without +cpu"
        if not instead:
            continue
        yield refused("ml.cpu_only_package", path, f"{package.name}{package.constraint}", package=package, replacement=instead)
