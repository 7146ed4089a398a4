"""Kubernetes versions of AKS: which are available, which upgrades are allowed, and which nodes fit a control plane.

A body's version has two or three numbers (`1.35`, `1.35.2`); here versions have three. Minor versions and patches are the
catalog's; a patch that no source names is shown as `.0`.
"""

from datetime import date

from azure_gpu.catalog.services.aks import kubernetes_versions
from localazure.arm.errors import ArmError
from localazure.arm.store import Body
from localazure.kinds.managed_cluster_refusals import invalid, not_allowed, version_not_supported

LONG_TERM_SUPPORT = "AKSLongTermSupport"
_PLANS = ("KubernetesOfficial", LONG_TERM_SUPPORT)
_SKEW = "For more information, please check https://aka.ms/version-skew-policy"
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


def check_written(version: str, parameter: str) -> None:
    if kubernetes_versions.number(version) is None:
        raise invalid(parameter, f"'{version}' isn't a version such as 1.35 or 1.35.2")


def check_supported(version: str, as_of: date, plan: str) -> None:
    """ArmError for a version that AKS doesn't have on that day; one of which nothing is known passes."""
    reason = _not_there(version, as_of, lts=plan == LONG_TERM_SUPPORT)
    if reason:
        raise version_not_supported(version, reason)


def _not_there(version: str, as_of: date, *, lts: bool) -> str:
    """A version isn't supported longer than the next one, so versions older than a retired one are retired too."""
    minor = kubernetes_versions.number(version)
    row = next((one for one in kubernetes_versions.VERSIONS if one.number == minor), None)
    if row is None:
        oldest = min(kubernetes_versions.VERSIONS, key=lambda one: one.number)
        if minor is None or minor > oldest.number or as_of <= (oldest.lts_end or oldest.end).day:
            return ""
        return f"it is older than {oldest.name}, which retired on {oldest.end.day.isoformat()}"
    end = row.lts_end if lts else row.end
    if end is not None and as_of > end.day:
        return f"Kubernetes {row.name} on AKS retired on {end.day.isoformat()}"
    began = row.planned is None and row.general.dated == "valid from"
    if began and as_of < row.general.day:
        return f"Kubernetes {row.name} on AKS came on {row.general.day.isoformat()}"
    return ""


def check_upgrade(before: str, after: str, as_of: date) -> None:
    """Of a control plane: up, and one minor version at a time. `before` has three numbers."""
    if same(before, after, as_of):
        return
    old, new = numbers(before), numbers(full(after, as_of))
    if new < old:
        raise _not_to(before, after, "Downgrading", as_of)
    if new[0] != old[0] or new[1] - old[1] > 1:
        raise _not_to(before, after, "Upgrading", as_of)


def check_pool_upgrade(before: str, after: str, as_of: date) -> None:
    """Of a pool: one minor version at a time, and never down."""
    if same(before, after, as_of):
        return
    old, new = numbers(before), numbers(full(after, as_of))
    if new < old:
        raise _not_to(before, after, "Downgrading", as_of)
    if new[1] - old[1] > 1:
        raise ArmError(
            400,
            "OperationNotAllowed",
            f"Upgrade agent pool version from {before} to {after} is not allowed, you can only upgrade one minor version at a "
            f"time. Please use [az aks get-upgrades] command to get the supported upgrade paths. {_SKEW}",
        )


def check_skew(pool: str, control_plane: str) -> None:
    """Nodes are never newer than the control plane, and not much older. Both with three numbers."""
    of_pool, of_plane = numbers(pool), numbers(control_plane)
    relation = ""
    if of_pool[:2] > of_plane[:2]:
        relation = "bigger than"
    elif of_plane[1] - of_pool[1] > _LARGEST_SKEW:
        relation = f"more than {_LARGEST_SKEW} versions smaller than"
    if relation:
        raise ArmError(
            400,
            "NodePoolMcVersionIncompatible",
            f"Node pool version {pool} and control plane version {control_plane} are incompatible. Minor version of node pool "
            f"version {of_pool[1]} is {relation} control plane version {of_plane[1]}. {_SKEW}",
        )


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


def upgrade_rows(version: str, as_of: date) -> list[Body]:
    """What an upgrade profile lists."""
    return [{"kubernetesVersion": each, "isPreview": None} for each in upgrades(version, as_of)]


def pool_rows(control_plane: str, as_of: date) -> list[Body]:
    """The versions that a new pool below such a control plane may have."""
    standard = minor_of(control_plane)
    fitting = [each for each in available(as_of) if numbers(each)[:2] <= numbers(control_plane)[:2]]
    every = list(dict.fromkeys([control_plane, *fitting]))
    return [
        {"kubernetesVersion": each, "default": minor_of(each) == standard or None, "isPreview": None}
        for each in sorted(every, key=numbers)
    ]


def _not_to(before: str, after: str, doing: str, as_of: date) -> ArmError:
    possible = ",".join(upgrades(before, as_of))
    return not_allowed(
        f"{doing} Kubernetes version {before} to {after} is not allowed. Available upgrades: {possible or 'none'}. "
        "Please see https://aka.ms/aks-supported-k8s-ver for version details."
    )
