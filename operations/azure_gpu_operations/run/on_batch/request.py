"""The request of a run on a pool: its tasks, and their common settings, from the command line and the file of --tasks."""

import argparse
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
from azure_gpu_operations.stack_view import StackView

ONLY_TASK = "main"  # the id of a run that is one task
MOST_RETRIES = 100


class BatchRequest(NamedTuple):
    """`job.tasks` have the arguments of the target if there is one, else whole commands."""

    target: Target
    job: TaskFile
    retries: int = 0
    processes: int = 0  # of mpirun on each node; 0: not set
    gpus: int | None = None  # per node; None: all
    timeout_minutes: float | None = None
    outputs: tuple[str, ...] = ()  # patterns relative to the task's working folder
    into: Path | None = None  # target folder of downloads; None: files stay in the storage account
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
        """Whether tasks on several nodes run under `mpirun`, because of the pool's `mpi` or --processes. Otherwise each node runs
        the program as a worker."""
        return bool(pool.mpi or self.processes) and not pool.has_containers

    @property
    def collects(self) -> bool:
        """Whether a task stores files in the storage account."""
        return bool(self.outputs) or any(task.outputs for task in self.job.tasks)


def resolve(options: argparse.Namespace, target: Target, _: StackView | None = None) -> tuple[BatchRequest | None, list[Problem]]:
    """None if the tasks can't be read. The problems may include warnings."""
    problems = _numbers(options) + _outputs(options)
    job, more = _tasks(options, target)
    problems += more
    if job is None:
        return None, problems
    if options.processes and all(task.nodes == 1 for task in job.tasks):
        fix = "add --nodes N, or remove it"
        problems.append(Problem("--processes", "requires tasks on several nodes", value=options.processes, fix=fix))
    problems += _secret_limits(job, target, options.retries or 0)
    request = BatchRequest(
        target=target,
        job=job,
        retries=options.retries or 0,
        processes=options.processes or 0,
        gpus=options.gpus,
        timeout_minutes=options.timeout,
        outputs=tuple(options.output),
        into=options.into,
        from_file=options.tasks is not None,
    )
    return request, problems


def check(view: StackView, _: str, request: BatchRequest) -> list[Problem]:
    """Problems that the stack's outputs show, independent of the pool."""
    if view.storage or not (request.collects or request.target.secrets):
        return []
    what = "--output" if request.collects else "--secret-env"
    message = "the stack has no storage account for the files of tasks"
    fix = "add `storage: create` to the stack's foundation and run `pulumi up`, or remove the option"
    return [Problem(what, message, value=view.name, fix=fix, code=Code.NOT_FOUND)]


def _tasks(options: argparse.Namespace, target: Target) -> tuple[TaskFile | None, list[Problem]]:
    has_target = target.context is not None or bool(target.image or options.target)
    if options.tasks is None:
        task = Task(id=ONLY_TASK, command=shlex.join(options.after), path="TARGET", nodes=options.nodes or 1)
        return TaskFile((task,)), []
    try:
        text = options.tasks.expanduser().read_text(encoding="utf-8")
    except FileNotFoundError:
        return None, [Problem("--tasks", "file not found", value=str(options.tasks), code=Code.NOT_FOUND)]
    except (OSError, UnicodeDecodeError) as error:
        reason = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else (error.strerror or str(error)).lower()
        return None, [Problem("--tasks", f"the file can't be read: {reason}", value=str(options.tasks))]
    job, problems = task_file.read(text, str(options.tasks))
    if job is None or errors(problems):
        return None, problems
    tasks = [_completed(task, options, has_target) for task in job.tasks]
    problems += [problem for task in tasks for problem in _of_task(task, has_target)]
    return job._replace(tasks=tuple(tasks)), problems


def _completed(task: Task, options: argparse.Namespace, has_target: bool) -> Task:
    """The task with the command line's settings for all tasks; those of the file take precedence."""
    command = f"{shlex.join(options.after)} {task.command}".strip() if has_target else task.command
    return task._replace(command=command, nodes=(options.nodes or 1) if task.nodes == 1 else task.nodes)


def _of_task(task: Task, has_target: bool) -> list[Problem]:
    problems: list[Problem] = []
    try:
        words = words_of(task.command)
    except ValueError:
        return [Problem(task.path, "missing closing quote", value=task.command, fix="close it, or write the command as a list")]
    if has_target and task.image:
        fix = "remove one of the two"
        problems.append(Problem(task.path, "can't be combined with TARGET", value=task.image, fix=fix))
    if not has_target and not words and not task.image:
        fix = "set a command, or name a script, a workload or an image as TARGET"
        problems.append(Problem(task.path, "the task has no command", fix=fix))
    return problems


def _numbers(options: argparse.Namespace) -> list[Problem]:
    problems: list[Problem] = []
    if options.processes is not None and options.processes < 1:
        problems.append(Problem("--processes", "out of range", value=options.processes, allowed="1 or more"))
    if options.retries is not None and not -1 <= options.retries <= MOST_RETRIES:
        allowed = f"0 to {MOST_RETRIES}, or -1 for no limit"
        problems.append(Problem("--retries", "out of range", value=options.retries, allowed=allowed))
    return problems


def _outputs(options: argparse.Namespace) -> list[Problem]:
    problems = [
        Problem("--output", "the path is outside the task's working folder", value=pattern, fix="write a path below that folder")
        for pattern in options.output
        if pattern.startswith(("/", "\\")) or ".." in Path(pattern).parts
    ]
    return problems + carried.check_into(options.into)


def _secret_limits(job: TaskFile, target: Target, retries: int) -> list[Problem]:
    """Problems with secrets, which a task gets once, in a file that is deleted before its program starts."""
    if not target.secrets:
        return []
    problems: list[Problem] = []
    if retries or any(task.retries for task in job.tasks):
        message = "not available to retried tasks"
        problems.append(Problem("--secret-env", message, fix="remove --retries, or let the program fetch the secret itself"))
    if any(task.nodes > 1 for task in job.tasks):
        message = "not available to tasks on several nodes"
        problems.append(Problem("--secret-env", message, fix="let the program fetch it with the pool's identity"))
    return problems
