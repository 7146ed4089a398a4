"""The query of a list: region, date and active faults, with the sizes that are sold there and then.

Sold sizes are those that the price lists until the date have in the region, and those that they have nowhere.
"""

from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from azure_gpu.catalog import prices, regions
from azure_gpu.catalog.lifecycle import SOLD
from azure_gpu.catalog.size_use import Service
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size, same_family
from localazure import size_facts
from localazure.arm.store import Store
from localazure.lists.deviations import Deviations
from localazure.subscriptions import SUBSCRIPTION


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """Region, date and faults of a request for a list. `region` is empty for a list over all regions."""

    region: str
    as_of: date
    deviations: Deviations
    store: Store | None = None  # for what is used of a quota

    def sizes(self, region: str = "") -> list[Size]:
        """The sizes that are sold at this date in a region, by name; without one, in the region that was requested. One that the
        catalog hasn't heard of sells all."""
        where = region or self.region
        everywhere = regions.may_be(where) and where not in regions.known()
        return [size for size in self._current(where) if everywhere or where in (self._priced(size) or {where})]

    def sizes_of(self, service: Service) -> list[Size]:
        """Those of them that a service takes."""
        return [size for size in self.sizes() if size_facts.taken(size, service, self.region, self.as_of)]

    def families(self) -> list[str]:
        """The quota families of the sizes that are sold anywhere, each in one spelling."""
        found: list[str] = []
        for size in self._current(self.region):
            family = size.series.quota_family
            if family and not any(same_family(family, other) for other in found):
                found.append(family)
        return sorted(found, key=str.lower)

    def _priced(self, size: Size) -> set[str]:
        """The regions with a price of that day or before. Prices that came later say nothing of it."""
        book = prices.packaged()
        found = ((region, book.on_demand(size.name, region)) for region in book.regions_of(size.name))
        return {region for region, price in found if price is not None and price.day <= self.as_of}

    def _current(self, region: str) -> list[Size]:
        return sorted((size for size in SIZES if size.lifecycle.status(self.as_of, region) in SOLD), key=lambda size: size.name)

    def resource(self, path: str) -> str:
        """An id below the subscription."""
        return f"/subscriptions/{SUBSCRIPTION}/{path}"


def gpus_as_told(count: Fraction | None) -> int:
    """Whole GPUs, as the SKU list counts them: shares of one are rounded up (kubernetes/autoscaler, azure_instance_types.go)."""
    return 0 if count is None else -(-count.numerator // count.denominator)
