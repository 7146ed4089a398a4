"""What is asked about: --need and --name, `batch=Standard_NC4as_T4_v3*4@westeurope:spot`, `storage=mnistdata`, with a check of
needs against the catalog; and a stack's names, registrations and region.

SIZE is a VM size and COUNT the number of machines. For `container-apps`, SIZE is the type of a workload profile; for `aci`,
SIZE is a GPU SKU and COUNT the number of GPUs.
"""

import difflib
import re
from collections.abc import Sequence
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from azure_gpu.catalog import offers, providers, regions
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types

if TYPE_CHECKING:  # it loads all components, and `--help` needs none
    from azure_gpu.stack.inventory import Inventory

ALLOWED = tuple(service.value for service in Service if service is not Service.STACK_EDGE)  # a device has no region
MOST_NODES = 100_000  # no subscription has a quota for more, so a larger number is a typing error
FORM = "SERVICE=SIZE[*COUNT][@REGION][:spot], such as batch=Standard_NC4as_T4_v3*4@westeurope:spot"
_NEED = re.compile(r"(?P<service>[^=]*)=(?P<size>[^*@:]+)(?:\*(?P<count>[^@:]*))?(?:@(?P<region>[^:]*))?(?::(?P<price>.*))?")


class NamedKind(StrEnum):
    """The kind of resource that a name is for."""

    STORAGE = "storage"
    REGISTRY = "registry"
    BATCH = "batch"
    VAULT = "vault"


_KINDS = {
    azure_types.STORAGE_ACCOUNT.arm_type: NamedKind.STORAGE,
    azure_types.REGISTRY.arm_type: NamedKind.REGISTRY,
    azure_types.BATCH_ACCOUNT.arm_type: NamedKind.BATCH,
    azure_types.KEY_VAULT.arm_type: NamedKind.VAULT,
}


class RequestedName(NamedTuple):
    kind: NamedKind
    name: str
    region: str  # Batch's names are unique in a region, the others' in all of Azure
    kept: bool = False  # whether an earlier `down` of the stack may have left a resource of this name


class InvalidNeedError(ValueError):
    """A `--need` or `--name` that can't be understood. The text is for the user."""


def parse(text: str, default_region: str = "") -> SizeUse:
    """Parses one need. `default_region` is used where the text has no region. Raises `InvalidNeedError`."""
    found = _NEED.fullmatch(text.strip())
    if found is None:
        raise InvalidNeedError(f"invalid --need {text!r}; expected {FORM}")
    region = found["region"] or default_region
    path = f"--need {text.strip()}"
    size = SIZES.find(found["size"])
    return SizeUse(
        service=_service(text, found["service"].strip()),
        size=found["size"].strip(),
        region=_region(text, region.strip()),
        nodes=_count(text, found["count"]),
        spot=_spot(text, found["price"]),
        operating_system=offers.only_system(size) if size else "Linux",
        path=path,
        region_path=path,
    )


def parse_name(text: str, region: str = "") -> RequestedName:
    """Parses one name, `KIND=NAME`. Raises `InvalidNeedError`."""
    kind, _, name = text.partition("=")
    allowed = [each.value for each in NamedKind]
    if kind not in allowed or not name:
        raise InvalidNeedError(f"invalid --name {text!r}; expected KIND=NAME; KIND is {', '.join(allowed)}")
    if kind == NamedKind.BATCH and not region:
        raise InvalidNeedError(f"--name {text}: set --location; names of Batch accounts are unique per region")
    return RequestedName(NamedKind(kind), name, region)


def _service(text: str, name: str) -> Service:
    if name.lower() in ALLOWED:
        return Service(name.lower())
    close = difflib.get_close_matches(name.lower(), ALLOWED, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    raise InvalidNeedError(f"{text!r}: unknown service {name!r}; allowed: {', '.join(ALLOWED)}{meant}")


def _count(text: str, count: str | None) -> int:
    if count is None:
        return 1
    if not count.strip().isdecimal() or not 1 <= int(count) <= MOST_NODES:
        raise InvalidNeedError(f"{text!r}: invalid number of machines {count!r}; allowed: 1 to {MOST_NODES}")
    return int(count)


def _region(text: str, region: str) -> str:
    if not region:
        raise InvalidNeedError(f"{text!r}: missing region; append @REGION, or set --location")
    problems = errors(regions.check(region, "region"))
    if problems:
        raise InvalidNeedError(f"{text!r}: {problems[0].message}: {region!r}; {problems[0].fix}")
    return regions.normalise(region)


def _spot(text: str, price: str | None) -> bool:
    if price is None:
        return False
    if price.strip().lower() != "spot":
        raise InvalidNeedError(f"{text!r}: unknown pricing {price!r}; use spot or omit it")
    return True


def problems(needs: Sequence[SizeUse], as_of: date) -> list[Problem]:
    """Every problem of every need, and of every region once."""
    of_regions = [problem for each in dict.fromkeys(need.region for need in needs) for problem in regions.check(each, "region")]
    return [*of_regions, *(problem for need in needs for problem in offers.check(need, as_of, prices=packaged()))]


def region_of(taken: "Inventory") -> str:
    """The stack's region; "" for what can't be one, which has its problem, and would only fail again if Azure were asked."""
    return taken.location if regions.may_be(taken.location) else ""


def names_of(taken: "Inventory") -> list[RequestedName]:
    """The stack's names that Azure can be asked about."""
    known = [each for each in taken.names if each.arm_type in _KINDS]
    return [RequestedName(_KINDS[each.arm_type], each.name, taken.location, each.kept) for each in known]


def namespaces_of(taken: "Inventory", requested: Sequence[SizeUse] = ()) -> list[str]:
    """The resource providers that the stack and the needs of the command line require."""
    found = {name.arm_type.split("/")[0] for name in taken.names}
    found |= {namespace for use in taken.uses for namespace in providers.OF_SERVICE[use.service]}
    if providers.MACHINE_LEARNING in found:  # a workspace, and what it can't be without
        found |= set(providers.OF_SERVICE[Service.ML_COMPUTE])
    if providers.LOGS in found:  # what sends logs there does so by a diagnostic setting
        found.add(providers.INSIGHTS)
    found |= set(providers.OF_SERVICE[Service.AKS]) if taken.system_pools or taken.clusters else set()
    found |= {providers.POLICY} if taken.azure_policy else set()
    of_needs = {namespace for need in requested for namespace in providers.OF_SERVICE[need.service]}
    return sorted(found - set(providers.ALWAYS_REGISTERED) | of_needs)
