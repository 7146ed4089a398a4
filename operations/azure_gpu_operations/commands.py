"""`up`, `preview`, `wait` and `down`, each as the sequence of steps that it is.

In: a stack, limits, and `say`, which shows a line to the user. Out: nothing; an exception names what failed.
"""

from collections.abc import Callable, Mapping
from contextlib import closing

from azure_gpu_operations import groups, pool_steps, repair, started_jobs
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.clusters import dead
from azure_gpu_operations.connection import connection_of
from azure_gpu_operations.machine_learning import deployment_logs
from azure_gpu_operations.orphans import end_orphaned_hosts
from azure_gpu_operations.stack import EngineError, Stack
from azure_gpu_operations.stack_view import StackView, of_deployment

Say = Callable[[str], None]


class WorkFailedError(Exception):
    """A job or a container group didn't end well, or not in time."""


def bring_up(stack: Stack, limit_seconds: float, say: Say, *, start_jobs: bool = False) -> None:
    """Settles what a killed run left, updates the stack, starts its jobs if asked to, and waits for its container groups.

    A package that a pool names has to be active before; a pool that goes before its successor comes is drained before.
    """
    stack.create_if_missing()
    settle(stack, say)
    dead.forget_gone(stack, say)
    pool_steps.check_packages(stack)
    pool_steps.drain_replaced(stack, say)
    _update(stack, say)
    view = _view(stack)
    failed = started_jobs.run_each(view, say) if start_jobs and view.jobs else []
    failed += _wait(view, limit_seconds, say)
    _raise(failed)


def _update(stack: Stack, say: Say) -> None:
    """The update itself. Where it waits for deployments of endpoints, what they write is shown between the engine's lines."""
    if not stack.declares("ml_endpoints"):
        stack.up()
        return
    with deployment_logs.shown(stack, say):
        stack.up(line_by_line=True)


def preview(stack: Stack, say: Say) -> None:
    """Shows what an update would change."""
    stack.create_if_missing()
    settle(stack, say)
    dead.forget_gone(stack, say)
    pool_steps.check_packages(stack)
    stack.preview()


def bring_down(stack: Stack, say: Say, *, forget_unreachable: bool = False) -> None:
    """Destroys the stack's resources and removes the stack. A stack that isn't there is no error.

    `forget_unreachable`: what is on a cluster that doesn't answer, and that isn't the stack's own, is left there and forgotten.
    """
    if not stack.exists():
        say(f"there is no stack {stack.name}")
        return
    settle(stack, say)
    dead.forget_dead(stack, say)
    if forget_unreachable:
        dead.forget_unreachable()
    pool_steps.tell_what_ends(stack, say)
    stack.destroy()
    stack.remove()


def settle(stack: Stack, say: Say) -> None:
    """What a dead engine left: its lock is cancelled, its orphans are ended, what it was creating is taken in or forgotten."""
    end_orphaned_hosts()
    backend = stack.backend_folder()
    if backend is not None and repair.dead_locks(backend, stack.project, stack.name):
        say(f"the last run on stack {stack.name} was killed: taking its lock away")
        stack.cancel()
    deployment = stack.deployment()
    pending = repair.pending_creates(deployment)
    if not pending:
        return
    connection = connection_of(deployment)
    if connection is None:
        settled = repair.Settled((), tuple(create.urn for create in pending))
    else:
        with closing(Arm(connection)) as arm:
            settled = repair.settle(
                pending, connection.subscription_id, lambda resource_id, version: arm.get(resource_id, version) is not None
            )
    for urn, _ in settled.imports:
        say(f"was created before the last run was killed, taken in: {urn}")
    for urn in settled.forgotten:
        say(f"was never created, forgotten: {urn}")
    stack.edit(lambda deployment: repair.settled_deployment(deployment, settled))
    if settled.imports:
        stack.refresh(urn for urn, _ in settled.imports)
        stack.edit(lambda deployment: repair.as_created(deployment, pending, settled))


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
