"""A training from its start or its checkpoint to its end, with evaluations, log, curves and checkpoints."""

import math
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from . import checkpoint, device, distribution, storage
from .curves import Curves
from .files import Files
from .group import VARIABLE, Group, meet
from .options import COSINE, Options
from .progress import Progress
from .refusal import ExitCode, RefusedError
from .training import Data, NotFiniteError, Training, build_model, initial

_WRITTEN = ("model", "saved_model", "checkpoint", "curves")  # in the report; None of a worker that writes no files
_POINTS = "curve"  # in a checkpoint: the points of the learning curves


def data_of(files: Files) -> Data:
    """The arrays of the four files, sharing their memory."""
    arrays = (files.train_images, files.train_labels, files.test_images, files.test_labels)
    return Data(*(np.frombuffer(array.values, np.uint8).reshape(array.shape) for array in arrays))


class Session:
    """`run` may be called once."""

    def __init__(
        self, data: Data, dataset: str, options: Options, group: Group, gpus: Sequence[object], watch: distribution.Watch
    ) -> None:
        """`dataset`: recorded in the checkpoint; a checkpoint of another one is rejected."""
        self._data, self._options, self._group, self._gpus, self._watch = data, options, group, gpus, watch
        self._precision = _precision(options, gpus)
        self._path = options.output_dir / checkpoint.NAME
        self._size = rows, columns = data.train_images.shape[1:]
        self._identity = {"model": f"mnist_{options.model}", "image": f"{rows} x {columns}", "dataset": dataset}
        self._step = 0  # steps done
        self._saved: int | None = None  # the step of the last checkpoint
        self._accuracy = 0.0

    def run(self) -> dict[str, Any]:
        """Trains to the last step or the target accuracy, and saves checkpoint, curves, model and SavedModel. Returns its part of
        the program's report. `RefusedError` if anything ends it earlier."""
        options = self._options
        try:
            strategy = self._strategy()
            values, points = self._start(strategy)
            training = Training(
                options.model,
                self._data,
                values,
                batch_size=options.batch_size,
                seed=options.seed,
                rate=self._rate,
                dtype=tf.as_dtype(self._precision),
                xla=options.xla == "on",
                strategy=strategy,
            )
            del self._data, values  # they are on the devices
            curves = Curves(points, self._step, options.output_dir if self._group.is_chief else None)
            report = self._train(training, curves)
            files = self._write(training, curves) if self._group.is_chief else dict.fromkeys(_WRITTEN)
            distribution.exchange(strategy, self._group, [0])  # the others wait until the model is written
            self._watch.stop()
            with suppress(tf.errors.OpError):  # whoever leaves this one first may end before the others have it, not the last
                distribution.exchange(strategy, self._group, [0])
            return {"precision": self._precision, "replicas": strategy.num_replicas_in_sync, **report, **files}
        except NotFiniteError as error:
            why = f"--learning-rate {options.learning_rate:g} may be too high; {self._last()}"
            problem = f"the loss is not a number (NaN) at step {error.step}: {why}"
            raise RefusedError([problem], ExitCode.WRONG_RESULT) from error
        except (tf.errors.OpError, MemoryError) as error:
            raise distribution.refusal(error, self._group, options.batch_size, self._last()) from error

    def _strategy(self) -> tf.distribute.Strategy:
        options, group = self._options, self._group
        meet(group, options.group_timeout)
        with distribution.bounded(group, options.group_timeout):
            strategy = distribution.make_strategy(group, self._gpus)
        self._watch.start()
        replicas = strategy.num_replicas_in_sync
        if options.batch_size % replicas:
            near = options.batch_size - options.batch_size % replicas or replicas
            problem = f"--batch-size: {options.batch_size} can't be shared by {replicas} workers and GPUs; choose {near}"
            raise RefusedError([problem])
        return strategy

    def _start(self, strategy: tf.distribute.Strategy) -> tuple[dict[str, np.ndarray], list[tuple[int, float, float]]]:
        """The initial values and points; sets the step. The first worker reads the checkpoint for all."""
        keras.utils.set_random_seed(self._options.seed)
        tf.config.experimental.enable_op_determinism()
        # After the strategy: TensorFlow must join a group before any computation.
        self._model = build_model(self._options.model, *self._size)
        values, points = initial(self._model), []
        problems: list[str] = []
        if self._options.resume and self._group.is_chief:
            message = f"No checkpoint in {self._options.output_dir}: starting at step 0"
            if self._path.exists():
                try:
                    self._step, loaded = checkpoint.load(self._path, {**values, _POINTS: np.zeros((0, 3))}, self._identity)
                    points = [(int(step), accuracy, loss) for step, accuracy, loss in loaded.pop(_POINTS).tolist()]
                    values = {name: loaded[name] for name in values}
                    message = f"Resuming from {self._path} at step {self._step}"
                except RefusedError as refusal:
                    problems = refusal.problems
            if not problems:
                print(message, flush=True)
        rows = distribution.exchange(strategy, self._group, [-1 if problems else self._step, *self._same_everywhere()])
        self._watch.progress()
        if problems := problems or self._differences(rows):
            raise RefusedError(problems)
        self._step = int(rows[0, 0])
        self._saved = self._step or None  # a checkpoint of step 0 is never written
        return values, points

    def _same_everywhere(self) -> list[int]:
        """Hashes of options and data, which must be the same for all workers."""
        options = self._options
        chosen = (options.model, options.steps, options.batch_size, options.learning_rate, options.schedule, options.seed)
        rhythm = (options.evaluate_every, options.checkpoint_every, options.target_accuracy, options.xla)
        return [zlib.crc32(repr(each).encode()) & 0x7FFFFFFF for each in ((chosen, rhythm), self._identity)]

    def _differences(self, rows: np.ndarray) -> list[str]:
        name = self._group.name
        problems = [f"{name(0)} can't use its checkpoint; see its log"] if rows[0, 0] < 0 else []
        problems += [
            f"{name(index)} has different {what} than {name(0)}; use the same for all"
            for index, row in enumerate(rows)
            for what, own, first in zip(("options", "data"), row[1:], rows[0, 1:], strict=True)
            if own != first
        ]
        return [f"{VARIABLE}: {problem}" for problem in problems]

    def _train(self, training: Training, curves: Curves) -> dict[str, Any]:
        options, group, first = self._options, self._group, self._step
        progress = Progress(first, options.steps, shown=group.is_chief)
        if not group.is_chief:
            print(f"Worker {group.index} of {group.size}: {group.name(0)} prints the accuracy and writes the model", flush=True)
        began, first_done, traced = time.monotonic(), None, 0
        reached = first < options.steps and first % options.evaluate_every == 0 and self._evaluate(training, curves, progress)
        every = options.evaluate_every, options.checkpoint_every
        for step, loss in () if reached else training.run(first, options.steps, *every):
            self._watch.progress()
            self._step = step
            if first_done is None:
                first_done, traced = (time.monotonic(), time.process_time()), step - first
            progress.at(step, loss)
            if step % options.checkpoint_every == 0 or step == options.steps:
                self._save(training, curves)
            reached = step % options.evaluate_every == 0 and step < options.steps and self._evaluate(training, curves, progress)
            if reached:
                break
        ended, cpu = time.monotonic(), time.process_time()
        reached = reached or self._evaluate(training, curves, progress)
        to_target = time.monotonic() - began if reached else None
        if self._saved != self._step and self._step > first:
            self._save(training, curves)
        progress.clear()
        clock, processor = first_done or (time.monotonic(), 0.0)
        later = self._step - first - traced  # steps after the first call, which traces; with evaluations and checkpoints
        return {
            "steps": self._step,
            "resumed_from": first,
            "accuracy": self._accuracy,
            "steps_per_second": {"clock": _per_second(later, ended - clock), "cpu": _per_second(later, cpu - processor)},
            "seconds": {
                "training": round(ended - began, 3),
                "first_step_at": clock,  # on the clock of time.monotonic
                "cpu_to_first_step": round(processor, 3),
                "to_target": None if to_target is None else round(to_target, 3),
            },
        }

    def _evaluate(self, training: Training, curves: Curves, progress: Progress) -> bool:
        """Whether the target accuracy is reached."""
        accuracy, loss = training.evaluate()
        self._accuracy = round(accuracy, 4)
        if not curves.points or curves.points[-1][0] < self._step:
            curves.add(self._step, self._accuracy, loss)
        progress.accuracy(self._step, self._accuracy)
        return self._options.target_accuracy is not None and self._accuracy >= self._options.target_accuracy

    def _rate(self, step: int) -> float:
        rate = self._options.learning_rate
        return rate * (1 + math.cos(math.pi * step / self._options.steps)) / 2 if self._options.schedule == COSINE else rate

    def _save(self, training: Training, curves: Curves) -> None:
        if self._group.is_chief:
            arrays = {name: variable.numpy() for name, variable in training.variables.items()}
            if not all(np.isfinite(array).all() for array in arrays.values()):
                raise NotFiniteError(self._step)
            points = np.array(curves.points, np.float64).reshape(-1, 3)
            checkpoint.save(self._path, {**arrays, _POINTS: points}, self._step, self._identity)
        self._saved = self._step

    def _last(self) -> str:
        if self._saved is None:
            return "no checkpoint yet"
        where = self._path if self._group.is_chief else f"{self._path} of {self._group.name(0)}"
        return f"the last good checkpoint is that of step {self._saved}, {where}"

    def _write(self, training: Training, curves: Curves) -> dict[str, str | None]:
        """Writes picture and models; returns the paths of all that was written."""
        picture = curves.finish(f"{self._options.model}: accuracy {self._accuracy} after {self._step} steps")
        model, served = (self._options.output_dir / name for name in ("model.keras", "saved_model"))
        for weight in self._model.trainable_variables:
            weight.assign(training.variables[weight.path].numpy())
        storage.write_whole(model, self._model.save)
        storage.write_whole(served, self._export)
        paths = (model, served, self._path, picture)
        return {name: None if path is None else str(path) for name, path in zip(_WRITTEN, paths, strict=True)}

    def _export(self, folder: Path) -> None:
        """Writes the SavedModel for servers. Its input `image` is bytes (batch, rows, columns); its output `scores` has a
        probability per class, where the model has logits."""
        archive = keras.export.ExportArchive()
        archive.track(self._model)
        image = tf.TensorSpec((None, *self._size), tf.uint8, name="image")
        archive.add_endpoint("serve", lambda image: {"scores": tf.nn.softmax(self._model(image, training=False))}, [image])
        archive.write_out(str(folder), verbose=False)


def _per_second(steps: int, seconds: float) -> float | None:
    return round(steps / seconds, 2) if steps > 0 and seconds > 0 else None


def _precision(options: Options, gpus: Sequence[object]) -> str:
    if not gpus:
        return device.precision_of_cpu(options.precision)
    details = tf.config.experimental.get_device_details(gpus[0])
    return device.precision_of_gpu(options.precision, details.get("compute_capability"))
