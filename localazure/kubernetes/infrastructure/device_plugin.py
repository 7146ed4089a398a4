"""NVIDIA's device plugin, emulated: it reads its configuration and offers the node's GPUs to the kubelet under names.

Its configuration is a file, which flags and variables override (`MIG_STRATEGY` is `--mig-strategy`); unknown keys and flags
without an effect here are passed over. It offers whole GPUs, MIG instances, and replicas of either, whose id is the device's with
`::` and a number. It offers nothing where the node has no driver, and ends with 1 if it is to fail on that. Replicas of MPS are
offered without a control daemon, which does nothing here. Behaviour: NVIDIA/k8s-device-plugin, api/config/v1.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from azure_gpu.catalog.services.aks.device_plugin import DEVICE_ID_STRATEGIES, GPU_RESOURCE, MIG_PREFIX, SHARED_SUFFIX, VERSION
from azure_gpu.catalog.services.aks.mig import MIXED, SINGLE
from azure_gpu.formats import bounded_yaml
from localazure.kubernetes.devices import PluginError
from localazure.kubernetes.infrastructure.context import ActorContext, WrongUseError
from localazure.kubernetes.node_gpus import NodeGpu

_FLAGS = ("mig-strategy", "fail-on-init-error", "config-file", "device-id-strategy")
_OF_DISCOVERY = ("oneshot", "no-timestamp")  # variables begin with GFD_
_BOOLEANS = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}


def flags_of(arguments: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """What is set, by flag."""
    variables = {flag: flag.upper().replace("-", "_") for flag in _FLAGS}
    variables |= {flag: f"GFD_{flag.upper().replace('-', '_')}" for flag in _OF_DISCOVERY}
    found = {flag: env[variable] for flag, variable in variables.items() if env.get(variable)}
    words = list(arguments)
    while words:
        word = words.pop(0)
        flag, joined, value = word.lstrip("-").partition("=")
        if word.startswith("-"):
            follows = not joined and bool(words) and not words[0].startswith("-")
            found[flag] = value if joined else words.pop(0) if follows else "true"
    return found


def switch(found: Mapping[str, str], flag: str, default: bool = False) -> bool:
    text = found.get(flag, str(default)).lower()
    if text not in _BOOLEANS:
        raise WrongUseError(f'could not parse "{text}" as bool value for flag {flag}: parse error')
    return _BOOLEANS[text]


NONE, TIME_SLICING, MPS = "none", "time-slicing", "mps"
MPS_SINCE = (0, 15)  # older programs don't know the key


class ConfigError(Exception):
    """The text is what the program says."""


class Shared(NamedTuple):
    """One resource that is shared."""

    name: str  # nvidia.com/gpu, or of an instance under the mixed strategy
    replicas: int
    rename: str = ""


class PluginConfig(NamedTuple):
    """What counts of a configuration."""

    mig_strategy: str = "none"
    fail_on_init_error: bool = True
    device_id_strategy: str = "uuid"
    strategy: str = NONE
    fail_greater_than_one: bool = False
    shared: tuple[Shared, ...] = ()

    def of(self, resource: str) -> Shared | None:
        """How a resource of this name is shared."""
        return next((one for one in self.shared if one.name == resource), None)


def load(text: str | None, given: Mapping[str, str], version: tuple[int, int]) -> PluginConfig:
    """`text`: of the file, None where none is named. `given`: flags that are set."""
    document = _parse(text) if text is not None else {}
    said = _mapping(document.get("flags"))
    from_file = {
        "mig-strategy": said.get("migStrategy"),
        "fail-on-init-error": said.get("failOnInitError"),
        "device-id-strategy": _mapping(said.get("plugin")).get("deviceIDStrategy"),
    }
    values = {flag: str(value) for flag, value in from_file.items() if value is not None} | dict(given)
    config = PluginConfig(
        mig_strategy=values.get("mig-strategy", "none"),
        fail_on_init_error=switch(values, "fail-on-init-error", default=True),
        device_id_strategy=values.get("device-id-strategy", "uuid"),
    )
    if config.device_id_strategy not in DEVICE_ID_STRATEGIES:
        raise ConfigError(f"invalid --device-id-strategy option: {config.device_id_strategy}")
    return _with_sharing(config, _mapping(document.get("sharing")), version)


def _parse(text: str) -> dict[str, Any]:
    try:
        given = bounded_yaml.load(text) or {}
    except bounded_yaml.BoundedYamlError as error:
        raise ConfigError(f"error parsing config file: error converting YAML to JSON: yaml: {error}") from error
    if not isinstance(given, dict):
        raise ConfigError("error parsing config file: it isn't an object")
    if (given.get("version") or VERSION) != VERSION:
        raise ConfigError(f"error parsing config file: unknown version: {given['version']}")
    return given


def _with_sharing(config: PluginConfig, sharing: dict[str, Any], version: tuple[int, int]) -> PluginConfig:
    """MPS counts where both are there, as the programs look at it first."""
    for key, strategy in (("mps", MPS), ("timeSlicing", TIME_SLICING)):
        if key in sharing and (strategy != MPS or version >= MPS_SINCE):
            given = _mapping(sharing[key])
            fail = switch({key: str(given.get("failRequestsGreaterThanOne", strategy == MPS))}, key)
            return config._replace(strategy=strategy, shared=_replicated(given), fail_greater_than_one=fail)
    return config


def _replicated(given: dict[str, Any]) -> tuple[Shared, ...]:
    resources = given.get("resources")
    if not resources or not isinstance(resources, list):
        raise ConfigError("error parsing config file: no resources specified")
    shared: list[Shared] = []
    for one in map(_mapping, resources):
        name, replicas = one.get("name"), one.get("replicas")
        if name is None or replicas is None:
            raise ConfigError(f"error parsing config file: no {'resource name' if name is None else 'replicas'} specified")
        if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 2:
            raise ConfigError("error parsing config file: number of replicas must be >= 2")
        full = str(name) if "/" in str(name) else f"nvidia.com/{name}"
        shared.append(Shared(full, replicas, full + SHARED_SUFFIX if given.get("renameByDefault") is True else ""))
    return tuple(shared)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


ANNOTATION = "::"


class DeviceMapError(Exception):
    """The GPUs can't be offered like that; the text is what the plugin says."""


