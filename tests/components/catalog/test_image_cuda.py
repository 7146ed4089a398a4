"""What CUDA version an image holds. Expectations are literals of the images' names and of the sources that describe them."""

from hypothesis import given, strategies as st

from azure_gpu.catalog.image_cuda import image_cuda
from tests.support.rows import each_row


@each_row(
    ("image", "cuda"),
    [
        ("nvidia/cuda:9.0-base-ubuntu16.04", "9.0"),
        ("docker.io/nvidia/cuda:12.4.1-base-ubuntu22.04", "12.4"),
        ("nvidia/cuda:12.9.1-base-ubuntu24.04@sha256:" + "0" * 64, "12.9"),
        ("nvcr.io/nvidia/cuda:11.8.0-devel-ubuntu20.04", "11.8"),
        ("tensorflow/tensorflow:1.12.0-gpu-py3", "9.0"),
        ("tensorflow/tensorflow:1.4.0-gpu", "8.0"),
        ("tensorflow/tensorflow:1.15.0-gpu-py3", "10.0"),
        ("tensorflow/tensorflow:2.1.0-gpu-py3", "10.1"),
        ("tensorflow/tensorflow:2.4.0-gpu", "11.0"),
        ("tensorflow/tensorflow:2.11.0-gpu-jupyter", "11.2"),
        ("tensorflow/tensorflow:2.14.0-gpu", "11.8"),
        ("tensorflow/tensorflow:2.15.0-gpu", "12.2"),
        ("tensorflow/tensorflow:2.18.0-gpu", "12.5"),
        ("microsoft/samples-tf-mnist-demo:gpu", "8.0"),
        ("mcr.microsoft.com/azuredocs/samples-tf-mnist-demo:gpu", "8.0"),
        ("k8s-gcrio.azureedge.net/cuda-vector-add:v0.1", "8.0"),
        ("registry.k8s.io/cuda-vector-add:v0.1", "8.0"),
        ("mcr.microsoft.com/azureml/openmpi4.1.0-cuda11.8-cudnn8-ubuntu22.04", "11.8"),
        ("mcr.microsoft.com/azureml/openmpi5.0-cuda12.4-ubuntu22.04:latest", "12.4"),
        ("mcr.microsoft.com/azureml/openmpi5.0-cuda12.6-ubuntu24.04", "12.6"),
        ("pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime", "12.4"),
        ("nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda11.7.1-ubuntu20.04", "11.7"),
    ],
)
def test_an_image_holds_this_cuda_version(image: str, cuda: str) -> None:
    known = image_cuda(image)
    assert known is not None
    assert known.version == cuda
    assert known.source.where


@each_row(
    "image",
    [
        "nvidia/cuda",
        "nvidia/cuda:latest",
        "tensorflow/tensorflow:1.12.0",
        "tensorflow/tensorflow:latest-gpu",
        "tensorflow/tensorflow:3.0.0-gpu",
        "nvidia/samples:nbody",
        "mcr.microsoft.com/azureml/minimal-py312-inference",
        "example.azurecr.io/train:cuda12.4",
        "evil.example.com/nvidia/cuda:9.0-base",
        "python:3.11",
        "",
        "::@@//",
    ],
)
def test_of_most_images_nothing_is_known(image: str) -> None:
    assert image_cuda(image) is None


@given(st.text(max_size=60) | st.from_regex(r"[a-z./]{0,20}cuda:?[0-9.]{0,6}[a-z-]{0,9}", fullmatch=True))
def test_no_text_raises(text: str) -> None:
    known = image_cuda(text)
    assert known is None or known.version.count(".") == 1
