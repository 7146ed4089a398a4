"""The model: loaded once, run for every request. Inputs are prepared by `content`, outputs are numpy arrays."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from image_scoring import signature, tensorflow_start
from image_scoring.exchange import RefusedError
from image_scoring.signature import ModelInput, Takes

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before TensorFlow is imported: silences its native code
with tensorflow_start.held_back() as _shown:
    import tensorflow as tf

    _GPUS = tf.config.list_physical_devices("GPU")
    _ABSENCE = None if _GPUS else tensorflow_start.gpu_absence(os.environ)
    if _ABSENCE is not None and not _ABSENCE.is_expected:
        _shown.set()
    for _gpu in _GPUS:  # before anything runs: a GPU that is in use can't be changed any more
        tf.config.experimental.set_memory_growth(_gpu, True)  # other workers use it too

# A grey JPEG of one pixel, to warm up models that decode images themselves.
_PIXEL = bytes(tf.io.encode_jpeg(tf.zeros((1, 1, 3), tf.uint8)).numpy())


def log_cpu_use(environment: Mapping[str, str]) -> None:
    """Logs one line without a GPU, unless `serve.py` has logged it before starting the workers."""
    if _ABSENCE is not None and (not _ABSENCE.is_expected or environment.get("SCORING_GPUS") != ""):
        print(_ABSENCE.line("the model"), file=sys.stderr, flush=True)


class Model:
    """A SavedModel whose signature takes one input."""

    def __init__(self, folder: Path) -> None:
        """ValueError if it can't be served."""
        self.folder = signature.find(folder)
        loaded = tf.saved_model.load(str(self.folder))
        if signature.SIGNATURE not in loaded.signatures:
            known = ", ".join(loaded.signatures) or "none"
            raise ValueError(f"{self.folder}: the model has no signature {signature.SIGNATURE}; it has {known}")
        self._loaded = loaded  # holds the variables
        self._function = loaded.signatures[signature.SIGNATURE]
        inputs = self._function.structured_input_signature[1]
        self.input: ModelInput = signature.read({name: (spec.dtype.name, _shape(spec)) for name, spec in inputs.items()})
        self._dtype = inputs[self.input.name].dtype
        self._names = sorted(self._function.structured_outputs)
        self._outputs = self._by_name
        self.scores = _scores(self._function.structured_outputs)

    def warm_up(self) -> None:
        """Runs the model, so that the first request isn't slowed by one-time work of TensorFlow."""
        count = self.input.batch or 1
        if self.input.takes is Takes.FILES:
            items = [_PIXEL] * count
        else:
            items = np.zeros((count, *(size or 1 for size in self.input.shape or ())), self._dtype.as_numpy_dtype)
        with suppress(RefusedError):  # a model may reject zeros
            expected = self.run(items)
            self._outputs = self._directly
            if not self._gives(expected, items):
                self._outputs = self._by_name

    def run(self, items: np.ndarray | Sequence[bytes]) -> dict[str, np.ndarray]:
        """The outputs for `items`, rows in their order. RefusedError if the model rejects them."""
        batch = self.input.batch
        if batch is None:
            return self._call(items)
        if batch == 0:
            return _joined([{name: rows[None] for name, rows in self._call(item).items()} for item in items])
        return _joined([self._padded(items[start : start + batch], batch) for start in range(0, len(items), batch)])

    def _padded(self, items: np.ndarray | Sequence[bytes], batch: int) -> dict[str, np.ndarray]:
        """Pads the batch of a model with fixed batches by the last item, and drops the extra rows."""
        count = len(items)
        if count < batch:
            items = (
                np.concatenate([items, np.repeat(items[-1:], batch - count, 0)])
                if isinstance(items, np.ndarray)
                else [*items, *[items[-1]] * (batch - count)]
            )
        return {name: rows[:count] for name, rows in self._call(items).items()}

    def _call(self, value: np.ndarray | Sequence[bytes] | bytes) -> dict[str, np.ndarray]:
        try:
            return self._outputs(tf.constant(value, self._dtype))
        except tf.errors.InvalidArgumentError as error:
            reason = str(error.message).splitlines()[0][:200]
            raise RefusedError(f"the model can't take the input: {reason}", self.input.described()) from None

    def _by_name(self, value: tf.Tensor) -> dict[str, np.ndarray]:
        return {name: output.numpy() for name, output in self._function(**{self.input.name: value}).items()}

    def _directly(self, value: tf.Tensor) -> dict[str, np.ndarray]:
        """The same without binding names to arguments, which takes a third of a small model's time. It isn't a public API of
        TensorFlow, so `warm_up` compares it with `_by_name` first."""
        outputs = self._function.inference_fn.call_flat(value, *self._function.captured_inputs)
        return {name: output.numpy() for name, output in zip(self._names, outputs, strict=True)}

    def _gives(self, expected: dict[str, np.ndarray], items: np.ndarray | Sequence[bytes]) -> bool:
        """Whether `items` give `expected`; they don't where this TensorFlow doesn't support what is tried."""
        try:
            given = self.run(items)
        except (AttributeError, TypeError, ValueError):
            return False
        return given.keys() == expected.keys() and all(np.array_equal(rows, given[name]) for name, rows in expected.items())


def _shape(spec: tf.TensorSpec) -> signature.Shape:
    return None if spec.shape.rank is None else tuple(spec.shape.as_list())


def _scores(outputs: dict[str, tf.TensorSpec]) -> str:
    """The output that is used as scores: floating-point, with the most values per item, as ResNet's `probabilities`."""

    def weight(name: str) -> tuple[bool, bool, int, int]:
        spec = outputs[name]
        shape = spec.shape.as_list() if spec.shape.rank is not None else []
        return spec.dtype.is_floating, spec.dtype != tf.string, len(shape), (shape[-1] or 0) if shape else 0

    return max(sorted(outputs), key=weight)


def _joined(parts: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
