"""The two networks: each as a Keras model, which is saved, and as the function of a training step.

The function computes one logit per class from the weights and a batch of bytes. It can compute products in a shorter type;
weights and sums over a batch keep 32 bits.

The perceptron is that of TensorFlow's "MNIST with summaries" tutorial, whose log the ACI article shows: one hidden layer reaches
97 % on MNIST, and trains in seconds on two CPU cores. The convolution reaches 99 %.
"""

from collections.abc import Callable, Sequence

import keras
import tensorflow as tf

from .files import CLASSES
from .options import CONVOLUTION, PERCEPTRON

_HIDDEN = 500
_FILTERS = (16, 32)  # of the two convolutions of 3 x 3, each followed by a maximum over 2 x 2
_DROPOUT = {PERCEPTRON: 0.1, CONVOLUTION: 0.25}  # share of the last hidden layer that is left out in a step
_SCALE = 1 / 255

# Weights, batch, the type of the products and the dropout, in this order.
Network = Callable[[Sequence[tf.Tensor], tf.Tensor, tf.DType, Callable[[tf.Tensor], tf.Tensor]], tf.Tensor]


def build_model(name: str, rows: int, columns: int) -> keras.Model:
    """A model from bytes `(batch, rows, columns)` to one logit per class."""
    layers = keras.layers
    if name == PERCEPTRON:
        hidden = [layers.Flatten(name="flatten"), layers.Dense(_HIDDEN, activation="relu", name="hidden")]
    else:
        hidden = [layers.Reshape((rows, columns, 1), name="grey")]
        for number, filters in enumerate(_FILTERS, 1):
            hidden.append(layers.Conv2D(filters, 3, padding="same", activation="relu", name=f"convolution_{number}"))
            hidden.append(layers.MaxPooling2D(2, padding="same", name=f"maximum_{number}"))
        hidden.append(layers.Flatten(name="flatten"))
    return keras.Sequential(
        [
            layers.Input((rows, columns), dtype="uint8", name="image"),
            layers.Rescaling(_SCALE, name="scale"),
            *hidden,
            layers.Dropout(dropout(name), name="dropout"),
            layers.Dense(CLASSES, name="logits"),
        ],
        name=f"mnist_{name}",
    )


def dropout(name: str) -> float:
    return _DROPOUT[name]


def network(name: str) -> Network:
    """The same network as a function of the model's weights, in their order."""
    return _perceptron if name == PERCEPTRON else _convolution


def _perceptron(
    weights: Sequence[tf.Tensor], images: tf.Tensor, dtype: tf.DType, drop: Callable[[tf.Tensor], tf.Tensor]
) -> tf.Tensor:
    kernel, bias, last_kernel, last_bias = weights
    pixels = tf.cast(tf.reshape(images, (-1, kernel.shape[0])), dtype)  # bytes are exact in every type
    hidden = tf.nn.relu(tf.nn.bias_add(_product(pixels, kernel, dtype) * _SCALE, bias))
    return tf.nn.bias_add(_product(drop(hidden), last_kernel, dtype), last_bias)


def _convolution(
    weights: Sequence[tf.Tensor], images: tf.Tensor, dtype: tf.DType, drop: Callable[[tf.Tensor], tf.Tensor]
) -> tf.Tensor:
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
