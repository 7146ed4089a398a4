"""Makes the model that the bench of scoring asks, twice: as a SavedModel, and as Keras keeps it for baseline A.

In: a folder. Out: `saved_model/` and `model.keras` in it, of colour images of 64 x 64 with values of 0 to 1. Small, so that what
a server adds shows. Runs in the environment of `workloads/scoring`.
"""

import sys
from pathlib import Path

import keras

folder = Path(sys.argv[1])
keras.utils.set_random_seed(20190417)
model = keras.Sequential(
    [
        keras.layers.Input((64, 64, 3), name="image"),
        keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.export(folder / "saved_model", verbose=False)
model.save(folder / "model.keras")
