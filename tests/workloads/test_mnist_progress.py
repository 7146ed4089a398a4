"""How a training is shown: the article's lines everywhere, a bar on a terminal alone; and the type that the hardware asks for."""

import io
from pathlib import Path

import pytest

from workloads.mnist.mnist_training import device
from workloads.mnist.mnist_training.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_elsewhere_than_on_a_terminal_there_are_the_articles_lines_alone() -> None:
    out, bar = io.StringIO(), io.StringIO()
    progress = Progress(0, 100, out=out, bar=bar)
    progress.accuracy(0, 0.1)
    progress.at(50, 1.25)
    progress.accuracy(50, 0.9)
    progress.clear()
    assert out.getvalue() == "Accuracy at step 0: 0.1\nAccuracy at step 50: 0.9\n"
    assert bar.getvalue() == ""


def test_on_a_terminal_a_bar_stays_below_the_lines_and_is_gone_at_the_end() -> None:
    terminal = Terminal()
    progress = Progress(0, 100, out=terminal, bar=terminal)
    progress.accuracy(0, 0.1)
    progress.at(50, 1.25)
    progress.at(51, 1.25)  # so soon after that it isn't drawn
    progress.accuracy(60, 0.9)
    progress.clear()
    first, bar, line = terminal.getvalue().split("\r\x1b[K")[1:4]
    assert first == "Accuracy at step 0: 0.1\n"
    assert bar.startswith(f"[{'=' * 15}{' ' * 15}] step 50/100, loss 1.2500, accuracy 0.1, ")
    assert line == "Accuracy at step 60: 0.9\n"
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_a_worker_that_is_not_the_first_shows_nothing() -> None:
    terminal = Terminal()
    progress = Progress(0, 100, shown=False, out=terminal, bar=terminal)
    progress.accuracy(0, 0.1)
    progress.at(50, 1.25)
    progress.clear()
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(
    ("flags", "chosen", "expected"),
    [
        ("fpu avx512f avx512_bf16", "auto", "bfloat16"),
        ("fpu amx_bf16 amx_tile", "auto", "bfloat16"),
        ("fpu avx512f avx512_vnni", "auto", "float32"),
        ("fpu avx512_bf16", "float32", "float32"),
        ("fpu", "float16", "float16"),
    ],
)
def test_a_cpu_multiplies_in_the_type_that_it_has_instructions_for(
    tmp_path: Path, flags: str, chosen: str, expected: str
) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text(f"processor\t: 0\nmodel name\t: some\nflags\t\t: {flags}\n\nprocessor\t: 1\n")
    assert device.precision_of_cpu(chosen, info) == expected
    assert device.precision_of_cpu("auto", tmp_path / "none") == "float32"


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        (None, "float32"),
        ((6, 1), "float32"),
        ((7, 0), "float16"),
        ((7, 5), "float16"),
        ((8, 0), "bfloat16"),
        ((9, 0), "bfloat16"),
    ],
)
def test_a_gpu_multiplies_in_the_type_that_its_tensor_cores_have(capability: tuple[int, int] | None, expected: str) -> None:
    assert device.precision_of_gpu("auto", capability) == expected
    assert device.precision_of_gpu("float32", capability) == "float32"
