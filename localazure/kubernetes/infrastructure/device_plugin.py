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
from localazure.kubernetes.devices import REPLICA, Offer
from localazure.kubernetes.infrastructure.context import ActorContext, WrongUseError
from localazure.kubernetes.node_gpus import NodeGpu

_FLAGS = {  # and the variable that says the same
    "mig-strategy": "MIG_STRATEGY",
    "fail-on-init-error": "FAIL_ON_INIT_ERROR",
    "config-file": "CONFIG_FILE",
    "device-id-strategy": "DEVICE_ID_STRATEGY",
    "oneshot": "GFD_ONESHOT",  # these two of feature discovery, which takes the others, too
    "no-timestamp": "GFD_NO_TIMESTAMP",
}
_BOOLEANS = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}
NONE, TIME_SLICING, MPS = "none", "time-slicing", "mps"
MPS_SINCE = (0, 15)  # older programs don't know the key
_HINT = "If this is a GPU node, did you configure the NVIDIA Container Toolkit?"


class Shared(NamedTuple):
    """One resource that is shared."""

    replicas: int
    rename: str = ""


class PluginConfig(NamedTuple):
    """What counts of a configuration."""

    flags: Mapping[str, str] = {}
    strategy: str = NONE
    one_replica: bool = False  # is all that a container may have
    shared: Mapping[str, Shared] = {}  # by nvidia.com/gpu, or the resource of an instance under the mixed strategy

    @property
    def mig_strategy(self) -> str:
        return self.flags.get("mig-strategy", NONE)

    def switch(self, flag: str, default: bool = False) -> bool:
        text = self.flags.get(flag, str(default)).lower()
        if text not in _BOOLEANS:
            raise WrongUseError(f'could not parse "{text}" as bool value for flag {flag}: parse error')
        return _BOOLEANS[text]


def read_config(context: ActorContext) -> PluginConfig:
    """From the flags, the variables, and the file that they name. WrongUseError."""
    given = {flag: context.env[variable] for flag, variable in _FLAGS.items() if context.env.get(variable)}
    words = list(context.arguments)
    while words:
        word = words.pop(0)
        flag, joined, value = word.lstrip("-").partition("=")
        if word.startswith("-"):
            follows = not joined and bool(words) and not words[0].startswith("-")
            given[flag] = value if joined else words.pop(0) if follows else "true"
    document: dict[str, Any] = {}
    if named := given.get("config-file"):
        try:
            document = _parse(context.read(named))
        except OSError as error:
            raise _wrong(f"error opening config file: {error}") from error
    said = _mapping(document.get("flags"))
    from_file = {
        "mig-strategy": said.get("migStrategy"),
        "fail-on-init-error": said.get("failOnInitError"),
        "device-id-strategy": _mapping(said.get("plugin")).get("deviceIDStrategy"),
    }
    config = PluginConfig({flag: str(value) for flag, value in from_file.items() if value is not None} | given)
    strategy = config.flags.get("device-id-strategy", "uuid")
    if strategy not in DEVICE_ID_STRATEGIES:
        raise _wrong(f"invalid --device-id-strategy option: {strategy}")
    return _with_sharing(config, _mapping(document.get("sharing")), context.version)


def _wrong(why: str) -> WrongUseError:
    return WrongUseError(f"unable to load config: {why}")


def _parse(text: str) -> dict[str, Any]:
    try:
        given = bounded_yaml.load(text) or {}
    except bounded_yaml.BoundedYamlError as error:
        raise _wrong(f"error parsing config file: error converting YAML to JSON: yaml: {error}") from error
    if not isinstance(given, dict):
        raise _wrong("error parsing config file: it isn't an object")
    if (given.get("version") or VERSION) != VERSION:
        raise _wrong(f"error parsing config file: unknown version: {given['version']}")
    return given


