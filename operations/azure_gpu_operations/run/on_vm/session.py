"""A run on a stack's virtual machine, from what is asked for to the exit code: starts it if asked to, builds, sends a
run-command, follows it, sums up, deallocates the machine if asked to.

In: a stack's view, the machine's name in it, a `Wanted`. Out: an exit code; what the program writes on standard output and
standard error, all else on standard error. Loaded when a run begins.

Output comes through blobs in the stack's storage account, which the machine writes as its identity: the run-command itself keeps
no more than the last 4 KB. They are removed when they were shown. A machine that a run has started stays on, unless it is told
to be deallocated: whoever starts it knows what it is for.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from typing import Any

import requests
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.machines.power import DEALLOCATED, RUNNING
from azure_gpu.catalog.services.vm_image_table import IMAGES
from azure_gpu.catalog.services.vm_images import ImageReference, Software
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import job_cost, virtual_machines
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.batch.blobs import Blobs
from azure_gpu_operations.run import names
from azure_gpu_operations.run.command import FAILED_RUN, INTERRUPTED, TIMED_OUT
from azure_gpu_operations.run.errors import RunError, WrongRunError
from azure_gpu_operations.run.on_vm import follow, plan
from azure_gpu_operations.run.on_vm.follow import End, Follower
from azure_gpu_operations.run.on_vm.plan import Image, Place
from azure_gpu_operations.run.on_vm.wanted import Wanted, Way, too_large
from azure_gpu_operations.run.stack_registry import of_stack
from azure_gpu_operations.stack_view import StackView
from azure_gpu_operations.virtual_machines import API_VERSION, Machine
from azure_gpu_operations.vm import power, showing
from azure_gpu_operations.vm.power import PowerError

_REFUSED = (AzureError, AzureCoreError, requests.RequestException)
END_SECONDS = 30  # how long a run-command that ends a container may take

Say = Callable[[str], None]


def run(view: StackView, name: str, wanted: Wanted, *, detach: bool, show: Say, show_error: Say, say: Say) -> int:
    """The exit code of what ran."""
    with closing(Arm(view.connection)) as arm:
        machine, body = _machine(arm, view, name)
        way = _way(wanted, body)
        stopped = _is_stopped(view, name, machine, wanted)
        try:
            if stopped:
                _start(arm, view, name, machine, say)
            with closing(Blobs(arm, view.storage)) as blobs:
                place = Place(blobs.endpoint, client_id(body))
                image = _image(arm, view, wanted, way, say)
                blobs.make_container(plan.RUNS)
                session = _Session(arm, blobs, view, name, machine, wanted, show, show_error, say)
                try:
                    session.send(way, image, place)
                    if detach:
                        say(f"it runs on; what became of it: {COMMAND} explain {name} --stack {view.name}")
                        return 0
                    return session.sum_up(session.follower.follow())
                except KeyboardInterrupt:
                    return session.interrupted()
        finally:
            if wanted.stop_after:
                _stop(arm, view, name, machine, say)
            elif stopped and not detach:
                say(f"{name} stays on; when you are done: {COMMAND} vm stop {name} --stack {view.name}")


def _machine(arm: Arm, view: StackView, name: str) -> tuple[Machine, dict[str, Any]]:
    machine_id = view.vms[name]
    body, machine = arm.get(machine_id, API_VERSION), virtual_machines.get(arm, machine_id, whole=False)
    if body is None or machine is None:
        fix = f"run `pulumi up --stack {view.name}`, which makes it again after `pulumi refresh`"
        message = "the stack has this machine and Azure hasn't: somebody has deleted it, or it was Spot"
        raise WrongRunError([Problem("--vm", message, name, fix=fix)])
    if machine.windows:
        fix = "sign on by a Bastion, or run it on a Linux machine"
        raise WrongRunError([Problem("--vm", "programs are run on Linux machines alone, and this one is Windows", name, fix=fix)])
    return machine, body


def _way(wanted: Wanted, body: Mapping[str, Any]) -> Way | None:
    """A container where the machine's image brings what runs one; a script alone also runs without."""
    if wanted.is_command:
        return None
    alone = wanted.target.context is not None and bool(wanted.target.context.script)
    way = wanted.way or (Way.CONTAINER if not alone or brings_containers(body) else Way.PYTHON)
    problems = too_large(wanted.target) if way is Way.PYTHON else []
    if problems:
        raise WrongRunError(problems)
    return way


def brings_containers(body: Mapping[str, Any]) -> bool:
    """Whether the image of a machine is known to bring Docker with NVIDIA's part of it."""
    storage = (body.get("properties") or {}).get("storageProfile") or {}
    said = storage.get("imageReference") or {}
    known = vm_images.find(ImageReference(*(str(said.get(key) or "") for key in ("publisher", "offer", "sku"))), IMAGES)
    return known is not None and Software.CONTAINERS in known.has


def client_id(body: Mapping[str, Any]) -> str:
    """Of the identity that the machine was given; "" where it has one of its own."""
    given = ((body.get("identity") or {}).get("userAssignedIdentities") or {}).values()
    return next((str(each.get("clientId") or "") for each in given), "")


def _is_stopped(view: StackView, name: str, machine: Machine, wanted: Wanted) -> bool:
    """Whether it has to be started first."""
    is_stopped = machine.power != RUNNING.name
    if is_stopped and not wanted.start:
        fix = f"add --start, or start it: {COMMAND} vm start {name} --stack {view.name}"
        raise WrongRunError([Problem("--vm", f"the machine is {machine.power or 'not running'}", name, fix=fix)])
    return is_stopped


