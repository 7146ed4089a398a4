"""Base images under the names of registries that mirror Docker Hub: each means the image of Docker Hub.

- mcr.microsoft.com/mirror/docker/library: Azure/azure-functions-docker pull request 913 (2023-06-16, python:3.11-slim) and
  Azure/azure-cli pull request 29304 (2024-07-03, against Docker Hub's limit)
- mcr.microsoft.com/devcontainers/python: Docker Hub's, with git and more; MicrosoftLearning/mslearn-azure-ai issue 125
  (2026-03-26)
- nvcr.io/nvidia/cuda: public, kubernetes-sigs/dra-driver-nvidia-gpu pull request 228 (2025-01-17); of the same digests,
  ai-dynamo/dynamo pull request 3996 (2025-10-30)
"""

PYTHON = "docker.io/library/python"
CUDA = "docker.io/nvidia/cuda"
_MIRROR = "mcr.microsoft.com/mirror/docker/library/"
_ELSEWHERE = {"mcr.microsoft.com/devcontainers/python": PYTHON, "nvcr.io/nvidia/cuda": CUDA}


def on_docker_hub(name: str) -> str:
    """What an image's name, without its tag, means among those of Docker Hub; any other name as it is."""
    if name.startswith(_MIRROR):
        return f"docker.io/library/{name.removeprefix(_MIRROR)}"
    return _ELSEWHERE.get(name, name)
