"""Trains a network on handwritten digits: the loop, one step, and the two networks.

    model = build_model("perceptron", 28, 28)
    training = Training("perceptron", data, initial(model), batch_size=100, seed=1, rate=lambda step: 0.001)
    for step, loss in training.run(0, 1000, 100):
        print(step, loss, training.evaluate())

This file needs none of the others, so it can be copied into a program of your own; options, data files, the log, checkpoints,
curves and groups of workers are in the files beside it.

A replica is a worker's CPU or one GPU. Each computes its rows of every batch, and the gradients are summed, so that any number of
replicas computes the same step. Batches and dropout depend only on seed and step, so a resumed training has the same result as an
uninterrupted one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import keras
import numpy as np
import tensorflow as tf

CLASSES = 10
HIDDEN = 500
FILTERS = (16, 32)  # of the two convolutions of 3 x 3, each followed by a maximum over 2 x 2
DROPOUT = {"perceptron": 0.1, "convolution": 0.25}  # share of the last hidden layer that is left out in a step
MOMENTUM, VELOCITY = "/momentum", "/velocity"  # after a weight's name: Adam's two moments
_ADAM = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7}  # as Keras has them
_SCALE = 1 / 255
_LOSS_SCALE = {tf.float16: 1024.0}  # gradients of float16 would vanish below 2^-24
_EVALUATION_BATCH = {"perceptron": 2000, "convolution": 250}  # images; activations stay below 50 MB
_NO_LABEL = 255  # label of the images that fill up the last batch of an evaluation
_BITS = 16  # of a random number that decides whether a value is dropped

Drop = Callable[[tf.Tensor], tf.Tensor]


@dataclass(frozen=True, slots=True)
class Data:
    """Images as bytes `(count, rows, columns)` and labels as bytes `(count,)`."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


class NotFiniteError(Exception):
    """The loss of `step` is not a number. The weights are lost."""

    def __init__(self, step: int) -> None:
        super().__init__(f"the loss is not a number at step {step}")
        self.step = step


