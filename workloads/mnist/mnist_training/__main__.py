"""The training program: reads options and data, trains, and reports the result. TensorFlow is imported last, because it takes
seconds, and wrong options or data should be reported at once."""

import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from . import device, group, options, sources
from .refusal import ExitCode, RefusedError

if TYPE_CHECKING:
    from .upload import Upload

# Before TensorFlow is imported: silences its native code, and orders GPUs as nvidia-smi does.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")


def main(arguments: Sequence[str]) -> ExitCode:
    """Runs the program and returns its exit code."""
    started = time.monotonic()
    try:
        report = _run(*_read(arguments), started)
    except RefusedError as refusal:
        _tell(refusal)
        return refusal.code
    report["seconds"]["total"] = round(time.monotonic() - started, 3)
    print(json.dumps(report), flush=True)
    return ExitCode.PROVED if report["passed"] else ExitCode.WRONG_RESULT


def _read(arguments: Sequence[str]) -> tuple[options.Options, group.Group]:
    """Reads the command line and TF_CONFIG, and reports the problems of both."""
    problems: list[str] = []
    chosen, workers = options.Options(), group.Group()
    try:
        chosen = options.parse(arguments)
    except RefusedError as refusal:
        problems += refusal.problems
    try:
        workers = group.read(os.environ.get(group.VARIABLE))
    except RefusedError as refusal:
        problems += refusal.problems
    if problems:
        raise RefusedError(problems)
    if workers.size > 1:
        # A lost worker is reported in one line, so TensorFlow's errors about it add nothing.
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    return chosen, workers


def _tell(refusal: RefusedError) -> None:
    for problem in refusal.problems:
        print(f"mnist_training: {problem}", file=sys.stderr, flush=True)
    print(json.dumps({"workload": "mnist", "exit_code": refusal.code, "problems": refusal.problems, "passed": False}), flush=True)


def _run(chosen: options.Options, workers: group.Group, started: float) -> dict:
    dataset, folder, read = sources.find(chosen)
    examples, held_out = read.train_labels.shape[0], read.test_labels.shape[0]
    if chosen.batch_size > examples:
        raise RefusedError([f"--batch-size: {chosen.batch_size}, but {examples} images to train on; allowed: 1 to {examples}"])
    upload = _upload(chosen.upload_to)
    # oneDNN multiplies bfloat16 on a CPU; with 32 bits its sums differ between machines.
    shorter = device.precision_of_cpu(chosen.precision) != options.FLOAT32
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1" if shorter else "0")
    used, gpus = device.find(chosen.require_gpu)

    from . import distribution, session

    def end(problem: str) -> NoReturn:
        _tell(RefusedError([problem], ExitCode.LOST))
        os._exit(ExitCode.LOST)  # the training thread may be blocked in TensorFlow forever

    watch = distribution.Watch(workers, chosen.group_timeout, end)
    training = session.Session(session.data_of(read), f"{dataset} {read.fingerprint}", chosen, workers, gpus, watch)
    del read  # the images, once they are on the device
    trained = training.run()
    required, option = _required(chosen)
    passed, seconds = trained["accuracy"] >= required, trained["seconds"]
    if not passed and workers.is_chief:
        problem = f"accuracy {trained['accuracy']} on {held_out} held-out images of {dataset}; required: {required}"
        print(f"mnist_training: {problem} ({option})", file=sys.stderr, flush=True)
    if seconds["to_target"] is not None:
        print(f"Accuracy {required} reached at step {trained['steps']} after {seconds['to_target']:.3f} s", flush=True)
    uploaded = upload.send(Path(trained["saved_model"])) if upload and passed and workers.is_chief else None
    seconds["to_first_step"] = round(seconds.pop("first_step_at") - started, 3)
    return {
        "workload": "mnist",
        "dataset": dataset,
        "data": str(folder),
        "examples": {"train": examples, "held_out": held_out},
        **used,
        "network": chosen.model,
        "workers": workers.size,
        "worker": workers.index,
        "batch_size": chosen.batch_size,
        "seed": chosen.seed,
        **trained,
        "min_accuracy": required,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,  # of this process, as Linux counts it
        "uploaded_to": uploaded,
        "passed": passed,
    }


def _required(chosen: options.Options) -> tuple[float, str]:
    """The required accuracy, and the option that sets it."""
    if chosen.target_accuracy is not None and chosen.target_accuracy > chosen.min_accuracy:
        return chosen.target_accuracy, "--target-accuracy"
    return chosen.min_accuracy, "--min-accuracy"


def _upload(address: str | None) -> "Upload | None":
    """Requests a token before the training, so that a missing identity is found early."""
    if address is None:
        return None
    from .upload import Upload

    return Upload(address)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    if code is ExitCode.LOST:
        os._exit(code)  # an orderly shutdown of TensorFlow would wait for lost workers and devices
    sys.exit(code)
