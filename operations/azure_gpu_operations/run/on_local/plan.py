"""How a program runs on this machine: with which words, in which environment.

In: a target, the arguments, which tools there are here. Out: a `Plan`, and problems. Pure.

    a script               Python with the requirements that stand beside it, or that are named
    a workload, a folder   the same with its lock, where its Dockerfile starts Python; else a container
    an image               a container
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats import dockerfile
from azure_gpu_operations.run.context import DOCKERFILE, REQUIREMENTS, Context
from azure_gpu_operations.run.on_batch.commands import whole_command
from azure_gpu_operations.run.target import Target

LOCK = "requirements.lock"
ENGINES = ("docker", "podman")  # what runs containers, by preference
_PYTHONS = ("python", "python3")
_WITH_GPUS = {"docker": ("--gpus", "all"), "podman": ("--device", "nvidia.com/gpu=all")}


class Way(StrEnum):
    CONTAINER = "container"
    PYTHON = "python"


class Plan(NamedTuple):
    """What is run. A container's image is built of `context` where there is one."""

    way: Way
    words: tuple[str, ...]  # with PYTHON those behind Python itself, else the container's arguments
    requirements: str = ""  # a text for pip; empty: none
    locked: bool = False  # it has hashes, and names everything
    search: str = ""  # PYTHONPATH
    environment: Mapping[str, str] = {}  # what the image would say, and the user
    engine: str = ""  # one of ENGINES, with CONTAINER
    image: str = ""
    context: Context | None = None


def resolve(
    target: Target, arguments: list[str], way: str, script: Path | None, folder: Path | None, tools: Collection[str]
) -> tuple[Plan | None, list[Problem]]:
    """`script`, `folder`: where the target lies here. `tools`: those of `ENGINES` that are here."""
    if target.context is None and not target.image:
        fix = "name a script, a workload, a folder or an image"
        return None, [Problem("TARGET", "nothing says what is to run here", fix=fix)]
    wanted = Way(way) if way else None
    plain = None if target.context is None else _plain(target, target.context, arguments, script, folder)
    if wanted is not Way.CONTAINER and plain is not None:
        return plain, []
    if wanted is Way.PYTHON:
        fix = "leave --way out"
        message = "it can't run without a container: what it starts isn't Python"
        return None, [Problem("--way", message, value=way, allowed="container", fix=fix)]
    engine = next((each for each in ENGINES if each in tools), "")
    if not engine:
        problem = Problem(
            path="--on",
            message="this takes a container, and neither docker nor podman is here",
            value="local",
            fix="install one of them, or run it elsewhere: --on job, --on vm, --on aks",
            code=Code.NOT_FOUND,
        )
        return None, [problem]
    return Plan(
        Way.CONTAINER,
        tuple(arguments),
        environment=dict(target.environment),
        engine=engine,
        image=target.image,
        context=target.context,
    ), []


def _plain(target: Target, context: Context, arguments: list[str], script: Path | None, folder: Path | None) -> Plan | None:
    """Without a container; None where that can't be."""
    if context.script and script is not None:
        requirements = context.files.get(REQUIREMENTS, b"").decode()
        return Plan(Way.PYTHON, ("-u", str(script), *arguments), requirements, environment=dict(target.environment))
    words = whole_command(context, arguments)
    if folder is None or not words or words[0] not in _PYTHONS or len(words) < 2:
        return None
    lock = LOCK in context.files
    requirements = context.files.get(LOCK) or context.files.get(REQUIREMENTS) or b""
    of_image = _variables(context)
    behind = tuple(str(folder / word) if (folder / word).is_file() else word for word in words[1:])
    return Plan(
        Way.PYTHON,
        behind,
        requirements.decode(),
        lock,
        str(folder),
        {**of_image, **target.environment},
    )


def _variables(context: Context) -> dict[str, str]:
    """What the last stage of its Dockerfile sets, as far as it is said in plain words; which GPUs a container sees is no matter
    here."""
    found, problems = dockerfile.parse(context.files[DOCKERFILE].decode("utf-8", errors="replace"))
    if problems or not found.stages:
        return {}
    said = [pair for each in found.stages[-1].instructions if isinstance(each, dockerfile.Env) for pair in each.values]
    return {key: value for key, value in said if "$" not in value and not key.startswith("NVIDIA_")}


def container_command(plan: Plan, image: str, name: str, *, gpus: bool, secrets: Collection[str]) -> list[str]:
    """The words that run the container. Secrets are named, and taken from the environment of whoever runs them."""
    variables = [word for key, value in plan.environment.items() for word in ("-e", f"{key}={value}")]
    variables += [word for key in secrets for word in ("-e", key)]
    with_gpus = _WITH_GPUS[plan.engine] if gpus else ()
    return [plan.engine, "run", "--rm", "--name", name, *with_gpus, *variables, image, *plan.words]
