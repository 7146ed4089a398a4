"""Makes small models that scoring is tried with; run in the environment of `workloads/scoring` as a program.

In: a folder. Out: a SavedModel in it under each name below. Their scores are sums that a test can do itself.
"""

import sys
from pathlib import Path

import tensorflow as tf  # pyrefly: ignore[missing-import]

FOLDER = Path(sys.argv[1])


def save(name: str, function, **inputs: tf.TensorSpec) -> None:
    module = tf.Module()
    serve = tf.function(function, input_signature=list(inputs.values()))
    setattr(module, "serve", serve)  # noqa: B010  a module keeps what is set on it, which its type doesn't say
    signature = serve.get_concrete_function()
    tf.saved_model.save(module, str(FOLDER / name), signatures={"serving_default": signature})


def means(image: tf.Tensor) -> dict[str, tf.Tensor]:
    """Of each channel."""
    return {"scores": tf.reduce_mean(tf.cast(image, tf.float32), axis=(1, 2))}


def decoded(content: tf.Tensor) -> tf.Tensor:
    image = tf.image.resize(tf.io.decode_jpeg(content, channels=3), (4, 4)) / 255.0
    return tf.reduce_mean(image, axis=(0, 1))


def of_files(image_bytes: tf.Tensor) -> dict[str, tf.Tensor]:
    """As the ResNet50 of TensorFlow's models: the class as a number, and a probability for each."""
    probabilities = tf.nn.softmax(tf.map_fn(decoded, image_bytes, fn_output_signature=tf.float32))
    return {"classes": tf.argmax(probabilities, axis=1), "probabilities": probabilities}


def spec(*shape: int | None, dtype: tf.DType = tf.float32, name: str = "image") -> tf.TensorSpec:
    return tf.TensorSpec(shape, dtype, name=name)


save("colours", means, image=spec(None, 8, 8, 3))
save("colours_of_any_size", means, image=spec(None, None, None, 3))
save("bytes_by_four", means, image=spec(4, 8, 8, 3, dtype=tf.uint8))
save("grey", lambda image: {"scores": tf.reduce_mean(tf.cast(image, tf.float32), 2)}, image=spec(None, 4, 4, dtype=tf.uint8))
save("one_picture", lambda image: {"scores": tf.reduce_mean(image, axis=(0, 1))}, image=spec(8, 8, 3))
save("files", of_files, image_bytes=spec(None, dtype=tf.string, name="image_bytes"))
save("one_file", lambda content: {"scores": decoded(content)}, content=spec(dtype=tf.string, name="content"))
save("rows", lambda row: {"scores": row * 2.0}, row=spec(None, 3, name="row"))
save("whole_numbers", lambda row: {"scores": row + 1}, row=spec(None, 2, dtype=tf.int8, name="row"))
save("words", lambda text: {"scores": tf.strings.length(text), "back": text}, text=spec(None, dtype=tf.string, name="text"))
save("two_inputs", lambda a, b: {"scores": a + b}, a=spec(None, name="a"), b=spec(None, name="b"))
