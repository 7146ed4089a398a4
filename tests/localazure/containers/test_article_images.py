"""The program of the article's image takes the flags that Azure's pages print."""

import sys
from pathlib import Path

import pytest

from localazure.containers.images import Image
from localazure.kinds import public_images

BUILT = Image(
    digest="sha256:1",
    root=Path("root"),
    environment=None,
    entrypoint=("python", "-m", "mnist_training"),
    cmd=(),
    env={},
    workdir="/app",
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--max_steps", "500"], ["--steps", "500"]),
        (["--max_steps=20", "--seed", "7"], ["--steps", "20", "--seed", "7"]),
        (["--log_dir", "/tmp/logs", "--learning_rate=0.01"], ["--learning-rate", "0.01"]),
        ([], []),
    ],
)
def test_flags_of_the_pages_are_those_of_the_workload(
    tmp_path: Path,
    given: list[str],
    expected: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "mnist_training.py").write_text("import sys; print(sys.argv[1:])")
    monkeypatch.syspath_prepend(tmp_path)
    python, option, code = public_images.as_published("mnist", BUILT).entrypoint
    assert (python, option) == ("python", "-c")
    monkeypatch.setattr(sys, "argv", [option, *given])
    exec(code, {"__name__": "__main__"})
    assert capsys.readouterr().out.strip() == str(["--min-accuracy", "0", *expected])


def test_the_vector_addition_is_started_as_it_was_built() -> None:
    assert public_images.as_published("vector_add", BUILT) is BUILT
