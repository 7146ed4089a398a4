"""What the tests of the workloads share: their own environments, and the training as a program."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workloads.workload_runs import MNIST, SCORING, Finished, locked_python, run
from workloads.mnist.mnist_training import __main__ as program


@pytest.fixture(scope="session")
def mnist_python() -> Path:
    """The Python of MNIST's locked environment."""
    return locked_python(MNIST)


@pytest.fixture(scope="session")
def scoring_python() -> Path:
    """The Python of scoring's locked environment."""
    return locked_python(SCORING)


@pytest.fixture
def train(mnist_python: Path) -> Callable[..., Finished]:
    """Runs the training in its own environment, with options as arguments."""
    return lambda *options: run([mnist_python, "-m", "mnist_training", *options], MNIST)


@pytest.fixture
def refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Finished]:
    """The training in this process, where TensorFlow is missing: enough for whatever is refused before it is needed."""

    def refused(*options: str | Path) -> Finished:
        capsys.readouterr()
        try:
            code = int(program.main(["--output-dir", str(tmp_path / "output"), *map(str, options)]))
        except SystemExit as end:  # of --help
            code = int(end.code or 0)
        said = capsys.readouterr()
        return Finished(code, said.out, said.err)

    return refused


@pytest.fixture(scope="session")
def scoring_models(scoring_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small models, made by TensorFlow once for each worker."""
    folder = tmp_path_factory.mktemp("models")
    made = run([scoring_python, Path(__file__).with_name("scoring_models.py"), folder], folder, TF_CPP_MIN_LOG_LEVEL="2")
    assert made.code == 0, made.stderr
    return folder
