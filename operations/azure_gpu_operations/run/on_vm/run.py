"""A run on a stack's virtual machine: a run-command, on a machine that is started and deallocated if that is requested.

In: a stack's view, the machine's name in it, a `Wanted`. Out: a `Plan`, or a `Run` that is there already. Loaded when a run
begins.

Output comes through blobs in the stack's storage account, which the machine writes as its identity: the run-command itself keeps
no more than the last 4 KB. They are removed when they were shown. A machine that a run has started stays on, unless it is told
to be deallocated: whoever starts it knows what it is for.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
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
from azure_gpu_operations.exit_codes import FAILED_RUN, TIMED_OUT
from azure_gpu_operations.run import carried, names
from azure_gpu_operations.run.carried import NO_FILES, RunFiles
from azure_gpu_operations.run.errors import RunError, WrongRunError
from azure_gpu_operations.run.on_vm import follow, plan as bodies
from azure_gpu_operations.run.on_vm.follow import End, Follower
from azure_gpu_operations.run.on_vm.plan import Image, Place
from azure_gpu_operations.run.on_vm.wanted import Wanted, Way, too_large
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, Say
from azure_gpu_operations.run.stack_registry import of_stack
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.stack_view import StackView
from azure_gpu_operations.virtual_machines import API_VERSION, Machine
from azure_gpu_operations.vm import power, showing
from azure_gpu_operations.vm.power import PowerError

_REFUSED = (AzureError, AzureCoreError, requests.RequestException)
END_SECONDS = 30  # how long a run-command that ends a container may take


@contextmanager
def plan(view: StackView, name: str, wanted: Wanted, output: Output) -> Iterator["VmRun"]:
    """With the machine started where that is requested, and the image built; the machine is deallocated afterwards where that is
    requested."""
    say = output.say
    with closing(Arm(view.connection)) as arm:
        machine, body = _machine(arm, view, name)
        way = _way(wanted, body)
        stopped = _is_stopped(view, name, machine, wanted)
        try:
            if stopped:
                _start(arm, view, name, machine, say)
            with closing(Blobs(arm, view.storage)) as blobs:
                place = Place(blobs.endpoint, client_id(body))
                with carried.carrying(
                    arm, view.storage, wanted.target, wanted.arguments, wanted.files, lambda: place.client_id
                ) as carrying:
                    wanted = wanted._replace(target=carrying.target, arguments=tuple(carrying.arguments))
                    image = _image(arm, view, wanted, way, say)
                    blobs.make_container(bodies.RUNS)
                    run_name = carrying.files.name or names.of_run(wanted.target)
                    script = bodies.script(run_name, wanted, way, image, place)
                    command = bodies.body(run_name, machine.location, script, place, wanted)
                    yield VmRun(
                        arm,
                        blobs,
                        view.name,
                        name,
                        machine,
                        run_name,
                        output,
                        wanted=wanted,
                        way=way,
                        body=command,
                        files=carrying.files,
                    )
        finally:
            if wanted.stop_after:
                _stop(arm, view, name, machine, say)
            elif stopped:
                say(f"{name} stays on; when you are done: {COMMAND} vm stop {name} --stack {view.name}")


def find(arm: Arm, view: StackView, name: str, output: Output) -> "VmRun | None":
    """The run-command of this name on any of the stack's machines."""
    for place, machine_id in view.vms.items():
        if arm.get(f"{machine_id}/runCommands/{name}", API_VERSION) is None:
            continue
        machine = virtual_machines.get(arm, machine_id, whole=False)
        if machine is not None:
            return VmRun(arm, Blobs(arm, view.storage), view.name, place, machine, name, output, way=Way.CONTAINER)
    return None


