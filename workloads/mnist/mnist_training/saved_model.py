"""Exports the trained network as a TensorFlow SavedModel for servers.

The input `image` is bytes (batch, rows, columns); the output `scores` has a probability per class, where the model has logits.
"""

from pathlib import Path

import keras
import tensorflow as tf

NAME = "saved_model"


def write(model: keras.Model, rows: int, columns: int, folder: Path) -> None:
    def serve(image: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"scores": tf.nn.softmax(model(image, training=False))}

    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint("serve", serve, [tf.TensorSpec((None, rows, columns), tf.uint8, name="image")])
    archive.write_out(str(folder), verbose=False)
