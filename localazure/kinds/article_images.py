"""Public images of Microsoft's articles, which stand for this project's own workloads in the checkout that the server serves.

Their programs take the flags that the articles print, which the workloads name otherwise.
"""

from collections.abc import Mapping
from dataclasses import replace

from localazure.containers.images import Image

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


def as_published(workload: str, image: Image) -> Image:
    """The image that was built of a workload, started as the article's image is."""
    return replace(image, entrypoint=("python", "-c", _START)) if workload == "mnist" else image
