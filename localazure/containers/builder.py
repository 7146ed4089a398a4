"""Builds a Dockerfile on this machine, stage by stage: COPY fills a folder, RUN does what `run_lines` supports."""

import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from azure_gpu.formats import image_reference
from azure_gpu.formats.dockerfile import (
    Arg,
    Cmd,
    Command,
    Copy,
    Dockerfile,
    Entrypoint,
    Env,
    Instruction,
    Note,
    Run,
    Stage,
    Workdir,
    substitute,
)
from localazure.containers import base_images, machine, run_lines
from localazure.containers.build_log import BuildFailedError, BuildLog
from localazure.containers.environments import Environments, Requirements
from localazure.containers.image_tree import CopyError, ImageTree

_COPY_FLAGS = ("--chown=", "--chmod=", "--link")
_PLAIN_BASES = frozenset({base_images.CUDA, "docker.io/library/ubuntu", "docker.io/library/debian"})


@dataclass(slots=True)
class Built:
    """A stage as far as it has been built."""

    tree: ImageTree
    python: str = ""  # "3.11"; "" where the base brings no Python
    requirements: tuple[Requirements, ...] = ()
    environment: Path | None = None
    variables: dict[str, str] = field(default_factory=dict)  # ENV: what a container gets
    arguments: dict[str, str] = field(default_factory=dict)  # ARG: seen only by the build
    workdir: str = "/"
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    cmd_inherited: bool = False  # from the stage that this one starts from

    @property
    def known(self) -> dict[str, str]:
        """What `$NAME` stands for: ENV wins over ARG. PATH is there from the base on."""
        return {"PATH": machine.SYSTEM_PATH, **self.arguments, **self.variables}


