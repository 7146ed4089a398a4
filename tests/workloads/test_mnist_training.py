"""The training itself, in its own environment: what it prints, what it saves, and how it goes on after a stop."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workloads.mnist_workers import Trainings, same_arrays
from tests.workloads.workload_runs import MNIST, Finished, run, write_data
from workloads.mnist.mnist_training import tensorflow_start

ACCURACY = re.compile(r"Accuracy at step (\d+): (0\.\d{1,4}|1\.0)")
# Says how many of the held-out digits a saved model tells right, and what TensorBoard's files have: the version of each, and each
# accuracy.
EVALUATE = """
import sys
from pathlib import Path
import keras
import tensorflow as tf
from mnist_training import files
from mnist_training.session import data_of
model, digits, events = sys.argv[1:]
arrays = data_of(files.read_files(Path(digits)))
guesses = keras.models.load_model(model).predict(arrays.test_images, verbose=0).argmax(axis=1)
print(round(float((guesses == arrays.test_labels).mean()), 4))
for path in sorted(Path(events).iterdir()):
    for record in tf.data.TFRecordDataset(str(path)):
        event = tf.compat.v1.Event.FromString(record.numpy())
        if event.file_version:
            print(event.file_version)
        if event.HasField("session_log"):
            print("from", event.step)
        for value in event.summary.value:
            if value.tag == "accuracy":
                print(f"{event.step}: {round(value.simple_value, 4)}")
"""


@pytest.mark.slow
def test_the_digits_are_learnt_as_in_the_article(mnist_python: Path, tmp_path: Path, trainings: Trainings) -> None:
    finished = run([mnist_python, "-m", "mnist_training", "--output-dir", tmp_path], MNIST)
    assert finished.code == 0, finished.stderr
    report = finished.report
    if report["device"] == "cpu":
        assert finished.stderr == "", "what TensorFlow's native code says of a machine without a GPU is no news"
        assert [line for line in finished.lines if "GPU" in line] == [tensorflow_start.gpu_absence({}).line("training")]
    assert report["accuracy"] > 0.95
    assert (report["dataset"], report["examples"]) == ("scikit-learn digits", {"train": 1437, "held_out": 360})
    assert not any("MNIST" in line for line in finished.lines), "scikit-learn's digits are not MNIST"

    assert finished.lines[:4] == [
        f"Extracting {tmp_path}/digits/train-images-idx3-ubyte",
        f"Extracting {tmp_path}/digits/train-labels-idx1-ubyte",
        f"Extracting {tmp_path}/digits/t10k-images-idx3-ubyte",
        f"Extracting {tmp_path}/digits/t10k-labels-idx1-ubyte",
    ]
    steps = [ACCURACY.fullmatch(line) for line in finished.lines if line.startswith("Accuracy")]
    assert [int(match[1]) for match in steps if match] == list(range(0, 1001, 10))
    first, last = steps[0], steps[-1]
    assert first is not None
    assert last is not None
    assert float(first[2]) < 0.5 < float(last[2]) == report["accuracy"]

    left = ["checkpoint.npz", "curves.png", "digits", "model.keras", "saved_model", "tensorboard"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left
    assert (tmp_path / "curves.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert report["seconds"]["to_first_step"] < report["seconds"]["total"]
    assert 100 < report["peak_memory_mib"] < 900

    read = trainings.run(tmp_path / "read", EVALUATE, report["model"], tmp_path / "digits", tmp_path / "tensorboard")
    assert read.code == 0, read.stderr
    accuracy, version, *curve = [line for line in read.lines if not line.startswith("Extracting ")]
    assert (float(accuracy), version) == (report["accuracy"], "brain.Event:2")
    assert [f"Accuracy at step {line}" for line in curve] == [match[0] for match in steps if match]


@pytest.mark.slow
def test_a_resumed_run_ends_with_the_weights_of_one_that_never_stopped(
    mnist_python: Path, tmp_path: Path, trainings: Trainings
) -> None:
    options = ("--data-dir", write_data(tmp_path / "data"), "--batch-size", "7")
    straight = trainings.train(tmp_path / "straight", *options, "--steps", "25")
    trainings.train(tmp_path / "stopped", *options, "--steps", "12", "--resume")
    resumed = trainings.train(tmp_path / "stopped", *options, "--steps", "25", "--resume")
    assert f"Resuming from {tmp_path}/stopped/checkpoint.npz at step 12" in resumed.lines
    assert (resumed.report["resumed_from"], straight.report["resumed_from"]) == (12, 0)
    assert [line for line in resumed.lines if ACCURACY.fullmatch(line)] == [
        line for line in straight.lines if (match := ACCURACY.fullmatch(line)) and int(match[1]) > 12
    ]
    checkpoints = [tmp_path / folder / "checkpoint.npz" for folder in ("straight", "stopped")]
    assert same_arrays(mnist_python, *checkpoints)
    assert straight.report["dataset"] == "IDX files"


@pytest.fixture(scope="module")
def short(trainings: Trainings, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Finished]:
    """A training of ten steps on 40 images, which doesn't reach its accuracy, and its output folder."""
    folder = tmp_path_factory.mktemp("short")
    options = ("--data-dir", write_data(folder / "data"), "--steps", "10", "--batch-size", "10", "--learning-rate", "0.000001")
    return folder / "output", trainings.train(folder / "output", *options, "--min-accuracy", "0.99")


