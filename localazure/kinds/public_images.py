"""Images that anybody can pull and that this machine stands in for: samples of Microsoft's pages, plain systems, plain Python.

Each is built from a folder when it is first pulled. Every other public image is out of reach.
"""

from collections.abc import Mapping
from pathlib import Path

from azure_gpu.formats.image_reference import ImageReference
from localazure import apps, containers
from localazure.containers import base_images
from localazure.containers.images import Image
from localazure.kinds import article_images
from localazure.services import Services

QUICKSTART = "mcr.microsoft.com/k8se/quickstart-jobs:latest"  # what stands for a job that has no image yet
HELLO_WORLD = "mcr.microsoft.com/azuredocs/aci-helloworld"  # any tag
SYSTEMS: Mapping[str, str] = {  # any tag; what each is built from: their shell is this machine's
    "docker.io/library/alpine": "debian:stable-slim",
    "docker.io/library/busybox": "debian:stable-slim",
    "docker.io/library/debian": "debian:stable-slim",
    "docker.io/library/ubuntu": "ubuntu:24.04",
}
KNOWN = ", ".join(
    sorted(
        {
            *article_images.WORKLOADS,
            QUICKSTART,
            HELLO_WORLD,
            f"{base_images.PYTHON}:3.*",
            *(name.rsplit("/", 1)[1] for name in SYSTEMS),
        }
    )
)


def is_public(reference: ImageReference) -> bool:
    """Whether it is one of the images that nobody needs credentials for."""
    return (
        str(reference) in article_images.WORKLOADS
        or str(reference) == QUICKSTART
        or base_images.on_docker_hub(reference.name) in (HELLO_WORLD, base_images.PYTHON, *SYSTEMS)
    )


def context_of(reference: ImageReference, services: Services) -> Path:
    """The folder that a public image is built from."""
    if str(reference) in article_images.WORKLOADS:
        return services.settings.checkout / "workloads" / article_images.WORKLOADS[str(reference)]
    if str(reference) == QUICKSTART:
        return Path(apps.__file__).parent / "quickstart"
    if reference.name == HELLO_WORLD:
        return Path(containers.__file__).parent / "samples" / "aci-helloworld"
    name = base_images.on_docker_hub(reference.name)
    if name == base_images.PYTHON:  # any tag that names a version
        return _written(f"python-{reference.tag or 'digest'}", str(reference), "python3", services)
    return _written(name.rsplit("/", 1)[1], SYSTEMS[name], "/bin/sh", services)


async def built(reference: ImageReference, context: Path, log: Path, services: Services) -> Image:
    """A public image, built from its context where it hasn't been. BuildFailedError."""
    image = await services.images.build(context, "Dockerfile", {}, [str(reference)], log)
    return article_images.as_published(article_images.WORKLOADS.get(str(reference), ""), image)


def _written(name: str, base: str, command: str, services: Services) -> Path:
    """A folder whose Dockerfile adds nothing to a base but what it starts by itself."""
    folder = services.settings.state / "public-images" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Dockerfile").write_text(f'FROM {base}\nCMD ["{command}"]\n', encoding="utf-8")
    return folder