@dataclass(slots=True, kw_only=True)
class Builder:
    """One build."""

    context: Path
    folder: Path
    arguments: Mapping[str, str]
    environments: Environments
    log: BuildLog
    target: str = ""  # the stage to stop at; "" the last one

    async def build(self, dockerfile: Dockerfile) -> Built:
        outside = {one.name: self.arguments.get(one.name, one.default or "") for one in dockerfile.arguments}
        stages: dict[str, Built] = {}
        built = None
        for number, stage in enumerate(dockerfile.stages):
            step = f"line {stage.start.line}: FROM {stage.start.image}"
            self.log.say(step)
            built = self._start(stage, outside, stages, number, step)
            if built.python:
                built.environment = await self.environments.make(built.python, built.requirements, step, self.log)
            for instruction in stage.instructions:
                await self._instruction(built, instruction, stages, outside)
            stages[str(number)] = built
            if stage.start.name:
                stages[stage.start.name] = built
            if self.target and stage.start.name == self.target.lower():
                break
        if built is None or (self.target and self.target.lower() not in stages):
            raise BuildFailedError("", f"the Dockerfile has no stage {self.target!r}")
        return built

    def _start(self, stage: Stage, outside: Mapping[str, str], stages: Mapping[str, Built], number: int, step: str) -> Built:
        image = substitute(stage.start.image, outside)
        tree = ImageTree(self.folder / f"stage-{number}")
        tree.root.mkdir(parents=True)
        below = stages.get(image.lower())
        if below is not None:
            tree.copy_stage(below.tree, ("/",), "/", "/")
            return replace(below, tree=tree, variables=dict(below.variables), arguments={}, cmd_inherited=True)
        if image == "scratch":
            return Built(tree)
        reference = image_reference.parse(image)
        if reference is None:
            raise BuildFailedError(step, image_reference.check(image, "FROM")[0].message)
        name = base_images.on_docker_hub(reference.name)
        if name == base_images.PYTHON:
            return Built(tree, python=_python_version(reference.tag, step))
        if name in _PLAIN_BASES:
            return Built(tree)
        known = ", ".join(
            ("python:3.*", *sorted(name.removeprefix("docker.io/").removeprefix("library/") for name in _PLAIN_BASES))
        )
        raise BuildFailedError(step, f"the base image {image} isn't imitated; known are {known}")

    async def _instruction(
        self, built: Built, instruction: Instruction, stages: Mapping[str, Built], outside: Mapping[str, str]
    ) -> None:
        match instruction:
            case Arg(_, name, default):
                given = self.arguments.get(name, outside.get(name, "") if default is None else default)
                built.arguments[name] = substitute(given, built.known)
            case Env(_, values):
                built.variables |= {name: substitute(value, built.known) for name, value in values}
            case Workdir(_, path):
                built.workdir = (
                    "/" + built.tree.at(substitute(path, built.known), built.workdir).relative_to(built.tree.root).as_posix()
                )
                built.workdir = "/" if built.workdir == "/." else built.workdir
                built.tree.at(built.workdir).mkdir(parents=True, exist_ok=True)
            case Copy():
                self._copy(built, instruction, stages)
            case Run():
                await self._run(built, instruction)
            case Entrypoint(_, command):
                built.entrypoint = _argv(command)
                built.cmd = () if built.cmd_inherited else built.cmd  # as Docker does: it was meant for the other entry point
            case Cmd(_, command):
                built.cmd, built.cmd_inherited = _argv(command), False
            case Note(line, keyword, text):
                if keyword == "USER":
                    self.log.say(f"line {line}: USER {text} noted; containers run as the user who started the embedded Azure")

    def _copy(self, built: Built, copy: Copy, stages: Mapping[str, Built]) -> None:
        sources = tuple(substitute(source, built.known) for source in copy.sources)
        destination = substitute(copy.destination, built.known)
        step = f"line {copy.line}: COPY {shlex.join((*sources, destination))}"
        self.log.say(step)
        unknown = [flag for flag in copy.flags if not flag.startswith(_COPY_FLAGS)]
        if unknown:
            raise BuildFailedError(step, f"COPY {unknown[0]} isn't imitated")
        try:
            if not copy.stage:
                built.tree.copy_context(self.context, sources, destination, built.workdir)
            elif copy.stage in stages:
                built.tree.copy_stage(stages[copy.stage].tree, sources, destination, built.workdir)
            else:
                raise CopyError(f"no stage before it is called {copy.stage}; copying out of other images isn't imitated")
        except CopyError as error:
            raise BuildFailedError(step, str(error)) from error

    async def _run(self, built: Built, run: Run) -> None:
        shown = run.command if isinstance(run.command, str) else shlex.join(run.command)
        step = f"line {run.line}: RUN {shown}"
        self.log.say(step)
        unknown = [flag for flag in run.flags if not flag.startswith("--mount=type=cache")]
        if unknown:
            raise BuildFailedError(step, f"RUN {unknown[0]} isn't imitated")
        try:
            steps = run_lines.steps(run.command, built.known)
        except run_lines.NotImitatedError as error:
            raise BuildFailedError(step, str(error)) from error
        for one in steps:
            await self._step(built, one, step)

    async def _step(self, built: Built, one: run_lines.Step, step: str) -> None:
        folder, words = built.tree.at(built.workdir), one.words
        match one.do:
            case run_lines.SKIP:
                self.log.say(f"skipped {words[0]}: {one.more[0]}")
            case run_lines.MAKE_FOLDERS:
                for path in words:
                    built.tree.at(path, built.workdir).mkdir(parents=True, exist_ok=True)
            case run_lines.INSTALL:
                await self._install(built, words, one.more, step)
            case run_lines.CHECK:
                await self.log.run(step, ["/bin/sh", "-c", words[0]], folder, self._environment(built))
            case run_lines.PROGRAM:
                environment = self._environment(built)
                program = shutil.which(words[0], path=environment["PATH"])
                if program is None:
                    raise BuildFailedError(step, f"this machine has no {words[0]}; images are built with the machine's own tools")
                arguments = [built.tree.argument(word, built.workdir) for word in words[1:]]
                await self.log.run(step, [program, *arguments], folder, environment)

    async def _install(self, built: Built, files: tuple[str, ...], options: tuple[str, ...], step: str) -> None:
        if not built.python:
            raise BuildFailedError(step, "the base image brings no Python; start from python:3.11-slim")
        for name in files:
            file = built.tree.at(name, built.workdir)
            if not file.is_file():
                raise BuildFailedError(step, f"the image has no {name}; COPY it before this line")
            built.requirements += (Requirements(file.read_text(encoding="utf-8"), options),)
        built.environment = await self.environments.make(built.python, built.requirements, step, self.log)

    def _environment(self, built: Built) -> dict[str, str]:
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        of_machine = machine.build_environment(home)
        own = f"{built.environment / 'bin'}:" if built.environment else ""
        return {**of_machine, **built.known, "PATH": f"{own}{of_machine['PATH']}"}


def _python_version(tag: str, step: str) -> str:
    """`3.11` from `3.11.9-slim-bookworm`."""
    numbers = tag.split("-")[0].split(".")
    if len(numbers) < 2 or numbers[0] != "3" or not all(number.isdigit() for number in numbers):
        raise BuildFailedError(step, f"the tag {tag!r} names no Python version; write one such as python:3.11-slim")
    return ".".join(numbers[:2])


def _argv(command: Command) -> tuple[str, ...]:
    """The exec form as it is; the shell form through a shell, as Docker does."""
    return ("/bin/sh", "-c", command) if isinstance(command, str) else command
