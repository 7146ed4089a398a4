"""The program: options in, data in, training, result out.

Out: progress and one JSON line on standard output, problems on standard error, and the exit code, which is the contract.
TensorFlow is imported last: it takes seconds, and bad options or bad data should be told at once.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from . import device, download, files, gpu_absence, native_log, options, storage
from .refusal import ExitCode, RefusedError

if TYPE_CHECKING:
    from .upload import Upload

# Before TensorFlow is imported: no chatter of its native code, and the same order of GPUs as nvidia-smi has.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # its sums differ from machine to machine
os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")


def main(arguments: Sequence[str]) -> ExitCode:
    """Runs the program and returns its exit code."""
    started = time.monotonic()
    try:
        report = _run(options.parse(arguments))
    except RefusedError as refusal:
        for problem in refusal.problems:
            print(f"mnist_training: {problem}", file=sys.stderr, flush=True)
        print(json.dumps({"workload": "mnist", "exit_code": refusal.code, "problems": refusal.problems, "passed": False}))
        return refusal.code
    report["seconds"]["total"] = round(time.monotonic() - started, 3)
    print(json.dumps(report), flush=True)
    return ExitCode.PROVED if report["passed"] else ExitCode.WRONG_RESULT


def _run(chosen: options.Options) -> dict:
    dataset, folder, read = _dataset(chosen)
    examples = read.train_labels.shape[0]
    if chosen.batch_size > examples:
        raise RefusedError([f"--batch-size: {chosen.batch_size}, but {examples} images to train on; allowed: 1 to {examples}"])
    upload = _upload(chosen.upload_to)
    used = _device(chosen.require_gpu)

    from . import training

    outcome = training.train(training.Arrays.of(read), f"{dataset} {read.fingerprint}", chosen)
    passed = outcome.accuracy >= chosen.min_accuracy
    if not passed:
        held_out = read.test_labels.shape[0]
        problem = f"accuracy {outcome.accuracy} on {held_out} held-out images of {dataset}; required: {chosen.min_accuracy}"
        print(f"mnist_training: {problem} (--min-accuracy)", file=sys.stderr, flush=True)
    uploaded = upload.send(outcome.saved_model) if upload and passed else None
    return {
        "workload": "mnist",
        "dataset": dataset,
        "data": str(folder),
        "examples": {"train": examples, "held_out": read.test_labels.shape[0]},
        **used,
        "steps": max(chosen.steps, outcome.resumed_from),
        "resumed_from": outcome.resumed_from,
        "batch_size": chosen.batch_size,
        "seed": chosen.seed,
        "seconds": {"training": round(outcome.seconds, 3)},
        "accuracy": outcome.accuracy,
        "min_accuracy": chosen.min_accuracy,
        "model": str(outcome.model),
        "saved_model": str(outcome.saved_model),
        "uploaded_to": uploaded,
        "checkpoint": str(outcome.checkpoint),
        "passed": passed,
    }


def _upload(address: str | None) -> "Upload | None":
    """The identity is asked before the training, which would be in vain without it."""
    if address is None:
        return None
    from .upload import Upload

    return Upload(address)


def _dataset(chosen: options.Options) -> tuple[str, Path, files.Files]:
    """The data to train on: the name that is true of it, the folder it lies in, and its four files."""
    storage.make_folder(chosen.output_dir)
    if chosen.data_dir is None and not chosen.download:
        from . import digits

        folder = chosen.output_dir / "digits"
        storage.make_folder(folder)
        digits.write_digits(folder)
        return files.DIGITS, folder, files.read_files(folder)
    folder = chosen.data_dir or chosen.output_dir / files.MNIST
    if chosen.download:
        storage.make_folder(folder)
        download.download(folder, chosen.mirror)
    read = files.read_files(folder)
    return read.name, folder, read


def _device(require_gpu: bool) -> dict[str, str]:
    """Finds the GPU, describes it in the log, and returns what the report says of it."""
    with native_log.held_back() as native:
        import tensorflow as tf

        gpus = tf.config.list_physical_devices("GPU")
        absence = None if gpus else gpu_absence.explain(os.environ)
        if absence is not None and (require_gpu or not absence.is_expected):
            native.show()
    if absence is None:
        tf.config.experimental.set_memory_growth(gpus[0], True)  # a shared GPU has other users
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
        found = device.describe(tf.config.experimental.get_device_details(gpus[0]), device.query_nvidia_smi(visible))
        print("\n".join(found.lines()), flush=True)
        return {"device": "gpu", "device_name": found.name or "unknown"}
    if require_gpu:
        fix = "check the NVIDIA driver and the CUDA packages"
        raise RefusedError([f"--require-gpu: TensorFlow finds no GPU: {absence.reason}; {fix}"], ExitCode.NO_GPU)
    print(absence.line("training"), flush=True)
    return {"device": "cpu", "device_name": device.cpu_name()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
