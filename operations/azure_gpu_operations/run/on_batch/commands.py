"""Command lines of tasks. Batch doesn't run them in a shell, so a command that needs one starts it. Pure.

Batch runs a container with `docker create IMAGE COMMANDLINE`, so the command line follows an ENTRYPOINT, and --entrypoint in the
run options replaces it (Microsoft Learn, batch/batch-docker-container-workloads, as of 2026-04).

A multi-instance task runs the same program as a group of TF_CONFIG workers. Batch runs its coordination command on every node and
waits for it, then the application command only on the primary's node. When the application command ends, whose exit code is the
task's, Batch ends the background processes of the coordination commands (Microsoft Learn, batch/batch-mpi, 2024-06-13). So the
other workers start in the background of the coordination command, and the first one is the application command: its exit code and
output are the run's.

In containers Batch runs both commands in the container of each node, which uses the node's network by `--network host`, so that
the addresses of AZ_BATCH_HOST_LIST are valid in containers (Azure/batch-shipyard bf190ee: docs/80-batch-shipyard-multi-instance-
tasks.md; convoy/settings.py starts a daemon as the default coordination command of pools with containers).
"""

import re
import shlex
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from azure_gpu.formats import dockerfile
from azure_gpu.formats.build_context import DOCKERFILE, Context
from azure_gpu_operations.run.context import REQUIREMENTS

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


# Below Linux's ephemeral ports. Batch opens them only between its nodes.
_FIRST_PORT, _PORTS = 20000, 10000
EXIT_FILE = "worker-exit"  # in the folder of a subtask: its worker's exit code, which Batch doesn't see
WORKER_OPTIONS = "--network host --entrypoint="
_WORKER_SHELL = "/bin/sh"
# The primary is worker 0, wherever the list has it. Each worker has a separate port, because TensorFlow listens on all
# addresses, and nodes may be processes of one machine. Without apostrophes: all of it is in single quotes.
_TF_CONFIG = """\
mine=" $(hostname -I 2>/dev/null || hostname -i) "; primary="${{AZ_BATCH_MASTER_NODE%%:*}}"; number=0; index=; workers=; \
for host in "$primary" $(echo "$AZ_BATCH_HOST_LIST" | tr "," " "); do \
if [ "$number" != 0 ] && [ "$host" = "$primary" ]; then continue; fi; \
case "$mine" in *" $host "*) index=$number;; esac; \
workers="$workers${{workers:+, }}\\"$host:$(({port} + number))\\""; number=$((number + 1)); done; \
if [ -z "$index" ]; then \
echo "no worker: none of the addresses of this node ($mine) is in AZ_BATCH_HOST_LIST ($AZ_BATCH_HOST_LIST)" >&2; exit 1; fi; \
export TF_CONFIG="{{\\"cluster\\": {{\\"worker\\": [$workers]}}, \
\\"task\\": {{\\"type\\": \\"worker\\", \\"index\\": $index}}}}"; """


class WorkerCommands(NamedTuple):
    """The commands of a multi-instance task."""

    coordination: str  # on every node: prepares it, and starts its worker unless it is the primary
    application: str  # the first worker


def worker_commands(program: str, port: int, *, prepare: str = "", words: tuple[str, ...] = ()) -> WorkerCommands:
    """`program`: shell code, which may use `words` as positional parameters. `prepare`: shell code before it, on each node."""
    tell = _TF_CONFIG.format(port=port)
    first = f"{prepare}; " if prepare else ""
    file = f'"$AZ_BATCH_TASK_DIR/{EXIT_FILE}"'
    worker = f"rm -f {file}; (set +e; {program}; echo $? > {file}) &"
    others = f'set -e; {first}{tell}if [ "$AZ_BATCH_IS_CURRENT_NODE_MASTER" != true ]; then {worker} fi'
    return WorkerCommands(_in_worker_shell(others, words), _in_worker_shell(f"set -e; {tell}exec {program}", words))


def worker_port(job_id: str, task_id: str) -> int:
    """The first worker's port: the same on every node, but different for other tasks, which may be on the same machine."""
    return _FIRST_PORT + zlib.crc32(f"{job_id}/{task_id}".encode()) % _PORTS


def _in_worker_shell(script: str, words: tuple[str, ...]) -> str:
    return shlex.join([_WORKER_SHELL, "-c", script, *(("sh", *words) if words else ())])
