"""The resolved Batch pool, `BatchPoolSpec`, and how it is scaled."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from azure_gpu.batch.account.spec import AccountFacts
from azure_gpu.batch.pool import immutable as pool_immutable
from azure_gpu.batch.pool.args import DEFAULT_SCENARIO, AutoscaleArgs, BatchPoolSettings, Replace
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.services.batch import scale
from azure_gpu.catalog.services.batch.methods import DriverMethod
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.services.batch.scale import DEFAULT_INTERVAL, DEFAULT_RESIZE_TIMEOUT, ScenarioRequest
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.formats.autoscale_formula import formula_problems
from azure_gpu.images.args import ImageOfPool
from azure_gpu.images.choice import ImageChoice
from azure_gpu.shared.context import Tags

MOST_MINUTES = 10**9  # above the service's limits, within timedelta's range


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Fixed numbers, or a formula."""

    dedicated: int = 0
    spot: int = 0
    resize_timeout: timedelta = DEFAULT_RESIZE_TIMEOUT
    formula: str = ""  # empty: the numbers are fixed
    interval: timedelta = DEFAULT_INTERVAL
    most: tuple[int, int] | None = None  # maximum of dedicated and Spot nodes; None: not known

    @property
    def text_of_interval(self) -> str:
        return iso(self.interval)

    @property
    def text_of_timeout(self) -> str:
        return iso(self.resize_timeout)


def iso(duration: timedelta) -> str:
    """A duration as ARM writes it: PT15M."""
    return f"PT{int(duration.total_seconds() // 60)}M"


def minutes(number: int) -> timedelta:
    """Converts minutes, clamped to timedelta's range; validation rejects larger values."""
    return timedelta(minutes=max(-MOST_MINUTES, min(number, MOST_MINUTES)))


def is_fixed(settings: BatchPoolSettings) -> bool:
    return any(key in settings for key in ("dedicated_nodes", "spot_nodes"))


def resolve_scale(settings: BatchPoolSettings, path: str) -> tuple[Scale, list[Problem]]:
    """Resolves the scale of the pool at `path`, with problems of a formula."""
    if is_fixed(settings) and "autoscale" not in settings:
        dedicated, spot = int(settings.get("dedicated_nodes", 0)), int(settings.get("spot_nodes", 0))
        timeout = minutes(settings["resize_timeout_minutes"]) if "resize_timeout_minutes" in settings else DEFAULT_RESIZE_TIMEOUT
        return Scale(dedicated=dedicated, spot=spot, resize_timeout=timeout, most=(max(dedicated, 0), max(spot, 0))), []
    return _by_formula(settings.get("autoscale", AutoscaleArgs()), settings, f"{path}.autoscale")


def _by_formula(autoscale: AutoscaleArgs, settings: BatchPoolSettings, path: str) -> tuple[Scale, list[Problem]]:
    interval = minutes(autoscale["interval_minutes"]) if "interval_minutes" in autoscale else DEFAULT_INTERVAL
    if "formula" in autoscale:
        problems = [*_beside_a_formula(autoscale, path), *formula_problems(autoscale["formula"], f"{path}.formula")]
        return Scale(formula=autoscale["formula"], interval=interval), problems
    # Other numbers have the scenario's defaults.
    numbers: dict[str, Any] = {key: value for key, value in autoscale.items() if key not in ("scenario", "interval_minutes")}
    if "task_slots" in settings:
        numbers["task_slots"] = settings["task_slots"]
    request = ScenarioRequest(autoscale.get("scenario", DEFAULT_SCENARIO), path, **numbers)
    problems = scale.scenario_problems(request)
    if errors(problems):  # the numbers are invalid: use the defaults
        return Scale(formula=scale.formula(ScenarioRequest(request.scenario, path)), interval=interval), problems
    return Scale(formula=scale.formula(request), interval=interval, most=scale.most_nodes(request)), problems


def _beside_a_formula(autoscale: AutoscaleArgs, path: str) -> list[Problem]:
    beside = [key for key in autoscale if key not in ("formula", "interval_minutes")]
    if not beside:
        return []
    return [
        Problem(
            path=f"{path}.{beside[0]}",
            message="keys of a scenario can't be combined with `formula`",
            value=", ".join(beside),
            allowed="formula with interval_minutes, or scenario with its numbers",
            fix="remove one of the two",
        )
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolDependencies:
    """Dependencies of a pool that its validation and its name use. Empty: none."""

    account: AccountFacts
    identity: str = ""  # identifies it
    registry: str = ""  # by name
    storage: str = ""  # by name
    own_storage: bool = False  # whether the stack creates that account
    images: Mapping[str, ImageOfPool] = field(default_factory=dict[str, ImageOfPool])


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPoolSpec:
    """The resolved arguments. Outputs and secrets stay in the arguments."""

    base_name: str
    own_containers: tuple[str, ...]  # mounted blob containers, in the account that the stack creates
    containers_name: str  # of the deployment that creates these
    replace: Replace
    immutable: dict[str, object]  # properties that Batch can't change on a pool with nodes, as plain data without secrets
    size: str  # as the catalog spells it
    operating_system: OperatingSystem
    image: ImageChoice
    install_method: DriverMethod  # of the drivers
    request: PoolRequest  # with the additions of the installation method
    scale: Scale
    container_images: tuple[str, ...] | None  # sorted; None: tasks don't run in containers
    packages: tuple[tuple[str, str], ...]  # application and version
    metadata: dict[str, str]
    tags: Tags
    expires_at: str | None  # instant in UTC, RFC 3339
    hourly_cost: float | None  # in USD at the maximum number of nodes; None: not known

    def name(self, subnet_id: str) -> str:
        """The pool's name in Azure; with side-by-side replacement it has a hash of the immutable properties."""
        return f"{self.base_name}-{self.digest(subnet_id)}" if self.replace == "side-by-side" else self.base_name

    def digest(self, subnet_id: str) -> str:
        """The hash of the immutable properties."""
        return pool_immutable.digest(self.immutable, subnet_id)
