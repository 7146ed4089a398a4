"""Rules of code for Batch pools, jobs and tasks. The others are rows of `findings.yaml`. Pure."""

from typing import Any

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain import container_rules, refusal_rules, table
from azure_gpu_operations.explain.batch_facts import JobSeen, PoolSeen, TaskSeen
from azure_gpu_operations.explain.facts import Cause, Container, Facts, Finding, Kind, counted

_COMING = ("creating", "starting", "waitingforstarttask", "rebooting", "reimaging")


def explain_pool(pool: PoolSeen) -> Finding:
    return failure(pool) or table.explain_surely("pool without a failure", pool, values=_of_pool(pool))


def failure(pool: PoolSeen) -> Finding | None:
    """The failure of a pool; None if tasks can start."""
    return table.explain("pool", pool, {"not_there": _not_there, "unusable": _unusable}, _of_pool(pool))


def explain_job(job: JobSeen) -> Finding:
    return table.explain_surely("job of Batch", job, {"task": _task, "never_starts": _never_starts, "pool": _pool}, _of_job(job))


def _of_pool(pool: PoolSeen) -> dict[str, Any]:
    """What rows of the table name."""
    facts = pool.facts
    failed = [node for node in pool.nodes if node.state == "starttaskfailed"]
    first = failed[0] if failed else None
    gone = [node for node in pool.nodes if node.state == "preempted"]
    coming = sorted({node.state for node in pool.nodes if node.state in _COMING})
    resizing = f"{facts.nodes} → {facts.target} nodes" if facts and facts.allocation == "resizing" else ""
    errors = facts.resize_errors if facts else ()
    return {
        "pool_id": facts.id if facts else pool.name,
        "size": facts.size if facts else "",
        "formula": facts.formula if facts else "",
        "failed_start": first.id if first else "",
        "start_failure": first.start_failure if first else "",
        "start_code": "" if first is None or first.start_exit_code is None else f" with exit code {first.start_exit_code}",
        "where_failed": "on its node" if len(pool.nodes) == 1 else f"on {len(failed)} of {len(pool.nodes)} nodes",
        "resize_codes": [code for code, _ in errors],
        "resize_code": errors[0][0] if errors else "",
        "resize_errors": [f"{code}: {message}".rstrip(": ") for code, message in errors],
        "has": f"it has {counted(facts.nodes, 'node')} of {facts.target}" if facts else "",
        "evicted": counted(len(gone), "node") if gone and len(gone) == len(pool.nodes) else "",
        "coming": ", ".join(coming) or resizing,
        "has_nodes": counted(len(pool.nodes), "node"),
    }


def _not_there(pool: PoolSeen) -> Finding | None:
    if pool.facts is not None:
        return None
    return refusal_rules.first(pool.as_facts()) or refusal_rules.not_there("pool")


def _unusable(pool: PoolSeen) -> Finding | None:
    broken = [node for node in pool.nodes if node.state == "unusable"] or [node for node in pool.nodes if node.errors]
    if not broken:
        return None
    first = broken[0]
    text = "\n".join(first.errors)
    if table.phrase("image pull").search(text) or "ContainerInvalidImage" in text or "ContainerInvalidRegistry" in text:
        return refusal_rules.of_image(pool.as_facts(), "", first.errors, "")
    cause = Cause.PACKAGE if "ApplicationPackage" in text else Cause.UNUSABLE_NODE
    fix = f"check that the package exists and is active: {COMMAND} preflight"
    if cause is Cause.UNUSABLE_NODE:
        fix = (
            "usual reasons: the image lacks something that the pool requires, the subnet blocks Batch, or the disk is full; "
            "fix it and run `pulumi up`"
        )
    what = f"{len(broken)} of {len(pool.nodes)} nodes {'is' if len(broken) == 1 else 'are'} {first.state}"
    return Finding(cause, what, fix, first.errors)


def _of_job(job: JobSeen) -> dict[str, Any]:
    """What rows of the table name."""
    behind = next((task for task in job.waiting if task.depends_on), None)
    is_blocked = behind is not None and not job.running and job.failed  # a failed task that is known has precedence
    at_once = max((task.nodes for task in job.waiting), default=1)
    idle = sum(node.state == "idle" for node in job.pool.nodes) if job.pool else 0
    code = job.preparation_exit_code
    return {
        "preparation_code": "" if code is None else f" with exit code {code}",
        "open": job.active + job.running,
        "blocked": f"{behind.called} waits for {', '.join(behind.depends_on[:3])}" if behind and is_blocked else "",
        "at_once": at_once if at_once > 1 else 0,
        "idle": f"{idle} of them {'is' if idle == 1 else 'are'}",
    }


