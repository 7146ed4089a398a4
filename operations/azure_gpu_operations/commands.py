"""`up`, `preview` and `down` as sequences of steps.

`say` shows a line to the user; an exception names what failed.
"""

import json
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing, nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from azure_gpu.catalog import transient_errors
from azure_gpu.shared.polling import first_line
from azure_gpu_operations import groups, pool_steps, registration, repair, saved_plan, torn_state
from azure_gpu_operations.azure import UNREADABLE, Arm
from azure_gpu_operations.clusters import dead
from azure_gpu_operations.connection import connection_of
from azure_gpu_operations.guard import ending, fingerprint, held, update_check
from azure_gpu_operations.guard.foreign_resources import delete_beside, left_beside
from azure_gpu_operations.guard.losses import NOTHING_ALLOWED, Allowed
from azure_gpu_operations.machine_learning import deployment_logs
from azure_gpu_operations.orphans import end_orphaned_hosts
from azure_gpu_operations.preflight import left_open
from azure_gpu_operations.saved_plan import SavedPlan
from azure_gpu_operations.stack import EngineError, Stack, backend_folder
from azure_gpu_operations.stack_view import StackView, of_deployment

Say = Callable[[str], None]


class WorkFailedError(Exception):
    """A job or a container group failed or timed out."""


def bring_up(
    stack: Stack,
    limit_seconds: float,
    say: Say,
    *,
    start_jobs: bool = False,
    allowed: Allowed = NOTHING_ALLOWED,
    plan: SavedPlan | None = None,
) -> None:
    """Cleans up after a killed run, updates the stack, starts its jobs if requested, and waits for its container groups.

    Packages of pools must be active; a pool that is deleted before its replacement exists is drained first. Resources that hold
    data or serve traffic are replaced or deleted only if `allowed`. `plan`: the update makes exactly these changes;
    StalePlanError if it was made for another state.
    """
    mend_backend(say)
    if allowed != NOTHING_ALLOWED:
        update_check.refuse_wrong_names(stack.deployment() if stack.exists() else {}, allowed)
    deployment = dead.forget_gone(stack, settle(stack, stack.deployment_or_new(), say), say)
    if plan is not None:
        saved_plan.refuse_stale(plan, deployment)
    pool_steps.check_packages(stack)
    left_open.check(stack, deployment, say)
    message = fingerprint.message(stack)
    may_drain = pool_steps.may_drain(deployment)
    looked = update_check.check(stack, deployment, allowed, needs_steps=may_drain)
    if may_drain:
        pool_steps.drain_replaced(deployment, looked.steps, say)
        if fingerprint.message(stack) != message:
            raise EngineError("the configuration changed while tasks were ending and hasn't been checked; run the command again")
    registration.before_first(stack, deployment, say)
    if looked.let_go:
        stack.unprotect(looked.let_go)
        if plan is None and (locks := held.locks(deployment, looked.let_go)):
            stack.destroy(locks)
    update(stack, message, say, plan=plan)
    view = _view(stack)
    failed: list[str] = []
    if start_jobs and view.jobs:
        from azure_gpu_operations import started_jobs  # here: the clients of jobs load slowly

        failed += started_jobs.run_each(view, say)
    failed += _wait(view, limit_seconds, say)
    if failed:
        raise WorkFailedError(f"failed: {', '.join(failed)}")


def update(stack: Stack, message: str, say: Say, targets: Collection[str] = (), plan: SavedPlan | None = None) -> None:
    """Runs `pulumi up`, and a second time where that continues what Azure refused or failed at first. While it waits for
    deployments of endpoints, their logs are shown between the engine's lines. `targets`: URNs to update; none: everything.
    `plan`: the plan to follow, once."""
    with tempfile.TemporaryDirectory() as folder, torn_state.kept(backend_folder(), stack.project, stack.name):
        events, engine_plan = Path(folder) / "events.json", Path(folder) / "plan.json"
        if plan is not None:
            engine_plan.write_text(json.dumps(plan.engine), encoding="utf-8")
        for again in (False, True):
            shown = deployment_logs.shown(stack, say, events) if stack.declares("ml_endpoints") else nullcontext()
            by_line = not isinstance(shown, nullcontext)
            try:
                with shown:
                    stack.up(message, line_by_line=by_line, events=events, targets=targets, plan=engine_plan if plan else None)
                return
            except EngineError:
                lines = _lines(events)
                events.unlink(missing_ok=True)
                _take_in_lost(stack, lines, say)
                if again or not _may_continue(stack, lines, say) or plan is not None:
                    raise


