"""Kubernetes versions of AKS: which are available, which upgrades are allowed, and which nodes fit a control plane.

A body's version has two or three numbers (`1.35`, `1.35.2`); here versions have three. Minor versions and patches are the
catalog's; a patch that no source names is shown as `.0`.
"""

from datetime import date

from azure_gpu.catalog.services.aks import kubernetes_versions
from localazure.arm.store import Body

LONG_TERM_SUPPORT = "AKSLongTermSupport"
_PLANS = ("KubernetesOfficial", LONG_TERM_SUPPORT)
_LARGEST_SKEW = 3  # minor versions by which nodes may lag behind


def full(version: str, as_of: date) -> str:
    """With three numbers: the patch that was newest on that day, as far as it is known."""
    if version.count(".") >= 2:
        return version
    return kubernetes_versions.patch(version, as_of) or f"{version}.0"


def chosen(as_of: date) -> str:
    """What AKS takes where none is requested."""
    return full(kubernetes_versions.default_version(as_of), as_of)


def available(as_of: date) -> tuple[str, ...]:
    """Newest first; of each minor version the newest patch."""
    minors = kubernetes_versions.supported(as_of)
    if minors:
        return tuple(full(each, as_of) for each in minors)
    newest: dict[str, str] = {}
    for each in kubernetes_versions.seen_about(as_of):
        newest.setdefault(minor_of(each), each)
    return tuple(newest.values())


def upgrades(version: str, as_of: date) -> list[str]:
    """The versions that may follow this one: later patches of it, and the next minor version."""
    now = numbers(version)
    return sorted(
        (each for each in available(as_of) if numbers(each) > now and numbers(each)[1] - now[1] <= 1),
        key=numbers,
    )


def minor_of(version: str) -> str:
    return ".".join(version.split(".")[:2])


def numbers(version: str) -> tuple[int, ...]:
    """For comparing; `1.35` is `1.35.0`."""
    parts = tuple(int(part) for part in version.split("."))
    return (*parts, *(0,) * (3 - len(parts)))


def facts(requested: str, running: str, as_of: date, plan: str, control_plane: str = "") -> Body:
    """What speaks against a version, for the conditions of refusals; of one of which nothing is known, nothing.

    `running` is empty where nothing runs; `control_plane` is given of a pool. Both have three numbers."""
    if kubernetes_versions.number(requested) is None:
        return {"written": False}
    is_there = any(one and same(one, requested, as_of) for one in (running, control_plane))
    later = after(running, requested, as_of)
    found = {
        "written": True,
        "unsupported": "" if is_there else _not_there(requested, as_of, lts=plan == LONG_TERM_SUPPORT),
        "running": running,
        "step": _step(running, requested, as_of) if running else "",
        "possible": ",".join(upgrades(running, as_of)) or "none" if running else "",
    }
    if not control_plane:
        return found
    pool, plane = numbers(later), numbers(control_plane)
    skew = "bigger than" if pool[:2] > plane[:2] else ""
    if plane[1] - pool[1] > _LARGEST_SKEW:
        skew = f"more than {_LARGEST_SKEW} versions smaller than"
    return found | {"skew": skew, "later": later, "plane": control_plane, "minor": pool[1], "plane_minor": plane[1]}


def _step(before: str, after: str, as_of: date) -> str:
    """What of an upgrade isn't allowed: it goes up, and one minor version at a time."""
    old, new = numbers(before), numbers(full(after, as_of))
    if same(before, after, as_of):
        return ""
    return "Downgrading" if new < old else "Upgrading" if new[0] != old[0] or new[1] - old[1] > 1 else ""


def _not_there(version: str, as_of: date, *, lts: bool) -> str:
    """A version isn't supported longer than the next one, so versions older than a retired one are retired too."""
    minor = kubernetes_versions.number(version)
    row = next((one for one in kubernetes_versions.VERSIONS if one.number == minor), None)
    if row is None:
        oldest = min(kubernetes_versions.VERSIONS, key=lambda one: one.number)
        if minor is None or minor > oldest.number or as_of <= (oldest.lts_end or oldest.end).day:
            return ""
        return f"It is older than {oldest.name}, which retired on {oldest.end.day.isoformat()}."
    end = row.lts_end if lts else row.end
    if end is not None and as_of > end.day:
        return f"Kubernetes {row.name} on AKS retired on {end.day.isoformat()}."
    began = row.planned is None and row.general.dated == "valid from"
    if began and as_of < row.general.day:
        return f"Kubernetes {row.name} on AKS came on {row.general.day.isoformat()}."
    return ""


def same(before: str, after: str, as_of: date) -> bool:
    """A minor version that the cluster already has requests nothing, even where a newer patch is there."""
    return full(after, as_of) == before or (after.count(".") < 2 and minor_of(before) == after)


def after(running: str, requested: str, as_of: date) -> str:
    """What runs once `wanted` was requested where `running` (empty: nothing) ran."""
    return running if running and same(running, requested, as_of) else full(requested, as_of)


def listed(as_of: date) -> Body:
    """GET …/locations/{location}/kubernetesVersions."""
    standard = minor_of(chosen(as_of))
    return {"values": [_listed(each, standard, as_of) for each in available(as_of)]}


def _listed(version: str, standard: str, as_of: date) -> Body:
    minor = minor_of(version)
    return {
        "version": minor,
        "capabilities": {"supportPlan": list(_PLANS)},
        "isDefault": True if minor == standard else None,
        "isPreview": None,
        "patchVersions": {version: {"upgrades": upgrades(version, as_of)}},
    }
