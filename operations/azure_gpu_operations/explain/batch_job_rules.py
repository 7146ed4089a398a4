"""Rules for the cause of a failed or blocked Batch job, tried in order. Pure.

Codes of a task's failure: TaskFailureInformationCodes of Azure's .NET client; TaskEnded is the code of a task that reached its
time limit and of one that was terminated (Microsoft Learn, batch/error-handling).
"""

from collections.abc import Callable

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain import batch_pool_rules, container_rules, phrases, refusal_rules
from azure_gpu_operations.explain.batch_facts import JobSeen, TaskSeen, preparation_on
from azure_gpu_operations.explain.facts import Cause, Container, Facts, Finding, Kind

_MPI_PAGE = "Microsoft Learn, batch/batch-mpi"
Rule = Callable[[JobSeen], Finding | None]


def explain(job: JobSeen) -> Finding:
    return next(finding for rule in RULES if (finding := rule(job)) is not None)


def _not_there(job: JobSeen) -> Finding | None:
    if job.exists:
        return None
    return Finding(
        Cause.NOT_THERE,
        "not found in the Batch account; `run` removes a job that succeeded",
        "`az batch job list` shows existing jobs",
    )


def _preparation(job: JobSeen) -> Finding | None:
    if not job.preparation_node:
        return None
    code = "" if job.preparation_exit_code is None else f" with exit code {job.preparation_exit_code}"
    return Finding(
        Cause.PREPARATION,
        f"the job's preparation failed{code} on node {job.preparation_node}, so no task starts there",
        "see its last lines; the usual reason is requirements that can't be installed",
        container=preparation_on(job.preparation_node),
    )


def _task(job: JobSeen) -> Finding | None:
    """The first failed task is explained, and the others are counted."""
    if not job.failures:
        return None
    finding = _of_task(job, job.failures[0])
    if job.failed < 2:
        return finding
    return finding._replace(what=f"{finding.what} (the first of {job.failed} tasks that failed, of {job.total})")


def _of_task(job: JobSeen, task: TaskSeen) -> Finding:
    code = task.code
    if code.startswith("Container") or phrases.first(phrases.IMAGE_PULL, task.words):
        return _container(job, task)
    if code.startswith("ApplicationPackage"):
        return _finding(
            Cause.PACKAGE,
            f"an application package of {task.called} couldn't be installed on its node",
            "push and activate it",
            task,
        )
    if code.startswith("FileUpload"):
        fix = "give the pool's identity the role Storage Blob Data Contributor on the storage account"
        return _finding(Cause.FILES, f"the output of {task.called} couldn't be uploaded", fix, task)
    if code.startswith(("Blob", "ResourceFile", "ResourceContainer", "ResourceDirectory")):
        fix = "check that the file exists, and that the pool's identity has the role Storage Blob Data Contributor on its account"
        return _finding(Cause.FILES, f"an input file of {task.called} couldn't be downloaded to its node", fix, task)
    if code == "TaskEnded":
        return _ended(task)
    if code in ("CommandProgramNotFound", "CommandLaunchFailed"):
        fix = "correct the command; shell syntax requires a shell: /bin/bash -c '...'"
        return _finding(Cause.COMMAND_NOT_FOUND, f"the command of {task.called} isn't on its node or in its image", fix, task)
    if code == "DiskFull":
        fix = "write or download less, or use a size with a larger disk"
        return _finding(Cause.UNUSABLE_NODE, f"the disk of the node of {task.called} is full", fix, task)
    return _by_exit_code(task)


def _container(job: JobSeen, task: TaskSeen) -> Finding:
    text = "\n".join(task.words)
    if phrases.NO_COMMAND.search(text):
        fix = "correct the command, or omit it to run the image's default"
        return _finding(Cause.COMMAND_NOT_FOUND, f"the command of {task.called} isn't in its image", fix, task)
    if phrases.IMAGE_PULL.search(text) or task.code in ("ContainerInvalidImage", "ContainerInvalidRegistry"):
        return refusal_rules.of_image(job.as_facts(), task.image, task.words, task.called)
    return _finding(
        Cause.REFUSED, f"the container of {task.called} couldn't be started", "fix the error named in the message", task
    )


def _ended(task: TaskSeen) -> Finding:
    took = (task.ended - task.began).total_seconds() / 60 if task.began and task.ended else None
    if task.limit_minutes is not None and took is not None and took >= task.limit_minutes - 0.05:
        return _finding(
            Cause.TIMEOUT,
            f"{task.called} was stopped after {took:.1f} minutes; its limit is {task.limit_minutes:g}",
            "set a longer --timeout, or save checkpoints and resume",
            task,
        )
    return _finding(Cause.STOPPED, f"{task.called} was stopped before it finished", "start it again", task)


