"""The training loop: steps, evaluations and checkpoints. The first worker writes the files of the output folder.

Batches and dropout depend only on seed and step, so a resumed run has the same result as an uninterrupted one; several workers
differ only by the order of sums.
"""

import functools
import math
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from . import checkpoint, distribution, failures, precision, saved_model, steps, storage
from .curves import Curves
from .files import Files
from .group import VARIABLE, Group, meet
from .model import build_model, dropout, network
from .options import CONVOLUTION, COSINE, PERCEPTRON, Options
from .progress import Progress
from .refusal import ExitCode, RefusedError

MODEL_NAME = "model.keras"
_EVALUATION_BATCH = {PERCEPTRON: 2000, CONVOLUTION: 250}  # images; activations stay below 50 MB
_POINTS = "curve"  # in a checkpoint: the points of the learning curves


@dataclass(frozen=True, slots=True)
class Outcome:
    """`accuracy`: share of correctly classified held-out images; `seconds`: of steps and evaluations; `target_seconds`: until the
    target accuracy, None if it wasn't reached. Paths are None in a worker that writes no files."""

    accuracy: float
    resumed_from: int
    last_step: int
    seconds: float
    first_step_at: float  # time.monotonic() when the first step was done
    cpu_to_first_step: float  # seconds of this process' processors until then
    # After the first call, which traces; by wall clock and by processor time, including evaluations and checkpoints.
    steps_per_second: dict[str, float | None]
    target_step: int | None
    target_seconds: float | None
    precision: str
    replicas: int
    model: Path | None
    saved_model: Path | None
    checkpoint: Path | None
    curves: Path | None


