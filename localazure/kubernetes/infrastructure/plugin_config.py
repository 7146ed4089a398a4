"""The configuration of the NVIDIA device plugin, as its own programs read it: what it requests, or why they don't start.

Flags and variables override the file. `ConfigError` has the programs' words. Behaviour: NVIDIA/k8s-device-plugin, api/config/v1
and cmd/nvidia-device-plugin/main.go; unknown keys are passed over.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from azure_gpu.catalog.services.aks.device_plugin import (
    DEVICE_ID_STRATEGIES,
    DEVICE_LIST_STRATEGIES,
    GPU_RESOURCE,
    SHARED_SUFFIX,
    VERSION,
)
from azure_gpu.formats import bounded_yaml

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
    device_list_strategies: tuple[str, ...] = ("envvar",)
    strategy: str = NONE
    fail_greater_than_one: bool = False
    shared: tuple[Shared, ...] = ()
    mps_root: str = ""
    warnings: tuple[str, ...] = ()
    shown: Mapping[str, Any] = {}  # what the program prints of it

    def of(self, resource: str) -> Shared | None:
        """How a resource of this name is shared."""
        return next((one for one in self.shared if one.name == resource), None)


def load(text: str | None, flags: Mapping[str, str], version: tuple[int, int]) -> PluginConfig:
    """`text`: of the file, None where none is named. `flags`: those that are set."""
    try:
        given = _parse(text) if text is not None else {"version": VERSION}
    except ConfigError as error:
        raise ConfigError(
            f"unable to finalize config: unable to parse config file: error parsing config file: {error}"
        ) from error
    said = _dict(given.get("flags"))
    plugin = _dict(said.get("plugin"))
    lists = flags.get("device-list-strategy") or plugin.get("deviceListStrategy") or ["envvar"]
    config = PluginConfig(
        mig_strategy=str(flags.get("mig-strategy") or said.get("migStrategy") or "none"),
        fail_on_init_error=_bool(flags.get("fail-on-init-error", said.get("failOnInitError")), default=True),
        device_id_strategy=str(flags.get("device-id-strategy") or plugin.get("deviceIDStrategy") or "uuid"),
        device_list_strategies=tuple(lists.split(",") if isinstance(lists, str) else lists),
        mps_root=str(flags.get("mps-root") or said.get("mpsRoot") or ""),
    )
    config = _with_sharing(config, _dict(given.get("sharing")), version)
    if _dict(given.get("resources")):
        ignored = "Customizing the 'resources' field is not yet supported in the config. Ignoring..."
        config = config._replace(warnings=(ignored, *config.warnings))
    return config._replace(shown=_shown(config))


def validate(config: PluginConfig) -> None:
    """What the device plugin refuses beside what can't be read. ConfigError."""
    for strategy in config.device_list_strategies:
        if strategy not in DEVICE_LIST_STRATEGIES:
            raise ConfigError(f"unable to validate flags: invalid --device-list-strategy option: invalid strategy: {strategy}")
    if config.device_id_strategy not in DEVICE_ID_STRATEGIES:
        raise ConfigError(f"unable to validate flags: invalid --device-id-strategy option: {config.device_id_strategy}")
    if config.strategy == MPS and not config.mps_root:
        raise ConfigError("unable to validate flags: using MPS requires --mps-root to be specified")


def _parse(text: str) -> dict[str, Any]:
    try:
        given = bounded_yaml.load(text)
    except bounded_yaml.BoundedYamlError as error:
        raise ConfigError(f"unmarshal error: error converting YAML to JSON: yaml: {error}") from error
    if given is None:
        given = {}
    if not isinstance(given, dict):
        kind = {list: "array", str: "string", bool: "bool"}.get(type(given), "number")
        raise ConfigError(
            f"unmarshal error: error unmarshaling JSON: json: cannot unmarshal {kind} into Go value of type v1.Config"
        )
    version = given.get("version") or VERSION
    if version != VERSION:
        raise ConfigError(f"unknown version: {version}")
    return given


