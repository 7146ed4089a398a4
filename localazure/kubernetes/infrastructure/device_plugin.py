"""NVIDIA's device plugin, emulated: it reads its configuration and offers the node's GPUs to the kubelet.

It offers nothing where the node has no driver, and ends with 1 if it is to fail on that. Replicas of MPS are offered without a
control daemon, which does nothing here.
"""

from collections.abc import Mapping, Sequence

from localazure.kubernetes.devices import PluginError
from localazure.kubernetes.infrastructure import flags
from localazure.kubernetes.infrastructure.context import ActorContext, WrongUseError
from localazure.kubernetes.infrastructure.device_map import ANNOTATION, DeviceMapError, device_map, device_of, spread
from localazure.kubernetes.infrastructure.plugin_config import MPS, ConfigError, PluginConfig, load

_HINT = "If this is a GPU node, did you configure the NVIDIA Container Toolkit?"


class DevicePlugin:
    """One run of the program."""

    def __init__(self, version: tuple[int, int], arguments: Sequence[str]) -> None:
        self._version = version
        self._arguments = arguments
        self._config = PluginConfig()
        self._offered: dict[str, list[str]] = {}
        self._indices: Mapping[str, str] = {}

    async def run(self, context: ActorContext) -> int:
        try:
            self._start(context)
            await context.pause()
            return 0
        except (ConfigError, DeviceMapError, WrongUseError) as error:
            context.klog(f"error starting plugins: {error}", level="E", where="main.go:173")
            return 1
        finally:
            for resource in self._offered:
                context.devices.withdraw(resource, self)

    def _start(self, context: ActorContext) -> None:
        context.klog("Starting Plugins.", where="main.go:269")
        self._config = config = read_config(context, self._arguments, self._version)
        gpus = context.devices.gpus
        if not gpus:
            context.klog(_HINT, level="E", where="factory.go:112")
            if config.fail_on_init_error:
                raise ConfigError("unable to create plugin manager: invalid device discovery strategy")
            context.klog("No devices found. Waiting indefinitely.", where="main.go:381")
            return
        self._offered = device_map(gpus, config)
        self._indices = {gpu.uuid: str(gpu.number) for gpu in gpus} | {
            one.uuid: f"{gpu.number}:{one.number}" for gpu in gpus for one in gpu.instances
        }
        for resource, ids in self._offered.items():
            context.devices.advertise(resource, ids, self)
            context.klog(f"Registered device plugin for '{resource}' with Kubelet", where="server.go:148")

    # As the kubelet calls it

    def preferred(self, resource: str, available: Sequence[str], size: int) -> Sequence[str]:
        return spread(available, self._offered[resource], size)

    def allocate(self, resource: str, ids: Sequence[str]) -> dict[str, str]:
        config = self._config
        if len(ids) > 1 and any(ANNOTATION in one for one in ids) and (config.strategy == MPS or config.fail_greater_than_one):
            why = f"maximum request size for shared resources is 1; found {len(ids)}"
            raise PluginError(f'invalid allocation request for "{resource}": invalid request: {why}')
        devices = list(dict.fromkeys(device_of(one) for one in ids))
        if config.device_id_strategy == "index":
            devices = [self._indices[one] for one in devices]
        return {"NVIDIA_VISIBLE_DEVICES": ",".join(devices)}


def read_config(context: ActorContext, arguments: Sequence[str], version: tuple[int, int]) -> PluginConfig:
    """From the flags, and the file that they name. ConfigError."""
    values = flags.values(arguments, context.env)
    text = None
    if named := values.get("config-file"):
        try:
            text = context.read(named)
        except OSError as error:
            raise ConfigError(f"error opening config file: {error}") from error
    try:
        return load(text, values, version)
    except ConfigError as error:
        raise ConfigError(f"unable to load config: {error}") from error
