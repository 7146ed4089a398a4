"""What the tests of the workloads share: their own environments, and the training as a program."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.workloads.mnist_workers import Trainings
from tests.workloads.workload_runs import MNIST, SCORING, Finished, locked_python, models
from workloads.mnist.mnist_training import __main__ as program


@pytest.fixture(scope="session")
def mnist_python() -> Path:
    """The Python of MNIST's locked environment."""
    return locked_python(MNIST)


@pytest.fixture(scope="session")
def scoring_python() -> Path:
    """The Python of scoring's locked environment."""
    return locked_python(SCORING)


@pytest.fixture(scope="session")
def trainings(mnist_python: Path) -> Iterator[Trainings]:
    """Starts trainings that find TensorFlow imported, which takes as long as a small training."""
    started = Trainings(mnist_python)
    yield started
    started.stop()


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
    """A folder with small models."""
    return models(scoring_python, tmp_path_factory.mktemp("models"))