@dataclass(frozen=True, slots=True)
class Arrays:
    """Images as bytes `(count, rows, columns)` and labels as bytes `(count,)`."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray

    @classmethod
    def of(cls, files: Files) -> "Arrays":
        """The arrays of the four files, sharing their memory."""
        arrays = (files.train_images, files.train_labels, files.test_images, files.test_labels)
        return cls(*(np.frombuffer(array.values, np.uint8).reshape(array.shape) for array in arrays))


@dataclass(slots=True)
class _Run:
    """State of a training."""

    step: int
    saved: int | None  # step of the last checkpoint
    accuracy: float = 0.0
    target_step: int | None = None
    target_seconds: float | None = None
    first_step_at: float = 0.0
    cpu_to_first_step: float = 0.0
    traced: int = 0  # steps of the first call


class Training:
    """A training from its start or its checkpoint to its end. `run` may be called once."""

    def __init__(
        self, arrays: Arrays, dataset: str, options: Options, group: Group, gpus: Sequence[object], watch: distribution.Watch
    ) -> None:
        """`dataset`: recorded in the checkpoint; a checkpoint of another one is rejected."""
        self._options, self._group, self._watch = options, group, watch
        self._arrays: Arrays | None = arrays  # until they are on the devices
        self._examples, self._held_out = len(arrays.train_labels), len(arrays.test_labels)
        self._precision = _precision(options, gpus)
        self._path = options.output_dir / checkpoint.NAME
        self._size = rows, columns = arrays.train_images.shape[1:]
        self._identity = checkpoint.Identity(f"mnist_{options.model}", f"{rows} x {columns}", dataset)
        self._gpus = gpus

    def run(self) -> Outcome:
        """Trains to the last step or the target accuracy, and saves checkpoint, curves, model and SavedModel.

        `RefusedError` if anything ends it earlier.
        """
        state = _Run(step=0, saved=None)
        try:
            return self._run(state)
        except (tf.errors.OpError, MemoryError) as error:
            raise failures.refusal(error, self._group, self._options.batch_size, self._last(state)) from error

    def _run(self, state: _Run) -> Outcome:
        options, group = self._options, self._group
        meet(group, options.group_timeout)
        with distribution.bounded(group, options.group_timeout):
            strategy = distribution.make_strategy(group, self._gpus)
        self._watch.start()
        replicas = strategy.num_replicas_in_sync
        if options.batch_size % replicas:
            near = options.batch_size - options.batch_size % replicas or replicas
            raise RefusedError(
                [f"--batch-size: {options.batch_size} can't be shared by {replicas} workers and GPUs; choose {near}"]
            )
        values, points = self._start(state, strategy)
        computing = steps.Steps(
            strategy,
            network(options.model),
            values,
            batch_size=options.batch_size,
            dropout=dropout(options.model),
            seed=options.seed,
            dtype=tf.as_dtype(self._precision),
            xla=options.xla == "on",
        )
        images, labels, *held_out = self._place(computing, min(_EVALUATION_BATCH[options.model], -(-self._held_out // replicas)))
        curves = Curves(points, state.step, options.output_dir if group.is_chief else None)
        progress = Progress(state.step, options.steps, shown=group.is_chief)
        first = state.step
        if not group.is_chief:
            print(f"Worker {group.index} of {group.size}: {group.name(0)} prints the accuracy and writes the model", flush=True)

        def evaluate() -> None:
            right, loss = computing.evaluate(*held_out)
            state.accuracy = round(right / self._held_out, 4)
            if not curves.points or curves.points[-1][0] < state.step:
                curves.add(state.step, state.accuracy, loss / self._held_out)
            progress.accuracy(state.step, state.accuracy)

        began = time.monotonic()
        for chunk in self._chunks(first):
            if chunk.start % options.evaluate_every == 0:
                evaluate()
                if self._reached(state, began):
                    break
            order, position = self._order(chunk.start, computing)
            loss, good = computing.run(images, labels, order, position, chunk.start, [self._rate(step) for step in chunk])
            self._watch.progress()
            if not state.first_step_at:
                state.first_step_at, state.cpu_to_first_step, state.traced = time.monotonic(), time.process_time(), len(chunk)
            if good < len(chunk):
                self._refuse_no_number(chunk.start + good, state)
            state.step = chunk.stop
            progress.at(state.step, loss)
            if state.step % options.checkpoint_every == 0 or state.step == options.steps:
                self._save(computing, curves, state)
        seconds, cpu = time.monotonic() - began, time.process_time()
        if state.target_step is None:
            evaluate()
            self._reached(state, began)
        if state.saved != state.step and state.step > first:
            self._save(computing, curves, state)
        progress.clear()

        model_path = served_path = picture = None
        if group.is_chief:
            picture = curves.finish(f"{options.model}: accuracy {state.accuracy} after {state.step} steps")
            model_path, served_path = self._write_model(computing)
        distribution.exchange(strategy, group, [0])  # the others wait until the model is written
        self._watch.stop()
        return Outcome(
            accuracy=state.accuracy,
            resumed_from=first,
            last_step=state.step,
            seconds=seconds,
            first_step_at=state.first_step_at or time.monotonic(),
            cpu_to_first_step=state.cpu_to_first_step,
            steps_per_second={
                "clock": _rate(state.step - first - state.traced, began + seconds - state.first_step_at),
                "cpu": _rate(state.step - first - state.traced, cpu - state.cpu_to_first_step),
            },
            target_step=state.target_step,
            target_seconds=state.target_seconds,
            precision=self._precision,
            replicas=replicas,
            model=model_path,
            saved_model=served_path,
            checkpoint=self._path if group.is_chief else None,
            curves=picture,
        )

    def _start(
        self, state: _Run, strategy: tf.distribute.Strategy
    ) -> tuple[dict[str, np.ndarray], list[tuple[int, float, float]]]:
        """The initial values and points; sets the step in `state`. The first worker reads the checkpoint for all."""
        keras.utils.set_random_seed(self._options.seed)
        tf.config.experimental.enable_op_determinism()
        # After the strategy: TensorFlow must join a group before any computation.
        self._model = build_model(self._options.model, *self._size)
        values = steps.initial({weight.path: weight.numpy() for weight in self._model.trainable_variables})
        points: list[tuple[int, float, float]] = []
        problems: list[str] = []
        message = ""
        if self._options.resume and self._group.is_chief:
            if self._path.exists():
                try:
                    state.step, loaded = checkpoint.load(self._path, {**values, _POINTS: np.zeros((0, 3))}, self._identity)
                    points = [(int(step), accuracy, loss) for step, accuracy, loss in loaded.pop(_POINTS).tolist()]
                    values = {name: loaded[name] for name in values}
                    message = f"Resuming from {self._path} at step {state.step}"
                except RefusedError as refusal:
                    problems = refusal.problems
            else:
                message = f"No checkpoint in {self._options.output_dir}: starting at step 0"
        rows = distribution.exchange(strategy, self._group, [-1 if problems else state.step, *self._same_everywhere()])
        self._watch.progress()
        if problems:
            raise RefusedError(problems)
        self._compare(rows)
        state.step = int(rows[0, 0])
        state.saved = state.step or None  # a checkpoint of step 0 is never written
        if message:
            print(message, flush=True)
        return values, points

    def _place(self, computing: steps.Steps, size: int) -> list[tf.Tensor]:
        """Moves training images and labels, and held-out ones in batches of `size`, to the devices."""
        assert self._arrays is not None
        arrays, self._arrays = self._arrays, None
        held_out = steps.batches(arrays.test_images, arrays.test_labels, size)
        return [computing.place(array) for array in (arrays.train_images, arrays.train_labels, *held_out)]

    def _same_everywhere(self) -> list[int]:
        """Hashes of options and data, which must be the same for all workers."""
        options = self._options
        chosen = (options.model, options.steps, options.batch_size, options.learning_rate, options.schedule, options.seed)
        rhythm = (options.evaluate_every, options.checkpoint_every, options.target_accuracy, options.xla)
        return [zlib.crc32(repr(each).encode()) & 0x7FFFFFFF for each in ((chosen, rhythm), self._identity)]

    def _compare(self, rows: np.ndarray) -> None:
        problems = []
        if rows[0, 0] < 0:
            problems.append(f"{self._group.name(0)} can't use its checkpoint; see its log")
        for index, row in enumerate(rows):
            for what, own, first in zip(("options", "data"), row[1:], rows[0, 1:], strict=True):
                if own != first:
                    problems.append(
                        f"{self._group.name(index)} has different {what} than {self._group.name(0)}; use the same for all"
                    )
        if problems:
            raise RefusedError([f"{VARIABLE}: {problem}" for problem in problems])

    def _chunks(self, first: int) -> Iterator[range]:
        """The steps from `first` on, in ranges per call: up to an evaluation, a checkpoint or the end of an epoch."""
        options = self._options
        per_epoch = self._examples // options.batch_size
        step = first
        while step < options.steps:
            borders = [(step // every + 1) * every for every in (options.evaluate_every, options.checkpoint_every, per_epoch)]
            end = min(*borders, options.steps)
            yield range(step, end)
            step = end

    def _order(self, step: int, computing: steps.Steps) -> tuple[tf.Tensor, int]:
        """The order of the images in the epoch of `step`, on the devices, and the index of that step's batch."""
        epoch, position = divmod(step, self._examples // self._options.batch_size)
        if getattr(self, "_epoch", None) != epoch:
            self._epoch = epoch
            self._placed = computing.place(
                np.random.default_rng((self._options.seed, epoch)).permutation(self._examples).astype(np.int32)
            )
        return self._placed, position

    def _rate(self, step: int) -> float:
        rate = self._options.learning_rate
        if self._options.schedule == COSINE:
            return rate * (1 + math.cos(math.pi * step / self._options.steps)) / 2
        return rate

    def _reached(self, state: _Run, began: float) -> bool:
        target = self._options.target_accuracy
        if target is None or state.accuracy < target:
            return False
        if state.target_step is None:
            state.target_step, state.target_seconds = state.step, time.monotonic() - began
        return True

    def _save(self, computing: steps.Steps, curves: Curves, state: _Run) -> None:
        if self._group.is_chief:
            arrays = {name: variable.numpy() for name, variable in computing.variables.items()}
            if not all(np.isfinite(array).all() for array in arrays.values()):
                self._refuse_no_number(state.step, state)
            points = np.array(curves.points, np.float64).reshape(-1, 3)
            checkpoint.save(self._path, {**arrays, _POINTS: points}, state.step, self._identity)
        state.saved = state.step

    def _refuse_no_number(self, step: int, state: _Run) -> None:
        problem = (
            f"the loss is not a number (NaN) at step {step}: --learning-rate {self._options.learning_rate:g} may be too high; "
        )
        raise RefusedError([problem + self._last(state)], ExitCode.WRONG_RESULT)

    def _last(self, state: _Run) -> str:
        if state.saved is None:
            return "no checkpoint yet"
        where = self._path if self._group.is_chief else f"{self._path} of {self._group.name(0)}"
        return f"the last good checkpoint is that of step {state.saved}, {where}"

    def _write_model(self, computing: steps.Steps) -> tuple[Path, Path]:
        for weight in self._model.trainable_variables:
            weight.assign(computing.variables[weight.path].numpy())
        model_path = self._options.output_dir / MODEL_NAME
        storage.write_whole(model_path, self._model.save)
        served_path = self._options.output_dir / saved_model.NAME
        storage.write_whole_folder(served_path, functools.partial(saved_model.write, self._model, *self._size))
        return model_path, served_path


def _rate(steps: int, seconds: float) -> float | None:
    return round(steps / seconds, 2) if steps > 0 and seconds > 0 else None


def _precision(options: Options, gpus: Sequence[object]) -> str:
    if not gpus:
        return precision.of_cpu(options.precision)
    details: Mapping[str, object] = tf.config.experimental.get_device_details(gpus[0])
    capability = details.get("compute_capability")
    return precision.of_gpu(options.precision, capability if isinstance(capability, tuple) else None)
