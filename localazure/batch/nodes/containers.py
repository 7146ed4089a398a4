"""Runs a task in a container, from its image, its command line and its run options.

The container is a process of this machine with a fresh copy of the image's files, as containers of the other services are; the
node's folders lie where they lie, so that the variables mean the same inside.
"""

import asyncio
import shutil
from pathlib import Path
from typing import NamedTuple

from localazure.arm.store import Body
from localazure.batch.command_lines import words
from localazure.batch.failures import TaskError
from localazure.batch.nodes import container_images, node_programs
from localazure.batch.nodes.node import Node
from localazure.containers import shim_python
from localazure.containers.container_spec import ContainerSpec
from localazure.containers.image_tree import ImageTree
from localazure.waiting import to_its_end

# Options that say how a container is kept apart, which none is here: without a value, and with one.
_PLAIN = frozenset({"--rm", "--init", "--privileged", "-i", "--interactive"})
_WITH_VALUE = frozenset(
    {
        "--cap-add", "--device", "--hostname", "--ipc", "--memory", "-m", "--cpus", "--name", "--net", "--network", "--pid",
        "--shm-size", "--ulimit", "-u", "--user",
    }
)  # fmt: skip
_MADE = "made"  # beside a container's files, once all of them are there
_NAMES = {"-e": "--env", "-w": "--workdir"}


class _Options(NamedTuple):
    entrypoint: str | None = None
    workdir: str = ""
    env: tuple[tuple[str, str], ...] = ()


async def prepared(
    node: Node, settings: Body, command_line: str, folder: Path, env: dict[str, str], run: str
) -> tuple[list[str], dict[str, str], str]:
    """What runs, with which variables and where, in the container of one run, whose files are made again where it doesn't exist
    already. TaskError where it can't be."""
    if node.settings.containers is None:
        raise TaskError("ContainerInvalidSettings", Message="The pool has no containerConfiguration")
    options = _options(str(settings.get("containerRunOptions") or ""))
    line = words(command_line) if command_line.strip() else []
    name, registry = str(settings.get("imageName") or ""), settings.get("registry")
    image = await container_images.pull(name, registry, node.settings, node.context.services)
    entrypoint = image.entrypoint if options.entrypoint is None else tuple(part for part in (options.entrypoint,) if part)
    replaced = options.entrypoint is not None  # then the image's CMD doesn't count either
    own = dict(options.env)
    spec = ContainerSpec(
        name="task",
        image=image,
        command=(*entrypoint, *line) if line or replaced else (),
        env=own,
        programs=node_programs.hostname_program(node.folder),
        restart_policy="Never",
        gpu_count=int(node.settings.size.gpu_count or 0) if node.settings.size else 0,
        run=run,
    )
    files = folder_of(node, run)
    content = spec.on_disk(files)
    if not (files / _MADE).exists():
        await to_its_end(_make, content, files)
    default = str(settings.get("workingDirectory") or "").lower() == "containerimagedefault"
    inside = options.workdir and str(ImageTree(files / "root").at(options.workdir, image.workdir))
    # A task's variables hold inside as they are; PATH and HOME are the container's.
    told = {name: value for name, value in env.items() if name not in ("PATH", "HOME", "LANG")}
    variables = {**content["env"], **told, **{name: content["env"][name] for name in own}}
    return content["argv"], variables, inside or (content["workdir"] if default else str(folder / "wd"))


def folder_of(node: Node, run: str) -> Path:
    return node.root / "volatile" / "containers" / run.replace("/", "-").replace("#", "-")


async def remove(node: Node, run: str) -> None:
    """The container's files go with it."""
    await asyncio.to_thread(shutil.rmtree, folder_of(node, run), ignore_errors=True)


def info(run: str) -> Body:
    """containerInfo of a task that has run in one."""
    return {"containerId": run.replace("/", "-"), "state": "exited"}


def _make(content: Body, files: Path) -> None:
    shutil.rmtree(files, ignore_errors=True)
    shutil.copytree(content["image_root"], files / "root", symlinks=True)
    if content["image_python"]:
        shim_python.make(str(files / shim_python.FOLDER), content["image_python"], content["pip"])
    (files / "home").mkdir(mode=0o700)
    if not (files / "root" / "tmp").exists():
        (files / "root" / "tmp").symlink_to(files / "home", target_is_directory=True)
    (files / _MADE).touch()


def _options(text: str) -> _Options:
    """Of `docker create`. TaskError names the first that isn't imitated, or that the service refuses: `--gpus`.

    Its details: epi2me-labs/wf-basecalling issue 6, 2023-05-01.
    """
    found = _Options()
    rest = iter(words(text, "ContainerInvalidSettings", "containerRunOptions: ") if text.strip() else [])
    for word in rest:
        name, equals, value = word.partition("=")
        name = _NAMES.get(name, name)
        if name in _PLAIN | _WITH_VALUE:
            if name in _WITH_VALUE and not equals:
                next(rest, "")
            continue
        if name not in ("--entrypoint", "--env", "--workdir"):
            unsupported = "Some supplied docker options are not recognized or are unsupported: --gpus"
            message = unsupported if name == "--gpus" else f"The embedded Azure does not implement the option {name}"
            raise TaskError("ContainerInvalidSettings", ContainerSettings=text, Message=message)
        value = value if equals else next(rest, "")
        if name == "--entrypoint":
            found = found._replace(entrypoint=value)
        elif name == "--workdir":
            found = found._replace(workdir=value)
        else:
            variable, _, content = value.partition("=")
            found = found._replace(env=(*found.env, (variable, content)))
    return found
