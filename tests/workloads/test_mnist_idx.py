"""The IDX format: what is written can be read, and whatever is damaged is refused in words."""

import gzip
import math

import pytest
from hypothesis import given, strategies as st

from workloads.mnist.mnist_training import files

shapes = st.lists(st.integers(0, 6), min_size=1, max_size=4).map(tuple)


@st.composite
def arrays(draw: st.DrawFn, shape: st.SearchStrategy[tuple[int, ...]] = shapes) -> files.Array:
    size = draw(shape)
    count = math.prod(size)
    return files.Array(size, draw(st.binary(min_size=count, max_size=count)))


def magic_of(array: files.Array) -> int:
    return 0x00000800 + len(array.shape)


@given(arrays(), st.booleans())
def test_what_is_written_is_read_back(array: files.Array, compress: bool) -> None:
    content = files.encode(array)
    assert files.decode(gzip.compress(content) if compress else content, magic_of(array)) == array


@given(arrays(), st.data())
def test_a_file_cut_anywhere_is_refused(array: files.Array, data: st.DataObject) -> None:
    content = files.encode(array)
    cut = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(files.IdxError):
        files.decode(content[:cut], magic_of(array))


@given(arrays(), st.data())
def test_a_compressed_file_cut_anywhere_is_refused(array: files.Array, data: st.DataObject) -> None:
    content = gzip.compress(files.encode(array))
    cut = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(files.IdxError):
        files.decode(content[:cut], magic_of(array))


@given(arrays(), st.binary(min_size=1, max_size=8))
def test_a_file_with_bytes_after_its_end_is_refused(array: files.Array, more: bytes) -> None:
    with pytest.raises(files.IdxError, match="too long"):
        files.decode(files.encode(array) + more, magic_of(array))


@given(st.binary(max_size=64) | arrays(st.tuples(st.integers(0, 20))).map(files.encode))
def test_arbitrary_bytes_are_an_array_or_refused_and_nothing_else(content: bytes) -> None:
    try:
        array = files.decode(content, files.LABELS_MAGIC)
    except files.IdxError:
        return
    assert files.encode(array) == content


def test_labels_have_the_bytes_that_the_format_prescribes() -> None:
    assert files.encode(files.Array((3,), b"\x05\x00\x04")) == bytes.fromhex("00000801 00000003 050004")


def test_images_have_the_bytes_that_the_format_prescribes() -> None:
    content = bytes.fromhex("00000803 00000001 00000002 00000002 00ff7f01")
    assert files.decode(content, files.IMAGES_MAGIC) == files.Array((1, 2, 2), b"\x00\xff\x7f\x01")


def test_labels_where_images_belong_are_called_swapped() -> None:
    with pytest.raises(
        files.IdxError, match=r"0x00000801 \(labels\); expected 0x00000803 \(images\); .*images and labels may be swapped"
    ):
        files.decode(files.encode(files.Array((1,), b"\x07")), files.IMAGES_MAGIC)


def test_a_truncated_file_is_told_with_both_counts() -> None:
    content = files.encode(files.Array((2, 28, 28), bytes(2 * 28 * 28)))
    with pytest.raises(files.IdxError, match="truncated: 1000 values; expected 2 x 28 x 28 = 1568, as its header says"):
        files.decode(content[: 16 + 1000], files.IMAGES_MAGIC)