def _with_sharing(config: PluginConfig, sharing: dict[str, Any], version: tuple[int, int]) -> PluginConfig:
    """MPS counts where both are there, as the programs look at it first."""
    for key, strategy in (("mps", MPS), ("timeSlicing", TIME_SLICING)):
        if key in sharing and (strategy != MPS or version >= MPS_SINCE):
            given = _mapping(sharing[key])
            one_replica = strategy == MPS or given.get("failRequestsGreaterThanOne") is True
            return config._replace(strategy=strategy, shared=_replicated(given), one_replica=one_replica)
    return config


def _replicated(given: dict[str, Any]) -> dict[str, Shared]:
    resources = given.get("resources")
    if not resources or not isinstance(resources, list):
        raise _wrong("error parsing config file: no resources specified")
    shared: dict[str, Shared] = {}
    for one in map(_mapping, resources):
        name, replicas = one.get("name"), one.get("replicas")
        if name is None or replicas is None:
            raise _wrong(f"error parsing config file: no {'resource name' if name is None else 'replicas'} specified")
        if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 2:
            raise _wrong("error parsing config file: number of replicas must be >= 2")
        full = str(name) if "/" in str(name) else f"nvidia.com/{name}"
        shared.setdefault(full, Shared(replicas, full + SHARED_SUFFIX if given.get("renameByDefault") is True else ""))
    return shared


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def offers(gpus: Sequence[NodeGpu], config: PluginConfig) -> dict[str, Offer]:
    """What is offered, by resource. WrongUseError where the GPUs can't be offered like that."""
    found: dict[str, list[str]] = {}
    cut = [gpu for gpu in gpus if gpu.instances]
    for gpu in gpus:
        if gpu.instances and config.mig_strategy != NONE:
            for one in gpu.instances:
                name = GPU_RESOURCE if config.mig_strategy == SINGLE else f"{MIG_PREFIX}{one.profile}"
                found.setdefault(name, []).append(one.uuid)
        else:
            found.setdefault(GPU_RESOURCE, []).append(gpu.uuid)
    if config.mig_strategy == SINGLE and cut and cut != list(gpus):
        raise WrongUseError("all devices on the node must be configured with the same migEnabled value")
    if config.strategy == MPS and config.mig_strategy in (SINGLE, MIXED) and cut:
        raise WrongUseError("sharing using MPS is not supported for MIG devices")
    names: dict[str, str] = {}
    if config.flags.get("device-id-strategy") == "index":
        names = {gpu.uuid: str(gpu.number) for gpu in gpus}
        names |= {one.uuid: f"{gpu.number}:{one.number}" for gpu in cut for one in gpu.instances}
    made: dict[str, Offer] = {}
    for name, ids in found.items():
        sharing = config.shared.get(name)
        if sharing is None:
            made[name] = Offer(ids, names=names)
        else:
            replicas = [f"{one}{REPLICA}{number}" for one in ids for number in range(sharing.replicas)]
            made[sharing.rename or name] = Offer(replicas, config.one_replica, names)
    return made


async def device_plugin(context: ActorContext) -> int:
    """One run of the program."""
    offered: dict[str, Offer] = {}
    try:
        context.klog("Starting Plugins.", where="main.go:269")
        config, gpus = read_config(context), context.devices.gpus
        fails = config.switch("fail-on-init-error", default=True)
        offered = offers(gpus, config)
        context.devices.advertise(offered)
        for resource in offered:
            context.klog(f"Registered device plugin for '{resource}' with Kubelet", where="server.go:148")
        if not gpus:
            context.klog(_HINT, level="E", where="factory.go:112")
            if fails:
                raise WrongUseError("unable to create plugin manager: invalid device discovery strategy")
            context.klog("No devices found. Waiting indefinitely.", where="main.go:381")
        await context.pause()
    except WrongUseError as error:
        context.klog(f"error starting plugins: {error}", level="E", where="main.go:173")
        return 1
    finally:
        context.devices.withdraw(offered)
    return 0
