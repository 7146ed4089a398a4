"""Commands of a multi-instance task that runs the same program as a group of TF_CONFIG workers. Pure.

Batch runs the coordination command on every node and waits for it, then the application command only on the primary's node. When
the application command ends, whose exit code is the task's, Batch ends the background processes of the coordination commands
(Microsoft Learn, batch/batch-mpi, 2024-06-13). So the other workers start in the background of the coordination command, and the
first one is the application command: its exit code and output are the run's.

In containers Batch runs both commands in the container of each node, which uses the node's network by `--network host`, so that
the addresses of AZ_BATCH_HOST_LIST are valid in containers (Azure/batch-shipyard bf190ee: docs/80-batch-shipyard-multi-instance-
tasks.md; convoy/settings.py starts a daemon as the default coordination command of pools with containers).
"""

import shlex
import zlib
from typing import NamedTuple

# Below Linux's ephemeral ports. Batch opens them only between its nodes.
_FIRST_PORT, _PORTS = 20000, 10000
EXIT_FILE = "worker-exit"  # in the folder of a subtask: its worker's exit code, which Batch doesn't see
CONTAINER_OPTIONS = "--network host --entrypoint="
_SHELL = "/bin/sh"
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


def commands(program: str, port: int, *, prepare: str = "", words: tuple[str, ...] = ()) -> WorkerCommands:
    """`program`: shell code, which may use `words` as positional parameters. `prepare`: shell code before it, on each node."""
    tell = _TF_CONFIG.format(port=port)
    first = f"{prepare}; " if prepare else ""
    file = f'"$AZ_BATCH_TASK_DIR/{EXIT_FILE}"'
    worker = f"rm -f {file}; (set +e; {program}; echo $? > {file}) &"
    others = f'set -e; {first}{tell}if [ "$AZ_BATCH_IS_CURRENT_NODE_MASTER" != true ]; then {worker} fi'
    return WorkerCommands(_in_shell(others, words), _in_shell(f"set -e; {tell}exec {program}", words))


def port(job_id: str, task_id: str) -> int:
    """The first worker's port: the same on every node, but different for other tasks, which may be on the same machine."""
    return _FIRST_PORT + zlib.crc32(f"{job_id}/{task_id}".encode()) % _PORTS


def _in_shell(script: str, words: tuple[str, ...]) -> str:
    return shlex.join([_SHELL, "-c", script, *(("sh", *words) if words else ())])
