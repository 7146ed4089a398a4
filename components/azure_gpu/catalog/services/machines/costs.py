"""The hourly cost of a machine, running and deallocated: its disk, public address and Bastion remain.

Unknown costs stay unknown, never 0. Machine prices are those of Linux, so the cost of a Windows machine is unknown.
"""

from decimal import Decimal
from typing import NamedTuple

from azure_gpu.catalog.prices import PriceBook
from azure_gpu.catalog.prices.hourly_cost import NOTHING, HourlyCost, Machines, in_region, of_machines
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sources import Source, observed

HOURS_A_MONTH = 730  # as Azure's own pages count
PREMIUM, STANDARD_SSD, STANDARD = "Premium_LRS", "StandardSSD_LRS", "Standard_LRS"

_P10 = observed("rshade/finfocus-plugin-azure-public, which reports a query of Azure's Retail Prices API", 2026, 10, 1)
_ONE_TIB = observed("lucidity.cloud, standard-ssd-vs-premium-ssd-azure-pricing", 2026, 11, 20)
_ADDRESS = observed("getstratolens.com, footguns/unattached-standard-public-ip", 2026, 7, 1)
_BASTION = observed("getstratolens.com, footguns/idle-azure-bastion", 2026, 7, 1)

# USD a month by type and the least size of its tier in GiB. List prices of the United States; other regions are dearer.
_DISKS: dict[tuple[str, int], tuple[Decimal, Source]] = {
    (PREMIUM, 128): (Decimal("19.71"), _P10),
    (PREMIUM, 1024): (Decimal("135.17"), _ONE_TIB),
    (STANDARD_SSD, 1024): (Decimal("76.80"), _ONE_TIB),
}
_TIERS = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32767)
ADDRESS_USD_HOUR = Decimal("0.005")
BASTION_USD_HOUR = {"developer": Decimal(0), "basic": Decimal("0.19")}
IN_THE_UNITED_STATES = frozenset(
    ("centralus", "eastus", "eastus2", "northcentralus", "southcentralus", "westcentralus", "westus", "westus2", "westus3")
)


class MachineUse(NamedTuple):
    """The billed parts of a machine."""

    size: str
    region: str
    operating_system: OperatingSystem = "Linux"
    spot: bool = False
    disk_type: str = PREMIUM
    disk_gib: int | None = None  # None: as large as the image's
    public_address: bool = False
    bastion: str = ""  # empty: none


class Cost(NamedTuple):
    """The hourly cost of a running machine, without its disk, and of a deallocated one."""

    running: HourlyCost  # with address and Bastion
    stays: HourlyCost  # disk, address and Bastion, which go on while it is deallocated


def cost(use: MachineUse, prices: PriceBook) -> Cost:
    beside = _beside(use)
    return Cost(_machine(use, prices).plus(beside), _disk(use).plus(beside))


def _machine(use: MachineUse, prices: PriceBook) -> HourlyCost:
    if use.operating_system == "Windows":
        return HourlyCost(None, (f"{'Spot ' if use.spot else ''}{use.size} with Windows",))
    return of_machines((Machines(use.size, 1, use.spot),), use.region, prices)


def _disk(use: MachineUse) -> HourlyCost:
    """A disk is billed as the next larger tier."""
    tier = next((each for each in _TIERS if each >= (use.disk_gib or 0)), 0)
    found = _DISKS.get((use.disk_type, tier)) if use.disk_gib is not None and use.region in IN_THE_UNITED_STATES else None
    if found is None:
        size = f"of {use.disk_gib} GiB" if use.disk_gib is not None else "of the image's size"
        return HourlyCost(None, (f"a {use.disk_type} disk {size} {in_region(use.region)}",))
    usd_month, source = found
    return HourlyCost((usd_month / HOURS_A_MONTH).quantize(Decimal("0.0001")), oldest=source.day)


def _beside(use: MachineUse) -> HourlyCost:
    """A public address and a Bastion."""
    found = NOTHING
    if use.public_address:
        found = found.plus(HourlyCost(ADDRESS_USD_HOUR, oldest=_ADDRESS.day))
    if use.bastion:
        usd_hour = BASTION_USD_HOUR.get(use.bastion)
        unknown = () if usd_hour is not None else (f"a Bastion of the SKU {use.bastion}",)
        found = found.plus(HourlyCost(usd_hour, unknown, _BASTION.day if usd_hour else None))
    return found
