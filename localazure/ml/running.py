"""Runs one deployment: its generations, the watching of their instances, and the router's requests.

It runs when all instances are ready; ArmError in the service's words otherwise. An update that needs other containers starts them
beside those that serve; when they are ready requests go there, and the old ones finish what they have. An update that fails
leaves the old ones serving, as the service does.
"""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path

from localazure.containers.runtime import State
from localazure.ml import failures
from localazure.ml.generations import Containers, Generation, Plan
from localazure.ml.settings import Probe
from localazure.ml.slots import Instance, LiveDeployment
from localazure.ml.upstream import Upstream
from localazure.ml.watching import Watch

POLL_SECONDS = 0.1
RUNS = 2  # that may end before a container counts as crashed
_SHOWN_LINES = 20


class Running:
    """The instances of one deployment."""

    def __init__(self, live: LiveDeployment, containers: Containers) -> None:
        self.live = live
        self.serving: Generation | None = None
        self._containers = containers
        self._watches: dict[str, Watch] = {}  # of the generation that serves, by instance

    # A generation by itself

    def folder(self, generation: Generation) -> Path:
        """Where its model and code lie."""
        return self._containers.folder(generation)

    def ports(self, plan: Plan) -> tuple[int, ...]:
        """Those of the container's ports that each instance needs one of its own for."""
        return plan.served.ports

    async def halt(self, generation: Generation) -> None:
        """Ends its processes; what they printed stays, for whoever asks why."""
        await self._containers.stop(generation)

    async def discard(self, generation: Generation) -> None:
        await self._containers.remove(generation)

    async def log(self, generation: Generation, tail: int | None) -> str:
        states = self._containers.states(generation)
        return of_instances({name: (states.get(name), self._containers.log(generation, name, tail)) for name in generation.ports})

    # A generation that takes the place of another

    async def begin(self, generation: Generation, plan: Plan, readiness: Probe) -> None:
        """Starts a generation and puts it in the place of the one that serves. ArmError where it doesn't get ready."""
        await self._containers.start(generation, plan)
        watches = {name: self._watch(generation, name, readiness) for name in generation.ports}
        try:
            await self._until_ready(generation, watches, readiness)
        except BaseException:
            await _stopped(watches.values())
            raise
        before, old = self.serving, self._watches
        self.serving, self._watches = generation, watches
        self.live.instances = [watch.instance for watch in watches.values()]
        self.live.changed()
        if before is not None:
            await self._drained(watch.instance for watch in old.values())
            await _stopped(old.values())
            await self._containers.remove(before)

    def take_up(self, generation: Generation, readiness: Probe) -> None:
        """A generation that an earlier server started. Its instances are ready when a probe says so."""
        self.serving = generation
        self._watches = {name: self._watch(generation, name, readiness) for name in generation.ports}
        self.live.instances = [watch.instance for watch in self._watches.values()]

    # The same generation, changed

    async def scale(self, plan: Plan, names: Iterable[str], readiness: Probe) -> None:
        """Instances that `generation.ports` has more, or less, than there were. `names`: those that go."""
        generation = self.serving
        if generation is None:
            raise ValueError("what doesn't serve can't be scaled")
        gone = [self._watches.pop(name) for name in names if name in self._watches]
        self.live.instances = [watch.instance for watch in self._watches.values()]
        await self._drained(watch.instance for watch in gone)
        await _stopped(gone)
        await self._containers.start(generation, plan)
        more = {name: self._watch(generation, name, readiness) for name in generation.ports if name not in self._watches}
        try:
            await self._until_ready(generation, more, readiness)
        finally:
            self._watches |= more
            self.live.instances = [watch.instance for watch in self._watches.values()]
            self.live.changed()

    def probe(self, readiness: Probe) -> None:
        for watch in self._watches.values():
            watch.probe = readiness

    # The end

    async def end(self) -> None:
        """No more requests; those under way are finished. Then its containers are gone."""
        self.live.instances = []
        await self._drained(watch.instance for watch in self._watches.values())
        await self.close()
        if self.serving is not None:
            await self._containers.remove(self.serving)
            self.serving = None

    async def close(self) -> None:
        """Nobody watches any more; the containers continue."""
        await _stopped(self._watches.values())
        self._watches = {}

    # Parts

    def _watch(self, generation: Generation, name: str, readiness: Probe) -> Watch:
        path = str(generation.score[1]).encode()
        instance = Instance(name, Upstream(generation.scoring_port(name)), path)
        upstream = Upstream(generation.readiness_port(name))
        return Watch(instance, upstream, str(generation.readiness[1]), readiness, self.live.changed)

    async def _until_ready(self, generation: Generation, watches: dict[str, Watch], readiness: Probe) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + readiness.patience
        while waiting := [name for name, watch in watches.items() if not watch.instance.ready]:
            states = self._containers.states(generation)
            for name in waiting:
                self._check_crash(generation, name, states.get(name))
            if loop.time() >= deadline:
                log = self._containers.log(generation, waiting[0], _SHOWN_LINES)
                raise failures.never_ready("readiness", watches[waiting[0]].why, log)
            await asyncio.sleep(POLL_SECONDS)

    def _check_crash(self, generation: Generation, name: str, state: State | None) -> None:
        if state is None or not state["current"]:
            return
        ended = state["current"] if "exitCode" in state["current"] else state["previous"]
        if ended is None or not (state["ended"] or state["restart_count"] >= RUNS):
            return
        log = self._containers.log(generation, name, _SHOWN_LINES)
        unhealthy = next((each["message"] for each in reversed(state["events"]) if each["name"] == "Unhealthy"), "")
        if unhealthy:
            raise failures.never_ready("liveness", unhealthy, log)
        raise failures.crashed(f"it ended {state['restart_count']} times, the last time with exit code {ended['exitCode']}", log)

    async def _drained(self, instances: Iterable[Instance]) -> None:
        """Until requests that are under way have been answered; no longer than one may take."""
        busy = list(instances)
        deadline = asyncio.get_running_loop().time() + self.live.settings.timeout_seconds
        while any(each.in_flight for each in busy) and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(POLL_SECONDS / 2)


async def _stopped(watches: Iterable[Watch]) -> None:
    await asyncio.gather(*(watch.stop() for watch in watches))


INITIALIZER, SERVER = "StorageInitializer", "InferenceServer"


def of_file(path: Path, tail: int | None) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    except FileNotFoundError:
        return ""
    return "".join(lines if tail is None else lines[max(len(lines) - tail, 0) :])


def of_instances(instances: Mapping[str, tuple[State | None, str]]) -> str:
    """By instance: its state, and the lines that are requested. In the order that clients of the service know."""
    return "\n".join(_instance(name, state, printed) for name, (state, printed) in instances.items())


def _instance(name: str, state: State | None, printed: str) -> str:
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
