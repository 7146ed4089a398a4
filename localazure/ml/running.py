"""Runs one deployment: its generations, the watching of their instances, and the router's requests.

It runs when all instances are ready; ArmError in the service's words otherwise. An update that needs other containers starts them
beside those that serve; when they are ready requests go there, and the old ones finish what they have. An update that fails
leaves the old ones serving, as the service does.
"""

import asyncio
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from localazure.containers.runtime import Runtime, State
from localazure.ml import failures
from localazure.ml.generations import Generation, Plan, containers
from localazure.ml.settings import Probe
from localazure.ml.slots import Instance, LiveDeployment
from localazure.ml.upstream import Upstream
from localazure.ml.watching import Watch

POLL_SECONDS = 0.1
RUNS = 2  # that may end before a container counts as crashed
_SHOWN_LINES = 20


class Watched:
    """The instances of one deployment, watched, and the requests that the router brings."""

    def __init__(self, live: LiveDeployment, files: Path) -> None:
        self.live = live
        self.serving: Generation | None = None
        self._files = files
        self._watches: dict[str, Watch] = {}  # of what takes requests

    def folder(self, generation: Generation) -> Path:
        """Where its model and code lie."""
        return self._files / generation.id

    def probe(self, readiness: Probe) -> None:
        for watch in self._watches.values():
            watch.probe = readiness

    async def close(self) -> None:
        """Nobody watches any more; what runs continues."""
        await stopped(self._watches.values())
        self._watches = {}

    def _watch(self, name: str, generation: Generation, ports: Mapping[str, int], readiness: Probe) -> Watch:
        """`ports`: of this machine, by those that the container knows."""
        (score, scoring), (ready, path) = generation.score, generation.readiness
        instance = Instance(name, Upstream(int(ports[str(score)])), str(scoring).encode())
        return Watch(instance, Upstream(int(ports[str(ready)])), str(path), readiness, self.live.changed)

    def _show(self) -> None:
        self.live.instances = [watch.instance for watch in self._watches.values()]

    async def _until_idle(self, busy: Callable[[], object]) -> None:
        """Until requests that are under way have been answered; no longer than one may take."""
        deadline = asyncio.get_running_loop().time() + self.live.settings.timeout_seconds
        while busy() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(POLL_SECONDS / 2)