class Training:
    """Weights and moments in `variables`, by name, on every device; `run` trains them, and `evaluate` measures them."""

    def __init__(
        self,
        model: str,
        data: Data,
        values: Mapping[str, np.ndarray],
        *,
        batch_size: int,
        seed: int,
        rate: Callable[[int], float],  # the learning rate of a step
        dtype: tf.DType = tf.float32,  # of matrix products; weights and sums over a batch keep 32 bits
        dropout: float | None = None,  # None: the network's own
        xla: bool = False,
        strategy: tf.distribute.Strategy | None = None,
    ) -> None:
        self._strategy = strategy or tf.distribute.get_strategy()
        self._replicas = self._strategy.num_replicas_in_sync
        self._network, self._dtype, self._rate = NETWORKS[model], dtype, rate
        self._dropout = DROPOUT[model] if dropout is None else dropout
        self._batch_size, self._seed = batch_size, seed
        self._examples, self._held_out = len(data.train_labels), len(data.test_labels)
        with self._strategy.scope():  # of several workers, all get the values of the first
            self.variables = {name: tf.Variable(value) for name, value in values.items()}
        self._trained = [
            (variable, self.variables[name + MOMENTUM], self.variables[name + VELOCITY])
            for name, variable in self.variables.items()
            if not name.endswith((MOMENTUM, VELOCITY))
        ]
        self._train = self._place(data.train_images), self._place(data.train_labels)
        size = min(_EVALUATION_BATCH[model], -(-self._held_out // self._replicas))
        self._test = tuple(map(self._place, _batches(data.test_images, data.test_labels, size)))
        # Each function is traced once: what may differ between calls has an open size. AutoGraph isn't needed, which would read
        # this source again and write it to the folder of temporary files.
        alone = self._replicas == 1
        chunk = [tf.TensorSpec((None, batch_size), tf.int32), tf.TensorSpec((None,), tf.float32), tf.TensorSpec((), tf.int32)]
        self._chunk = tf.function(self._steps, chunk, autograph=False, jit_compile=xla and alone)
        self._evaluation = tf.function(lambda: self._everywhere(self._own_held_out, *self._test), [], autograph=False)
        own = self._own_gradients  # of several replicas, gradients are exchanged between compiled parts, outside XLA
        self._gradients = tf.function(own, autograph=False, jit_compile=True) if xla and not alone else own

    def run(self, first: int, last: int, *every: int) -> Iterator[tuple[int, float]]:
        """Trains from step `first` to step `last`; yields the number of steps done, and the loss of the last one, at least at the
        multiples of each of `every`. One call of a compiled function runs all steps up to the next of these, or of an epoch."""
        epoch = self._examples // self._batch_size
        step = first
        while step < last:
            end = min(last, *((step // each + 1) * each for each in (*every, epoch)))
            order = _shuffled(self._seed, step // epoch, self._examples)
            rows = order[step % epoch * self._batch_size :][: (end - step) * self._batch_size].reshape(-1, self._batch_size)
            rates = np.array([self._rate(number) for number in range(step, end)], np.float32)
            loss, good = self._chunk(rows, rates, step)
            if good < end - step:
                raise NotFiniteError(step + int(good))
            step = end
            yield step, float(loss)

    def evaluate(self) -> tuple[float, float]:
        """The share of correctly classified held-out images, and their mean loss."""
        right, loss = self._evaluation().numpy()
        return int(right) / self._held_out, float(loss) / self._held_out

    def _steps(self, rows: tf.Tensor, rates: tf.Tensor, first: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """A step for each of `rows`. Returns the loss of the last one, and the number of steps with a finite loss."""

        def step(number: tf.Tensor, _: tf.Tensor, good: tf.Tensor) -> tuple[tf.Tensor, ...]:
            loss = self._everywhere(self._step, *self._train, rows[number], rates[number], first + number)
            return number + 1, loss, good + tf.cast(tf.math.is_finite(loss), tf.int32)

        _, loss, good = tf.while_loop(lambda number, *_: number < tf.size(rates), step, (0, 0.0, 0))
        return loss, good

    def _step(self, images: tf.Tensor, labels: tf.Tensor, rows: tf.Tensor, rate: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        share = self._batch_size // self._replicas
        first = self._replica() * share
        mine = tf.slice(rows, [first], [share])
        *gradients, loss = self._gradients(tf.gather(images, mine), tf.gather(labels, mine), step, first)
        if self._replicas > 1:
            *gradients, loss = _summed([*gradients, loss])
        powers = {f"{beta}_power": tf.pow(_ADAM[beta], tf.cast(step + 1, tf.float32)) for beta in ("beta1", "beta2")}
        for (weight, momentum, velocity), gradient in zip(self._trained, gradients, strict=True):
            handles = {"var": weight.handle, "m": momentum.handle, "v": velocity.handle}
            # One kernel instead of the ten of Keras' optimiser, each of which reads all weights.
            tf.raw_ops.ResourceApplyAdam(**handles, grad=gradient, lr=rate, **powers, **_ADAM)
        return loss

    def _own_gradients(self, images: tf.Tensor, labels: tf.Tensor, step: tf.Tensor, first_row: tf.Tensor) -> list[tf.Tensor]:
        """The gradients of this replica's rows, and their share of the batch's loss."""
        weights = self._weights()
        scale = _LOSS_SCALE.get(self._dtype, 1.0)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(weights)
            logits = self._network(weights, images, self._dtype, lambda values: self._drop(values, step, first_row))
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(labels, tf.int32), logits)
            loss = tf.reduce_sum(losses) / self._batch_size
            scaled = loss * scale if scale != 1 else loss
        gradients: list = tape.gradient(scaled, weights)
        return [*(gradient / scale if scale != 1 else gradient for gradient in gradients), loss]

    def _drop(self, values: tf.Tensor, step: tf.Tensor, first_row: tf.Tensor) -> tf.Tensor:
        """Dropout. Each replica draws the numbers of the whole batch, and takes those of its own rows."""
        least = round(self._dropout * 2**_BITS)
        if not least:
            return values
        pairs = self._batch_size, values.shape[1] // 2  # each random number of 32 bits is used as two
        drawn = tf.random.stateless_uniform(pairs, [self._seed, step], None, None, tf.uint32, alg="philox")
        numbers = tf.reshape(tf.bitcast(drawn, tf.uint16), (self._batch_size, -1))
        kept = tf.slice(numbers, [first_row, 0], values.shape) >= least
        return tf.where(kept, values * (2**_BITS / (2**_BITS - least)), 0)

    def _own_held_out(self, images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """Totals over the held-out images, of which each replica looks at every so many batches: correct ones, and loss."""
        weights = self._weights()

        def batch(number: tf.Tensor, totals: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            logits = self._network(weights, images[number], tf.float32, lambda values: values)
            expected = tf.cast(labels[number], tf.int32)
            right = tf.equal(tf.argmax(logits, 1, output_type=tf.int32), expected)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.minimum(expected, CLASSES - 1), logits)
            losses *= tf.cast(expected != _NO_LABEL, tf.float32)
            return number + self._replicas, totals + tf.stack([tf.reduce_sum(tf.cast(right, tf.float32)), tf.reduce_sum(losses)])

        start = tf.convert_to_tensor(self._replica())
        _, totals = tf.while_loop(lambda number, _: number < labels.shape[0], batch, (start, tf.zeros(2)))
        return totals if self._replicas == 1 else _summed([totals])[0]

    def _weights(self) -> list[tf.Tensor]:
        return [tf.convert_to_tensor(weight) for weight, _, _ in self._trained]

    def _everywhere(self, function: Callable[..., tf.Tensor], *arguments: tf.Tensor) -> tf.Tensor:
        """What `function`, run by every replica, returns to the first one of this worker."""
        if self._replicas == 1:
            return function(*arguments)
        return self._strategy.experimental_local_results(self._strategy.run(function, args=arguments))[0]

    def _replica(self) -> tf.Tensor | int:
        if self._replicas == 1:
            return 0
        return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.int32)

    def _place(self, array: np.ndarray) -> tf.Tensor:
        """Copies `array` to each device."""
        if self._replicas == 1:
            return tf.constant(array)
        devices = self._strategy.extended.worker_devices

        def on_device(context: tf.distribute.experimental.ValueContext) -> tf.Tensor:
            with tf.device(devices[context.replica_id_in_sync_group % len(devices)]):
                return tf.constant(array)

        return self._strategy.experimental_distribute_values_from_function(on_device)


def initial(model: keras.Model) -> dict[str, np.ndarray]:
    """The values of a training's first step: the model's weights, and zeros for their moments."""
    weights = {weight.path: weight.numpy() for weight in model.trainable_variables}
    return weights | {name + kind: np.zeros_like(value) for kind in (MOMENTUM, VELOCITY) for name, value in weights.items()}


@lru_cache(maxsize=1)
def _shuffled(seed: int, epoch: int, count: int) -> np.ndarray:
    return np.random.default_rng((seed, epoch)).permutation(count).astype(np.int32)


def _summed(tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Sums each of `tensors` over all replicas, in one message, because messages cost more than bytes."""
    flat = tf.concat([tf.reshape(tensor, [-1]) for tensor in tensors], 0)
    flat = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, flat)
    parts = tf.split(flat, [tensor.shape.num_elements() for tensor in tensors])
    return [tf.reshape(part, tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


def _batches(images: np.ndarray, labels: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Images `(count, rows, columns)` and labels as batches of `size`; what fills up the last one has an invalid label."""
    missing = -len(labels) % size
    images = np.concatenate([images, np.zeros((missing, *images.shape[1:]), np.uint8)])
    labels = np.concatenate([labels, np.full(missing, _NO_LABEL, np.uint8)])
    return images.reshape(-1, size, *images.shape[1:]), labels.reshape(-1, size)


# The networks: each as a Keras model, which is saved, and as the function of a step, which computes a logit per class from the
# weights and a batch of bytes, and can compute products in a shorter type. The perceptron is that of TensorFlow's "MNIST with
# summaries" tutorial, whose log the ACI article shows: one hidden layer reaches 97 % on MNIST, and trains in seconds on two CPU
# cores. The convolution reaches 99 %.


def build_model(name: str, rows: int, columns: int) -> keras.Model:
    """A model from bytes `(batch, rows, columns)` to one logit per class."""
    layers = keras.layers
    if name == "perceptron":
        hidden = [layers.Flatten(name="flatten"), layers.Dense(HIDDEN, activation="relu", name="hidden")]
    else:
        hidden = [layers.Reshape((rows, columns, 1), name="grey")]
        for number, filters in enumerate(FILTERS, 1):
            hidden.append(layers.Conv2D(filters, 3, padding="same", activation="relu", name=f"convolution_{number}"))
            hidden.append(layers.MaxPooling2D(2, padding="same", name=f"maximum_{number}"))
        hidden.append(layers.Flatten(name="flatten"))
    image, scale = layers.Input((rows, columns), dtype="uint8", name="image"), layers.Rescaling(_SCALE, name="scale")
    last = layers.Dropout(DROPOUT[name], name="dropout"), layers.Dense(CLASSES, name="logits")
    return keras.Sequential([image, scale, *hidden, *last], name=f"mnist_{name}")


def _perceptron(weights: Sequence[tf.Tensor], images: tf.Tensor, dtype: tf.DType, drop: Drop) -> tf.Tensor:
    kernel, bias, last_kernel, last_bias = weights
    pixels = tf.cast(tf.reshape(images, (-1, kernel.shape[0])), dtype)  # bytes are exact in every type
    hidden = tf.nn.relu(tf.nn.bias_add(_product(pixels, kernel, dtype) * _SCALE, bias))
    return tf.nn.bias_add(_product(drop(hidden), last_kernel, dtype), last_bias)


def _convolution(weights: Sequence[tf.Tensor], images: tf.Tensor, dtype: tf.DType, drop: Drop) -> tf.Tensor:
    *convolutions, last_kernel, last_bias = weights
    layer = tf.cast(tf.expand_dims(images, -1), dtype) * tf.cast(_SCALE, dtype)
    for kernel, bias in zip(convolutions[::2], convolutions[1::2], strict=True):
        layer = tf.nn.conv2d(layer, tf.cast(kernel, dtype), 1, "SAME")
        # The maximum first: the result is the same, and the rest has a quarter of the values.
        layer = tf.nn.relu(tf.nn.bias_add(tf.nn.max_pool2d(layer, 2, 2, "SAME"), tf.cast(bias, dtype)))
    flat = tf.reshape(layer, (-1, last_kernel.shape[0]))
    return tf.nn.bias_add(_product(drop(flat), last_kernel, dtype), last_bias)


def _product(left: tf.Tensor, right: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    return tf.cast(tf.matmul(tf.cast(left, dtype), tf.cast(right, dtype)), tf.float32)


NETWORKS = {"perceptron": _perceptron, "convolution": _convolution}
