"""Checks an AKS pool of GPU nodes: its name, system, driver, MIG profile, Spot machines, tags, and numbers of nodes.

`size_rules`, `systems` and `mig` have the rules of their subjects; a cluster's version is checked with the cluster.
Values are as the user wrote them, so that a rule can report each; `PoolRequest.at` says where it was written.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

from azure_gpu.catalog import lifecycle, spot_price
from azure_gpu.catalog.problems import End, Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.aks import mig, sizes, systems
from azure_gpu.catalog.services.aks.sizes import AMD_PAGE, INSTALL, NO_DRIVER
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import observed, valid_from

_TAG_END = valid_from("Microsoft Learn, articles/aks/includes/skip-gpu-driver-install-retirement.md", 2025, 8, 14)
# It hasn't changed its rules since.
SPOT_PAGE = observed("Microsoft Learn, articles/aks/spot-node-pool.md", 2025, 4, 6)

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
            problems.append(refused("aks.secure_boot_driver", request.at("secure_boot"), True))
        if size.gpu is not None and size.rdma and INFINIBAND_FEATURE not in request.features:
            what = "nodes share an InfiniBand network only with a feature flag"
            unknown = refused("aks.feature_unknown", request.at("size"), what=what, feature=INFINIBAND_FEATURE)
            problems += lifecycle.as_of_day(AMD_PAGE, as_of, unknown)
    return problems


def check_nodes(least: int, most: int, least_path: str, most_path: str) -> Iterator[Problem]:
    """The problems of the numbers of nodes between which AKS scales a pool."""
    if least < 0:
        yield refused("aks.negative_nodes", least_path, least)
    needed = max(least, 1)
    if most < needed:
        yield refused("aks.maximum_below_minimum", most_path, most, needed=needed)


def _name(name: str, path: str) -> Iterator[Problem]:
    if re.fullmatch(_NAME, name) is None or len(name) > NAME_LENGTH:
        yield refused("aks.bad_pool_name", path, name, name_length=NAME_LENGTH, length=len(name))


def _skip_driver_tag(tags: Mapping[str, str], path: str, as_of: date) -> Iterator[Problem]:
    for tag in tags:
        if tag.lower() == SKIP_DRIVER_TAG.lower():
            problem = refused(
                "aks.rejected_tag", path, tag, skip_driver_tag=SKIP_DRIVER_TAG, tag_end=_TAG_END, no_driver=NO_DRIVER
            )._replace(end=End(f"the tag {SKIP_DRIVER_TAG} on AKS", _TAG_END.day))
            yield from lifecycle.as_of_day(_TAG_END, as_of, problem)


def _spot(request: PoolRequest, spot: Spot) -> Iterator[Problem]:
    if request.max_surge:
        yield refused("aks.spot_surge", request.at("max_surge"), request.max_surge)
    if not spot_price.is_possible(spot.max_price):
        yield spot_price.refused(request.at("spot.max_price"), spot.max_price, SPOT_PAGE)