class VmRun:
    """One run-command. `body` None: it was sent before."""

    def __init__(
        self,
        arm: Arm,
        blobs: Blobs,
        stack: str,
        place: str,
        machine: Machine,
        name: str,
        output: Output,
        *,
        wanted: Wanted = Wanted(Target()),  # noqa: B008 - immutable
        way: Way | None = None,
        body: dict[str, Any] | None = None,
        files: RunFiles = NO_FILES,
    ) -> None:
        self._files = files
        self._arm, self._blobs, self._stack, self._machine = arm, blobs, stack, machine
        self._wanted, self._way, self._body, self._say = wanted, way, body, output.say
        self._id = f"{machine.id}/runCommands/{name}"
        self._is_made = body is None
        self._end = End()
        self.place, self.name = place, name
        read = partial(_read, blobs, name)
        self._follower = Follower(arm, self._id, read, show=output.show, show_error=output.show_error, say=output.say)

    @property
    def kept_as(self) -> str:
        return self._files.kept_as

    @property
    def can_be_left(self) -> bool:
        return self._is_made and not self._wanted.stop_after

    def start(self) -> None:
        assert self._body is not None, "it was sent before"
        self._is_made = True  # from here on it may be there, whatever is answered
        self._arm.put(self._id, API_VERSION, self._body)
        what = "a command" if self._wanted.is_command else self._wanted.target.described
        self._say(f"started {what} on machine {self.place}: run-command {self.name}")
        self._files.tell(self._say)

    def follow(self) -> Outcome:
        self._end = end = self._follower.follow()
        if not end.state:
            raise RunError(f"the run-command {self.name} isn't there any more: somebody has deleted it, or the machine")
        if not end.streamed and (end.output or end.error):
            self._say(
                "the machine could write no blob, so this is the last 4 KB; its identity needs Storage Blob Data Contributor"
            )
            for text in (end.output, end.error):
                for line in text.splitlines():
                    self._say(f"  {line}")
        if end.state == follow.TIMED_OUT:
            return Outcome(TIMED_OUT, "stopped when its time was over")
        self._files.end(self._say, self._stack)
        told = f"exit code {end.exit_code}" if end.exit_code is not None else end.message or "the service tells no exit code"
        return Outcome(FAILED_RUN if end.exit_code is None else end.exit_code, f"{end.state}, {told}")

    def stop(self) -> bool:
        """Whoever has it stopped is owed to hear that it runs no more, or that it may."""
        if not self._is_made:
            return False
        self._say("stopping it")
        try:
            self._arm.delete(self._id, API_VERSION)
            if self._way is Way.CONTAINER:  # which the script's end may have left
                self._kill_container()
            self._clean()
        except (KeyboardInterrupt, *_REFUSED) as error:
            told = f" ({error})" if str(error) else ""
            self._say(f"{self.name} may still run{told}; see: {COMMAND} explain {self.place} --stack {self._stack}")
            return False
        return True

    def cost(self) -> Cost:
        """Of the machine while the program ran; it costs while it is on."""
        seconds, price = self._end.seconds, showing.price_of(self._machine)
        told = job_cost.summary(seconds, price, datetime.now(UTC).date())
        words = f"{told}, as long as it ran; the machine costs while it is on"
        return Cost(words, job_cost.cost(price, seconds), seconds)

    def settle(self) -> None:
        """A machine has room for 25 run-commands. What was shown is kept nowhere."""
        if self._end.state == follow.TIMED_OUT:
            self.stop()
        else:
            self._clean()

    def _kill_container(self) -> None:
        command = f"{self._id}-end"
        source = {"script": bodies.end_script(self.name)}
        properties = {"source": source, "asyncExecution": False, "timeoutInSeconds": END_SECONDS}
        self._arm.put(command, API_VERSION, {"location": self._machine.location, "properties": properties})
        Follower(self._arm, command, _nothing, show=_drop, show_error=_drop, say=_drop).follow()
        self._arm.delete(command, API_VERSION)

    def _clean(self) -> None:
        try:
            self._arm.delete(self._id, API_VERSION)
            for stream in ("stdout", "stderr"):
                self._blobs.delete(bodies.RUNS, bodies.blob(self.name, stream))
        except _REFUSED as error:
            self._say(f"the run-command {self.name} and its output stay: {error}")


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
    if way is Way.PYTHON and wanted.files.are_carried:
        fix = "write --way container, on a machine whose image brings Docker"
        problems.append(Problem("--way", "files go with a container only", value=way, allowed="container", fix=fix))
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


def _read(blobs: Blobs, name: str, stream: str, start: int) -> bytes | None:
    return blobs.read_from(bodies.RUNS, bodies.blob(name, stream), start)


def _nothing(_: str, __: int) -> None:
    return None


def _drop(_: str) -> None:
    pass
