"""Images that anybody can pull and that this machine stands in for: samples of Microsoft's pages, plain systems, plain Python.

Each is built from a folder when it is first pulled. Every other public image is out of reach.
"""

from collections.abc import Mapping
from pathlib import Path

from azure_gpu.formats.image_reference import ImageReference
from localazure import apps, containers
from localazure.services import Services

# Microsoft Docs, container-instances-gpu.md, 2019-04-17: the two examples; and where each image moved to later. They stand for
# this project's own workloads, which the checkout that the server was started in holds.
ARTICLE_IMAGES: Mapping[str, str] = {
    "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1": "vector_add",
    "k8s.gcr.io/cuda-vector-add:v0.1": "vector_add",
    "docker.io/microsoft/samples-tf-mnist-demo:gpu": "mnist",
    "mcr.microsoft.com/azuredocs/samples-tf-mnist-demo:gpu": "mnist",
}
QUICKSTART = "mcr.microsoft.com/k8se/quickstart-jobs:latest"  # what stands for a job that has no image yet
HELLO_WORLD = "mcr.microsoft.com/azuredocs/aci-helloworld"  # any tag
PYTHON = "docker.io/library/python"  # any tag that names a version
SYSTEMS: Mapping[str, str] = {  # any tag; what each is built from: their shell is this machine's
    "docker.io/library/alpine": "debian:stable-slim",
    "docker.io/library/busybox": "debian:stable-slim",
    "docker.io/library/debian": "debian:stable-slim",
    "docker.io/library/ubuntu": "ubuntu:24.04",
}
KNOWN = ", ".join(
    sorted({*ARTICLE_IMAGES, QUICKSTART, HELLO_WORLD, f"{PYTHON}:3.*", *(name.rsplit("/", 1)[1] for name in SYSTEMS)})
)


def is_public(reference: ImageReference) -> bool:
    """Whether it is one of the images that nobody needs credentials for."""
    return str(reference) in ARTICLE_IMAGES or str(reference) == QUICKSTART or reference.name in (HELLO_WORLD, PYTHON, *SYSTEMS)


def context_of(reference: ImageReference, services: Services) -> Path:
    """The folder that a public image is built from."""
    if str(reference) in ARTICLE_IMAGES:
        return services.settings.checkout / "workloads" / ARTICLE_IMAGES[str(reference)]
    if str(reference) == QUICKSTART:
        return Path(apps.__file__).parent / "quickstart"
    if reference.name == HELLO_WORLD:
        return Path(containers.__file__).parent / "samples" / "aci-helloworld"
    if reference.name == PYTHON:
        return _written(f"python-{reference.tag or 'digest'}", str(reference), "python3", services)
    return _written(reference.name.rsplit("/", 1)[1], SYSTEMS[reference.name], "/bin/sh", services)


def _written(name: str, base: str, command: str, services: Services) -> Path:
    """A folder whose Dockerfile adds nothing to a base but what it starts by itself."""
    folder = services.settings.state / "public-images" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Dockerfile").write_text(f'FROM {base}\nCMD ["{command}"]\n', encoding="utf-8")
    return folder
