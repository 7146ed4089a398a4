"""The image with a model in it: its data and samples, which model is served, and the build with its training."""

import asyncio
import json
import shutil
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from azure_gpu.formats.build_context import context_files, context_hash
from azure_gpu.shared import workloads
from localazure.arm.store import Store
from localazure.containers.images import Image as BuiltImage, Images
from localazure.folder import default_cache
from tests.workloads.scoring_server import server
from tests.workloads.workload_runs import MNIST, WORKLOADS, run, write_data
from workloads.mnist.mnist_training import files
from workloads.scoring.image_scoring import options

DIGITS = WORKLOADS / "digits"
SAMPLES = [DIGITS / "samples" / f"{digit}.png" for digit in range(10)]
SIDE = 28


@pytest.fixture(scope="module")
def data() -> files.Files:
    return files.read_files(DIGITS / "data")


def images_of(array: files.Array) -> list[bytes]:
    size = SIDE * SIDE
    return [array.values[start : start + size] for start in range(0, len(array.values), size)]


# Data and samples


def test_the_data_is_called_what_it_is(data: files.Files, tmp_path: Path) -> None:
    assert (data.name, data.train_images.shape, data.test_images.shape) == ("scikit-learn digits", (1437, 28, 28), (360, 28, 28))
    for file in (DIGITS / "data").iterdir():
        shutil.copy(file, tmp_path)
    content = bytearray(files.encode(data.test_images))
    content[-400] ^= 1
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(content)
    assert files.read_files(tmp_path).name == "IDX files"
    assert files.read_files(write_data(tmp_path / "other")).name == "IDX files"


def test_each_sample_is_the_first_held_out_digit_of_its_class_and_training_never_saw_it(data: files.Files) -> None:
    held_out, trained_on = images_of(data.test_images), set(images_of(data.train_images))
    for digit, file in enumerate(SAMPLES):
        with Image.open(file) as opened:
            assert (opened.mode, opened.size) == ("L", (SIDE, SIDE))
            pixels = opened.tobytes()
        assert pixels == held_out[data.test_labels.values.index(digit)]
        assert pixels not in trained_on


@pytest.mark.slow
def test_the_data_is_what_a_training_without_files_writes(mnist_python: Path, tmp_path: Path, data: files.Files) -> None:
    program = "import sys; from pathlib import Path; from mnist_training import sources; sources.write_digits(Path(sys.argv[1]))"
    made = run([mnist_python, "-c", program, tmp_path], MNIST)
    assert made.code == 0, made.stderr
    assert files.read_files(tmp_path) == data


# The context of the build


def test_the_image_is_built_from_what_it_needs_and_nothing_else() -> None:
    sent = context_files(workloads.context("digits"))
    assert workloads.dockerfile("digits") in sent
    assert {name.split("/")[0] for name in sent} == {"digits", "mnist", "scoring"}
    assert {"scoring/serve.py", "scoring/requirements.lock", "mnist/mnist_training/training.py"} <= set(sent)
    assert sorted(name for name in sent if name.startswith("digits/")) == [
        *(f"digits/data/{kind.name}.gz" for kind in sorted(files.KINDS, key=lambda kind: kind.name)),
        "digits/image.Dockerfile",
    ]


# Which model is served


def test_a_deployments_own_model_comes_before_the_one_in_the_image(tmp_path: Path) -> None:
    own, in_image = tmp_path / "own", tmp_path / "image"
    own.mkdir()
    with pytest.raises(ValueError, match="AZUREML_MODEL_DIR is not set, and the image has no model"):
        options.model_folder({}, in_image)
    assert options.model_folder({"AZUREML_MODEL_DIR": str(own)}, in_image) == own
    in_image.mkdir()
    assert options.model_folder({}, in_image) == in_image
    assert options.model_folder({"AZUREML_MODEL_DIR": ""}, in_image) == in_image
    assert options.model_folder({"AZUREML_MODEL_DIR": str(own)}, in_image) == in_image
    assert options.model_folder({"AZUREML_MODEL_DIR": str(tmp_path / "none")}, in_image) == in_image
    (own / "weights.bin").touch()  # no SavedModel, which the server then says
    assert options.model_folder({"AZUREML_MODEL_DIR": str(own)}, in_image) == own


def test_the_image_of_scoring_has_no_model() -> None:
    assert not options.MODEL_IN_IMAGE.exists()


# The build, with its training


def of(work: Coroutine[Any, Any, BuiltImage]) -> BuiltImage:
    return asyncio.run(work)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images of these tests, and the environments that this machine has."""
    folder = tmp_path_factory.mktemp("cache")
    (default_cache() / "environments").mkdir(parents=True, exist_ok=True)
    (folder / "environments").symlink_to(default_cache() / "environments")
    return folder


def build(cache: Path, log: Path, **arguments: str) -> BuiltImage:
    images = Images(cache, Store(cache / "state.db"))
    given = {"CONTEXT_HASH": context_hash(workloads.context("digits")), **arguments}
    return of(images.build(workloads.context("digits"), workloads.dockerfile("digits"), given, [], log))


# The stack `local` builds this image each time, and its endpoint has to tell the samples (tests/stack/test_promised_commands.py).
@pytest.mark.slow
def test_the_build_trains_a_model_that_tells_the_samples_and_its_server_serves_it(
    cache: Path, scoring_python: Path, tmp_path: Path
) -> None:
    """Which accuracy is required is an argument of the build. That a training below it ends with 1 is in test_mnist_training.py,
    that a build fails with the last lines of such a step in tests/localazure/containers/test_images.py."""
    image = build(cache, tmp_path / "build.log", MIN_ACCURACY="0.9")
    [report] = [line for line in (tmp_path / "build.log").read_text().splitlines() if '"workload": "mnist"' in line]
    told = json.loads(report[report.index("{") :])
    assert (told["dataset"], told["passed"], told["examples"]["held_out"]) == ("scikit-learn digits", True, 360)
    assert (told["accuracy"] >= 0.95, told["min_accuracy"]) == (True, 0.9)
    assert "E0000" not in (tmp_path / "build.log").read_text()
    assert not (image.root / "app" / "trained").exists(), "of the training the model alone is in the image"

    served = image.root / "app" / "scoring"
    with server(scoring_python, Path(), tmp_path / "log", served, AZUREML_MODEL_DIR="") as client:
        for digit, file in enumerate(SAMPLES):
            [scores] = client.post("/score", content=file.read_bytes()).json()["scores"]
            assert scores.index(max(scores)) == digit
    log = (tmp_path / "log").read_text()
    assert f"Model Directory: {served / 'model' / '1'}" in log
    assert "Traceback" not in log
