"""The command and environment of a program on this machine. Pure.

a script               Python with the requirements beside it, or the given ones
a workload, a folder   the same with its lock file, if its Dockerfile starts Python; else a container
an image               a container
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats import dockerfile
from azure_gpu.formats.build_context import DOCKERFILE, Context
from azure_gpu_operations.run.context import REQUIREMENTS
from azure_gpu_operations.run.on_batch.commands import whole_command
from azure_gpu_operations.run.target import RunMethod, Target

LOCK = "requirements.lock"
ENGINES = ("docker", "podman")  # container engines, by preference
_PYTHONS = ("python", "python3")
_WITH_GPUS = {"docker": ("--gpus", "all"), "podman": ("--device", "nvidia.com/gpu=all")}


class Plan(NamedTuple):
    """What is run. A container's image is built from `context` if there is one."""

    method: RunMethod
    words: tuple[str, ...]  # arguments of Python or of the container
    requirements: str = ""  # content of a requirements file
    locked: bool = False  # complete, with hashes
    search: str = ""  # PYTHONPATH
    environment: Mapping[str, str] = {}  # of the image and of the user
    engine: str = ""  # one of ENGINES, with CONTAINER
    image: str = ""
    context: Context | None = None


def resolve(
    target: Target, arguments: list[str], method: str, script: Path | None, folder: Path | None, tools: Collection[str]
) -> tuple[Plan | None, list[Problem]]:
    """`script`, `folder`: local path of the target. `tools`: the installed ones of `ENGINES`."""
    if target.context is None and not target.image:
        return None, []
    requested = RunMethod(method) if method else None
    direct = None if target.context is None else _without_container(target, target.context, arguments, script, folder)
    if requested is not RunMethod.CONTAINER and direct is not None:
        return direct, []
    if requested is RunMethod.PYTHON:
        fix = "remove --way"
        message = "requires a container: its command isn't Python"
        return None, [Problem("--way", message, value=method, allowed="container", fix=fix)]
    engine = next((each for each in ENGINES if each in tools), "")
    if not engine:
        problem = Problem(
            path="--on",
            message="requires a container, and neither docker nor podman is installed",
            value="local",
            fix="install one of them, or use --on job, --on vm or --on aks",
            code=Code.NOT_FOUND,
        )
        return None, [problem]
    return Plan(
        RunMethod.CONTAINER,
        tuple(arguments),
        environment=dict(target.environment),
        engine=engine,
        image=target.image,
        context=target.context,
    ), []


def _without_container(
    target: Target, context: Context, arguments: list[str], script: Path | None, folder: Path | None
) -> Plan | None:
    """The plan without a container; None if it needs one."""
    if context.script and script is not None:
        requirements = context.files.get(REQUIREMENTS, b"").decode()
        return Plan(RunMethod.PYTHON, ("-u", str(script), *arguments), requirements, environment=dict(target.environment))
    words = whole_command(context, arguments)
    if folder is None or not words or words[0] not in _PYTHONS or len(words) < 2:
        return None
    lock = LOCK in context.files
    requirements = context.files.get(LOCK) or context.files.get(REQUIREMENTS) or b""
    of_image = _variables(context)
    behind = tuple(str(folder / word) if (folder / word).is_file() else word for word in words[1:])
    return Plan(
        RunMethod.PYTHON,
        behind,
        requirements.decode(),
        lock,
        str(folder),
        {**of_image, **target.environment},
    )


def _variables(context: Context) -> dict[str, str]:
    """The literal variables of the last stage of its Dockerfile, except those for GPUs of containers."""
    found, problems = dockerfile.parse(context.files[DOCKERFILE].decode("utf-8", errors="replace"))
    if problems or not found.stages:
        return {}
    pairs = [pair for each in found.stages[-1].instructions if isinstance(each, dockerfile.Env) for pair in each.values]
    return {key: value for key, value in pairs if "$" not in value and not key.startswith("NVIDIA_")}


def container_command(plan: Plan, image: str, name: str, *, gpus: bool, secrets: Collection[str]) -> list[str]:
    """The command that runs the container. Secrets are passed by name, and read from the environment."""
    variables = [word for key, value in plan.environment.items() for word in ("-e", f"{key}={value}")]
    variables += [word for key in secrets for word in ("-e", key)]
    with_gpus = _WITH_GPUS[plan.engine] if gpus else ()
    return [plan.engine, "run", "--rm", "--name", name, *with_gpus, *variables, image, *plan.words]
