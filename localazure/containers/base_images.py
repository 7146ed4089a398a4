"""Base images under the names of registries that mirror Docker Hub: each means the image of Docker Hub, as its row says."""

from localazure import tables

PYTHON = "docker.io/library/python"
CUDA = "docker.io/nvidia/cuda"
_ROWS = tables.rows(__file__, "base_images.tsv", header=True)


def on_docker_hub(name: str) -> str:
    """What an image's name, without its tag, means among those of Docker Hub; any other name as it is."""
    for elsewhere, there, _ in _ROWS:
        if name == elsewhere or (elsewhere.endswith("/") and name.startswith(elsewhere)):
            return f"{there}{name.removeprefix(elsewhere)}"
    return name