def _may_continue(stack: Stack, events: list[str], say: Say) -> bool:
    """Whether another `up` can end well: pools that were changed by PATCH are read into the state, and what Azure accepted and
    then failed to create for a reason that passes is updated."""
    changed = repair.refused_pools(events)
    if changed:
        say("reading into the state what was changed of Batch pools")
        stack.refresh(changed)
    unfinished = repair.half_made(stack.deployment())
    if unfinished:
        say(f"created, and not finished: {', '.join(unfinished)}")
    return bool(changed or unfinished)


def _take_in_lost(stack: Stack, events: list[str], say: Say) -> None:
    """Settles creates whose result was lost with the provider: the engine has forgotten them and would create them again. Done
    at once, because an imported state has no pending operations."""
    lost = repair.lost_creates(events)
    if lost:
        _settle_pending(stack, repair.with_pending(stack.deployment(), lost), say)


def preview(stack: Stack, say: Say, file: Path | None = None) -> None:
    """Shows what an update would change. `file`: where the plan is saved for a later `up`."""
    mend_backend(say)
    deployment = dead.forget_gone(stack, settle(stack, stack.deployment_or_new(), say), say)
    pool_steps.check_packages(stack)
    if file is None:
        stack.preview()
        return
    with tempfile.TemporaryDirectory() as folder:
        engine_plan = Path(folder) / "plan.json"
        stack.preview(engine_plan)
        saved_plan.write(file, stack.name, saved_plan.state_of(deployment), engine_plan)


def bring_down(stack: Stack, say: Say, *, forget_unreachable: bool = False, let_go: bool = False, quiet: bool = False) -> None:
    """Destroys the stack's resources and removes the stack. Call `mend_backend` first.

    `forget_unreachable`: objects on an unreachable cluster outside the stack are only removed from the state. `let_go`: protected
    resources are deleted too; otherwise ProtectedError before anything is destroyed. `quiet`: hides the engine's output.
    """
    deployment = settle(stack, stack.deployment(), say)
    if not let_go:
        ending.refuse_protected(stack, deployment)
    elif urns := held.protected(deployment):
        stack.unprotect(urns)
    dead.forget_gone_existing(stack, deployment, say)
    if forget_unreachable:
        dead.forget_unreachable()
    pool_steps.tell_what_ends(deployment, say)
    with torn_state.kept(backend_folder(), stack.project, stack.name):
        if locks := held.locks(deployment):
            stack.destroy(locks, quiet=quiet)
        destroy(stack, say, quiet=quiet)
    _delete_beside(deployment, say)
    stack.remove()
    if not quiet:  # the engine has just named the command that does it
        say(f"stack {stack.name} is removed, too; its file stays")
    for line in held.lines_of_kept(deployment):
        say(line)


def _delete_beside(deployment: Mapping[str, Any], say: Say) -> None:
    """Deletes what Azure made beside the stack's resources in a resource group that stays. A failure is told, and no more."""
    connection = connection_of(deployment)
    if connection is None or not left_beside(deployment):
        return
    try:
        with closing(Arm(connection)) as arm:
            for name in delete_beside(arm, deployment):
                say(f"{name}, which Azure had made by itself: deleted")
    except UNREADABLE as error:
        say(f"what Azure made beside the stack's resources is left ({first_line(error)})")


