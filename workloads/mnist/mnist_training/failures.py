"""Converts TensorFlow's errors during training to one line and an exit code.

The `RefusedError` names the cause: an unusable file, too little memory, a GPU in use by another process, a lost GPU or worker.
"""

import re

import tensorflow as tf

from . import distribution
from .group import Group
from .refusal import ExitCode, RefusedError

# Names of CUDA's driver API (docs.nvidia.com, "CUDA Driver API", data types, CUresult) and their texts as TensorFlow repeats
# them.
_HELD = re.compile(r"CUDA_ERROR_DEVICE_UNAVAILABLE|devices? .*(busy or unavailable)|EXCLUSIVE_PROCESS", re.IGNORECASE)
_LOST = re.compile(
    r"CUDA_ERROR_(ILLEGAL_ADDRESS|LAUNCH_FAILED|LAUNCH_TIMEOUT|ECC_UNCORRECTABLE|HARDWARE_STACK_ERROR|NOT_PERMITTED|SYSTEM_NOT_READY|"
    r"CONTEXT_IS_DESTROYED|DEINITIALIZED)|GPU is lost|unspecified launch failure|device lost",
    re.IGNORECASE,
)
# Prefixes of TensorFlow's lines about the location of an error; the error itself follows.
_PREFACE = ("Graph execution error", "Detected at node", "Traceback", "File ", "<stack traces")
# Observed form of TensorFlow 2.21's errors for files that it can't open or write: "path; the reason of the system". A
# full disk is a ResourceExhaustedError, as too little memory is. A restart doesn't help against any of these.
_FILE = re.compile(
    r"(?:\}\} )?([^;{}\n]+); (No space left on device|Disk quota exceeded|Read-only file system|Permission denied|"
    r"No such file or directory|Not a directory)"
)
_MEMORY = re.compile(r"out of memory|CUDA_ERROR_OUT_OF_MEMORY|OOM when allocating|failed to allocate", re.IGNORECASE)


def refusal(error: Exception, group: Group, batch_size: int, last: str) -> RefusedError:
    """`last`: text about the last checkpoint."""
    text = str(error)
    if file := _FILE.search(text):
        return RefusedError(
            [f"{file[1].strip()}: can't be used: {file[2]}; free some space or choose another --output-dir; {last}"]
        )
    if isinstance(error, (MemoryError, tf.errors.ResourceExhaustedError)) or _MEMORY.search(text):
        what = re.search(r"(?:shape|shape:? ?)(\[[\d,]+\])", text)
        tensor = f" for an array of {what[1]}" if what else ""
        problem = f"out of memory{tensor}: a step of --batch-size {batch_size} doesn't fit; choose a smaller one; {last}"
        return RefusedError([problem])
    if _HELD.search(text):
        why = "it is in exclusive mode and another process holds it, or it is in prohibited mode (see `nvidia-smi -q -d COMPUTE`)"
        return RefusedError([f"the GPU can't be used: {why}; CUDA says: {_first_line(text)}"], ExitCode.NO_GPU)
    if _LOST.search(text):
        return RefusedError([f"the GPU was lost: {_first_line(text)}; {last}"], ExitCode.LOST)
    if group.size > 1:
        absent = group.unreachable()
        detail = "" if absent else f" (TensorFlow says: {_first_line(text)})"
        return RefusedError([f"{distribution.lost(absent)}{detail}; {last}"], ExitCode.LOST)
    return RefusedError([f"TensorFlow failed: {_first_line(text)}; {last}"], ExitCode.LOST)


def _first_line(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith(_PREFACE)), "nothing")[:300]
