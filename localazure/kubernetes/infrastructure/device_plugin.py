"""NVIDIA's device plugin, emulated: it reads its configuration, offers the node's GPUs to the kubelet, and logs as the real one.

It offers nothing where the node has no driver, and ends with 1 if it is to fail on that. SIGHUP makes it read its configuration
again. Under MPS it waits for the control daemon of its node: with a try every 30 s as the real one, and at once when it is there.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence

from localazure.kubernetes.devices import PluginError
from localazure.kubernetes.infrastructure import flags, signals
from localazure.kubernetes.infrastructure.context import ActorContext, WrongUseError
from localazure.kubernetes.infrastructure.device_map import ANNOTATION, DeviceMapError, device_map, device_of, spread
from localazure.kubernetes.infrastructure.plugin_config import MPS, TIME_SLICING, ConfigError, PluginConfig, load, validate

PROGRAM = "nvidia-device-plugin"
RETRY_SECONDS = 30.0
_NOT_READY = "error checking MPS daemon health: failed to send command to MPS daemon: exit status 1"
_HINTS = (
    "Incompatible strategy detected auto",
    "If this is a GPU node, did you configure the NVIDIA Container Toolkit?",
    "You can check the prerequisites at: https://github.com/NVIDIA/k8s-device-plugin#prerequisites",
    "You can learn how to set the runtime at: https://github.com/NVIDIA/k8s-device-plugin#quick-start",
    "If this is not a GPU node, you should set up a toleration or nodeSelector to only deploy this plugin on GPU nodes",
)


class DevicePlugin:
    """One run of the program."""

    def __init__(self, version: tuple[int, int], arguments: Sequence[str]) -> None:
        self._version = version
        self._arguments = arguments
        self._config = PluginConfig()
        self._offered: dict[str, list[str]] = {}
        self._indices: Mapping[str, str] = {}

    async def run(self, context: ActorContext) -> int:
        again, mps_changed = asyncio.Event(), asyncio.Event()
        with signals.taken(context, PROGRAM, again.set):
            context.devices.waiting.add(mps_changed.set)
            try:
                return await self._serve(context, again, mps_changed)
            except (ConfigError, DeviceMapError, WrongUseError) as error:
                context.klog(str(error), level="E", where="main.go:173")
                return 1
            finally:
                context.devices.waiting.discard(mps_changed.set)
                self._withdraw(context)

    async def _serve(self, context: ActorContext, again: asyncio.Event, mps_changed: asyncio.Event) -> int:
        values = flags.values(flags.DEVICE_PLUGIN, self._arguments, context.env)
        shown = f"v{self._version[0]}.{self._version[1]}"
        context.klog(f'"Starting NVIDIA Device Plugin" version=<\n\t{shown}\n >', where="main.go:244")
        context.klog("Starting FS watcher for /var/lib/kubelet/device-plugins", where="main.go:247")
        context.klog("Starting OS watcher.", where="main.go:254")
        while True:
            again.clear()
            mps_changed.clear()
            context.klog("Starting Plugins.", where="main.go:269")
            try:
                started = self._start(context, values)
            except (ConfigError, DeviceMapError) as error:
                raise ConfigError(f"error starting plugins: {error}") from error
            if not started:
                context.klog("Failed to start one or more plugins. Retrying in 30s...", where="main.go:277")
            woken = (again,) if started else (again, mps_changed)
            if await first_of(context, woken, None if started else RETRY_SECONDS):
                context.klog('Received signal "terminated", shutting down.', where="main.go:313")
                return 0
            context.klog("Stopping plugins.", where="main.go:389")
            self._withdraw(context)

    def _start(self, context: ActorContext, values: Mapping[str, str]) -> bool:
        """Reads the configuration and offers what it requests. False: to be tried again later."""
        context.klog("Loading configuration.", where="main.go:330")
        try:
            config = self._config = read_config(context, values, self._version)
            validate(config)
        except ConfigError as error:
            raise ConfigError(f"unable to load config: {error}") from error
        for warning in config.warnings:
            context.klog(warning, level="W", where="main.go:336")
        context.klog("Updating config with default resource matching patterns.", where="main.go:338")
        context.klog(f"\nRunning with config:\n{json.dumps(config.shown, indent=2)}", where="main.go:349")
        context.klog("Retrieving plugins.", where="main.go:352")
        gpus = context.devices.gpus
        if not gpus:
            for hint in _HINTS:
                context.klog(hint, level="E", where="factory.go:112")
            if config.fail_on_init_error:
                raise ConfigError(
                    "error creating plugin manager: unable to create plugin manager: invalid device discovery strategy"
                )
            context.klog("No devices found. Waiting indefinitely.", where="main.go:381")
            return True
        try:
            self._offered = device_map(gpus, config)
        except DeviceMapError as error:
            raise DeviceMapError(f"error getting plugins: unable to create plugins: {error}") from error
        self._indices = {gpu.uuid: str(gpu.number) for gpu in gpus} | {
            one.uuid: f"{gpu.number}:{one.number}" for gpu in gpus for one in gpu.instances
        }
        if config.strategy == MPS:
            waiting = [name for name in self._offered if not context.devices.mps.get(name)]
            if waiting:
                context.klog(
                    f"Failed to start plugin: error waiting for MPS daemon: {_NOT_READY}", level="E", where="main.go:373"
                )
                self._offered = {}
                return False
        for resource, ids in self._offered.items():
            socket = f"/var/lib/kubelet/device-plugins/nvidia-{resource.partition('/')[2]}.sock"
            context.klog(f"Starting GRPC server for '{resource}'", where="server.go:197")
            context.klog(f"Starting to serve '{resource}' on {socket}", where="server.go:141")
            context.devices.advertise(resource, ids, self)
            context.klog(f"Registered device plugin for '{resource}' with Kubelet", where="server.go:148")
        return True

    def _withdraw(self, context: ActorContext) -> None:
        for resource in self._offered:
            context.devices.withdraw(resource, self)
        self._offered = {}

    # As the kubelet calls it

    def preferred(self, resource: str, available: Sequence[str], size: int) -> Sequence[str]:
        return spread(available, self._offered[resource], size)

    def allocate(self, resource: str, ids: Sequence[str]) -> dict[str, str]:
        shared = any(ANNOTATION in one for one in ids)
        config = self._config
        if (
            shared
            and len(ids) > 1
            and (config.strategy == MPS or (config.strategy == TIME_SLICING and config.fail_greater_than_one))
        ):
            why = f"maximum request size for shared resources is 1; found {len(ids)}"
            raise PluginError(f'invalid allocation request for "{resource}": invalid request: {why}')
        devices = list(dict.fromkeys(device_of(one) for one in ids))
        if config.device_id_strategy == "index":
            devices = [self._indices[one] for one in devices]
        env = {"NVIDIA_VISIBLE_DEVICES": ",".join(devices)}
        if config.strategy == MPS:
            env["CUDA_MPS_PIPE_DIRECTORY"] = f"/mps/{resource}/pipe"
        return env


def read_config(context: ActorContext, values: Mapping[str, str], version: tuple[int, int]) -> PluginConfig:
    """From the file that the flags name, and the flags. ConfigError."""
    text = None
    if named := values.get("config-file"):
        try:
            text = context.read(named)
        except OSError as error:
            why = f"unable to parse config file: error opening config file: {error}"
            raise ConfigError(f"unable to finalize config: {why}") from error
    return load(text, values, version)


async def first_of(context: ActorContext, woken: Sequence[asyncio.Event], seconds: float | None) -> bool:
    """Waits until the container is asked to end (True), one of the events, or the time is over."""
    waiting = [asyncio.ensure_future(one.wait()) for one in (context.stopping, *woken)]
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    return context.stopping.is_set()
