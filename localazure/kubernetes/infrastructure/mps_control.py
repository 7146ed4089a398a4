"""The control daemon of NVIDIA's Multi-Process Service, emulated: ready on its node for each shared resource, while it runs.

It divides threads and memory of each GPU equally among the replicas, and says so; nothing here enforces either. The file `.ready`
and the folders for pipes are made as the real one makes them.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence

from localazure.kubernetes.infrastructure import flags, signals
from localazure.kubernetes.infrastructure.context import ActorContext, WrongUseError
from localazure.kubernetes.infrastructure.device_map import DeviceMapError, device_map, device_of, most_clients
from localazure.kubernetes.infrastructure.device_plugin import first_of, read_config
from localazure.kubernetes.infrastructure.plugin_config import MPS, ConfigError, PluginConfig

PROGRAM = "mps-control-daemon"
_READY = "/mps/.ready"


class MpsControl:
    """One run of the program."""

    def __init__(self, version: tuple[int, int], arguments: Sequence[str]) -> None:
        self._version = version
        self._arguments = arguments
        self._serving: list[str] = []

    async def run(self, context: ActorContext) -> int:
        if "mount-shm" in self._arguments:
            return 0  # the real one mounts a shared memory; the processes of this machine have it
        again = asyncio.Event()
        with signals.taken(context, PROGRAM, again.set):
            try:
                return await self._serve(context, again)
            except (ConfigError, DeviceMapError, WrongUseError) as error:
                context.klog(f"error starting plugins: {error}", level="E", where="main.go:84")
                return 1
            finally:
                self._stop(context)

    async def _serve(self, context: ActorContext, again: asyncio.Event) -> int:
        values = flags.values(flags.MPS_CONTROL, self._arguments, context.env)
        context.klog(f'"NVIDIA MPS Control Daemon" version="v{self._version[0]}.{self._version[1]}"', where="main.go:78")
        context.klog("Starting OS watcher.", where="main.go:111")
        while True:
            again.clear()
            context.klog("Starting Daemons.", where="main.go:126")
            self._start(context, values)
            if await first_of(context, (again,), None):
                context.klog('Received signal "terminated", shutting down.', where="main.go:157")
                return 0
            context.klog("Received SIGHUP, restarting.", where="main.go:154")
            self._stop(context)

    def _start(self, context: ActorContext, values: Mapping[str, str]) -> None:
        context.klog("Loading configuration.", where="main.go:170")
        try:
            config = read_config(context, values, self._version)
        except ConfigError as error:
            raise ConfigError(f"unable to load config: {error}") from error
        context.klog("Updating config with default resource matching patterns.", where="main.go:185")
        context.klog(f"\nRunning with config:\n{json.dumps(config.shown, indent=2)}", where="main.go:196")
        context.klog("Retrieving MPS daemons.", where="main.go:200")
        if config.strategy != MPS:
            context.klog(
                f'"Sharing strategy is not MPS; skipping MPS manager creation" strategy="{config.strategy}"',
                where="manager.go:58",
            )
        else:
            self._start_daemons(context, config)
        if not self._serving:
            context.klog("No devices are configured for MPS sharing; Waiting indefinitely.", where="main.go:209")
        if ready := context.path(_READY):
            ready.parent.mkdir(parents=True, exist_ok=True)
            ready.write_text(json.dumps(config.shown), encoding="utf-8")

    def _start_daemons(self, context: ActorContext, config: PluginConfig) -> None:
        gpus = context.devices.gpus
        if not gpus:
            raise ConfigError("error getting daemons: failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND")
        for resource, ids in device_map(gpus, config).items():
            sharing = next((one for one in config.shared if resource in (one.name, one.rename)), None)
            if sharing is None:
                continue
            for gpu in gpus:
                if sharing.replicas > most_clients(gpu):
                    why = f"maximum allowed replicas exceeded: {sharing.replicas} > {most_clients(gpu)}"
                    raise ConfigError(f"error getting daemons: invalid MPS configuration: invalid device {why}")
            context.klog(f'"Staring MPS daemon" resource="{resource}"', where="daemon.go:97")
            for folder in ("pipe", "log"):
                if path := context.path(f"/mps/{resource}/{folder}"):
                    path.mkdir(parents=True, exist_ok=True)
            used = {device_of(one) for one in ids}
            shared = [gpu for gpu in gpus if gpu.uuid in used]
            context.devices.programs_of.set_compute_mode([gpu.uuid for gpu in shared], "E. Process")
            for gpu in shared:
                self._control(context, f"set_default_device_pinned_mem_limit {gpu.number} {gpu.memory_mib // sharing.replicas}M")
            self._control(context, f"set_default_active_thread_percentage {100 // sharing.replicas}")
            self._serving.append(resource)
            context.devices.set_mps(resource, True)

    def _control(self, context: ActorContext, command: str) -> None:
        context.log(f"[Control] NEW UI, {command}")

    def _stop(self, context: ActorContext) -> None:
        for resource in self._serving:
            context.devices.set_mps(resource, False)
        if self._serving:
            context.klog('"Shut down MPS" output=""', where="daemon.go:146")
            context.devices.programs_of.set_compute_mode([gpu.uuid for gpu in context.devices.gpus], "Default")
        self._serving = []
        if ready := context.path(_READY):
            ready.unlink(missing_ok=True)
