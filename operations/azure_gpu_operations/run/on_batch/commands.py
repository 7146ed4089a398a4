"""Command lines of tasks: Batch starts none of them under a shell, so what needs one brings it along.

In: words, the files of a target. Out: command lines, and how a container is started. Pure.

How a container's command line reaches its image: `docker create IMAGE COMMANDLINE`, so that it follows an ENTRYPOINT, and
--entrypoint among the run options replaces that (Microsoft Learn, batch/batch-docker-container-workloads, as of 2026-04).
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from azure_gpu.formats import dockerfile
from azure_gpu_operations.run.context import DOCKERFILE, REQUIREMENTS, Context

SECRETS_FILE = ".run-environment"  # in the task's working folder until the program starts
_SHELL = "/bin/bash"
_CONTAINER_SHELL = "/bin/sh"
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_NODE_VARIABLE = re.compile(r"\$(?:AZ_BATCH_[A-Z_]+|\{AZ_BATCH_[A-Z_]+\})")


class Started(NamedTuple):
    """How a container is started."""

    command_line: str = ""
    run_options: str = ""


def words_of(command: str) -> list[str]:
    """The words of a command line. ValueError where a quote stays open."""
    return shlex.split(command)


def needs_shell(text: str) -> bool:
    """Whether it names a variable of the node, such as $AZ_BATCH_TASK_WORKING_DIR, which only a shell fills in."""
    return _NODE_VARIABLE.search(text) is not None


def shell_line(words: Iterable[str]) -> str:
    """The words for a shell, each as it is but for variables of the node."""
    return " ".join(map(_quoted, words))


def in_shell(script: str, shell: str = _SHELL) -> str:
    """A command line that runs a script's text."""
    return f"{shell} -c {shlex.quote(script)}"


def inner(command: str) -> str:
    """The script of a command line that `in_shell` could have written; any other command as it is."""
    words = words_of(command)
    return words[2] if len(words) == 3 and words[:2] == [_SHELL, "-c"] else command


def native(command: str, *, secrets: bool = False) -> str:
    """A command of the user's own on a node without containers: as it is, where nothing needs a shell."""
    if not secrets and not needs_shell(command):
        return command
    return in_shell(_with_secrets(f"exec {shell_line(words_of(command))}", secrets))


def python(folder: str, script: str, library: str, arguments: Sequence[str]) -> str:
    """What a shell runs for a script that lies in a folder of the node; `library`: where its requirements are, "" without."""
    path = f'env PYTHONPATH="{library}" ' if library else ""
    called = f'{path}python3 "{folder}/{script}"'
    return f"{called} {shell_line(arguments)}".rstrip()


def script(text: str, *, secrets: bool = False) -> str:
    """The command line of what `python` has written."""
    return in_shell(_with_secrets(text, secrets))


def library_of(context: Context) -> str:
    """Where a node keeps the requirements of a script, once for each content; "" for a script without."""
    return f"$AZ_BATCH_NODE_SHARED_DIR/run/{context.tag}" if REQUIREMENTS in context.files else ""


def install(context: Context, folder: str) -> str:
    """What brings the requirements onto a node, and does nothing where they are there; "" for a script without.

    Two jobs may do it at the same time: each installs into a folder of its own, and the first to be done has it renamed.
    """
    library = library_of(context)
    if not library:
        return ""
    mine = f"{library}.$AZ_BATCH_JOB_ID.$$"
    return (
        f'test -d "{library}" || {{ mkdir -p "$AZ_BATCH_NODE_SHARED_DIR/run" && '
        f'python3 -m pip install --quiet --disable-pip-version-check --target "{mine}" -r "{folder}/{REQUIREMENTS}" && '
        f'{{ mv -T "{mine}" "{library}" 2>/dev/null || test -d "{library}"; }}; }}'
    )


def container(arguments: Sequence[str], whole: Sequence[str] | None, *, secrets: bool = False) -> Started | None:
    """`whole`: the container's command with its ENTRYPOINT. None where a shell is needed and nobody here knows that."""
    if not secrets and not needs_shell(" ".join(arguments)):
        return Started(shlex.join(arguments))
    if not whole:
        return None
    called, plain = by_number(whole)
    script_text = _with_secrets(f"exec {called}", secrets)
    return Started(f"-c {shlex.join([script_text, 'sh', *plain])}", f"--entrypoint {_CONTAINER_SHELL}")


def by_number(words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """A command for a script, and the words that stay words of their own behind that script, which takes them by number."""
    plain = tuple(word for word in words if not needs_shell(word))
    numbers = iter(range(1, len(plain) + 1))
    return " ".join(_quoted(word) if needs_shell(word) else f'"${{{next(numbers)}}}"' for word in words), plain


def whole_command(context: Context, arguments: Sequence[str]) -> tuple[str, ...] | None:
    """What a container of the image starts, from the last stage of its Dockerfile; None in a form that a shell reads."""
    found, problems = dockerfile.parse(context.files[DOCKERFILE].decode("utf-8", errors="replace"))
    if problems or not found.stages:
        return None
    last: dict[type, dockerfile.Command] = {}
    for each in found.stages[-1].instructions:
        if isinstance(each, dockerfile.Entrypoint | dockerfile.Cmd):
            last[type(each)] = each.command
    entry, default = last.get(dockerfile.Entrypoint, ()), last.get(dockerfile.Cmd, ())
    if isinstance(entry, str) or (isinstance(default, str) and not arguments):
        return None
    return (*entry, *(arguments or default)) or None


def secrets_file(values: Iterable[tuple[str, str]]) -> bytes:
    """What a shell reads to have the variables."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values).encode()


def _with_secrets(line: str, secrets: bool) -> str:
    """The file is gone before the program starts."""
    if not secrets:
        return line
    file = f'"$AZ_BATCH_TASK_WORKING_DIR/{SECRETS_FILE}"'
    return f". {file} && rm -f {file} && {line}"


def _quoted(word: str) -> str:
    """One word for a shell, in double quotes: the whole script stands in single ones, where those don't nest."""
    parts: list[str] = []
    at = 0
    for variable in _NODE_VARIABLE.finditer(word):
        before = word[at : variable.start()]
        parts += [_literal(before) if before else "", f'"{variable[0]}"']
        at = variable.end()
    rest = word[at:]
    return "".join([*parts, _literal(rest) if rest or not parts else ""])


def _literal(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    return '"' + re.sub(r'(["\\$`])', r"\\\1", text) + '"'