@pytest.mark.slow
def test_a_checkpoint_of_other_data_is_refused_and_kept(
    tmp_path: Path, trainings: Trainings, short: tuple[Path, Finished]
) -> None:
    output, _ = short
    before = (output / "checkpoint.npz").read_bytes()
    other = trainings.train(output, "--steps", "10", "--batch-size", "10", "--data-dir", write_data(tmp_path, side=9), "--resume")
    assert other.code == 2
    size, dataset = other.report["problems"]
    assert size.startswith(f"{output}/checkpoint.npz: made for image '8 x 8'; expected '9 x 9'")
    assert dataset.startswith(f"{output}/checkpoint.npz: made for dataset 'IDX files ")
    assert "Traceback" not in other.stderr
    assert (output / "checkpoint.npz").read_bytes() == before


@pytest.mark.slow
def test_a_checkpoint_with_other_variables_or_cut_short_is_refused(mnist_python: Path, tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
import numpy as np
from mnist_training import checkpoint
from mnist_training.refusal import RefusedError

def arrays(**shapes): return {name: np.zeros(shape) for name, shape in shapes.items()}

path, identity = Path(sys.argv[1]), {"model": "perceptron", "image": "8 x 8", "dataset": "digits"}
checkpoint.save(path, arrays(hidden=(64, 500), old=3), 7, identity)
step, loaded = checkpoint.load(path, arrays(hidden=(64, 500), old=0), identity)  # of `old`, any size
print(step, loaded["old"].shape)
whole = path.read_bytes()
for content in (whole, whole[:-100], b"no archive", b""):
    path.write_bytes(content)
    try:
        checkpoint.load(path, arrays(hidden=(64, 400), new=2), identity)
    except RefusedError as refused:
        print(*refused.problems, sep="\\n")
"""
    path = tmp_path / "checkpoint.npz"
    finished = run([mnist_python, "-c", program, path], MNIST)
    fix = "; leave --resume out or choose another --output-dir"
    assert finished.lines == [
        "7 (3,)",
        f"{path}: variable 'hidden' has shape (64, 500); expected (64, 400){fix}",
        f"{path}: variable 'new' has shape none; expected (2,){fix}",
        f"{path}: variable 'old' has shape (3,); expected none{fix}",
        *[f"{path}: not a whole checkpoint of this program; delete it or leave --resume out"] * 3,
    ], finished.stderr


@pytest.mark.slow
def test_an_accuracy_that_is_not_reached_ends_with_1(short: tuple[Path, Finished]) -> None:
    _, finished = short
    assert finished.code == 1
    assert finished.report["passed"] is False
    assert finished.report["accuracy"] < 0.99
    said = f"accuracy {finished.report['accuracy']} on 20 held-out images of IDX files; required: 0.99 (--min-accuracy)"
    assert finished.stderr == f"mnist_training: {said}\n"


def test_a_batch_larger_than_the_data_is_refused_before_tensorflow_is_needed(
    tmp_path: Path, refuse: Callable[..., Finished]
) -> None:
    finished = refuse("--data-dir", write_data(tmp_path / "data"), "--batch-size", "41")
    assert finished.code == 2
    assert finished.report["problems"] == ["--batch-size: 41, but 40 images to train on; allowed: 1 to 40"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "file"),
    [("300k", "digits/train-images-idx3-ubyte"), ("3m", "checkpoint.npz")],
)
def test_a_full_disk_is_told_and_leaves_no_half_file(mnist_python: Path, tmp_path: Path, size: str, file: str) -> None:
    # A file system of `size` in a mount namespace of its own, which disappears with the program.
    inside = f"mount -t tmpfs -o size={size} tmpfs {tmp_path} && "
    training = f"{mnist_python} -m mnist_training --steps 1 --output-dir {tmp_path}"
    namespace = [shutil.which("unshare") or "unshare", "--map-root-user", "--mount", "sh", "-c"]
    if not shutil.which("unshare") or run([*namespace, inside + "true"], MNIST).code:
        pytest.skip("needs unshare and leave to mount a small file system")
    finished = run([*namespace, f"{inside} {training}; code=$?; find {tmp_path} -type f; exit $code"], MNIST)
    assert finished.code == 2
    report = next(json.loads(line) for line in finished.lines if line.startswith("{"))
    assert report["problems"] == [
        f"{tmp_path}/{file}: can't be written: No space left on device; nothing was kept; "
        "free some space or choose another folder"
    ]
    left = [line.removeprefix(f"{tmp_path}/") for line in finished.lines if line.startswith(str(tmp_path))]
    assert [path for path in left if Path(path).name.startswith(".") or path == file] == []
