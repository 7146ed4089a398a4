"""The configuration of the NVIDIA device plugin: what it requests, or why its programs don't start.

Flags and variables override the file; unknown keys are passed over. Behaviour: NVIDIA/k8s-device-plugin, api/config/v1.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from azure_gpu.catalog.services.aks.device_plugin import DEVICE_ID_STRATEGIES, SHARED_SUFFIX, VERSION
from azure_gpu.formats import bounded_yaml
from localazure.kubernetes.infrastructure import flags

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
    said = _dict(document.get("flags"))
    from_file = {
        "mig-strategy": said.get("migStrategy"),
        "fail-on-init-error": said.get("failOnInitError"),
        "device-id-strategy": _dict(said.get("plugin")).get("deviceIDStrategy"),
    }
    values = {flag: str(value) for flag, value in from_file.items() if value is not None} | dict(given)
    config = PluginConfig(
        mig_strategy=values.get("mig-strategy", "none"),
        fail_on_init_error=flags.switch(values, "fail-on-init-error", default=True),
        device_id_strategy=values.get("device-id-strategy", "uuid"),
    )
    if config.device_id_strategy not in DEVICE_ID_STRATEGIES:
        raise ConfigError(f"invalid --device-id-strategy option: {config.device_id_strategy}")
    return _with_sharing(config, _dict(document.get("sharing")), version)


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
            given = _dict(sharing[key])
            fail = flags.switch({key: str(given.get("failRequestsGreaterThanOne", strategy == MPS))}, key)
            return config._replace(strategy=strategy, shared=_replicated(given), fail_greater_than_one=fail)
    return config


def _replicated(given: dict[str, Any]) -> tuple[Shared, ...]:
    resources = given.get("resources")
    if not resources or not isinstance(resources, list):
        raise ConfigError("error parsing config file: no resources specified")
    shared: list[Shared] = []
    for one in map(_dict, resources):
        name, replicas = one.get("name"), one.get("replicas")
        if name is None or replicas is None:
            raise ConfigError(f"error parsing config file: no {'resource name' if name is None else 'replicas'} specified")
        if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 2:
            raise ConfigError("error parsing config file: number of replicas must be >= 2")
        full = str(name) if "/" in str(name) else f"nvidia.com/{name}"
        shared.append(Shared(full, replicas, full + SHARED_SUFFIX if given.get("renameByDefault") is True else ""))
    return tuple(shared)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
