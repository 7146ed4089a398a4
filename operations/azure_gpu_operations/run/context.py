"""Build contexts of images that are built for a run: of a folder with a Dockerfile, or of a script. Pure."""

import re
from collections.abc import Mapping

from azure_gpu.formats.build_context import DOCKERFILE, Context

# From a registry without a limit on anonymous pulls. Azure/azure-functions-docker pull request 913 (2023-06-16) starts from it.
BASE_IMAGE = "mcr.microsoft.com/mirror/docker/library/python:3.11-slim"
# The same with git. MicrosoftLearning/mslearn-azure-ai issue 125 (2026-03-26) builds from its 3.12 in a registry.
BASE_IMAGE_WITH_GIT = "mcr.microsoft.com/devcontainers/python:3.11"
SHORTEST_BUILD_MINUTES, LONGEST_BUILD_MINUTES = (
    5,
    480,
)  # REST reference of Microsoft.ContainerRegistry, "Schedule Run": a timeout of 300 to 28800 seconds
USER_ID = 10001  # not used by images; nothing in the container runs as root
REQUIREMENTS = "requirements.txt"
# A writable home for caches of libraries, since the user has none in the image.
_SCRIPT_DOCKERFILE = """\
FROM {base}
ENV PYTHONUNBUFFERED=1 HOME=/work NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /app
{install}RUN mkdir --mode=0777 /work
COPY {script} ./
WORKDIR /work
USER {user}
ENTRYPOINT ["python", "/app/{script}"]
"""
INSTALL = """\
COPY {requirements} ./
RUN pip install --no-cache-dir --root-user-action=ignore -r {requirements}
"""


def of_folder(name: str, files: Mapping[str, bytes], executable: frozenset[str] = frozenset()) -> Context:
    """A workload, or any folder with a Dockerfile. A workload's image has the same name as in the stack's build."""
    return Context(_repository(name), files, f"the folder {name}", executable)


def of_script(name: str, script: str, requirements: str, base: str) -> Context:
    """A script, with a Dockerfile that installs its requirements and runs it as an unprivileged user."""
    file = _file_name(name)
    install = INSTALL.format(requirements=REQUIREMENTS) if requirements.strip() else ""
    files = {
        DOCKERFILE: _SCRIPT_DOCKERFILE.format(base=base, install=install, script=file, user=USER_ID).encode(),
        file: script.encode(),
    }
    if install:
        files[REQUIREMENTS] = requirements.encode()
    return Context(f"run/{_repository(name.removesuffix('.py'))}", files, name, script=file)


def _file_name(name: str) -> str:
    """The script's name in the image. White space and quotes would have to be escaped in a Dockerfile."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)
    return f"script_{plain}" if plain.startswith((".", "-")) or plain in (DOCKERFILE, REQUIREMENTS) else plain


def _repository(name: str) -> str:
    """A valid repository name: lowercase letters and digits, with single '_', '.' or '-' between them."""
    return re.sub(r"[^a-z0-9]+", lambda found: "_" if found[0] == "_" else "-", name.lower()).strip("-_") or "script"
