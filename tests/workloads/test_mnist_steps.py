"""What a compiled step computes, beside Keras' own layers and optimiser; several replicas in one process; the digits' order."""

from pathlib import Path

import pytest

from tests.workloads.mnist_workers import Trainings
from tests.workloads.workload_runs import MNIST, run

PROGRAM = """
import json
import sys
import keras
import numpy as np
import tensorflow as tf
from mnist_training import training

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
mirrored = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
keras.utils.set_random_seed(7)
drawn = np.random.default_rng(7)
images = drawn.integers(0, 256, (40, 12, 12), np.uint8)
labels = drawn.integers(0, 10, 40, np.uint8)
training._shuffled = lambda seed, epoch, count: np.arange(count, dtype=np.int32)
training._EVALUATION_BATCH = dict.fromkeys(training.NETWORKS, 10)
data = training.Data(images, labels, images[:33], labels[:33])
said = {}
for name in training.NETWORKS:
    built = training.build_model(name, 12, 12)
    values = training.initial(built)

    def computing(dropout=0.0, name=name, values=values, **more):
        rate = lambda step: 0.001 * (1 + step % 2)
        return training.Training(name, data, values, batch_size=20, seed=7, rate=rate, dropout=dropout, **more)

    def trained(one):
        assert [step for step, _ in one.run(0, 4)] == [2, 4], "one call an epoch"
        return {name: variable.numpy() for name, variable in one.variables.items()}

    def apart(first, second):
        return max(float(np.abs(first[weight.path] - second[weight.path]).max()) for weight in built.trainable_variables)

    # Keras' layers and its Adam, over the same batches.
    optimizer = keras.optimizers.Adam()
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for step, rate in enumerate([0.001, 0.002] * 2):
        batch = slice(step % 2 * 20, step % 2 * 20 + 20)
        optimizer.learning_rate = rate
        with tf.GradientTape() as tape:
            loss = loss_of(labels[batch], built(images[batch], training=False))
        optimizer.apply(tape.gradient(loss, built.trainable_variables), built.trainable_variables)
    by_keras = {weight.path: weight.numpy() for weight in built.trainable_variables}
    alone = trained(computing())
    dropped = trained(computing(0.25))
    said[name] = {
        "keras": apart(by_keras, alone),
        "moved": apart(values, alone),
        "dropout": apart(alone, dropped),
        "two replicas": apart(dropped, trained(computing(0.25, strategy=mirrored))),
        "bfloat16": apart(alone, trained(computing(dtype=tf.bfloat16))),
        "float16": apart(alone, trained(computing(dtype=tf.float16))),
    }
    if name == "perceptron":
        said[name]["xla"] = apart(dropped, trained(computing(0.25, xla=True)))

    for weight in built.trainable_variables:
        weight.assign(values[weight.path])
    logits = built(images[:33], training=False)
    for who, strategy in (("one", None), ("two", mirrored)):
        share, loss = computing(strategy=strategy).evaluate()
        said[name][f"right of {who}"] = round(share * 33) - int((logits.numpy().argmax(1) == labels[:33]).sum())
        said[name][f"loss of {who}"] = abs(loss - float(loss_of(labels[:33], logits)))

    try:
        next(computing(values={path: np.full_like(value, np.nan) for path, value in values.items()}).run(0, 4))
    except training.NotFiniteError as error:
        said[name]["step of NaN"] = error.step
assert not [name for name in sys.modules if "autograph_generated" in name], "each of them is a file that a killed run leaves"
print(json.dumps(said))
"""
ORDER = """
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from mnist_training import sources
labels = load_digits().target.astype(np.uint8)
parts = train_test_split(np.arange(len(labels)), test_size=sources.HELD_OUT, random_state=20190417, stratify=labels)
print(np.array_equal(np.concatenate(parts), np.load(sources.ORDER)))
"""


@pytest.mark.slow
def test_a_step_is_that_of_keras_whatever_it_is_computed_on(trainings: Trainings, tmp_path: Path) -> None:
    done = trainings.run(tmp_path, PROGRAM)
    assert done.code == 0, done.stderr
    for name, said in done.report.items():
        assert said["moved"] > 1e-3, name
        assert said["keras"] < 1e-5, name
        assert said["dropout"] > 1e-4, name
        assert said["two replicas"] < 1e-5, name
        assert said.get("xla", 0) < 1e-5, name
        # Four steps of at most 0.002 each: a shorter type may turn the direction of a weight that hardly matters, and no more.
        assert 0 < said["bfloat16"] < 0.012, name
        assert 0 < said["float16"] < 0.012, name
        assert (said["right of one"], said["right of two"]) == (0, 0), name
        assert max(said["loss of one"], said["loss of two"]) < 1e-5, name
        assert said["step of NaN"] == 0, name


@pytest.mark.slow
def test_the_digits_lie_in_the_order_of_scikit_learns_split(mnist_python: Path) -> None:
    done = run([mnist_python, "-c", ORDER], MNIST)
    assert done.stdout == "True\n", done.stderr
