"""Command lines of tasks. Batch doesn't run them in a shell, so a command that needs one starts it. Pure.

Batch runs a container with `docker create IMAGE COMMANDLINE`, so the command line follows an ENTRYPOINT, and --entrypoint in the
run options replaces it (Microsoft Learn, batch/batch-docker-container-workloads, as of 2026-04).
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
    """The words of a command line. ValueError for a missing closing quote."""
    return shlex.split(command)


def needs_shell(text: str) -> bool:
    """Whether it has a variable of the node, such as $AZ_BATCH_TASK_WORKING_DIR, which only a shell expands."""
    return _NODE_VARIABLE.search(text) is not None


def shell_line(words: Iterable[str]) -> str:
    """The words quoted for a shell, except for variables of the node."""
    return " ".join(map(_quoted, words))


def in_shell(script: str, shell: str = _SHELL) -> str:
    """A command line that runs a script's text."""
    return f"{shell} -c {shlex.quote(script)}"


def inner(command: str) -> str:
    """The script of a command line from `in_shell`; any other command unchanged."""
    words = words_of(command)
    return words[2] if len(words) == 3 and words[:2] == [_SHELL, "-c"] else command


def native(command: str, *, secrets: bool = False) -> str:
    """A user's command on a node without containers; unchanged if it needs no shell."""
    if not secrets and not needs_shell(command):
        return command
    return in_shell(_with_secrets(f"exec {shell_line(words_of(command))}", secrets))


def python(folder: str, script: str, library: str, arguments: Sequence[str]) -> str:
    """Shell command for a script in a folder of the node; `library`: folder of its requirements, "" without."""
    path = f'env PYTHONPATH="{library}" ' if library else ""
    called = f'{path}python3 "{folder}/{script}"'
    return f"{called} {shell_line(arguments)}".rstrip()


def script(text: str, *, secrets: bool = False) -> str:
    """The command line for a command from `python`."""
    return in_shell(_with_secrets(text, secrets))


def library_of(context: Context) -> str:
    """Folder of a script's requirements on a node, by content; "" without requirements."""
    return f"$AZ_BATCH_NODE_SHARED_DIR/run/{context.tag}" if REQUIREMENTS in context.files else ""


def install(context: Context, folder: str) -> str:
    """Shell command that installs the requirements on a node unless they are installed; "" without requirements.

    Safe for parallel jobs: each installs into a separate folder, and the first one to finish renames it.
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
    """`whole`: the container's command with its ENTRYPOINT. None if a shell is needed and `whole` is unknown."""
    if not secrets and not needs_shell(" ".join(arguments)):
        return Started(shlex.join(arguments))
    if not whole:
        return None
    called, plain = by_number(whole)
    script_text = _with_secrets(f"exec {called}", secrets)
    return Started(f"-c {shlex.join([script_text, 'sh', *plain])}", f"--entrypoint {_CONTAINER_SHELL}")


def by_number(words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """A command for a shell script, and the words that are passed to it as positional parameters."""
    plain = tuple(word for word in words if not needs_shell(word))
    numbers = iter(range(1, len(plain) + 1))
    return " ".join(_quoted(word) if needs_shell(word) else f'"${{{next(numbers)}}}"' for word in words), plain


def whole_command(context: Context, arguments: Sequence[str]) -> tuple[str, ...] | None:
    """The command of a container, from the last stage of its Dockerfile; None for the shell form."""
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
    """Shell code that exports the variables."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values).encode()


def _with_secrets(line: str, secrets: bool) -> str:
    """Reads and deletes the file of secrets before the program starts."""
    if not secrets:
        return line
    file = f'"$AZ_BATCH_TASK_WORKING_DIR/{SECRETS_FILE}"'
    return f". {file} && rm -f {file} && {line}"


def _quoted(word: str) -> str:
    """Quotes a word with double quotes, because the whole script is in single quotes."""
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
