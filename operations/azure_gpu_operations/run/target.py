"""The target of a run: a workload of this repository, a folder with a Dockerfile, a script, an image, or none of these; its name.

Reads local files and folders only.
"""

import re
import secrets as random
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog import spelling
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats import image_reference
from azure_gpu.formats.build_context import DOCKERFILE, BuildContextError, Context, contents
from azure_gpu.shared.installation import WORKLOADS
from azure_gpu_operations.run.context import (
    BASE_IMAGE,
    BASE_IMAGE_WITH_GIT,
    LONGEST_BUILD_MINUTES,
    SHORTEST_BUILD_MINUTES,
    of_folder,
    of_script,
)

LONGEST_TIMEOUT_MINUTES = 60 * 24 * 7
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Azure also allows dots and hyphens, but a shell can't set such variables.
_VARIABLE_FORM = "letters, digits and '_', not starting with a digit"


class TargetOptions(NamedTuple):
    """The options of the command line that define the target."""

    target: str = ""
    requirements: str = ""
    base: str = ""
    environment: tuple[str, ...] = ()  # KEY=VALUE
    secret_environment: tuple[str, ...] = ()  # KEY
    timeout_minutes: float | None = None
    build_minutes: float | None = None


class Target(NamedTuple):
    """What the container runs: `context` if it must be built, an existing `image`, or neither."""

    context: Context | None = None
    image: str = ""
    environment: Mapping[str, str] = {}
    secrets: Mapping[str, str] = {}  # never shown

    @property
    def described(self) -> str:
        return self.context.described if self.context else f"image {self.image}" if self.image else "the job's own image"


def resolve(options: TargetOptions, process_environment: Mapping[str, str]) -> tuple[Target, list[Problem]]:
    """The target and every problem. A target with problems can't be run."""
    environment, problems = _environment(options.environment)
    secrets, more = _secrets(options.secret_environment, process_environment)
    problems += more
    problems += _both_kinds(environment, secrets)
    problems += _minutes("--timeout", options.timeout_minutes, 0, LONGEST_TIMEOUT_MINUTES)
    problems += _minutes("--build-timeout", options.build_minutes, SHORTEST_BUILD_MINUTES, LONGEST_BUILD_MINUTES)
    if options.base:
        problems += image_reference.check(options.base, "--base")
    context, image, more = _what(options)
    if context is not None and options.build_minutes is not None:
        context = context._replace(build_minutes=options.build_minutes)
    return Target(context, image, environment, secrets), [*problems, *more]


def workloads() -> dict[str, Path]:
    """The workloads of this repository: folders with a Dockerfile."""
    return {file.parent.name: file.parent for file in sorted(WORKLOADS.glob(f"*/{DOCKERFILE}"))}


def _what(options: TargetOptions) -> tuple[Context | None, str, list[Problem]]:
    known = workloads()
    text = options.target
    path = Path(text).expanduser()
    if text and text not in known and _is_script(text, path):
        context, problems = _script(options, path)
        return context, "", problems
    problems = _only_for_scripts(options)
    if not text:
        return None, "", problems
    if text in known or path.is_dir():
        context, more = _folder(known.get(text, path), text)
        return context, "", [*problems, *more]
    if re.search(r"[/:@]", text):
        return None, text, [*problems, *image_reference.check(text, "TARGET")]
    return None, "", [*problems, _unknown(text, known)]


def _is_script(text: str, path: Path) -> bool:
    """Whether the text is a script's path, by its prefix or suffix, or an existing file."""
    return text.endswith(".py") or (text.startswith((".", "/", "~")) and not path.is_dir()) or path.is_file()


def _script(options: TargetOptions, path: Path) -> tuple[Context | None, list[Problem]]:
    problems: list[Problem] = []
    script, more = _read("TARGET", path, "the script")
    problems += more
    if script is not None and path.suffix != ".py":
        problems.append(
            Problem(
                path="TARGET",
                message="only Python scripts can be built into an image",
                value=options.target,
                allowed="a file that ends in .py",
                fix="name a folder with the file and a Dockerfile; on a pool without containers write a command after --",
            )
        )
    requirements: str | None = ""
    if options.requirements:
        requirements, more = _read("--requirements", Path(options.requirements).expanduser(), "the requirements file")
        problems += more
        problems += check_requirements(requirements or "", options.base or BASE_IMAGE)
    if problems or script is None or requirements is None:
        return None, problems
    return of_script(path.name, script, requirements, options.base or BASE_IMAGE), []


def _folder(folder: Path, text: str) -> tuple[Context | None, list[Problem]]:
    if not (folder / DOCKERFILE).is_file():
        fix = f"add a {DOCKERFILE}, or name a script"
        return None, [Problem("TARGET", f"the folder has no {DOCKERFILE}", value=text, fix=fix, code=Code.NOT_FOUND)]
    try:
        files, executable = contents(folder)
    except (BuildContextError, OSError) as error:
        return None, [Problem("TARGET", f"the folder can't be used as build context: {error}", value=text)]
    return of_folder(folder.resolve().name, files, executable), []


def _only_for_scripts(options: TargetOptions) -> list[Problem]:
    given = {"--requirements": options.requirements, "--base": options.base}
    return [
        Problem(option, "only supported for scripts", value=value, fix="remove it, or name a script such as ./train.py")
        for option, value in given.items()
        if value
    ]


def _unknown(text: str, known: Mapping[str, Path]) -> Problem:
    close = spelling.nearest(text, known, 1)
    return Problem(
        path="TARGET",
        message="not a workload, script or image",
        value=text,
        allowed=f"{', '.join(known) or 'no workload'}, a script such as ./train.py, or an image with its registry or tag",
        fix=f"did you mean {close[0]}?" if close else f"for an image write docker.io/library/{text}:latest",
        code=Code.NOT_FOUND,
    )