def _task(job: JobSeen) -> Finding | None:
    """The first failed task is explained, and the others are counted."""
    if not job.failures:
        return None
    task = job.failures[0]
    took = (task.ended - task.began).total_seconds() / 60 if task.began and task.ended else None
    is_late = task.limit_minutes is not None and took is not None and took >= task.limit_minutes - 0.05
    values = {"is_late": is_late, "took": f"{took or 0:.1f}", "limit": f"{task.limit_minutes or 0:g}"}
    rules: dict[str, table.Rule] = {"container": lambda task: _container(job, task), "exit_code": _exit_code}
    finding = table.explain_surely("task of Batch", task, rules, values)
    if job.failed < 2:
        return finding
    return finding._replace(what=f"{finding.what} (the first of {job.failed} tasks that failed, of {job.total})")


def _container(job: JobSeen, task: TaskSeen) -> Finding | None:
    pulls = bool(table.first("image pull", task.words))
    if not task.code.startswith("Container") and not pulls:
        return None
    if table.first("no command", task.words):
        what, fix = (
            f"the command of {task.called} isn't in its image",
            "correct the command, or omit it to run the image's default",
        )
        return Finding(Cause.COMMAND_NOT_FOUND, what, fix, task.words, task.called)
    if pulls or task.code in ("ContainerInvalidImage", "ContainerInvalidRegistry"):
        return refusal_rules.of_image(job.as_facts(), task.image, task.words, task.called)
    what = f"the container of {task.called} couldn't be started"
    return Finding(Cause.REFUSED, what, "fix the error named in the message", task.words, task.called)


def _exit_code(task: TaskSeen) -> Finding | None:
    """By the rules for containers: the exit codes have the same meaning."""
    stand_in = Container(name=task.called, image=task.image, exit_code=task.exit_code, log=task.log, began=task.began)
    facts = Facts(task.id, Kind.BATCH_JOB, "", state="Failed", containers=(stand_in,))
    for rule in (container_rules.no_command, container_rules.gpu_memory, container_rules.memory):
        finding = rule(facts)
        if finding is not None:
            what = finding.what.replace(f"container {task.called}", task.called).replace("isn't in the image", "isn't there")
            return finding._replace(what=what)
    return None


def _never_starts(job: JobSeen) -> Finding | None:
    """Tasks that Batch keeps active for ever without an error."""
    pool = job.pool.facts if job.pool else None
    if pool is None:
        return None
    for task in job.waiting:
        needs = f"{task.called} requires {task.nodes} nodes at once, but"
        if task.nodes > 1 and not pool.inter_node:
            return _stuck(f"{needs} its pool has no inter-node communication", task)
        if task.nodes > 1 and pool.slots != 1:
            return _stuck(f"{needs} the pool's nodes run {pool.slots} tasks each", task)
        if task.slots > pool.slots:
            return _stuck(f"{task.called} requires {task.slots} slots of a node, but the pool's nodes have {pool.slots}", task)
        if task.nodes > 1 and not pool.formula and task.nodes > max(pool.nodes, pool.target):
            return _stuck(f"{needs} the pool has {pool.target}", task)
    return None


def _stuck(what: str, task: TaskSeen) -> Finding:
    fix = "request less with --nodes"
    if task.nodes > 1:
        fix = "give the pool `inter_node: true` or `mpi` in the stack's file, with one task slot, or request fewer --nodes"
    source = "source: Microsoft Learn, batch/batch-mpi"
    return Finding(Cause.NEVER_STARTS, f"{what}; Batch keeps it active and never starts it", fix, (source,))


def _pool(job: JobSeen) -> Finding | None:
    """Tasks wait, and their pool can't run them."""
    if not job.active or job.running or job.pool is None or job.state in ("completed", "terminating", "deleting"):
        return None
    finding = failure(job.pool)
    return finding and finding._replace(what=f"its tasks wait for the pool {job.pool.name}: {finding.what}")
