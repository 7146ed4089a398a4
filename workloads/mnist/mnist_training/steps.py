"""The compiled part of a training: many steps per call, over images that stay on the device as bytes.

A replica is a worker's CPU or one GPU. Each computes its rows of every batch, and the gradients are summed, so that any number of
replicas computes the same step. Batches and dropout depend only on seed and step.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from .files import CLASSES
from .model import Network

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-7  # of Adam, as Keras has them
_LOSS_SCALE = {tf.float16: 1024.0}  # gradients of float16 would vanish below 2^-24
_NO_LABEL = 255  # label of padding images in the last batch of an evaluation
_BITS = 16  # of a random number that decides whether a value is dropped
_WORDS = 4  # of 32 bits, which Philox makes for each value of its counter
_IN_BLOCK = _WORDS * 32 // _BITS  # random numbers
_PHILOX = tf.random.Algorithm.PHILOX.value

MOMENTUM, VELOCITY = "/momentum", "/velocity"  # after a weight's name


def initial(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The values of a training's first step: `weights`, and zeros for their moments."""
    values = dict(weights)
    for kind in (MOMENTUM, VELOCITY):
        values.update({name + kind: np.zeros_like(value) for name, value in weights.items()})
    return values


class Steps:
    """Weights and Adam's two moments in `variables`, by the names of `values`; `run` and `evaluate` compute with them."""

    def __init__(
        self,
        strategy: tf.distribute.Strategy,
        network: Network,
        values: Mapping[str, np.ndarray],
        *,
        batch_size: int,
        dropout: float,
        seed: int,
        dtype: tf.DType,
        xla: bool,
    ) -> None:
        self._strategy = strategy
        self._replicas = strategy.num_replicas_in_sync
        self._network, self._dtype = network, dtype
        self._batch_size, self._dropout, self._seed = batch_size, dropout, seed
        with strategy.scope():  # of several workers, all get the values of the first
            self.variables = {name: tf.Variable(value) for name, value in values.items()}
        names = [name for name in values if not name.endswith((MOMENTUM, VELOCITY))]
        self._weights = [self.variables[name] for name in names]
        self._momenta = [self.variables[name + MOMENTUM] for name in names]
        self._velocities = [self.variables[name + VELOCITY] for name in names]
        one = self._replicas == 1
        self._chunk = tf.function(self._run, jit_compile=xla and one, reduce_retracing=True)
        self._evaluate = tf.function(self._held_out, reduce_retracing=True)
        # Gradients are exchanged between the two functions, outside XLA.
        self._gradients = tf.function(self._local_gradients, jit_compile=True) if xla and not one else self._local_gradients

    def place(self, array: np.ndarray) -> tf.Tensor:
        """Copies `array` to each device."""
        if self._replicas == 1:
            return tf.constant(array)
        devices = self._strategy.extended.worker_devices

        def on_device(context: tf.distribute.experimental.ValueContext) -> tf.Tensor:
            with tf.device(devices[context.replica_id_in_sync_group % len(devices)]):
                return tf.constant(array)

        return self._strategy.experimental_distribute_values_from_function(on_device)

    def run(
        self, images: tf.Tensor, labels: tf.Tensor, order: tf.Tensor, position: int, step: int, rates: Sequence[float]
    ) -> tuple[float, int]:
        """Runs a step for each of `rates`, starting with the batch at `position` in `order`, as the `step`th of the training.

        Returns the mean loss of the last step, and the number of steps with a finite loss; if it isn't all, the weights are lost.
        """
        loss, good = self._chunk(images, labels, order, tf.constant(position), tf.constant(step), tf.constant(rates, tf.float32))
        return float(loss), int(good)

    def evaluate(self, images: tf.Tensor, labels: tf.Tensor) -> tuple[int, float]:
        """The number of correctly classified images, in batches from `batches`, and the sum of their losses."""
        right, loss = self._evaluate(images, labels).numpy()
        return int(right), float(loss)

    def _run(
        self, images: tf.Tensor, labels: tf.Tensor, order: tf.Tensor, position: tf.Tensor, step: tf.Tensor, rates: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        loss, good = tf.constant(0.0), tf.constant(0)
        for number in tf.range(tf.size(rates)):
            arguments = (images, labels, order, position + number, step + number, rates[number])
            if self._replicas == 1:
                loss = self._step(*arguments)
            else:
                losses = self._strategy.run(self._step, args=arguments)
                loss = self._strategy.experimental_local_results(losses)[0]
            good += tf.cast(tf.math.is_finite(loss), tf.int32)
        return loss, good

    def _step(
        self, images: tf.Tensor, labels: tf.Tensor, order: tf.Tensor, position: tf.Tensor, step: tf.Tensor, rate: tf.Tensor
    ) -> tf.Tensor:
        rows = self._batch_size // self._replicas
        replica = self._replica()
        start = position * self._batch_size + replica * rows
        chosen = tf.slice(order, [start], [rows])
        *gradients, loss = self._gradients(tf.gather(images, chosen), tf.gather(labels, chosen), step, replica * rows)
        if self._replicas > 1:
            *gradients, loss = _summed([*gradients, loss])
        power = tf.cast(step + 1, tf.float32)
        for weight, momentum, velocity, gradient in zip(self._weights, self._momenta, self._velocities, gradients, strict=True):
            # One kernel instead of the ten of Keras' optimiser, each of which reads all weights.
            tf.raw_ops.ResourceApplyAdam(
                var=weight.handle,
                m=momentum.handle,
                v=velocity.handle,
                beta1_power=tf.pow(_BETA_1, power),
                beta2_power=tf.pow(_BETA_2, power),
                lr=rate,
                beta1=_BETA_1,
                beta2=_BETA_2,
                epsilon=_EPSILON,
                grad=gradient,
            )
        return loss

    def _local_gradients(self, images: tf.Tensor, labels: tf.Tensor, step: tf.Tensor, first_row: tf.Tensor) -> list[tf.Tensor]:
        """The gradients of this replica's rows, and their share of the batch's loss."""
        weights = [tf.convert_to_tensor(weight) for weight in self._weights]
        scale = _LOSS_SCALE.get(self._dtype, 1.0)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(weights)
            logits = self._network(weights, images, self._dtype, self._drop(step, first_row))
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(labels, tf.int32), logits)
            loss = tf.reduce_sum(losses) / self._batch_size
            scaled = loss * scale
        gradients: list = tape.gradient(scaled, weights)
        return [*(gradient / scale if scale != 1 else gradient for gradient in gradients), loss]

    def _drop(self, step: tf.Tensor, first_row: tf.Tensor) -> Callable[[tf.Tensor], tf.Tensor]:
        """Dropout. Row r of the whole batch gets the same random numbers however many replicas share it: each
        replica draws those of its own rows, by starting Philox's counter at its first one."""

        def drop(values: tf.Tensor) -> tf.Tensor:
            count = values.shape.num_elements()
            first = first_row * int(values.shape[1])
            blocks = -(-count // _IN_BLOCK) + 1  # the first number may be inside of a block
            key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=[self._seed, step])
            counter += tf.stack([tf.cast(first // _IN_BLOCK, tf.uint64), tf.constant(0, tf.uint64)])
            drawn = tf.raw_ops.StatelessRandomUniformFullIntV2(
                shape=[blocks * _WORDS], key=key, counter=counter, alg=_PHILOX, dtype=tf.uint32
            )
            numbers = tf.reshape(tf.bitcast(drawn, tf.uint16), [-1])
            mine = tf.reshape(tf.slice(numbers, [tf.math.floormod(first, _IN_BLOCK)], [count]), values.shape)
            least = round(self._dropout * 2**_BITS)
            kept = tf.cast(tf.cast(mine, tf.int32) >= least, values.dtype)
            return values * kept * tf.cast(2**_BITS / (2**_BITS - least), values.dtype)

        return drop

    def _held_out(self, images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        if self._replicas == 1:
            return self._held_out_of_replica(images, labels)
        totals = self._strategy.run(self._held_out_of_replica, args=(images, labels))
        return self._strategy.experimental_local_results(totals)[0]

    def _held_out_of_replica(self, images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """Totals over all images: correct ones, and loss."""
        totals = tf.zeros(2)
        weights = [tf.convert_to_tensor(weight) for weight in self._weights]
        count = tf.shape(labels)[0]
        for number in tf.range(tf.minimum(self._replica(), count), count, self._replicas):
            logits = self._network(weights, images[number], tf.float32, lambda values: values)
            expected = tf.cast(labels[number], tf.int32)
            is_image = tf.cast(expected != _NO_LABEL, tf.float32)
            right = tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), expected), tf.float32)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.minimum(expected, CLASSES - 1), logits)
            totals += tf.stack([tf.reduce_sum(right), tf.reduce_sum(losses * is_image)])
        if self._replicas > 1:
            totals = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, totals)
        return totals

    def _replica(self) -> tf.Tensor | int:
        if self._replicas == 1:
            return 0
        return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.int32)


def _summed(tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Sums each of `tensors` over all replicas, in one message, because messages cost more than bytes."""
    flat = tf.concat([tf.reshape(tensor, [-1]) for tensor in tensors], 0)
    flat = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, flat)
    parts = tf.split(flat, [tensor.shape.num_elements() for tensor in tensors])
    return [tf.reshape(part, tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


def batches(images: np.ndarray, labels: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Images `(count, rows, columns)` and labels as batches of at most `size`; padding of the last one has an invalid label."""
    size = min(size, len(labels))
    missing = -len(labels) % size
    images = np.concatenate([images, np.zeros((missing, *images.shape[1:]), np.uint8)])
    labels = np.concatenate([labels, np.full(missing, _NO_LABEL, np.uint8)])
    return images.reshape(-1, size, *images.shape[1:]), labels.reshape(-1, size)