def _read(where: str, path: Path, what: str) -> tuple[str | None, list[Problem]]:
    """The content of a text file, or the problem."""
    if not path.exists():
        return None, [Problem(where, f"{what} doesn't exist", value=str(path), fix=_near(path), code=Code.NOT_FOUND)]
    try:
        return path.read_text(encoding="utf-8"), []
    except (OSError, UnicodeDecodeError) as error:
        reason = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else (error.strerror or str(error)).lower()
        return None, [Problem(where, f"{what} can't be read: {reason}", value=str(path))]


def _near(path: Path) -> str:
    folder = path.parent if path.parent.is_dir() else None
    if folder is None:
        return f"folder {path.parent} doesn't exist"
    # Compared without suffixes, which make short names similar.
    there = {each.stem: each.name for each in sorted(folder.iterdir()) if each.suffix == path.suffix}
    close = spelling.nearest(path.stem, sorted(there), 1)
    return f"did you mean {folder / there[close[0]]}?" if close else f"paths are relative to {Path.cwd()}"


def _environment(given: Iterable[str]) -> tuple[dict[str, str], list[Problem]]:
    values: dict[str, str] = {}
    problems: list[Problem] = []
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            problems.append(Problem("--env", "missing value", value=name, allowed="KEY=VALUE", fix=f"write {name}=..."))
        elif not _VARIABLE.fullmatch(name):
            problems.append(Problem("--env", "not a valid variable name", value=name, allowed=_VARIABLE_FORM))
        elif name in values:
            problems.append(Problem("--env", "set twice", value=name, fix="set it once"))
        values[name] = value
    return values, problems


def _secrets(given: Iterable[str], process_environment: Mapping[str, str]) -> tuple[dict[str, str], list[Problem]]:
    values: dict[str, str] = {}
    problems: list[Problem] = []
    for text in given:
        name, equals, _ = text.partition("=")
        if equals:  # the value isn't shown: it is a secret
            message = "secret values aren't allowed on the command line"
            problems.append(
                Problem("--secret-env", message, value=name, fix=f"set {name} in the environment and add --secret-env {name}")
            )
        elif not _VARIABLE.fullmatch(name):
            problems.append(Problem("--secret-env", "not a valid variable name", value=name, allowed=_VARIABLE_FORM))
        elif not process_environment.get(name):
            message = "not set or empty in the environment"
            problems.append(Problem("--secret-env", message, value=name, fix=f"export {name}", code=Code.NOT_FOUND))
        else:
            values[name] = process_environment[name]
    return values, problems


def _both_kinds(environment: Mapping[str, str], secrets: Mapping[str, str]) -> list[Problem]:
    return [
        Problem("--secret-env", "also set by --env", value=name, fix="set it once") for name in secrets if name in environment
    ]


def _minutes(option: str, given: float | None, least: int, most: int) -> list[Problem]:
    if given is None or (given > 0 and least <= given <= most):
        return []
    allowed = f"minutes, {f'at least {least}' if least else 'more than 0'} and at most {most}"
    return [Problem(option, "out of range", value=given, allowed=allowed)]


_REQUIREMENTS_OPTION = "--requirements"
_NAME_A_FOLDER = "move script and requirements to a folder with a Dockerfile, and name the folder"
_OTHER_FILE = re.compile(r"(?:-r|-c|--requirement|--constraint)[\s=]*(?!https?://)\S")
_LOCAL_REQUIREMENT = re.compile(r"(?:(?:-e|--editable)[\s=]*)?(?:\.{0,2}/|\.{1,2}(?:\[|\s|$)|file:)|[\w.\[\],-]+\s*@\s*file:")
_GIT_REQUIREMENT = re.compile(r"(?:^|\s)git\+|@\s*git\+")


def check_requirements(text: str, base: str) -> list[Problem]:
    """At most one problem: the first line that can't be installed."""
    for number, written in enumerate(text.splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*", "", written).strip()
        where = f"line {number}"
        if _OTHER_FILE.match(line):
            message = f"{where} refers to another file, which isn't copied to the image"
            return [
                Problem(
                    _REQUIREMENTS_OPTION, message, value=line, fix=f"copy that file's content to this one, or {_NAME_A_FOLDER}"
                )
            ]
        if _LOCAL_REQUIREMENT.match(line):
            message = f"{where} refers to local files, which aren't copied to the image"
            return [Problem(_REQUIREMENTS_OPTION, message, value=line, fix=_NAME_A_FOLDER)]
        if _GIT_REQUIREMENT.search(line) and base == BASE_IMAGE:
            message = f"{where} requires git, which the image {BASE_IMAGE} doesn't have"
            fix = f"add --base {BASE_IMAGE_WITH_GIT}, which has git, or use an https archive of that commit"
            # Not the line: an address may hold a password.
            return [Problem(_REQUIREMENTS_OPTION, message, fix=fix)]
    return []


_STAMP = "%Y%m%d-%H%M%S"
LONGEST_NAME = 63
_OTHER_CHARACTERS = 25  # characters of the other parts


def run_name(target: Target, longest: int = LONGEST_NAME) -> str:
    """Target, time and a random suffix. `longest`: maximum length, at least 30."""
    word = target.context.repository if target.context else target.image or "command"
    plain = (
        re.sub(r"[^a-z0-9]+", "-", word.lower().rpartition("/")[2]).strip("-")[-min(30, longest - _OTHER_CHARACTERS) :].strip("-")
    )
    return f"run-{plain}-{datetime.now(UTC).strftime(_STAMP)}-{random.token_hex(2)}"


class RunMethod(StrEnum):
    CONTAINER = "container"
    PYTHON = "python"