def _with_sharing(config: PluginConfig, sharing: dict[str, Any], version: tuple[int, int]) -> PluginConfig:
    """MPS counts where both are there, as the programs look at it first."""
    found: dict[str, tuple[tuple[Shared, ...], bool, list[str]]] = {}
    for key, strategy in (("timeSlicing", TIME_SLICING), ("mps", MPS)):
        if key in sharing and (strategy != MPS or version >= MPS_SINCE):
            try:
                found[strategy] = _replicated(_dict(sharing[key]), key)
            except ConfigError as error:
                where = "unable to finalize config: unable to parse config file: error parsing config file: unmarshal error: "
                raise ConfigError(f"{where}error unmarshaling JSON: {error}") from error
    for strategy in (MPS, TIME_SLICING):
        if strategy in found:
            shared, fail, warnings = found[strategy]
            return config._replace(strategy=strategy, shared=shared, fail_greater_than_one=fail, warnings=tuple(warnings))
    return config


def _replicated(given: dict[str, Any], key: str) -> tuple[tuple[Shared, ...], bool, list[str]]:
    resources = given.get("resources")
    if not resources or not isinstance(resources, list):
        raise ConfigError("no resources specified")
    rename = _bool(given.get("renameByDefault"), default=False)
    shared: list[Shared] = []
    warnings: list[str] = []
    for each in resources:
        one = _dict(each)
        name, replicas = one.get("name"), one.get("replicas")
        if name is None:
            raise ConfigError("no resource name specified")
        if replicas is None:
            raise ConfigError("no replicas specified")
        if not isinstance(replicas, int) or isinstance(replicas, bool):
            raise ConfigError(f"json: cannot unmarshal {type(replicas).__name__} into Go value of type int")
        if replicas < 2:
            raise ConfigError("number of replicas must be >= 2")
        full = str(name) if "/" in str(name) else f"nvidia.com/{name}"
        renamed = full + SHARED_SUFFIX if rename else ""
        if one.get("rename") and one["rename"] != renamed:
            warnings.append(
                f"Setting the 'rename' field in sharing.{key}.resources is not yet supported in the config. Ignoring..."
            )
        if one.get("devices", "all") != "all":
            warnings.append(
                f"Customizing the 'devices' field in sharing.{key}.resources is not yet supported in the config. Ignoring..."
            )
        shared.append(Shared(full, replicas, renamed))
    return tuple(shared), _bool(given.get("failRequestsGreaterThanOne"), default=key == "mps"), list(dict.fromkeys(warnings))


def _shown(config: PluginConfig) -> dict[str, Any]:
    resources = [
        {"name": one.name, **({"rename": one.rename} if one.rename else {}), "devices": "all", "replicas": one.replicas}
        for one in config.shared
    ]
    sharing: dict[str, Any] = {"timeSlicing": {}}
    if config.strategy == TIME_SLICING:
        fail = {"failRequestsGreaterThanOne": True} if config.fail_greater_than_one else {}
        sharing = {"timeSlicing": {**fail, "resources": resources}}
    elif config.strategy == MPS:
        sharing["mps"] = {"failRequestsGreaterThanOne": True, "resources": resources}
    return {
        "version": VERSION,
        "flags": {
            "migStrategy": config.mig_strategy,
            "failOnInitError": config.fail_on_init_error,
            **({"mpsRoot": config.mps_root} if config.mps_root else {}),
            "plugin": {
                "deviceListStrategy": list(config.device_list_strategies),
                "deviceIDStrategy": config.device_id_strategy,
            },
        },
        "resources": {"gpus": [{"pattern": "*", "name": GPU_RESOURCE}]},
        "sharing": sharing,
    }


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _bool(value: object, *, default: bool) -> bool:
    if isinstance(value, str):
        return value.lower() in ("true", "1", "t")
    return default if value is None else bool(value)
