"""Pushes an application package to a stack's Batch account, which nodes get by `packages` of their pool.

    upload package ./driver --application GPUDriver --version 411.82 --stack S    a folder, or a file

Exit codes: 0 success, 1 something failed, 2 wrong command line.
"""

import argparse
import io
import os
import re
import zipfile
from contextlib import closing
from functools import partial
from pathlib import Path

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.batch.packages import in_command_line
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView, view

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NAME_FORM = "1 to 64 letters, digits, '_', '-' and '.'"
_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest of a zip file


def zipped(path: Path, application: str, version: str) -> tuple[bytes | None, list[Problem]]:
    """The zip file; None with problems."""
    problems = [
        Problem(option, "invalid name", value=value, allowed=_NAME_FORM)
        for option, value in (("--application", application), ("--version", version))
        if not _NAME.fullmatch(value)
    ]
    path = path.expanduser()
    if not path.exists():
        problems.append(Problem("FOLDER|FILE", "not found", value=str(path), code=Code.NOT_FOUND))
        return None, problems
    try:
        content = _folder(path) if path.is_dir() else _file(path)
    except (OSError, zipfile.BadZipFile) as error:
        reason = "not a zip file" if isinstance(error, zipfile.BadZipFile) else (error.strerror or str(error)).lower()
        return None, [*problems, Problem("FOLDER|FILE", f"can't be packed: {reason}", value=str(path))]
    if content is None:
        problems.append(Problem("FOLDER|FILE", "the folder is empty", value=str(path)))
    return content, problems


def how_to_use(application: str, version: str) -> list[str]:
    """Lines that show the package's folder in command lines of nodes."""
    return [
        f"in the stack's file: a pool's `packages: {{{application}: \"{version}\"}}`",
        f"its folder in a start task on Linux: {in_command_line(application, version, OperatingSystem.LINUX)}",
        f"its folder in a start task on Windows: {in_command_line(application, version, OperatingSystem.WINDOWS)}",
    ]


def _file(path: Path) -> bytes:
    """A zip file as it is, any other file packed in one."""
    content = path.read_bytes()
    if path.suffix.lower() == ".zip":
        zipfile.ZipFile(io.BytesIO(content)).close()
        return content
    return _zipped([(path.name, path)])


def _folder(folder: Path) -> bytes | None:
    files = sorted((each for each in folder.rglob("*") if each.is_file()), key=lambda each: each.relative_to(folder).as_posix())
    return _zipped([(each.relative_to(folder).as_posix(), each) for each in files]) if files else None


def _zipped(files: list[tuple[str, Path]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in files:
            entry = zipfile.ZipInfo(name, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if os.access(path, os.X_OK) else 0o644) << 16
            archive.writestr(entry, path.read_bytes())
    return packed.getvalue()


def add_arguments(push: argparse.ArgumentParser) -> None:
    push.set_defaults(run=_push)
    push.add_argument(
        "content", metavar="FOLDER|FILE", type=Path, help="content of the package; a .zip file is uploaded as it is"
    )
    push.add_argument("--application", required=True, metavar="APPID", help="the application's id, such as GPUDriver")
    push.add_argument("--version", required=True, metavar="V", help="the package's version, such as 411.82")
    push.add_argument("--default", action="store_true", help="make it the application's default version")
    push.add_argument("--stack", required=True, help="the stack's name")
    stack_options.add_config_folder(push)


def _push(options: argparse.Namespace) -> int:
    pass

    content, problems = zipped(options.content, options.application, options.version)
    found = _view(options)
    if isinstance(found, Problem):
        problems.append(found)
    elif not found.batch_account:
        fix = "add `batch_account: create` to its file and run `pulumi up`"
        problems.append(Problem("--stack", "the stack has no Batch account", value=found.name, fix=fix))
    if problems or content is None or isinstance(found, Problem):
        return refuse(*problems)

    from azure_gpu_operations.azure import Arm  # here, because Azure's clients load slowly
    from azure_gpu_operations.batch.packages import Packages, RefusedError

    with closing(Arm(found.connection)) as arm:
        try:
            Packages(arm.login, found.batch_account).push(
                options.application, options.version, content, _say, make_default=options.default
            )
        except RefusedError as error:
            return refuse(error.problem)
    for line in how_to_use(options.application, options.version):
        _say(line)
    return 0


def _view(options: argparse.Namespace) -> StackView | Problem:
    try:
        return view(stack_options.stack_of(options))
    except EngineError as error:
        return Problem("--stack", str(error))


_say = partial(print, flush=True)
