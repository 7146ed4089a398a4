"""Computes an endpoint's new traffic for `promote`, from its settings in the stack file. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from azure_gpu.catalog.services.machine_learning.deployments import WHOLE
from azure_gpu.ml.endpoint.shares import default_traffic
from azure_gpu.shared.installation import COMMAND


class WrongTrafficError(ValueError):
    """The text is for the user."""


def present(settings: Mapping[str, Any]) -> dict[str, int]:
    """Percent by deployment."""
    traffic = settings.get("traffic")
    if isinstance(traffic, dict):
        return {str(name): _percent(name, share) for name, share in traffic.items()}
    return default_traffic(_deployments(settings))


def _percent(name: object, share: Any) -> int:
    try:
        return int(share)
    except (TypeError, ValueError) as error:
        raise WrongTrafficError(f"traffic.{name}: {share!r} is not a percentage; expected 0 to {WHOLE}") from error


def promoted(name: str, settings: Mapping[str, Any], deployment: str, share: int = WHOLE) -> dict[str, int]:
    """The traffic with `share` for the deployment, and the rest for the other deployment with traffic."""
    known, now = _deployments(settings), present(settings)
    if deployment not in known:
        raise WrongTrafficError(f"{name} declares no deployment {deployment!r}; it has {', '.join(known) or 'none'}")
    if not 0 < share <= WHOLE:
        raise WrongTrafficError(f"--share: {share} is out of range; allowed are 1 to {WHOLE} percent")
    if now.get(deployment, 0) == share:
        raise WrongTrafficError(f"{deployment} already has {share} percent of the traffic of {name}")
    others = [each for each, percent in now.items() if percent and each != deployment]
    if share < WHOLE and len(others) != 1:
        have = ", ".join(others) or "no other deployment"
        raise WrongTrafficError(
            f"the remaining {WHOLE - share} percent needs exactly one other deployment with traffic, but {have} has"
        )
    rest = dict.fromkeys((each for each in now if each != deployment), 0)
    if share < WHOLE:
        rest[others[0]] = WHOLE - share
    return {**now, **rest, deployment: share}


def rolled_back(name: str, settings: Mapping[str, Any], earlier: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The latest earlier traffic that differs from the current one. `earlier`: settings of past updates, newest first.

    Without one, and with two deployments, all traffic goes to the other one.
    """
    known, now = _deployments(settings), present(settings)
    for old in earlier:
        then = present(old)
        if {each for each, percent in then.items() if percent} - set(known):
            continue  # a deployment with traffic no longer exists
        if then and _live(then) != _live(now):
            return {**dict.fromkeys(now, 0), **then}
    if len(known) == 2 and _live(now):
        most = max(known, key=lambda each: now.get(each, 0))
        other = next(each for each in known if each != most)
        return {**dict.fromkeys(now, 0), most: 0, other: WHOLE}
    raise WrongTrafficError(
        f"no earlier traffic of {name} is known for deployments that it still declares; choose one: "
        f"{COMMAND} promote {name} DEPLOYMENT"
    )


def ends_mirror(settings: Mapping[str, Any], traffic: Mapping[str, int]) -> bool:
    """Whether mirroring must be disabled: Azure doesn't mirror to a deployment with traffic."""
    mirrored = settings.get("mirror")
    return isinstance(mirrored, dict) and any(percent and traffic.get(str(name), 0) for name, percent in mirrored.items())


def words(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """blue 90 → 0, green 10 → 100."""
    names = dict.fromkeys([*before, *after])
    return ", ".join(
        f"{name} {before.get(name, 0)} → {after.get(name, 0)}" for name in names if before.get(name, 0) != after.get(name, 0)
    )


def _deployments(settings: Mapping[str, Any]) -> list[str]:
    deployments = settings.get("deployments")
    return [str(name) for name in deployments] if isinstance(deployments, dict) else []


def _live(traffic: Mapping[str, int]) -> dict[str, int]:
    return {name: percent for name, percent in traffic.items() if percent}