def device_map(gpus: Sequence[NodeGpu], config: PluginConfig) -> dict[str, list[str]]:
    """By resource the ids of what is offered. DeviceMapError."""
    found: dict[str, list[str]] = {}
    for gpu in gpus:
        if gpu.instances and config.mig_strategy != "none":
            for one in gpu.instances:
                name = GPU_RESOURCE if config.mig_strategy == SINGLE else f"{MIG_PREFIX}{one.profile}"
                found.setdefault(name, []).append(one.uuid)
        else:
            found.setdefault(GPU_RESOURCE, []).append(gpu.uuid)
    if config.mig_strategy == SINGLE and any(gpu.instances for gpu in gpus) and not all(gpu.instances for gpu in gpus):
        raise DeviceMapError("all devices on the node must be configured with the same migEnabled value")
    if config.strategy == MPS and config.mig_strategy in (SINGLE, MIXED) and any(gpu.instances for gpu in gpus):
        raise DeviceMapError("sharing using MPS is not supported for MIG devices")
    shared: dict[str, list[str]] = {}
    for name, ids in found.items():
        sharing = config.of(name)
        if sharing is None:
            shared.setdefault(name, []).extend(ids)
            continue
        replicas = [f"{one}{ANNOTATION}{number}" for one in ids for number in range(sharing.replicas)]
        shared.setdefault(sharing.rename or name, []).extend(replicas)
    return shared


def device_of(device_id: str) -> str:
    """The GPU or instance of a replica, or itself."""
    return device_id.partition(ANNOTATION)[0]


def spread(available: Sequence[str], offered: Sequence[str], size: int) -> list[str]:
    """`size` of those that are free, each from the device of which the fewest are taken."""
    free: dict[str, list[str]] = {}
    for one in available:
        free.setdefault(device_of(one), []).append(one)
    taken = {device: sum(1 for one in offered if device_of(one) == device) - len(free[device]) for device in free}
    chosen: list[str] = []
    for _ in range(size):
        device = min((one for one in free if free[one]), key=lambda one: (taken[one], list(free).index(one)))
        chosen.append(free[device].pop(0))
        taken[device] += 1
    return chosen


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
    values = flags_of(arguments, context.env)
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
