"""One container of a pod: its image, its runs one after the other, its probes, until it has ended for good.

An image is pulled until that succeeds, with the states shown meanwhile and growing waits; an infrastructure image has no record.
A container that an earlier agent began is resumed where it is. Behaviour: kubelet v1.36.2, pkg/kubelet/kuberuntime and
pkg/kubelet/images.
"""

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from azure_gpu.formats import image_reference
from localazure.folder import read_json
from localazure.kubernetes import infrastructure
from localazure.kubernetes.agent import controllers, environment, probes, process_spec, runs, times
from localazure.kubernetes.agent.environment import MissingError, program, variables
from localazure.kubernetes.agent.images import Credential, PullError, credentials_of
from localazure.kubernetes.agent.pod_status import CREATING, ContainerState, is_sidecar, should_restart
from localazure.kubernetes.agent.probes import Beside
from localazure.kubernetes.agent.runs import ActorRun, Known, ProcessRun
from localazure.kubernetes.node_gpus import StartError

if TYPE_CHECKING:
    from localazure.kubernetes.agent.pod import Pod

Body = dict[str, Any]
_FIRST_BACKOFF, _MOST_BACKOFF = 10.0, 300.0
_BACKOFF_RESET = 600.0
_SHOWN_SECONDS = 2.0  # for which a failure is shown before the waiting for the next try is
_CONFIG_SECONDS = 2.0  # between two tries to make a container whose configuration lacks something
_KEPT = 2  # runs whose logs stay
_NO_CONFIG = "CreateContainerConfigError"


