"""Finds the GPUs that a file requests, by VM size, by resource of Kubernetes and by SKU of Container Instances.

It knows nothing of the file's format, so that what a reader of that format misses is found here.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats.lenient_json import member

_RESOURCES = ("nvidia.com/", "amd.com/", "gpu.intel.com/", "aliyun.com/gpu", "volcano.sh/vgpu", "microsoft.com/directx")
_NO_GPUS = (0, "0", None, "")
_SIZE_KEYS = ("size", "instance_type", "instancetype", "sku")


class Mention(NamedTuple):
    """One place that requests GPUs."""

    path: str  # in the document
    text: str  # Standard_NC6, or nvidia.com/gpu: 2


def mentions(value: object, path: str = "") -> Iterator[Mention]:
    """Every request, in the file's order."""
    if isinstance(value, dict):
        for key, inner in cast(dict[object, Any], value).items():
            here = member(path, str(key))
            if found := _request(str(key), inner):
                yield Mention(here, found)
            elif isinstance(inner, dict | list):
                yield from mentions(inner, here)
    elif isinstance(value, list):
        for index, inner in enumerate(cast(list[object], value)):
            if isinstance(inner, dict | list):
                yield from mentions(inner, f"{path}[{index}]")


def is_gpu_size(name: str) -> bool:
    """Whether a VM size has GPUs; one that the catalog doesn't know, by the letter of Azure's GPU lines."""
    size = SIZES.find(name)
    return bool(size.gpu) if size is not None else name.lower().startswith("standard_n")


def is_gpu_resource(name: str) -> bool:
    """Whether Kubernetes counts GPUs under this name."""
    return name.startswith(_RESOURCES)


def _request(key: str, value: object) -> str:
    if is_gpu_resource(key) and isinstance(value, str | int | float) and value not in _NO_GPUS:
        return f"{key}: {value}"
    if key.lower() == "gpu" and isinstance(value, dict) and {"count", "sku"} & set(cast(dict[str, Any], value)):
        sku = cast(dict[str, Any], value)
        return f"{sku.get('count', 1)} {sku.get('sku', 'GPU')}"
    if key.lower() == "sku" and isinstance(value, dict):
        value = cast(dict[str, Any], value).get("name")
    if isinstance(value, str) and key.lower().endswith(_SIZE_KEYS) and is_gpu_size(value):
        return value
    return ""
