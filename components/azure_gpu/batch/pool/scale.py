"""Resolves the scale of a Batch pool: fixed numbers, or a formula.

Predefined formulas are in `catalog.services.batch.scale`; `formats.autoscale_formula` validates custom ones.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from azure_gpu.batch.pool.args import DEFAULT_SCENARIO, AutoscaleArgs, BatchPoolSettings
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.services.batch import scale
from azure_gpu.catalog.services.batch.scale import DEFAULT_INTERVAL, DEFAULT_RESIZE_TIMEOUT, Scenario, ScenarioRequest
from azure_gpu.formats.autoscale_formula import formula_problems

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


def resolve(settings: BatchPoolSettings, path: str) -> tuple[Scale, list[Problem]]:
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
    request = ScenarioRequest(Scenario(autoscale.get("scenario", DEFAULT_SCENARIO)), path, **numbers)
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
