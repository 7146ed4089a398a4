"""Runs in MNIST's environment: the same network trained by Keras' `fit` and by the workload, in turn, to the same accuracy.

In: a folder with the four files, the accuracy, rounds, a folder for outputs, batch sizes. Out: lines of JSON: one for each
setting of each of the two in the sweep, which goes by processor time, and where a setting that is slower than the fastest so far
is broken off; then one for each timed training. Times count from the call to the accuracy, what is traced and compiled included;
both look at the accuracy after every epoch.
"""

import contextlib
import io
import itertools
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import keras
import tensorflow as tf
from mnist_training import distribution, files, group, options, session
from mnist_training.training import Data, build_model

STEPS_PER_EXECUTION = (1, 50)
EPOCHS = 40
EVALUATION_BATCH = 2000


@dataclass(frozen=True)
class Taken:
    """Seconds of the clock and of the processor up to the accuracy; None where it wasn't reached."""

    wall: float
    cpu: float
    accuracy: float


class SlowerError(Exception):
    """The setting is slower than the fastest."""


class Deadline(keras.callbacks.Callback):
    def __init__(self, until: float) -> None:
        super().__init__()
        self.until = until

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        if time.process_time() > self.until:
            raise SlowerError


def fit(arrays: Data, target: float, seed: int, most: float, batch_size: int, jit: bool, steps: int) -> Taken:
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    rows, columns = arrays.train_images.shape[1:]
    model = build_model("perceptron", rows, columns)
    began, cpu = time.perf_counter(), time.process_time()
    model.compile(
        optimizer=keras.optimizers.Adam(0.001),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=jit,
        steps_per_execution=steps,
    )
    deadline = Deadline(cpu + most)
    for _ in range(EPOCHS):
        model.fit(arrays.train_images, arrays.train_labels, batch_size=batch_size, epochs=1, verbose=0, callbacks=[deadline])
        accuracy = model.evaluate(arrays.test_images, arrays.test_labels, batch_size=EVALUATION_BATCH, verbose=0)[1]
        if accuracy >= target:
            return Taken(time.perf_counter() - began, time.process_time() - cpu, round(float(accuracy), 4))
    raise SlowerError


def ours(arrays: Data, target: float, seed: int, folder: Path, batch_size: int) -> Taken:
    keras.backend.clear_session()
    epoch = len(arrays.train_labels) // batch_size
    chosen = options.parse(
        f"--target-accuracy {target} --batch-size {batch_size} --seed {seed} --steps {EPOCHS * epoch} --output-dir {folder} "
        f"--evaluate-every {epoch} --checkpoint-every {EPOCHS * epoch}".split()
    )
    alone, gpus = group.Group(), tf.config.list_physical_devices("GPU")
    started = session.Session(arrays, "bench", chosen, alone, gpus, distribution.Watch(alone, 1, sys.exit))
    # Processor time counts from and to the same moments as the report's time by the clock.
    spent: list[float] = []
    train, told = started._train, session.Progress.accuracy
    started._train = lambda *given: spent.append(time.process_time()) or train(*given)
    each_told = mock.patch.object(session.Progress, "accuracy", lambda *given: spent.append(time.process_time()) or told(*given))
    with each_told, contextlib.redirect_stdout(io.StringIO()):
        report = started.run()
    seconds = report["seconds"]["to_target"]
    if seconds is None:
        raise SlowerError
    return Taken(seconds, spent[-1] - spent[0], report["accuracy"])


def main() -> None:
    data, target, rounds, folder, *sizes = sys.argv[1:]
    with contextlib.redirect_stdout(io.StringIO()):
        arrays = session.data_of(files.read_files(Path(data)))
    batch_sizes = [int(size) for size in sizes]
    fastest_fit: tuple[float, tuple[int, bool, int]] | None = None
    # What is compiled by XLA comes last: it is the slowest on a CPU, and so is broken off soonest.
    for jit, batch_size, steps in itertools.product((False, True), batch_sizes, STEPS_PER_EXECUTION):
        most = fastest_fit[0] if fastest_fit else 600.0
        try:
            taken = fit(arrays, float(target), 1, most, batch_size, jit, steps)
        except SlowerError:
            say({"fit": [batch_size, jit, steps], "slower_than": most})
            continue
        say({"fit": [batch_size, jit, steps], **vars(taken)})
        if fastest_fit is None or taken.cpu < fastest_fit[0]:
            fastest_fit = (taken.cpu, (batch_size, jit, steps))
    fastest_ours: tuple[float, int] | None = None
    for batch_size in batch_sizes:
        try:
            taken = ours(arrays, float(target), 1, Path(folder), batch_size)
        except SlowerError:
            continue
        say({"ours": [batch_size], **vars(taken)})
        if fastest_ours is None or taken.cpu < fastest_ours[0]:
            fastest_ours = (taken.cpu, batch_size)
    if fastest_fit is None or fastest_ours is None:
        sys.exit(f"accuracy {target} isn't reached")
    for number in range(int(rounds)):
        for who in ("fit", "ours"):
            seed = 10 + number
            if who == "fit":
                taken = fit(arrays, float(target), seed, 600.0, *fastest_fit[1])
                setting = list(fastest_fit[1])
            else:
                taken = ours(arrays, float(target), seed, Path(folder), fastest_ours[1])
                setting = [fastest_ours[1]]
            say({"round": number, "who": who, "setting": setting, **vars(taken)})
    say({"tensorflow": tf.__version__, "keras": keras.__version__})


def say(what: dict) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
