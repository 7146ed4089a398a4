"""The network: the perceptron of TensorFlow's "MNIST with summaries" tutorial, whose log the ACI article shows.

In: the size of an image. Out: an untrained Keras model and its optimiser. One hidden layer is enough for 97 % of MNIST, and it
trains in seconds on two CPU cores.
"""

import keras

from .files import CLASSES

_HIDDEN = 500
_DROPOUT = 0.1  # share of the hidden layer that is left out in a step


def build_model(rows: int, columns: int) -> keras.Model:
    """A model from bytes `(batch, rows, columns)` to one logit a class."""
    return keras.Sequential(
        [
            keras.layers.Input((rows, columns), dtype="uint8", name="image"),
            keras.layers.Rescaling(1 / 255, name="scale"),
            keras.layers.Flatten(name="flatten"),
            keras.layers.Dense(_HIDDEN, activation="relu", name="hidden"),
            keras.layers.Dropout(_DROPOUT, name="dropout"),
            keras.layers.Dense(CLASSES, name="logits"),
        ],
        name="mnist_perceptron",
    )


def build_optimizer(model: keras.Model, learning_rate: float) -> keras.optimizers.Optimizer:
    """Adam, with its variables made at once so that a checkpoint can fill them."""
    optimizer = keras.optimizers.Adam(learning_rate)
    optimizer.build(model.trainable_variables)
    return optimizer
