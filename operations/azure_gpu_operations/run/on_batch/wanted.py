"""What a run on a pool is asked to do: the tasks, and what holds for all of them.

In: the words of the command line, the file of --tasks. Out: a `Wanted` and every problem. Reads that file and asks nobody.
"""

import shlex
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem, errors
from azure_gpu.formats import task_file
from azure_gpu.formats.task_file import Task, TaskFile
from azure_gpu_operations.batch.pool_facts import PoolFacts
from azure_gpu_operations.run import carried
from azure_gpu_operations.run.on_batch.commands import words_of
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.run.workers import Group

ONLY_TASK = "main"  # the id of a run that is one task
MOST_RETRIES = 100


class Said(NamedTuple):
    """The words of the command line that are about pools alone."""

    pool: str = ""
    group: Group = Group()
    processes: int | None = None  # on each of a task's nodes
    tasks: Path | None = None
    retries: int | None = None
    outputs: tuple[str, ...] = ()
    into: Path | None = None
    target: str = ""  # as it was written, also where it can't be run


class Wanted(NamedTuple):
    """`job.tasks` are the arguments of the target where there is one, else commands of their own."""

    target: Target
    job: TaskFile
    retries: int = 0
    processes: int = 0  # of mpirun on each node; 0: nobody has said
    gpus: int | None = None  # of each node; None: all that it has
    timeout_minutes: float | None = None
    outputs: tuple[str, ...] = ()  # patterns, from the task's working folder on
    into: Path | None = None  # where files are fetched to; None: they stay in the storage account
    from_file: bool = False

    @property
    def is_one(self) -> bool:
        return len(self.job.tasks) == 1

    @property
    def has_target(self) -> bool:
        return self.target.context is not None or bool(self.target.image)

    @property
    def most_nodes(self) -> int:
        """Of one task."""
        return max(task.nodes for task in self.job.tasks)

    def uses_mpi(self, pool: PoolFacts) -> bool:
        """Whether tasks over several nodes are processes of one `mpirun`, as the pool's `mpi` or --processes says. Else each
        node runs the program as a worker."""
        return bool(pool.mpi or self.processes) and not pool.has_containers

    @property
    def collects(self) -> bool:
        """Whether a task leaves files in the storage account."""
        return bool(self.outputs) or any(task.outputs for task in self.job.tasks)


def resolve(
    said: Said, target: Target, arguments: list[str], timeout_minutes: float | None = None
) -> tuple[Wanted | None, list[Problem]]:
    """None where the tasks can't be read. Warnings may be among the problems."""
    problems = _numbers(said) + _outputs(said)
    job, more = _tasks(said, target, arguments)
    problems += more
    if job is None:
        return None, problems
    if said.processes and all(task.nodes == 1 for task in job.tasks):
        fix = "write --nodes N as well, or leave it out"
        problems.append(Problem("--processes", "it belongs to tasks on several nodes", value=said.processes, fix=fix))
    problems += _secret_limits(job, target, said.retries or 0)
    wanted = Wanted(
        target=target,
        job=job,
        retries=said.retries or 0,
        processes=said.processes or 0,
        gpus=said.group.gpus,
        timeout_minutes=timeout_minutes,
        outputs=said.outputs,
        into=said.into,
        from_file=said.tasks is not None,
    )
    return wanted, problems


def _tasks(said: Said, target: Target, arguments: list[str]) -> tuple[TaskFile | None, list[Problem]]:
    has_target = target.context is not None or bool(target.image or said.target)
    if said.tasks is None:
        if not has_target and not arguments:
            fix = "name a script, a workload or an image, give --tasks FILE, or write a command of your own behind --"
            return None, [Problem("TARGET", "nothing says what the pool is to run", fix=fix)]
        task = Task(id=ONLY_TASK, command=shlex.join(arguments), path="TARGET", nodes=said.group.nodes)
        return TaskFile((task,)), []
    try:
        text = said.tasks.expanduser().read_text(encoding="utf-8")
    except FileNotFoundError:
        return None, [Problem("--tasks", "the file isn't there", value=str(said.tasks), code=Code.NOT_FOUND)]
    except (OSError, UnicodeDecodeError) as error:
        reason = "it isn't UTF-8 text" if isinstance(error, UnicodeDecodeError) else (error.strerror or str(error)).lower()
        return None, [Problem("--tasks", f"the file can't be read: {reason}", value=str(said.tasks))]
    job, problems = task_file.read(text, str(said.tasks))
    if job is None or errors(problems):
        return None, problems
    tasks = [_completed(task, said, arguments, has_target) for task in job.tasks]
    problems += [problem for task in tasks for problem in _of_task(task, has_target)]
    return job._replace(tasks=tuple(tasks)), problems


def _completed(task: Task, said: Said, arguments: list[str], has_target: bool) -> Task:
    """With what the command line says for all of them; what the file says of a task counts more."""
    command = f"{shlex.join(arguments)} {task.command}".strip() if has_target else task.command
    return task._replace(command=command, nodes=said.group.nodes if task.nodes == 1 else task.nodes)


def _of_task(task: Task, has_target: bool) -> list[Problem]:
    problems: list[Problem] = []
    try:
        words = words_of(task.command)
    except ValueError:
        return [Problem(task.path, "a quote stays open", value=task.command, fix="close it, or write the words as a list")]
    if has_target and task.image:
        fix = "leave out one of the two"
        problems.append(Problem(task.path, "TARGET says already what this task runs", value=task.image, fix=fix))
    if not has_target and not words and not task.image:
        fix = "give it a command, or name a script, a workload or an image as TARGET"
        problems.append(Problem(task.path, "nothing says what this task runs", fix=fix))
    return problems


def _numbers(said: Said) -> list[Problem]:
    problems: list[Problem] = []
    if said.processes is not None and said.processes < 1:
        problems.append(Problem("--processes", "it is out of range", value=said.processes, allowed="1 or more"))
    if said.retries is not None and not -1 <= said.retries <= MOST_RETRIES:
        allowed = f"0 to {MOST_RETRIES}, or -1 for no limit"
        problems.append(Problem("--retries", "it is out of range", value=said.retries, allowed=allowed))
    return problems


def _outputs(said: Said) -> list[Problem]:
    problems = [
        Problem("--output", "it leads out of the task's working folder", value=pattern, fix="write a path below that folder")
        for pattern in said.outputs
        if pattern.startswith(("/", "\\")) or ".." in Path(pattern).parts
    ]
    return problems + carried.check_into(said.into)


def _secret_limits(job: TaskFile, target: Target, retries: int) -> list[Problem]:
    """A secret reaches a task once, in a file that is gone when its program starts."""
    if not target.secrets:
        return []
    problems: list[Problem] = []
    if retries or any(task.retries for task in job.tasks):
        message = "a task that is tried again wouldn't have the secret any more"
        problems.append(Problem("--secret-env", message, fix="leave out --retries, or let the program fetch the secret itself"))
    if any(task.nodes > 1 for task in job.tasks):
        message = "the processes of a task on several nodes wouldn't have the secret"
        problems.append(Problem("--secret-env", message, fix="let the program fetch it with the pool's identity"))
    return problems
