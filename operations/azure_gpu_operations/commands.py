"""`up`, `preview`, `wait` and `down`, each as the sequence of steps that it is.

In: a stack, limits, and `say`, which shows a line to the user. Out: nothing; an exception names what failed.
"""

import json
import tempfile
from collections.abc import Callable, Collection, Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from azure_gpu_operations import groups, pool_steps, registration, repair, saved_plan, started_jobs, torn_state
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.clusters import dead
from azure_gpu_operations.connection import connection_of
from azure_gpu_operations.guard import ending, held, kept, look, mark
from azure_gpu_operations.guard.losses import NOTHING_ALLOWED, Allowed
from azure_gpu_operations.machine_learning import deployment_logs
from azure_gpu_operations.orphans import end_orphaned_hosts
from azure_gpu_operations.saved_plan import SavedPlan
from azure_gpu_operations.stack import EngineError, Stack, backend_folder
from azure_gpu_operations.stack_view import StackView, of_deployment

Say = Callable[[str], None]


class WorkFailedError(Exception):
    """A job or a container group didn't end well, or not in time."""


def bring_up(
    stack: Stack,
    limit_seconds: float,
    say: Say,
    *,
    start_jobs: bool = False,
    allowed: Allowed = NOTHING_ALLOWED,
    plan: SavedPlan | None = None,
) -> None:
    """Settles what a killed run left, updates the stack, starts its jobs if requested, and waits for its container groups.

    A package that a pool names has to be active before; a pool that goes before its successor comes is drained before. Nothing
    that holds data or serves traffic is replaced or deleted, except what is `allowed`. `plan`: the update does what it says, and
    nothing else; StalePlanError where it was made for another state.
    """
    mend_backend(say)
    if allowed != NOTHING_ALLOWED:
        look.refuse_wrong_names(stack.deployment() if stack.exists() else {}, allowed)
    stack.create_if_missing()
    deployment = dead.forget_gone(stack, settle(stack, say), say)
    if plan is not None:
        saved_plan.refuse_stale(plan, deployment)
    pool_steps.check_packages(stack)
    message = mark.message(stack)
    may_drain = pool_steps.may_drain(deployment)
    looked = look.look(stack, deployment, allowed, needs_steps=may_drain)
    if may_drain:
        pool_steps.drain_replaced(deployment, looked.steps, say)
        if mark.message(stack) != message:
            raise EngineError(
                "the configuration was changed while tasks ended, and nobody has looked at it; run the command again"
            )
    registration.before_first(stack, deployment, say)
    if looked.let_go:
        stack.unprotect(looked.let_go)
    update(stack, message, say, plan=plan)
    view = _view(stack)
    failed = started_jobs.run_each(view, say) if start_jobs and view.jobs else []
    failed += _wait(view, limit_seconds, say)
    _raise(failed)


def update(stack: Stack, message: str, say: Say, targets: Collection[str] = (), plan: SavedPlan | None = None) -> None:
    """The update itself. Where it waits for deployments of endpoints, what they write is shown between the engine's lines.
    `targets`: URNs of what alone is updated; none: everything. `plan`: what it is held to."""
    shown = deployment_logs.shown(stack, say) if stack.declares("ml_endpoints") else nullcontext()
    with tempfile.TemporaryDirectory() as folder, torn_state.kept(backend_folder(), stack.project, stack.name):
        events, engine_plan = Path(folder) / "events.json", Path(folder) / "plan.json"
        if plan is not None:
            engine_plan.write_text(json.dumps(plan.engine), encoding="utf-8")
        try:
            with shown:
                stack.up(
                    message,
                    line_by_line=not isinstance(shown, nullcontext),
                    events=events,
                    targets=targets,
                    plan=engine_plan if plan is not None else None,
                )
        except EngineError:
            _take_in_lost(stack, events, say)
            raise


def _take_in_lost(stack: Stack, events: Path, say: Say) -> None:
    """Settles the creates whose end was lost with the provider, or on the way to it: the engine has forgotten them, and would
    create them once more. At once, since an imported state keeps no notes of what is under way."""
    lost = repair.lost_creates(events.read_text(encoding="utf-8", errors="replace").splitlines() if events.exists() else ())
    if lost:
        _settle_pending(stack, repair.with_pending(stack.deployment(), lost), say)


