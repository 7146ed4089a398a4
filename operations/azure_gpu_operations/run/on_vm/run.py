"""A run on a stack's virtual machine: a run-command, on a machine that is started and deallocated if that is requested.

Imported when a run starts, because Azure's clients load slowly.

Output is read from blobs in the stack's storage account, which the machine writes with its identity, since a run-command keeps
only the last 4 KB. The blobs are deleted after the run. A machine that was started for a run stays on unless --stop-after is
set. KeyboardInterrupt passes through while it is followed.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.machines.shutdown import DEALLOCATED, RUNNING
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference
from azure_gpu.formats.dates import instant
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import virtual_machines
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.batch.blobs import Blobs
from azure_gpu_operations.exit_codes import FAILED_RUN, TIMED_OUT
from azure_gpu_operations.machine_power import PowerError, deallocate_machine, machine_cost, machine_price, start_machine
from azure_gpu_operations.one_part import MACHINE
from azure_gpu_operations.run import carried, gpu_confirmation, service_run, target, used_part
from azure_gpu_operations.run.log_lines import BlobTail
from azure_gpu_operations.run.on_vm import plan as bodies
from azure_gpu_operations.run.on_vm.plan import Image, OutputStore
from azure_gpu_operations.run.on_vm.request import VmRequest, too_large
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, RunError, Say, WrongRunError
from azure_gpu_operations.run.service_run import REFUSED, ServiceRun
from azure_gpu_operations.run.target import RunMethod, Target
from azure_gpu_operations.run.used_part import no_registry, registry_of
from azure_gpu_operations.stack_view import StackView
from azure_gpu_operations.virtual_machines import API_VERSION, Machine

DRAIN_SECONDS = 10.0  # how long output may arrive after the program's end
OVER = ("Succeeded", "Failed", "TimedOut", "Canceled")
STATE_TIMED_OUT = "TimedOut"

ReadBlob = Callable[[str, int], bytes | None]  # (stream, start) -> content


class End(NamedTuple):
    """How the run-command ended."""

    state: str = ""  # one of OVER; "": it was deleted
    exit_code: int | None = None
    started: datetime | None = None
    ended: datetime | None = None
    message: str = ""  # of the service
    output: str = ""  # its end, as the service returns it
    error: str = ""
    streamed: bool = False  # whether the blobs had output

    @property
    def seconds(self) -> float | None:
        if self.started is None or self.ended is None:
            return None
        return max(0.0, (self.ended - self.started).total_seconds())


class Follower(service_run.Follower[End]):
    """One run-command."""

    billed = ""

    def __init__(self, arm: Arm, command_id: str, read: ReadBlob, output: Output, **times: Any) -> None:
        super().__init__("the program", output, **times)
        self._arm, self._id = arm, command_id
        self._tails = (
            BlobTail(lambda at: read("stdout", at), output.show),
            BlobTail(lambda at: read("stderr", at), self._error),
        )

    def follow(self) -> End:
        return self._drained(super().follow())

    def _look(self) -> End | None:
        """The end; None while it is running."""
        body = self._arm.get(self._id, API_VERSION, **{"$expand": "instanceView"})
        found = End() if body is None else end_of(body)
        for tail in self._tails:
            tail.more()
        return found if body is None or found.state in OVER else None

    def _drained(self, end: End) -> End:
        """Reads the last output, which the machine writes every few seconds."""
        waited = 0.0
        while waited < DRAIN_SECONDS and not self._has_all(end):
            self._sleep(self.poll_seconds)
            waited += self.poll_seconds
            for tail in self._tails:
                tail.more()
        for tail in self._tails:
            tail.finish()
        return end._replace(streamed=any(tail.found for tail in self._tails))

    def _has_all(self, end: End) -> bool:
        """Whether the end of the output, as the service returns it, was read."""
        return all(tail.ends_with(text) for tail, text in zip(self._tails, (end.output, end.error), strict=True))

    def _error(self, line: str) -> None:
        gpu_confirmation.pass_on(line, self._output.show_error, self._say)


def end_of(body: Mapping[str, Any]) -> End:
    view = (body.get("properties") or {}).get("instanceView") or {}
    return End(
        state=str(view.get("executionState") or ""),
        exit_code=view.get("exitCode"),
        started=instant(view.get("startTime")),
        ended=instant(view.get("endTime")),
        message=str(view.get("executionMessage") or ""),
        output=str(view.get("output") or ""),
        error=str(view.get("error") or ""),
    )


END_SECONDS = 30  # how long a run-command that ends a container may take


@contextmanager
def plan(view: StackView, name: str, request: VmRequest, output: Output) -> Iterator["VmRun"]:
    """Starts the machine if requested, builds the image, and deallocates the machine afterwards if requested."""
    say = output.say
    with closing(Arm(view.connection)) as arm:
        machine, body = _machine(arm, view, name)
        used_part.accepted(used_part.expired(MACHINE, view, name, lambda: body), say)
        method = _method(request, body)
        stopped = _is_stopped(view, name, machine, request)
        try:
            if stopped:
                _start(arm, view, name, machine, say)
            with closing(Blobs(arm, view.storage)) as blobs:
                store = OutputStore(blobs.endpoint, used_part.client_id(body) or "")
                identity = partial(used_part.carrier_of, MACHINE, name, body)
                with carried.carrying(arm, view.storage, request.target, request.arguments, request.files, identity) as carrying:
                    request = request._replace(target=carrying.target, arguments=tuple(carrying.arguments))
                    image = _image(arm, view, request, method, say)
                    blobs.make_container(bodies.RUNS)
                    run_name = carrying.files.name or target.run_name(request.target)
                    script = bodies.script(run_name, request, method, image, store)
                    command = bodies.body(run_name, machine.location, script, store, request)
                    files = carrying.files
                    yield VmRun(
                        view.name, name, output, request, arm, blobs, machine, method, name=run_name, body=command, files=files
                    )
        finally:
            if request.stop_after:
                _stop(arm, view, name, machine, say)
            elif stopped:
                say(f"{name} stays on; to deallocate it: {COMMAND} stop {name} --stack {view.name}")


def find(arm: Arm, view: StackView, name: str, output: Output) -> "VmRun | None":
    """The run-command of this name on any of the stack's machines."""
    for place, machine_id in view.vms.items():
        if arm.get(f"{machine_id}/runCommands/{name}", API_VERSION) is None:
            continue
        machine = virtual_machines.get(arm, machine_id, whole=False)
        if machine is not None:
            request, blobs = VmRequest(Target()), Blobs(arm, view.storage)
            container = RunMethod.CONTAINER  # which may have to be ended too
            return VmRun(view.name, place, output, request, arm, blobs, machine, container, name=name, is_sent=True)
    return None