def _start(arm: Arm, view: StackView, name: str, machine: Machine, say: Say) -> None:
    running = machine._replace(power=RUNNING.name)
    say(f"starting {name}; cost: {showing.cost(running, view.idle_cost.get(name), datetime.now(UTC).date())}")
    try:
        power.start(arm, machine.id)
    except PowerError as error:
        raise RunError(str(error)) from error


def _stop(arm: Arm, view: StackView, name: str, machine: Machine, say: Say) -> None:
    deallocated = machine._replace(power=DEALLOCATED.name)
    say(f"deallocating {name}")
    try:
        power.deallocate(arm, machine.id)
    except (PowerError, KeyboardInterrupt, *_REFUSED) as error:
        told = str(error) or "interrupted"
        say(f"{name} may still run and cost ({told}): {COMMAND} vm stop {name} --stack {view.name}")
        return
    say(f"{name} is deallocated; cost: {showing.cost(deallocated, view.idle_cost.get(name), datetime.now(UTC).date())}")


def _image(arm: Arm, view: StackView, wanted: Wanted, way: Way | None, say: Say) -> Image | None:
    if way is not Way.CONTAINER:
        return None
    if wanted.target.context is None and not view.registry:
        return Image(wanted.target.image)
    if not view.registry:
        fix = "add `registry: create` to the stack's foundation, or write --way python for a script"
        raise WrongRunError([Problem("--stack", "the stack has no registry, so nothing can be built", view.name, fix=fix)])
    registry = of_stack(arm, view)
    if wanted.target.context is not None:
        return Image(registry.build(wanted.target.context, say), registry.server)
    is_own = wanted.target.image.lower().startswith(f"{registry.server.lower()}/")
    return Image(wanted.target.image, registry.server if is_own else "")


class _Session:
    """One run-command."""

    def __init__(
        self,
        arm: Arm,
        blobs: Blobs,
        view: StackView,
        name: str,
        machine: Machine,
        wanted: Wanted,
        show: Say,
        show_error: Say,
        say: Say,
    ) -> None:
        self._arm, self._blobs, self._view, self._vm, self._machine = arm, blobs, view, name, machine
        self._wanted, self._say = wanted, say
        self._name = names.of_run(wanted.target)
        self._id = f"{machine.id}/runCommands/{self._name}"
        self._way: Way | None = None
        self._is_made = False
        read = partial(_read, blobs, self._name)
        self.follower = Follower(arm, self._id, read, show=show, show_error=show_error, say=say)

    def send(self, way: Way | None, image: Image | None, place: Place) -> None:
        self._way = way
        script = plan.script(self._name, self._wanted, way, image, place)
        self._is_made = True  # from here on it may be there, whatever is answered
        self._arm.put(self._id, API_VERSION, plan.body(self._name, self._machine.location, script, place, self._wanted))
        what = "a command" if self._wanted.is_command else self._wanted.target.described
        self._say(f"started {what} on machine {self._vm}: run-command {self._name}")

    def interrupted(self) -> int:
        if not self._is_made:
            return INTERRUPTED
        self._say("stopping it")
        if self._end():
            self._say(f"{self._vm}: stopped at your word; the machine is still on")
        return INTERRUPTED

    def sum_up(self, end: End) -> int:
        if not end.state:
            raise RunError(f"the run-command {self._name} isn't there any more: somebody has deleted it, or the machine")
        if not end.streamed and (end.output or end.error):
            self._say(
                "the machine could write no blob, so this is the last 4 KB; its identity needs Storage Blob Data Contributor"
            )
            for text in (end.output, end.error):
                for line in text.splitlines():
                    self._say(f"  {line}")
        cost = job_cost.summary(end.seconds, showing.price_of(self._machine), datetime.now(UTC).date())
        if end.state == follow.TIMED_OUT:
            self._end()
            self._say(f"{self._vm}: stopped when its time was over; {cost}")
            return TIMED_OUT
        told = f"exit code {end.exit_code}" if end.exit_code is not None else end.message or "the service tells no exit code"
        self._say(f"{self._vm}: {end.state}, {told}; {cost}, as long as it ran; the machine costs while it is on")
        self._clean()
        return FAILED_RUN if end.exit_code is None else end.exit_code

    def _end(self) -> bool:
        """Whoever has it stopped is owed to hear that it runs no more, or that it may."""
        try:
            self._arm.delete(self._id, API_VERSION)
            if self._way is Way.CONTAINER:  # which the script's end may have left
                self._kill_container()
            self._clean()
        except (KeyboardInterrupt, *_REFUSED) as error:
            told = f" ({error})" if str(error) else ""
            self._say(f"{self._name} may still run{told}; see: {COMMAND} explain {self._vm} --stack {self._view.name}")
            return False
        return True

    def _kill_container(self) -> None:
        command = f"{self._id}-end"
        properties = {"source": {"script": plan.end_script(self._name)}, "asyncExecution": False, "timeoutInSeconds": END_SECONDS}
        self._arm.put(command, API_VERSION, {"location": self._machine.location, "properties": properties})
        Follower(self._arm, command, _nothing, show=_drop, show_error=_drop, say=_drop).follow()
        self._arm.delete(command, API_VERSION)

    def _clean(self) -> None:
        """A machine has room for 25 run-commands. What was shown is kept nowhere."""
        try:
            self._arm.delete(self._id, API_VERSION)
            for stream in ("stdout", "stderr"):
                self._blobs.delete(plan.RUNS, plan.blob(self._name, stream))
        except _REFUSED as error:
            self._say(f"the run-command {self._name} and its output stay: {error}")


def _read(blobs: Blobs, name: str, stream: str, start: int) -> bytes | None:
    return blobs.read_from(plan.RUNS, plan.blob(name, stream), start)


def _nothing(_: str, __: int) -> None:
    return None


def _drop(_: str) -> None:
    pass
