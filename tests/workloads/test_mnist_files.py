"""The four data files: found under both names, checked against each other, every problem told at once."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workloads.workload_runs import Finished, write_data, write_idx
from workloads.mnist.mnist_training import files, storage
from workloads.mnist.mnist_training.refusal import RefusedError


def problems_of(folder: Path) -> list[str]:
    with pytest.raises(RefusedError) as refused:
        files.read_files(folder)
    assert refused.value.code == 2
    return refused.value.problems


@pytest.mark.parametrize("compress", [False, True])
def test_plain_and_compressed_files_are_read_and_named(tmp_path: Path, compress: bool, capsys: pytest.CaptureFixture) -> None:
    read = files.read_files(write_data(tmp_path, compress=compress))
    assert read.train_images.shape == (40, 8, 8)
    assert read.test_labels.shape == (20,)
    ending = ".gz" if compress else ""
    assert capsys.readouterr().out.splitlines() == [
        f"Extracting {tmp_path}/train-images-idx3-ubyte{ending}",
        f"Extracting {tmp_path}/train-labels-idx1-ubyte{ending}",
        f"Extracting {tmp_path}/t10k-images-idx3-ubyte{ending}",
        f"Extracting {tmp_path}/t10k-labels-idx1-ubyte{ending}",
    ]


def test_data_that_is_not_the_published_set_is_not_called_mnist(tmp_path: Path) -> None:
    assert files.read_files(write_data(tmp_path)).name == files.UNNAMED


def test_the_fingerprint_follows_the_bytes_and_not_the_compression(tmp_path: Path) -> None:
    plain = files.read_files(write_data(tmp_path / "plain"))
    compressed = files.read_files(write_data(tmp_path / "compressed", compress=True))
    other = files.read_files(write_data(tmp_path / "other", train=50))
    assert plain.fingerprint == compressed.fingerprint != other.fingerprint


def test_every_problem_of_every_file_is_told_at_once(tmp_path: Path) -> None:
    write_data(tmp_path)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(bytes.fromhex("00000803 00000028 00000008"))
    write_idx(tmp_path, files.TRAIN_LABELS, files.Array((3,), b"\x00\x0a\xff"))
    (tmp_path / "t10k-images-idx3-ubyte").unlink()
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(b"PK\x03\x04 a zip file")
    assert problems_of(tmp_path) == [
        f"{tmp_path}/train-images-idx3-ubyte: truncated: 12 bytes; expected a header of 16 bytes",
        f"{tmp_path}/t10k-images-idx3-ubyte: not found, neither plain nor as t10k-images-idx3-ubyte.gz",
        f"{tmp_path}/t10k-labels-idx1-ubyte: magic number 0x504b0304; expected 0x00000801 (labels)",
        f"{tmp_path}/train-labels-idx1-ubyte: 2 of 3 labels are out of range, the first is 10 at 1; expected 0 to 9",
    ]


def test_images_and_labels_that_were_swapped_are_both_told(tmp_path: Path) -> None:
    write_data(tmp_path)
    images, labels = tmp_path / "t10k-images-idx3-ubyte", tmp_path / "t10k-labels-idx1-ubyte"
    images.rename(tmp_path / "aside")
    labels.rename(images)
    (tmp_path / "aside").rename(labels)
    first, second = problems_of(tmp_path)
    assert first.startswith(f"{images}: magic number 0x00000801 (labels); expected 0x00000803 (images)")
    assert second.startswith(f"{labels}: magic number 0x00000803 (images); expected 0x00000801 (labels)")
    assert first.endswith("images and labels may be swapped")


def test_counts_that_differ_are_told_with_both_files(tmp_path: Path) -> None:
    write_data(tmp_path)
    write_idx(tmp_path, files.TRAIN_LABELS, files.Array((39,), bytes(39)))
    assert problems_of(tmp_path) == [
        f"{tmp_path}/train-labels-idx1-ubyte: 39 labels; expected 40, one for each image in {tmp_path}/train-images-idx3-ubyte"
    ]


def test_a_test_set_of_another_size_is_refused(tmp_path: Path) -> None:
    write_data(tmp_path)
    write_idx(tmp_path, files.TEST_IMAGES, files.Array((20, 28, 28), bytes(20 * 28 * 28)))
    assert problems_of(tmp_path) == [
        f"{tmp_path}/t10k-images-idx3-ubyte: images of 28 x 28; expected 8 x 8, as in {tmp_path}/train-images-idx3-ubyte"
    ]


def test_an_empty_set_is_refused(tmp_path: Path) -> None:
    (problem,) = problems_of(write_data(tmp_path, test=0))
    assert problem.startswith(f"{tmp_path}/t10k-images-idx3-ubyte: holds no pixels (0 x 8 x 8)")


def test_a_gzip_file_that_was_cut_is_told_as_that(tmp_path: Path) -> None:
    write_data(tmp_path, compress=True)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    (problem,) = problems_of(tmp_path)
    assert problem.startswith(f"{path}: damaged or truncated gzip data")


def test_a_folder_under_a_files_name_is_told(tmp_path: Path) -> None:
    write_data(tmp_path)
    path = tmp_path / "train-labels-idx1-ubyte"
    path.unlink()
    path.mkdir()
    assert problems_of(tmp_path) == [f"{path}: can't be read: Is a directory"]


def test_the_program_ends_with_2_and_one_line_for_each_problem(tmp_path: Path, refuse: Callable[..., Finished]) -> None:
    write_data(tmp_path, compress=True)
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "t10k-labels-idx1-ubyte.gz").unlink()
    finished = refuse("--data-dir", tmp_path)
    assert finished.code == 2
    assert len(finished.stderr.splitlines()) == 2
    assert "Traceback" not in finished.stderr
    assert finished.report["passed"] is False
    assert [line.removeprefix("mnist_training: ") for line in finished.stderr.splitlines()] == finished.report["problems"]


def test_a_failed_write_leaves_the_earlier_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    path.write_bytes(b"earlier")

    def full_disk(temporary: Path) -> None:
        temporary.write_bytes(b"half a mod")
        raise OSError(28, "No space left on device")

    with pytest.raises(RefusedError, match=r"model\.keras: can't be written: No space left on device"):
        storage.write_whole(path, full_disk)
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("model.keras", b"earlier")]


def test_a_program_that_dies_while_writing_leaves_the_earlier_file(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(b"earlier")

    def interrupted(temporary: Path) -> None:
        temporary.write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        storage.write_whole(path, interrupted)
    assert path.read_bytes() == b"earlier"


def test_an_output_folder_that_is_a_file_is_refused(tmp_path: Path, refuse: Callable[..., Finished]) -> None:
    (tmp_path / "output").write_text("a file")
    finished = refuse()
    assert finished.code == 2
    assert finished.report["problems"] == [
        f"{tmp_path}/output: can't be created: File exists; choose another --output-dir",
    ]
