"""Checks an AKS pool of GPU nodes: its name, system, driver, MIG profile, Spot machines, tags, and numbers of nodes.

`size_rules`, `systems` and `mig` have the rules of their subjects; a cluster's version is checked with the cluster.
Values are as the user wrote them, so that a rule can report each; `PoolRequest.at` says where it was written.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

from azure_gpu.catalog import spot_price
from azure_gpu.catalog.problems import Code, End, Problem, impossible
from azure_gpu.catalog.services import observed
from azure_gpu.catalog.services.aks import mig, sizes, systems
from azure_gpu.catalog.services.aks.sizes import AMD_PAGE, INSTALL, NO_DRIVER
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import Dated, Source

_POOLS_PAGE = Source("Microsoft Learn, articles/aks/use-system-pools.md", Dated.OBSERVED, date(2026, 8, 21))
_SCALE_PAGE = Source("Microsoft Learn, articles/aks/scale-cluster.md", Dated.OBSERVED, date(2026, 8, 21))
_TAG_END = Source(
    "Microsoft Learn, articles/aks/includes/skip-gpu-driver-install-retirement.md", Dated.VALID_FROM, date(2025, 8, 14)
)
# It hasn't changed its rules since.
SPOT_PAGE = Source("Microsoft Learn, articles/aks/spot-node-pool.md", Dated.OBSERVED, date(2025, 4, 6))
SECURE_BOOT_PAGE = Source("MicrosoftDocs/azure-aks-docs, use-trusted-launch.md at fb060abe", Dated.OBSERVED, date(2026, 7, 22))

LABEL = "kubernetes.azure.com/agentpool"  # of every node, with its pool's name
NAME_LENGTH = 12  # of a Linux pool
SKIP_DRIVER_TAG = "SkipGPUDriverInstall"
INFINIBAND_FEATURE = "AKSInfinibandSupport"  # makes a pool one placement group, whose nodes share a network
SPOT_LABEL = ("kubernetes.azure.com/scalesetpriority", "spot")
SPOT_TAINT = "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"  # which a pod has to tolerate
EVICTION_POLICIES = ("Delete", "Deallocate")  # the first is the default; deallocated nodes go on counting against the quota
_NAME = r"[a-z][a-z0-9]*"


class Spot(NamedTuple):
    """A pool of Spot machines."""

    eviction_policy: str = "Delete"
    max_price: float = -1  # US dollars an hour for one node; -1: up to the price of an ordinary machine


class PoolRequest(NamedTuple):
    """What is asked of a pool of Linux nodes beside its numbers of nodes. An empty string: not set, AKS chooses."""

    path: str  # where the pool is written
    name: str
    size: Size | None  # None: the size isn't known, and nothing about it is checked here
    paths: Mapping[str, str] = MappingProxyType({})  # by field, where it isn't `path` and the field's name
    os_sku: str = ""
    driver: str = INSTALL
    mig_profile: str = ""  # MIG1g, …
    spot: Spot | None = None
    max_surge: str = ""
    tags: Mapping[str, str] = MappingProxyType({})
    secure_boot: bool = False
    features: frozenset[str] = frozenset()  # feature flags that the subscription has, by the user's settings

    def at(self, name: str) -> str:
        """Where the field of this name is written."""
        return self.paths.get(name, f"{self.path}.{name}")


def check(request: PoolRequest, as_of: date) -> list[Problem]:
    """All problems of the pool on that day. Empty: no known problem."""
    size = request.size
    problems = [*_name(request.name, request.at("name")), *_skip_driver_tag(request.tags, request.at("tags"), as_of)]
    if request.os_sku:
        problems += systems.check(request.os_sku, size, as_of, request.at("os_sku"))
    if request.mig_profile:
        problems += mig.check(request.mig_profile, size, as_of, request.at("mig_profile"))
    if request.spot is not None:
        problems += _spot(request, request.spot)
    if size is not None:
        system = systems.node_system(request.os_sku)
        of_nodes = frozenset({system}) if system is not None else frozenset[systems.NodeSystem]()
        problems += sizes.in_pool(size, of_nodes, request.driver, as_of, request.at("size"), request.at("driver"))
        if request.secure_boot and size.gpu is not None and system == "Ubuntu" and request.driver != NO_DRIVER:
            problems.append(_secure_boot(request))
        if size.gpu is not None and size.rdma and INFINIBAND_FEATURE not in request.features:
            what = "nodes share an InfiniBand network only with a feature flag"
            problems += observed.at(AMD_PAGE, as_of, systems.needs_feature(INFINIBAND_FEATURE, what, request.at("size")))
    return problems


def check_nodes(least: int, most: int, least_path: str, most_path: str) -> Iterator[Problem]:
    """The problems of the numbers of nodes between which AKS scales a pool."""
    if least < 0:
        message = "a pool can't have fewer than 0 nodes"
        yield impossible(least_path, message, least, "0 and more", "write 0 or more", _SCALE_PAGE)
    needed = max(least, 1)
    if most < needed:
        message = "the autoscaler's maximum number of nodes is below its minimum"
        yield impossible(most_path, message, most, f"{needed} and more", "raise it", _SCALE_PAGE)


def _name(name: str, path: str) -> Iterator[Problem]:
    if re.fullmatch(_NAME, name) is None or len(name) > NAME_LENGTH:
        yield impossible(
            path,
            f"not a valid name for a Linux pool of AKS ({len(name)} characters)",
            name,
            f"1 to {NAME_LENGTH} lower-case letters and digits, a letter first",
            "shorten it, and leave out capitals, dashes and underscores",
            _POOLS_PAGE,
        )


def _secure_boot(request: PoolRequest) -> Problem:
    message = "with Secure Boot, nodes with Ubuntu refuse the GPU driver that AKS installs"
    fix = "write AzureLinux as its OS SKU, or set the pool's driver to none and install a signed one"
    return impossible(request.at("secure_boot"), message, True, "Azure Linux, or no driver of AKS", fix, SECURE_BOOT_PAGE)


def _skip_driver_tag(tags: Mapping[str, str], path: str, as_of: date) -> Iterator[Problem]:
    for tag in tags:
        if tag.lower() == SKIP_DRIVER_TAG.lower():
            problem = Problem(
                path=path,
                message=f"AKS has rejected the tag {SKIP_DRIVER_TAG} since {_TAG_END.day.isoformat()}",
                value=tag,
                fix=f"remove the tag, and set the pool's driver to {NO_DRIVER}",
                code=Code.RETIRED,
                end=End(f"the tag {SKIP_DRIVER_TAG} on AKS", _TAG_END.day),
            )
            yield from observed.at(_TAG_END, as_of, problem)


def _spot(request: PoolRequest, spot: Spot) -> Iterator[Problem]:
    if request.max_surge:
        message = "a Spot pool doesn't support surge nodes"
        yield impossible(request.at("max_surge"), message, request.max_surge, "nothing", "leave it out", SPOT_PAGE)
    if not spot_price.is_possible(spot.max_price):
        yield spot_price.refused(request.at("spot.max_price"), spot.max_price, SPOT_PAGE)