def destroy(stack: Stack, say: Say, *, quiet: bool) -> None:
    """Destroys the stack's resources, and tries again while Azure holds one for a while."""
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        while True:
            tried += 1
            events = Path(folder) / f"{tried}.json"
            try:
                return stack.destroy(quiet=quiet, events=events)
            except EngineError:
                held_by = repair.held_delete(_lines(events))
                if held_by is None or held_by.is_over(tried):
                    raise
            if tried == 1:
                until = datetime.now().astimezone() + timedelta(minutes=held_by.most_minutes)
                say(f"{held_by.why}; trying again until {until:%H:%M:%S}")
            time.sleep(transient_errors.pause(tried))


def _lines(events: Path) -> list[str]:
    return events.read_text(encoding="utf-8", errors="replace").splitlines() if events.exists() else []


def mend_backend(say: Say) -> None:
    """Repairs files that a killed engine left half written, before anything is read."""
    backend = backend_folder()
    for file in repair.torn_attributes(backend) if backend is not None else ():
        say(f"the last run was killed while writing {file.name}, the checksum of a state: removed; the state is complete")
        file.unlink(missing_ok=True)
    for name in torn_state.put_back(backend) if backend is not None else ():
        say(f"{name}, the state of a stack, was incomplete, as after a full disk: restored its last complete version")


def settle(stack: Stack, deployment: Mapping[str, Any], say: Say) -> Mapping[str, Any]:
    """Cleans up after a killed engine: ends its orphaned processes, cancels its lock, imports or forgets its pending creates.
    `deployment`: the stack's; returns the new one. Pending creates of an engine that is still running are left alone."""
    end_orphaned_hosts()
    backend = backend_folder()
    locks = repair.locks(backend, stack.project, stack.name) if backend is not None else repair.Locks()
    if locks.living:
        return deployment
    if locks.dead:
        say(f"the last run on stack {stack.name} was killed: removing its lock")
        stack.cancel()
    return _settle_pending(stack, deployment, say)


def _settle_pending(stack: Stack, deployment: Mapping[str, Any], say: Say) -> Mapping[str, Any]:
    """Imports or forgets each pending create of a deployment. Returns the stack's deployment."""
    pending = repair.pending_creates(deployment)
    if not pending:
        return deployment
    connection = connection_of(deployment)
    if connection is None:
        settled = repair.Settled((), tuple(create.urn for create in pending))
    else:
        with closing(Arm(connection)) as arm:
            settled = repair.settle(
                pending, connection.subscription_id, lambda resource_id, version: arm.get(resource_id, version) is not None
            )
    for urn, _ in settled.imports:
        say(f"created by an interrupted run, imported into the state: {urn}")
    for urn in settled.forgotten:
        say(f"never created, removed from the state: {urn}")
    stack.edit(lambda _: repair.settled_deployment(deployment, settled))
    if settled.imports:
        stack.refresh(urn for urn, _ in settled.imports)
        stack.edit(lambda deployment: repair.as_created(deployment, pending, settled))
    return stack.deployment()


def _wait(view: StackView, limit_seconds: float, say: Say) -> list[str]:
    """Waits for the container groups that run to completion. Returns those that failed or timed out, with their state."""
    if not view.groups:
        return []
    with closing(Arm(view.connection)) as arm:
        waited: Mapping[str, str] = {
            name: group_id
            for name, group_id in view.groups.items()
            if (group := arm.get(group_id, groups.API_VERSION)) is None or groups.runs_to_an_end(group)
        }
        say(f"waiting for {', '.join(waited) or 'nothing'}, {limit_seconds / 60:g} minutes at most")
        ends = groups.wait(arm, waited, limit_seconds=limit_seconds, say=say)
    say(groups.render(ends))
    return [f"{end.name} ({end.state})" for end in ends if not end.succeeded]


def _view(stack: Stack) -> StackView:
    found = of_deployment(stack.name, stack.deployment())
    if found is None:
        raise EngineError(f"stack {stack.name} has no azure-native provider in its state")
    return found
