"""The training itself: steps, the accuracy every ten of them, checkpoints.

In: arrays, options, a step to start from. Out: what came out, and the files in the output folder.
The batches and the dropout of a step depend on seed and step alone, so a resumed run ends where an uninterrupted one does.
"""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from . import checkpoint, saved_model, storage
from .files import Files
from .model import build_model, build_optimizer
from .options import Options

MODEL_NAME = "model.keras"
_EVALUATE_EVERY = 10  # steps, as in the log of the ACI article
_CHECKPOINT_EVERY = 100  # steps; what a killed run loses at most
_EVALUATION_BATCH = 2000  # images


@dataclass(frozen=True, slots=True)
class Outcome:
    """`accuracy` is the share of held-out images that the model tells right; `seconds` is the time of the steps."""

    accuracy: float
    resumed_from: int
    seconds: float
    model: Path
    saved_model: Path
    checkpoint: Path


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


def train(arrays: Arrays, dataset: str, options: Options) -> Outcome:
    """Trains up to `options.steps`, prints the accuracy on the way, and saves checkpoint and model, this also as a SavedModel.

    `dataset` is the name that the checkpoint keeps; a checkpoint with another one is refused.
    """
    keras.utils.set_random_seed(options.seed)
    tf.config.experimental.enable_op_determinism()
    rows, columns = arrays.train_images.shape[1:]
    model = build_model(rows, columns)
    optimizer = build_optimizer(model, options.learning_rate)
    variables = {
        **{f"model/{variable.path}": variable for variable in model.variables},
        **{f"optimizer/{variable.path}": variable for variable in optimizer.variables},
    }
    identity = checkpoint.Identity(model.name, f"{rows} x {columns}", dataset)
    checkpoint_path = options.output_dir / checkpoint.NAME

    first = 0
    if options.resume and checkpoint_path.exists():
        first = checkpoint.restore(checkpoint_path, variables, identity)
        # The rate is a variable of the optimiser; what the command line says outranks what the checkpoint says.
        optimizer.learning_rate.assign(options.learning_rate)
        print(f"Resuming from {checkpoint_path} at step {first}", flush=True)
    elif options.resume:
        print(f"No checkpoint in {options.output_dir}: starting at step 0", flush=True)

    step_function = _step_function(model, optimizer)
    started = time.monotonic()
    for step in range(first, options.steps):
        if step % _EVALUATE_EVERY == 0:
            print(f"Accuracy at step {step}: {_accuracy(model, arrays)}", flush=True)
        chosen = _batch(step, len(arrays.train_labels), options)
        step_function(tf.constant(arrays.train_images[chosen]), tf.constant(arrays.train_labels[chosen]))
        if (step + 1) % _CHECKPOINT_EVERY == 0 or step + 1 == options.steps:
            checkpoint.save(checkpoint_path, variables, step + 1, identity)
    seconds = time.monotonic() - started

    accuracy = _accuracy(model, arrays)
    print(f"Accuracy at step {max(first, options.steps)}: {accuracy}", flush=True)
    model_path = options.output_dir / MODEL_NAME
    storage.write_whole(model_path, model.save)
    served_path = options.output_dir / saved_model.NAME
    storage.write_whole_folder(served_path, functools.partial(saved_model.write, model, rows, columns))
    return Outcome(accuracy, first, seconds, model_path, served_path, checkpoint_path)


def _step_function(model: keras.Model, optimizer: keras.optimizers.Optimizer) -> Callable[[tf.Tensor, tf.Tensor], None]:
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(reduce_retracing=True)
    def step(images: tf.Tensor, labels: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)

    return step


def _batch(step: int, examples: int, options: Options) -> np.ndarray:
    """The positions of the images of `step`: every epoch is an order of its own, drawn from seed and epoch."""
    size = min(options.batch_size, examples)
    steps_per_epoch = examples // size
    epoch, position = divmod(step, steps_per_epoch)
    return _order(options.seed, epoch, examples)[position * size : (position + 1) * size]


@functools.lru_cache(maxsize=1)
def _order(seed: int, epoch: int, examples: int) -> np.ndarray:
    return np.random.default_rng((seed, epoch)).permutation(examples)


def _accuracy(model: keras.Model, arrays: Arrays) -> float:
    """The share of the held-out images that the model tells right, to four places."""
    right = 0
    for start in range(0, len(arrays.test_labels), _EVALUATION_BATCH):
        logits = _logits(model, tf.constant(arrays.test_images[start : start + _EVALUATION_BATCH]))
        guesses = np.argmax(logits.numpy(), axis=1)
        right += int(np.sum(guesses == arrays.test_labels[start : start + _EVALUATION_BATCH]))
    return round(right / len(arrays.test_labels), 4)


@tf.function(reduce_retracing=True)
def _logits(model: keras.Model, images: tf.Tensor) -> tf.Tensor:
    return model(images, training=False)
