"""Images that anybody can pull and that this machine stands in for: samples of Microsoft's pages, plain systems, plain Python.

Each is built from a folder when it is first pulled; those of Microsoft's articles stand for this project's own workloads, whose
flags have other names. Every other public image is out of reach.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from azure_gpu.formats.image_reference import ImageReference
from localazure import apps, containers
from localazure.containers import base_images
from localazure.containers.images import Image
from localazure.services import Services

# Microsoft Docs, container-instances-gpu.md, 2019-04-17: the two examples; and where each image moved to later.
WORKLOADS: Mapping[str, str] = {
    "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1": "vector_add",
    "k8s.gcr.io/cuda-vector-add:v0.1": "vector_add",
    "docker.io/microsoft/samples-tf-mnist-demo:gpu": "mnist",
    "mcr.microsoft.com/azuredocs/samples-tf-mnist-demo:gpu": "mnist",
}
# Flags of TensorFlow's tutorial mnist_with_summaries.py, which the image runs; AKS pages (gpu-cluster, use-nvidia-gpu,
# 2026-07) pass `--max_steps 500`. Those without a flag of the workload change nothing here. The tutorial validates no accuracy.
_FLAGS = {"--max_steps": "--steps", "--learning_rate": "--learning-rate", "--dropout": "", "--data_dir": "", "--log_dir": ""}
_START = f"""
import runpy, sys
flags, given, read = {_FLAGS!r}, ["--min-accuracy", "0"], iter(sys.argv[1:])
for word in read:
    name, equals, value = word.partition("=")
    if name not in flags:
        given.append(word)
        continue
    value = value if equals else next(read, "")
    given += [flags[name], value] if flags[name] else []
sys.argv = ["mnist_training", *given]
runpy.run_module("mnist_training", run_name="__main__", alter_sys=True)
"""
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
            *WORKLOADS,
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
        str(reference) in WORKLOADS
        or str(reference) == QUICKSTART
        or base_images.on_docker_hub(reference.name) in (HELLO_WORLD, base_images.PYTHON, *SYSTEMS)
    )


def context_of(reference: ImageReference, services: Services) -> Path:
    """The folder that a public image is built from."""
    if str(reference) in WORKLOADS:
        return services.settings.checkout / "workloads" / WORKLOADS[str(reference)]
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
    return as_published(WORKLOADS.get(str(reference), ""), image)


def as_published(workload: str, image: Image) -> Image:
    """The image that was built of a workload, started as the article's image is."""
    return replace(image, entrypoint=("python", "-c", _START)) if workload == "mnist" else image


def _written(name: str, base: str, command: str, services: Services) -> Path:
    """A folder whose Dockerfile adds nothing to a base but what it starts by itself."""
    folder = services.settings.state / "public-images" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Dockerfile").write_text(f'FROM {base}\nCMD ["{command}"]\n', encoding="utf-8")
    return folder
