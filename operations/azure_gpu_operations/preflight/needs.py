"""What is wanted, as a command line says it: `batch=Standard_NC4as_T4_v3*4@westeurope:spot`, or the name `storage=mnistdata`.

SIZE is a VM size; for `container-apps` the type of a workload profile, for `aci` a GPU SKU, whose COUNT is that of the GPUs.

In: the text of one `--need` or `--name`. Out: a `SizeUse` or a `WantedName`; `WrongNeedError` says what is wrong with a text and
what is allowed.
"""

import difflib
import re
from enum import StrEnum
from typing import NamedTuple

from azure_gpu.catalog import offers, regions
from azure_gpu.catalog.size_use import OperatingSystem, Service, SizeUse
from azure_gpu.catalog.sizes import SIZES

ALLOWED = tuple(service.value for service in Service if service is not Service.STACK_EDGE)  # a device has no region
MOST_NODES = 100_000  # more is a slip of the keyboard: no subscription has a quota for it
FORM = "SERVICE=SIZE[*COUNT][@REGION][:spot], such as batch=Standard_NC4as_T4_v3*4@westeurope:spot"
_NEED = re.compile(r"(?P<service>[^=]*)=(?P<size>[^*@:]+)(?:\*(?P<count>[^@:]*))?(?:@(?P<region>[^:]*))?(?::(?P<price>.*))?")


class NamedKind(StrEnum):
    """What a name can be wanted for."""

    STORAGE = "storage"
    REGISTRY = "registry"
    BATCH = "batch"
    VAULT = "vault"


class WantedName(NamedTuple):
    kind: NamedKind
    name: str
    region: str  # Batch's names are unique in a region, the others' in all of Azure
    kept: bool = False  # an earlier end of the stack may have left what has it


class WrongNeedError(ValueError):
    """A `--need` or `--name` that can't be understood. The text is for the user."""


def parse(text: str, default_region: str = "") -> SizeUse:
    """One need. `default_region` is used where the text names none. WrongNeedError."""
    found = _NEED.fullmatch(text.strip())
    if found is None:
        raise WrongNeedError(f"{text!r} is no need; write {FORM}")
    region = found["region"] or default_region
    path = f"--need {text.strip()}"
    size = SIZES.find(found["size"])
    return SizeUse(
        service=_service(text, found["service"].strip()),
        size=found["size"].strip(),
        region=_region(text, region.strip()),
        nodes=_count(text, found["count"]),
        spot=_spot(text, found["price"]),
        operating_system=offers.only_system(size) if size else OperatingSystem.LINUX,
        path=path,
        region_path=path,
    )


def parse_name(text: str, region: str = "") -> WantedName:
    """One name, `KIND=NAME`. WrongNeedError."""
    kind, _, name = text.partition("=")
    allowed = [each.value for each in NamedKind]
    if kind not in allowed or not name:
        raise WrongNeedError(f"--name {text}: write KIND=NAME, where KIND is {', '.join(allowed)}")
    if kind == NamedKind.BATCH and not region:
        raise WrongNeedError(f"--name {text}: names of Batch accounts are unique in a region; give one with --location")
    return WantedName(NamedKind(kind), name, region)


def _service(text: str, name: str) -> Service:
    if name.lower() in ALLOWED:
        return Service(name.lower())
    close = difflib.get_close_matches(name.lower(), ALLOWED, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    raise WrongNeedError(f"{text!r}: {name!r} is no service with GPUs; allowed are {', '.join(ALLOWED)}{meant}")


def _count(text: str, count: str | None) -> int:
    if count is None:
        return 1
    if not count.strip().isdecimal() or not 1 <= int(count) <= MOST_NODES:
        raise WrongNeedError(f"{text!r}: {count!r} is no number of machines; allowed are 1 to {MOST_NODES}")
    return int(count)


def _region(text: str, region: str) -> str:
    if not region:
        raise WrongNeedError(f"{text!r} names no region; write it behind @, or give one for all with --location")
    problems = regions.check_known(region, "region")
    if problems:
        raise WrongNeedError(f"{text!r}: {problems[0].message}: {region!r}; {problems[0].fix}")
    return regions.normalise(region)


def _spot(text: str, price: str | None) -> bool:
    if price is None:
        return False
    if price.strip().lower() != "spot":
        raise WrongNeedError(f"{text!r}: {price!r} is no way to pay; allowed is spot, or nothing")
    return True
