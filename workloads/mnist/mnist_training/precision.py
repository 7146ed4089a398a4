"""Chooses the type of the matrix products of a step: the shortest that the hardware multiplies faster than 32 bits.

It is chosen before TensorFlow is imported, because oneDNN, which multiplies bfloat16 on a CPU, can only be enabled by the
environment.
"""

from pathlib import Path

from .options import AUTO, BFLOAT16, FLOAT16, FLOAT32

# Linux' names (arch/x86/include/asm/cpufeatures.h) of the instructions that multiply bfloat16.
_CPU_FLAGS = frozenset({"avx512_bf16", "amx_bf16"})
# NVIDIA's tensor cores: float16 from compute capability 7.0 on, bfloat16 from 8.0 on (CUDA C++ Programming Guide, appendix on
# compute capabilities, table "Tensor core data types").
_GPU_FLOAT16, _GPU_BFLOAT16 = (7, 0), (8, 0)


def of_cpu(chosen: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    if chosen != AUTO:
        return chosen
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return FLOAT32
    flags = next((line.partition(":")[2].split() for line in text.splitlines() if line.startswith("flags")), [])
    return BFLOAT16 if _CPU_FLAGS & set(flags) else FLOAT32


def of_gpu(chosen: str, compute_capability: tuple[int, int] | None) -> str:
    if chosen != AUTO:
        return chosen
    if compute_capability is None or compute_capability < _GPU_FLOAT16:
        return FLOAT32
    return BFLOAT16 if compute_capability >= _GPU_BFLOAT16 else FLOAT16