@dataclass
class VmRun(ServiceRun[VmRequest]):
    """One run-command."""

    arm: Arm
    blobs: Blobs
    machine: Machine
    method: RunMethod | None
    body: dict[str, Any] | None = field(kw_only=True, default=None)
    noun = "run-command"
    owner = "machine"
    stopped = "is stopped"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._id = f"{self.machine.id}/runCommands/{self.name}"
        self._end = End()
        self._follower = Follower(self.arm, self._id, partial(_read, self.blobs, self.name), self.output)

    @property
    def can_be_left(self) -> bool:
        return self.is_sent and not self.request.stop_after

    def _send(self) -> str:
        assert self.body is not None, "it was created earlier"
        self.arm.put(self._id, API_VERSION, self.body)
        return f"{'a command' if self.request.is_command else self.request.target.described} on machine {self.place}"

    def follow(self) -> Outcome:
        self._end = end = self._follower.follow()
        if not end.state:
            raise self.gone()
        if not end.streamed and (end.output or end.error):
            self.say(
                "only the last 4 KB, because the machine can't write blobs; its identity needs Storage Blob Data Contributor"
            )
            for text in (end.output, end.error):
                for line in text.splitlines():
                    self.say(f"  {line}")
        if end.state == STATE_TIMED_OUT:
            return Outcome(TIMED_OUT, "stopped after its timeout")
        self.end_files()
        result = f"exit code {end.exit_code}" if end.exit_code is not None else end.message or "no exit code reported"
        return Outcome(FAILED_RUN if end.exit_code is None else end.exit_code, f"{end.state}, {result}")

    def _cancel(self) -> None:
        self.arm.delete(self._id, API_VERSION)
        if self.method is RunMethod.CONTAINER:  # which may have survived its script
            self._kill_container()
        self._clean()

    @property
    def _seen_by(self) -> str:
        return self.explain(self.place)

    def cost(self) -> Cost:
        """Cost of the machine for the time of the run; it is billed while it is on."""
        more = ", for the time of the run; the machine is billed while it is on"
        return self.cost_of(self._end.seconds, machine_price(self.machine), more)

    def settle(self) -> None:
        """Deletes the run-command, of which a machine can have 25, and its output."""
        if self._end.state == STATE_TIMED_OUT:
            self.stop()
        else:
            self._clean()

    def _kill_container(self) -> None:
        command = f"{self._id}-end"
        source = {"script": bodies.end_script(self.name)}
        properties = {"source": source, "asyncExecution": False, "timeoutInSeconds": END_SECONDS}
        self.arm.put(command, API_VERSION, {"location": self.machine.location, "properties": properties})
        Follower(self.arm, command, lambda *_: None, Output(*[lambda _: None] * 3)).follow()
        self.arm.delete(command, API_VERSION)

    def _clean(self) -> None:
        try:
            self.arm.delete(self._id, API_VERSION)
            for stream in ("stdout", "stderr"):
                self.blobs.delete(bodies.RUNS, bodies.blob(self.name, stream))
        except REFUSED as error:
            self.say(f"the run-command {self.name} and its output could not be removed: {error}")


