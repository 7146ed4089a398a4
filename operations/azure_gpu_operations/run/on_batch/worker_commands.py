"""How a multi-instance task becomes a group of workers: on each of its nodes the same program, told of the others by TF_CONFIG.

In: the program as shell text, a port. Out: the coordination command and the application command. Pure.

Batch runs the coordination command on every node and waits for it, then the application command on the primary's node alone; it
ends what the coordination commands have left running when the application command ends, whose exit code is the task's (Microsoft
Learn, batch/batch-mpi, 2024-06-13). So the workers beside the first begin in the coordination command, in the background, and the
first is the application command: its exit code and its output are the run's.

In containers Batch runs both commands in the container of each node, which shares the node's network where it is told so, so that
the addresses of AZ_BATCH_HOST_LIST are the containers' own (Azure/batch-shipyard bf190ee: docs/80-batch-shipyard-multi-instance-
tasks.md; convoy/settings.py starts a daemon as the default coordination command of pools with containers).
"""

import shlex
import zlib
from typing import NamedTuple

# Below the ports that Linux gives to whoever connects. Batch opens none of them to the outside, and all between its nodes.
_FIRST_PORT, _PORTS = 20000, 10000
EXIT_FILE = "worker-exit"  # in the folder of a subtask: the code with which its worker ended, which Batch doesn't see
CONTAINER_OPTIONS = "--network host --entrypoint="
_SHELL = "/bin/sh"
# The primary is worker 0, wherever the list has it. Each worker has a port of its own too: a server of TensorFlow listens at all
# addresses of its port, and nodes may be processes of one machine. Without apostrophes: all of it stands in single quotes.
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
    """What a multi-instance task is given."""

    coordination: str  # on every node: prepares it, and starts its worker but on the primary's
    application: str  # the first worker


def commands(program: str, port: int, *, prepare: str = "", words: tuple[str, ...] = ()) -> WorkerCommands:
    """`program`: shell text, which may name `words` by their numbers. `prepare`: shell text before it, on each node."""
    tell = _TF_CONFIG.format(port=port)
    first = f"{prepare}; " if prepare else ""
    told = f'"$AZ_BATCH_TASK_DIR/{EXIT_FILE}"'
    worker = f"rm -f {told}; (set +e; {program}; echo $? > {told}) &"
    others = f'set -e; {first}{tell}if [ "$AZ_BATCH_IS_CURRENT_NODE_MASTER" != true ]; then {worker} fi'
    return WorkerCommands(_in_shell(others, words), _in_shell(f"set -e; {tell}exec {program}", words))


def port(job_id: str, task_id: str) -> int:
    """Of the first worker. The same on every node, and another one for other tasks, which may be on the same machine."""
    return _FIRST_PORT + zlib.crc32(f"{job_id}/{task_id}".encode()) % _PORTS


def _in_shell(script: str, words: tuple[str, ...]) -> str:
    return shlex.join([_SHELL, "-c", script, *(("sh", *words) if words else ())])