class Running(Watched):
    """Containers of this machine."""

    def __init__(self, live: LiveDeployment, files: Path, runtime: Runtime) -> None:
        super().__init__(live, files)
        self._runtime = runtime

    # A generation by itself

    def ports(self, plan: Plan) -> tuple[int, ...]:
        """Those of the container's ports that each instance needs one of its own for."""
        return plan.served.ports

    async def halt(self, generation: Generation) -> None:
        """Ends its processes; what they printed stays, for whoever asks why."""
        await self._runtime.stop(generation.group)

    async def discard(self, generation: Generation) -> None:
        await self._runtime.remove(generation.group)
        await asyncio.to_thread(shutil.rmtree, self.folder(generation), ignore_errors=True)

    async def log(self, generation: Generation, tail: int | None) -> str:
        """By instance: its state, and the lines that are requested."""
        states = self._runtime.states(generation.group)
        return "\n".join(_instance(name, states.get(name), self._log(generation, name, tail)) for name in generation.ports)

    # A generation that takes the place of another

    async def begin(self, generation: Generation, plan: Plan, readiness: Probe) -> None:
        """Starts a generation and puts it in the place of the one that serves. ArmError where it doesn't get ready."""
        await self._start(generation, plan)
        watches = {name: self._watch(name, generation, ports, readiness) for name, ports in generation.ports.items()}
        try:
            await self._until_ready(generation, watches, readiness)
        except BaseException:
            await stopped(watches.values())
            raise
        before, old = self.serving, self._watches
        self.serving, self._watches = generation, watches
        self._show()
        self.live.changed()
        if before is not None:
            await self._drained(watch.instance for watch in old.values())
            await stopped(old.values())
            await self.discard(before)

    def take_up(self, generation: Generation, readiness: Probe) -> None:
        """A generation that an earlier server started. Its instances are ready when a probe says so."""
        self.serving = generation
        self._watches = self._watched(generation, readiness)
        self._show()

    # The same generation, changed

    async def scale(self, plan: Plan, names: Iterable[str], readiness: Probe) -> None:
        """Instances that `generation.ports` has more, or less, than there were. `names`: those that go."""
        generation = self.serving
        if generation is None:
            raise ValueError("what doesn't serve can't be scaled")
        gone = [self._watches.pop(name) for name in names if name in self._watches]
        self._show()
        await self._drained(watch.instance for watch in gone)
        await stopped(gone)
        await self._start(generation, plan)
        more = self._watched(generation, readiness)
        try:
            await self._until_ready(generation, more, readiness)
        finally:
            self._watches |= more
            self._show()
            self.live.changed()

    # The end

    async def end(self) -> None:
        """No more requests; those under way are finished. Then its containers are gone."""
        self.live.instances = []
        await self._drained(watch.instance for watch in self._watches.values())
        await self.close()
        if self.serving is not None:
            await self.discard(self.serving)
            self.serving = None

    # Parts

    async def _start(self, generation: Generation, plan: Plan) -> None:
        """Makes its instances those that `generation.ports` names."""
        await self._runtime.start(generation.group, *containers(generation, plan, self.folder(generation)))

    def _log(self, generation: Generation, instance: str, tail: int | None) -> str:
        return self._runtime.logs(generation.group, instance, tail)

    def _watched(self, generation: Generation, readiness: Probe) -> dict[str, Watch]:
        """Watches of the instances that have none."""
        new = {name: ports for name, ports in generation.ports.items() if name not in self._watches}
        return {name: self._watch(name, generation, ports, readiness) for name, ports in new.items()}

    async def _until_ready(self, generation: Generation, watches: dict[str, Watch], readiness: Probe) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + readiness.patience
        while waiting := [name for name, watch in watches.items() if not watch.instance.ready]:
            states = self._runtime.states(generation.group)
            for name in waiting:
                self._check_crash(generation, name, states.get(name))
            if loop.time() >= deadline:
                log = self._log(generation, waiting[0], _SHOWN_LINES)
                raise failures.never_ready("readiness", watches[waiting[0]].why, log)
            await asyncio.sleep(POLL_SECONDS)

    def _check_crash(self, generation: Generation, name: str, state: State | None) -> None:
        if state is None or not state["current"]:
            return
        ended = state["current"] if "exitCode" in state["current"] else state["previous"]
        if ended is None or not (state["ended"] or state["restart_count"] >= RUNS):
            return
        log = self._log(generation, name, _SHOWN_LINES)
        unhealthy = next((each["message"] for each in reversed(state["events"]) if each["name"] == "Unhealthy"), "")
        if unhealthy:
            raise failures.never_ready("liveness", unhealthy, log)
        raise failures.crashed(f"it ended {state['restart_count']} times, the last time with exit code {ended['exitCode']}", log)

    async def _drained(self, instances: Iterable[Instance]) -> None:
        busy = list(instances)
        await self._until_idle(lambda: any(each.in_flight for each in busy))


async def stopped(watches: Iterable[Watch]) -> None:
    await asyncio.gather(*(watch.stop() for watch in watches))


INITIALIZER, SERVER = "StorageInitializer", "InferenceServer"


def of_file(path: Path, tail: int | None) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    except FileNotFoundError:
        return ""
    return "".join(lines if tail is None else lines[max(len(lines) - tail, 0) :])


def _instance(name: str, state: State | None, printed: str) -> str:
    """In the order that clients of the service know."""
    current = (state or {}).get("current") or {}
    ended = current.get("state") == "Terminated" or "CrashLoopBackOff" in str(current.get("detailStatus"))
    start = "Failed" if ended else "Succeeded" if current.get("state") == "Running" else "InProgress"
    before = "Succeeded" if current else "InProgress"
    lines = [
        f"Instance status ({name}):",
        "SystemSetup: Succeeded",
        f"UserContainerImagePull: {before}",
        f"ModelDownload: {before}",
        f"UserContainerStart: {start if current else 'Pending'}",
        "",
        "Container events:",
        *(_event(each) for each in (state or {}).get("events", ())),
        "",
        "Container logs:",
        printed,
    ]
    return "\n".join(lines)


def _event(event: Mapping[str, object]) -> str:
    when, name, message = event["lastTimestamp"], event["name"], event["message"]
    return f"Kind: Pod, Name: {name}, Type: {event['type']}, Time: {when}, Message: {message}"