def _machine(arm: Arm, view: StackView, name: str) -> tuple[Machine, dict[str, Any]]:
    machine_id = view.vms[name]
    body, machine = arm.get(machine_id, API_VERSION), virtual_machines.get(arm, machine_id, whole=False)
    if body is None or machine is None:
        raise used_part.missing(MACHINE, view, name, ": deleted, or evicted as a Spot machine")
    if machine.windows:
        fix = "choose a Linux machine, or sign in to this one through a Bastion"
        raise WrongRunError([Problem("--vm", "runs require a Linux machine, and this one runs Windows", name, fix=fix)])
    return machine, body


def _method(request: VmRequest, body: Mapping[str, Any]) -> RunMethod | None:
    """A container if the machine's image has Docker; only scripts also run without."""
    if request.is_command:
        return None
    is_script = request.target.context is not None and bool(request.target.context.script)
    method = request.method or (RunMethod.CONTAINER if not is_script or brings_containers(body) else RunMethod.PYTHON)
    problems = too_large(request.target) if method is RunMethod.PYTHON else []
    if method is RunMethod.PYTHON and request.files.are_carried:
        fix = "use --way container, on a machine whose image has Docker"
        problems.append(Problem("--way", "files require a container", value=method.value, allowed="container", fix=fix))
    if problems:
        raise WrongRunError(problems)
    return method


def brings_containers(body: Mapping[str, Any]) -> bool:
    """Whether the image of a machine is known to have Docker with NVIDIA's container toolkit."""
    storage = (body.get("properties") or {}).get("storageProfile") or {}
    reference = storage.get("imageReference") or {}
    known = vm_images.find(ImageReference(*(str(reference.get(key) or "") for key in ("publisher", "offer", "sku"))), IMAGES)
    return known is not None and "Docker-compatible containers" in known.has


def _is_stopped(view: StackView, name: str, machine: Machine, request: VmRequest) -> bool:
    """Whether the machine must be started first."""
    is_stopped = machine.power != RUNNING.name
    if is_stopped and not request.start:
        fix = f"add --start, or run {COMMAND} start {name} --stack {view.name}"
        raise WrongRunError([Problem("--vm", f"the machine is {machine.power or 'not running'}", name, fix=fix)])
    return is_stopped


def _start(arm: Arm, view: StackView, name: str, machine: Machine, say: Say) -> None:
    running = machine._replace(power=RUNNING.name)
    say(f"starting {name}; cost: {machine_cost(running, view.idle_cost.get(name), datetime.now(UTC).date())}")
    try:
        start_machine(arm, machine.id)
    except PowerError as error:
        raise RunError(str(error)) from error


def _stop(arm: Arm, view: StackView, name: str, machine: Machine, say: Say) -> None:
    deallocated = machine._replace(power=DEALLOCATED.name)
    say(f"deallocating {name}")
    try:
        deallocate_machine(arm, machine.id)
    except (PowerError, KeyboardInterrupt, *REFUSED) as error:
        reason = str(error) or "interrupted"
        say(f"{name} may still be running and billed ({reason}); to stop it: {COMMAND} stop {name} --stack {view.name}")
        return
    say(f"{name} is deallocated; cost: {machine_cost(deallocated, view.idle_cost.get(name), datetime.now(UTC).date())}")


def _image(arm: Arm, view: StackView, request: VmRequest, method: RunMethod | None, say: Say) -> Image | None:
    if method is not RunMethod.CONTAINER:
        return None
    if request.target.context is None and not view.registry:
        return Image(request.target.image)
    if missing := no_registry(view, request.target, "use --way python for a script"):
        raise WrongRunError(missing)
    registry = registry_of(arm, view)
    if request.target.context is not None:
        return Image(registry.build(request.target.context, say), registry.server)
    is_own = request.target.image.lower().startswith(f"{registry.server.lower()}/")
    return Image(request.target.image, registry.server if is_own else "")


def _read(blobs: Blobs, name: str, stream: str, start: int) -> bytes | None:
    return blobs.read_from(bodies.RUNS, bodies.blob(name, stream), start)