class Container:
    """One of a pod's. `life` is run once in an agent's life."""

    def __init__(self, pod: "Pod", spec: Body, *, init: bool) -> None:
        self.pod = pod
        self.spec = spec
        self.init = init
        self.name: str = spec["name"]
        self.image: str = spec["image"]
        self.state = ContainerState(self.name)
        self.run: ProcessRun | ActorRun | None = None
        self._attempt = -1
        self._backoff = 0.0
        self._probing: asyncio.Task[None] | None = None
        self._beginning: asyncio.Future[ProcessRun] | None = None
        self._took_up = False

    def known(self, attempt: int) -> Known:
        return runs.known(self.pod.folder, self.pod.uid, self.name, attempt)

    def event(self, kind: str, reason: str, message: str) -> None:
        self.pod.event(kind, reason, message, f"spec.{'initContainers' if self.init else 'containers'}{{{self.name}}}")

    def _fails(self, reason: str, message: str) -> None:
        """It can't begin yet, and is shown as waiting for this reason."""
        self.event("Warning", "Failed", f"Error: {message if reason == _NO_CONFIG else reason}")
        self.state.wait(reason, message)
        self.pod.changed()

    # Its life

    async def life(self) -> int:
        """Until it has ended and isn't to run again. Its last exit code."""
        await self.take_up()
        due = self.run is None and self.state.terminated is None
        while True:
            if due:
                await self._begin()
            due = True
            terminated = self.state.terminated
            if self.run is not None:
                self._probing = asyncio.create_task(self._probe())
                terminated = await self.run.ended()
                await self._stop_probing()
                self._ended(terminated)
            assert terminated is not None, "a container that isn't running has ended"
            code = int(terminated["exitCode"])
            self.pod.changed()
            if not should_restart(self.pod.body, self.spec, code, init=self.init):
                return code
            await self._back_off(terminated)

    def _ended(self, terminated: Body) -> None:
        self.run = None
        self.state.end(terminated)
        self.state.ready = self.init and terminated["exitCode"] == 0

    async def take_up(self) -> None:
        """Finds what an earlier agent began."""
        if self._took_up:
            return
        self._took_up = True
        numbers = runs.attempts(self.pod.folder, self.name)
        if not numbers:
            return
        self._attempt = self.state.restarts = numbers[-1]
        self._backoff = _FIRST_BACKOFF if self._attempt else 0.0
        if len(numbers) > 1:
            self.state.last = self._ended_before(self.known(numbers[-2]))
        known = self.known(self._attempt)
        record = read_json(known.folder / "run.json") or {}
        self.state.image, self.state.image_id = record.get("image_name", ""), record.get("image_id", "")
        self.state.container_id = known.container_id
        if record.get("terminated"):
            self._ended(record["terminated"])
            return
        if record.get("kind") == "process":
            self.run = await ProcessRun.adopt(known)
            if self.run.is_over:
                self._ended(await self.run.ended())
        elif record.get("kind") == "actor":
            self.run = await self._act(known)
        if self.run is not None:
            self.state.run(self.run.since, known.container_id)
            told = self._told_before(known.container_id)
            self.state.ready, self.state.started = bool(told.get("ready")), bool(told.get("started"))

    def _told_before(self, container_id: str) -> Body:
        """What its status was when an earlier agent told it: a kubelet's restart makes nothing unready."""
        status = self.pod.body.get("status") or {}
        told = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
        return next((one for one in told if one["name"] == self.name and one.get("containerID") == container_id), {})

    def _ended_before(self, known: Known) -> Body | None:
        record = read_json(known.folder / "run.json") or {}
        if record.get("terminated"):
            return record["terminated"]
        state = read_json(known.folder / "state.json") or {}
        return ProcessRun(known).terminated() if state.get("current") else None

    async def _begin(self) -> None:
        """Starts the next run, or notes one that couldn't be started."""
        image = await self._image()
        env = await self._variables()
        self._attempt += 1
        self.state.restarts = self._attempt
        known = self.known(self._attempt)
        try:
            self.run = await self._act(known) if image is None else await self._process(known, image, env)
        except (StartError, OSError, ValueError) as error:  # also of names that this machine can't have, too long or with a null
            message = str(error.strerror or error) if isinstance(error, OSError) else str(error)
            self.event("Warning", "Failed", f"Error: {message}")
            self.state.container_id = known.container_id
            self.state.end(runs.note_failure(known, "StartError", message))
            return
        self.event("Normal", "Created", "Container created")
        self.event("Normal", "Started", "Container started")
        assert self.run is not None, "an actor or a process was begun"
        self.state.run(self.run.since, known.container_id)
        self.pod.changed()
        for old in runs.attempts(self.pod.folder, self.name)[:-_KEPT]:
            runs.forget(self.known(old))
        await self._post_start()

    async def _variables(self) -> dict[str, str]:
        """Until all that they are made of is there."""
        while True:
            try:
                return await variables(self.spec, self.pod)
            except MissingError as error:
                self._fails(_NO_CONFIG, str(error))
                await asyncio.sleep(_CONFIG_SECONDS)

    async def _process(self, known: Known, image: Body, env: dict[str, str]) -> ProcessRun:
        pod, devices = self.pod, self.pod.node.devices
        gpu_env = devices.environment(
            pod.uid, self.name, env, host_pid=bool(pod.body["spec"].get("hostPID")), pod=f"{pod.namespace}/{pod.name}"
        )
        spec = process_spec.spec_of(pod, self.spec, process_spec.image_of(image), env, known.folder)
        spec["env"] |= {**await pod.network.variables(pod, {**image["env"], **env}), **gpu_env}
        if programs := devices.programs(pod.uid, self.name):
            spec["env"]["PATH"] = f"{programs}:{spec['env']['PATH']}"
        if (controller := controllers.of_image(self.image)) is not None:
            spec = controllers.fit(spec, controller, pod, process_spec.mounted(pod, self.spec, env), known.folder)
        if why := process_spec.missing(spec, known.folder):
            raise StartError(f"failed to create containerd task: failed to create shim task: {why}: unknown")
        beginning = ProcessRun.begin(known, spec, {"image": image, **self._record})
        self._beginning = asyncio.ensure_future(beginning)  # who is deleted meanwhile has something to end
        return await asyncio.shield(self._beginning)

    async def _act(self, known: Known) -> ActorRun | None:
        env = await self._variables()
        found = infrastructure.program(self.image, *program(self.spec, env))
        if found is None:
            return None
        actor, version, arguments = found
        context = infrastructure.ActorContext(
            version=version,
            arguments=arguments,
            env=env,
            mounts=process_spec.mounted(self.pod, self.spec, env),
            devices=self.pod.node.devices,
            api=self.pod.api,
        )
        return ActorRun(known, actor, context, self._record)

    @property
    def _record(self) -> Body:
        """What the next agent has to know of a run."""
        tells = self.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError"
        return {"image_name": self.state.image, "image_id": self.state.image_id, "message_from_log": tells}

    async def _back_off(self, terminated: Body) -> None:
        """Waits before the next run: not before the first, then 10 seconds, doubled each time up to 300."""
        ran = times.seconds(terminated["finishedAt"]) - times.seconds(terminated["startedAt"])
        if terminated["startedAt"] != runs.NEVER and ran > _BACKOFF_RESET:
            self._backoff = 0.0
        wait, self._backoff = self._backoff, min(max(_FIRST_BACKOFF, self._backoff * 2), _MOST_BACKOFF)
        if not wait:
            return
        whole = f"{int(wait // 60)}m{int(wait % 60)}s" if wait >= 60 else f"{int(wait)}s"
        pod = f"{self.pod.name}_{self.pod.namespace}({self.pod.uid})"
        self.event("Warning", "BackOff", f"Back-off restarting failed container {self.name} in pod {pod}")
        self.state.wait("CrashLoopBackOff", f"back-off {whole} restarting failed container={self.name} pod={pod}")
        self.pod.changed()
        await asyncio.sleep(wait)

    # Its image

    async def _image(self) -> Body | None:
        """Its record, as soon as it is there."""
        if infrastructure.known(self.image):
            self.event("Normal", "Pulled", f'Container image "{self.image}" already present on machine')
            self.state.image = self.state.image_id = self.image
            return None
        reference = image_reference.parse(self.image)
        while reference is None:  # for ever: the pod's image doesn't change by itself
            why = f'couldn\'t parse image name "{self.image}": invalid reference format'
            message = f'Failed to apply default image tag "{self.image}": {why}'
            self.event("Warning", "InspectFailed", message)
            self._fails("InvalidImageName", message)
            await asyncio.sleep(_FIRST_BACKOFF)
        whole, backoff = str(reference), _FIRST_BACKOFF
        while True:
            try:
                record = await self._pulled(whole)
            except PullError as error:
                await self._pull_failed(str(error), backoff)
                backoff = min(backoff * 2, _MOST_BACKOFF)
                continue
            if record is not None:
                break
            message = f'Container image "{self.image}" is not present with pull policy of Never'
            self.event("Warning", "ErrImageNeverPull", message)
            self._fails("ErrImageNeverPull", message)
            await asyncio.sleep(_FIRST_BACKOFF)
        self.pod.node.images[whole] = record
        self.state.image = whole
        self.state.image_id = f"{whole.partition('@')[0].rpartition(':')[0] or whole}@{record['digest']}"
        return record

    async def _pulled(self, whole: str) -> Body | None:
        """None where it isn't there and mustn't be pulled."""
        policy, present = self.spec.get("imagePullPolicy") or "IfNotPresent", self.pod.node.images
        if policy != "Always" and whole in present:
            self.event(
                "Normal", "Pulled", f'Container image "{self.image}" already present on machine and can be accessed by the pod'
            )
            return present[whole]
        if policy == "Never":
            return None
        self.event("Normal", "Pulling", f'Pulling image "{self.image}"')
        loop = asyncio.get_running_loop()
        began = loop.time()
        if (controller := controllers.of_image(whole)) is None:
            record = await self.pod.registry.pull(whole, await self._credentials())
        else:
            found = controllers.record(controller, self.pod.node.settings.groups, self.pod.node.folder / "images")
            if isinstance(found, str):
                raise PullError(f'failed to pull image "{self.image}": {found}')
            record = found
        took = f"{int((loop.time() - began) * 1000)}ms"
        size = f"Image size: {record.get('size', 0)} bytes."
        self.event("Normal", "Pulled", f'Successfully pulled image "{self.image}" in {took} ({took} including waiting). {size}')
        return record

    async def _pull_failed(self, message: str, backoff: float) -> None:
        whole = f"rpc error: code = Unknown desc = {message}"
        self.event("Warning", "Failed", f'Failed to pull image "{self.image}": {whole}')
        self._fails("ErrImagePull", whole)
        await asyncio.sleep(_SHOWN_SECONDS)
        waiting = f'Back-off pulling image "{self.image}"'
        self.event("Normal", "BackOff", waiting)
        self._fails("ImagePullBackOff", f"{waiting}: ErrImagePull: {whole}")
        await asyncio.sleep(backoff - _SHOWN_SECONDS)

    async def _credentials(self) -> list[Credential]:
        found: list[Credential] = []
        missing: list[str] = []
        for one in self.pod.body["spec"].get("imagePullSecrets") or ():
            try:
                found += credentials_of(await environment.data(self.pod, environment.SECRET, {"name": one["name"]}))
            except MissingError:
                missing.append(one["name"])
        if missing:
            text = f"Unable to retrieve some image pull secrets ({', '.join(missing)})"
            self.pod.event("Warning", "FailedToRetrieveImagePullSecret", f"{text}; attempting to pull the image may not succeed.")
        return found

    # Its probes and hooks

    async def _probe(self) -> None:
        if self.init and not is_sidecar(self.spec):
            return
        plain = {} if infrastructure.known(self.image) else self.spec  # what is emulated answers nothing
        told = probes.ProbeListener(self._has_started, self._is_ready, self._is_unhealthy, self._restart)
        await probes.run(plain, self.once, told)

    def _has_started(self) -> None:
        self.state.started = True
        self.pod.changed()

    def _is_ready(self, ready: bool) -> None:
        self.state.ready = ready
        self.pod.changed()

    def _is_unhealthy(self, probe: str, why: str) -> None:
        self.event("Warning", "Unhealthy", f"{probe} probe failed: {why}")

    async def _restart(self, probe: str) -> None:
        self.event("Normal", "Killing", f"Container {self.name} failed {probe} probe, will be restarted")
        if self.run is not None:
            await self.run.end(self.pod.grace_seconds)

    async def once(self, handler: Body, seconds: float) -> str:
        """Does a probe's or hook's handler. Why it failed, or ""."""
        beside = self.beside()
        return await probes.once(handler, beside, seconds) if beside else "the container is gone"

    def beside(self) -> Beside | None:
        """How things of the present run are reached."""
        if self.run is None:
            return None
        folder = self.run.known.folder
        record = read_json(folder / "run.json") or {}

        def places(requested: Any) -> list[tuple[str, int]]:
            named = {one["name"]: one["containerPort"] for one in self.spec.get("ports") or () if one.get("name")}
            number = named.get(requested, requested)
            if not str(number).isdigit():
                raise ValueError(f"unable to find port by name {requested}")
            return self.pod.reached_at(int(number))

        if record.get("kind") != "process":
            return Beside(process_spec.refused, {}, str(folder), places)  # what is emulated has no programs
        spec = read_json(folder / "spec.json") or {}
        return Beside(lambda words: process_spec.beside(words, record, spec, folder), spec["env"], spec["workdir"], places)

    async def _post_start(self) -> None:
        hook = (self.spec.get("lifecycle") or {}).get("postStart")
        if hook and (why := await self.once(hook, self.pod.grace_seconds)):
            self.event("Warning", "FailedPostStartHook", "PostStartHook failed")
            self.event("Normal", "Killing", f"FailedPostStartHook: {why}"[:200])
            if self.run is not None:
                await self.run.end(self.pod.grace_seconds)

    async def stop(self, seconds: float, message: str = "") -> None:
        """Ends the present run: its hook, its signal, and the kill when the time is over. The state says how it ended."""
        await self.take_up()
        await self._stop_probing()
        if self._beginning is not None and not self._beginning.done():
            self.run = await self._beginning
        run = self.run
        if run is None:
            return
        self.event("Normal", "Killing", message or f"Stopping container {self.name}")
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        hook = (self.spec.get("lifecycle") or {}).get("preStop")
        if hook and seconds and (await self.once(hook, seconds)):
            self.event("Warning", "FailedPreStopHook", "PreStopHook failed")
        await run.end(max(0.0, until - loop.time()))
        self._ended(await run.ended())
        self.pod.changed()

    async def leave(self) -> None:
        """The agent ends, and what runs continues."""
        await self._stop_probing()
        if isinstance(self.run, ActorRun):
            await self.run.leave()

    async def _stop_probing(self) -> None:
        if self._probing is not None and self._probing is not asyncio.current_task():
            self._probing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._probing
        self._probing = None

    def waits_for_init(self) -> None:
        """Its pod has init containers that haven't ended."""
        if self.state.waiting and self.state.waiting[0] == CREATING:
            self.state.waiting = ("PodInitializing", "")