def _by_exit_code(task: TaskSeen) -> Finding:
    """By the rules for containers: the exit codes have the same meaning."""
    stand_in = Container(name=task.called, image=task.image, exit_code=task.exit_code, log=task.log, began=task.began)
    facts = Facts(task.id, Kind.BATCH_JOB, "", state="Failed", containers=(stand_in,))
    for rule in (container_rules.no_command, container_rules.gpu_memory, container_rules.memory):
        finding = rule(facts)
        if finding is not None:
            what = finding.what.replace(f"container {task.called}", task.called).replace("isn't in the image", "isn't there")
            return finding._replace(what=what)
    if task.exit_code not in (None, 0):
        fix = "see its last lines; the program defines its exit codes"
        return _finding(Cause.PROGRAM_ERROR, f"the program of {task.called} ended with exit code {task.exit_code}", fix, task)
    return _finding(Cause.UNKNOWN, f"{task.called} failed; Batch gives no reason", "start it again", task)


def _never_starts(job: JobSeen) -> Finding | None:
    """Tasks that Batch keeps active for ever without an error."""
    pool = job.pool.facts if job.pool else None
    if pool is None:
        return None
    for task in job.waiting:
        if task.nodes > 1 and not pool.inter_node:
            return _stuck(
                f"{task.called} requires {task.nodes} nodes at once, but its pool has no inter-node communication", task
            )
        if task.nodes > 1 and pool.slots != 1:
            return _stuck(
                f"{task.called} requires {task.nodes} nodes at once, but the pool's nodes run {pool.slots} tasks each", task
            )
        if task.slots > pool.slots:
            return _stuck(f"{task.called} requires {task.slots} slots of a node, but the pool's nodes have {pool.slots}", task)
        if task.nodes > 1 and not pool.formula and task.nodes > max(pool.nodes, pool.target):
            return _stuck(f"{task.called} requires {task.nodes} nodes at once, but the pool has {pool.target}", task)
    return None


def _blocked(job: JobSeen) -> Finding | None:
    """Only if the failed task itself isn't known any more; its failure has precedence."""
    if not job.waiting or job.running or not job.failed:
        return None
    waiting = [task for task in job.waiting if task.depends_on]
    if not waiting:
        return None
    what = f"{waiting[0].called} waits for {', '.join(waiting[0].depends_on[:3])}, which didn't succeed"
    return Finding(Cause.NEVER_STARTS, what, "fix the failed task, then run the job again")


def _pool(job: JobSeen) -> Finding | None:
    """Tasks wait, and their pool can't run them."""
    if not job.active or job.running or job.pool is None or job.state in ("completed", "terminating", "deleting"):
        return None
    finding = batch_pool_rules.failure(job.pool)
    if finding is None:
        return None
    return finding._replace(what=f"its tasks wait for the pool {job.pool.name}: {finding.what}")


def _disabled(job: JobSeen) -> Finding | None:
    if job.state not in ("disabled", "disabling"):
        return None
    return Finding(Cause.STOPPED, "it is disabled, so no task starts", f"`az batch job enable --job-id {job.id}`")


def _stopped(job: JobSeen) -> Finding | None:
    if job.state not in ("completed", "terminating") or not (job.active or job.running):
        return None
    reason = (job.reason,) if job.reason else ()
    what = f"it was stopped before {job.active + job.running} of its tasks had run"
    return Finding(Cause.STOPPED, what, "start it again", reason)


def _scheduling(job: JobSeen) -> Finding | None:
    if not job.scheduling_error:
        return None
    return Finding(
        Cause.REFUSED,
        "Batch couldn't schedule it",
        "fix the error named in the message, then run it again",
        (job.scheduling_error,),
    )


def _starting(job: JobSeen) -> Finding | None:
    if not job.active and not job.running:
        return None
    if job.running:
        what = f"it is running ({job.running} tasks); no problem found"
        return Finding(Cause.HEALTHY, what, "nothing to do")
    several = max((task.nodes for task in job.waiting), default=1)
    if several > 1:
        idle = sum(node.state == "idle" for node in job.pool.nodes) if job.pool else 0
        what = (
            f"it waits until {several} nodes of its pool are free at once, and {idle} of them {'is' if idle == 1 else 'are'} now"
        )
        return Finding(Cause.STARTING, what, "wait until the tasks on the other nodes end, then check again")
    what = "its tasks wait for nodes; a node with a GPU takes 5 to 10 minutes to start"
    return Finding(Cause.STARTING, what, "wait, then check again")


def _healthy(job: JobSeen) -> Finding:
    if not job.total:
        return Finding(Cause.NEVER_STARTED, "it has no tasks", f"submit tasks: {COMMAND} run --on batch --stack STACK")
    return Finding(Cause.HEALTHY, "every task ended with exit code 0", "nothing to do")


def _stuck(what: str, task: TaskSeen) -> Finding:
    fix = "request less with --nodes"
    if task.nodes > 1:
        fix = "give the pool `inter_node: true` or `mpi` in the stack's file, with one task slot, or request fewer --nodes"
    return Finding(Cause.NEVER_STARTS, f"{what}; Batch keeps it active and never starts it", fix, (f"source: {_MPI_PAGE}",))


def _finding(cause: Cause, what: str, fix: str, task: TaskSeen) -> Finding:
    return Finding(cause, what, fix, task.words, task.called)


RULES: tuple[Rule, ...] = (
    _not_there,
    _preparation,
    _task,
    _scheduling,
    _disabled,
    _stopped,
    _blocked,
    _never_starts,
    _pool,
    _starting,
    _healthy,
)