def preview(stack: Stack, say: Say, file: Path | None = None) -> None:
    """Shows what an update would change. `file`: takes the plan, for a later `up`."""
    mend_backend(say)
    stack.create_if_missing()
    deployment = dead.forget_gone(stack, settle(stack, say), say)
    pool_steps.check_packages(stack)
    if file is None:
        stack.preview()
        return
    with tempfile.TemporaryDirectory() as folder:
        engine_plan = Path(folder) / "plan.json"
        stack.preview(engine_plan)
        saved_plan.write(file, stack.name, saved_plan.state_of(deployment), engine_plan)


def bring_down(stack: Stack, say: Say, *, forget_unreachable: bool = False, let_go: bool = False, quiet: bool = False) -> None:
    """Destroys the stack's resources and removes the stack. `mend_backend` is to be called before.

    `forget_unreachable`: what is on a cluster that doesn't answer, and that isn't the stack's own, is left there and forgotten.
    `let_go`: what is protected goes too; without it, ProtectedError before anything is destroyed. `quiet`: the engine's own
    output isn't shown.
    """
    deployment = settle(stack, say)
    if not let_go:
        ending.refuse_protected(stack, deployment)
    elif urns := held.protected(deployment):
        stack.unprotect(urns)
    dead.forget_dead(stack, deployment, say)
    if forget_unreachable:
        dead.forget_unreachable()
    pool_steps.tell_what_ends(stack, say)
    with torn_state.kept(backend_folder(), stack.project, stack.name):
        stack.destroy(quiet=quiet)
    stack.remove()
    for line in kept.told(deployment):
        say(line)


def mend_backend(say: Say) -> None:
    """Removes what a dead engine has left half written, before anything is read."""
    backend = backend_folder()
    for file in repair.torn_attributes(backend) if backend is not None else ():
        say(f"the last run was killed while it wrote {file.name}, the checksum of a state: removed; the state is whole")
        file.unlink(missing_ok=True)
    for name in torn_state.put_back(backend) if backend is not None else ():
        say(f"{name}, the state of a stack, was torn, as by a full disk: put back as it was last whole")


def settle(stack: Stack, say: Say) -> Mapping[str, Any]:
    """What a dead engine left: its lock is cancelled, its orphans are ended, what it was creating is taken in or forgotten.
    Returns the stack's deployment. What an engine that still runs is creating is left to it."""
    end_orphaned_hosts()
    backend = backend_folder()
    locks = repair.locks(backend, stack.project, stack.name) if backend is not None else repair.Locks()
    if locks.living:
        return stack.deployment()
    if locks.dead:
        say(f"the last run on stack {stack.name} was killed: taking its lock away")
        stack.cancel()
    return _settle_pending(stack, stack.deployment(), say)


def _settle_pending(stack: Stack, deployment: Mapping[str, Any], say: Say) -> Mapping[str, Any]:
    """Takes in or forgets each create of a deployment that nobody saw the end of. Returns the stack's deployment."""
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
        say(f"was created although nobody saw the end of it, taken in: {urn}")
    for urn in settled.forgotten:
        say(f"was never created, forgotten: {urn}")
    stack.edit(lambda _: repair.settled_deployment(deployment, settled))
    if settled.imports:
        stack.refresh(urn for urn, _ in settled.imports)
        stack.edit(lambda deployment: repair.as_created(deployment, pending, settled))
    return stack.deployment()


def wait_for_groups(stack: Stack, limit_seconds: float, say: Say) -> None:
    """Waits for the container groups that run to an end. WorkFailedError where one failed or didn't end in time."""
    _raise(_wait(_view(stack), limit_seconds, say))


def _wait(view: StackView, limit_seconds: float, say: Say) -> list[str]:
    """Which groups didn't end well, as people read it."""
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


def _raise(failed: list[str]) -> None:
    if failed:
        raise WorkFailedError(f"not ended well: {', '.join(failed)}")
