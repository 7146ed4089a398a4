"""What CUDA version an image holds. Expectations are literals of the images' names and of the sources that describe them."""

from hypothesis import given, strategies as st

from azure_gpu.catalog.container_cuda import image_cuda
from tests.support.tables import of_table


@of_table("image", "cuda")
def test_an_image_holds_this_cuda_version(image: str, cuda: str) -> None:
    known = image_cuda(image)
    assert known is not None
    assert known.version == cuda
    assert known.source.where


@of_table("image")
def test_of_most_images_nothing_is_known(image: str) -> None:
    assert image_cuda(image) is None


@given(st.text(max_size=60) | st.from_regex(r"[a-z./]{0,20}cuda:?[0-9.]{0,6}[a-z-]{0,9}", fullmatch=True))
def test_no_text_raises(text: str) -> None:
    known = image_cuda(text)
    assert known is None or known.version.count(".") == 1
