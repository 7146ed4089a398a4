"""What is known of sizes, as plain data: what `--json` prints and the tables show. None means unknown."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from azure_gpu.catalog import offers
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.prices import Price, PriceBook, notes
from azure_gpu.catalog.problems import as_data
from azure_gpu.catalog.search import SearchResult
from azure_gpu.catalog.size_use import TAKES_SIZES, Service
from azure_gpu.catalog.sizes.model import Size

Facts = dict[str, Any]


def brief(size: Size, as_of: date, region: str = "") -> Facts:
    """The facts that fit in one line. Counts that may be fractions are text: `1/6`."""
    end = size.lifecycle.end_in(region)
    return {
        "size": size.name,
        "series": size.series.name,
        "gpu": size.gpu.model if size.gpu else None,
        "gpus": str(size.gpu_count) if size.gpu_count is not None else None,
        "gpu_memory_gib": size.gpu_memory_gib,
        "vcpus": size.vcpus,
        "memory_gib": size.memory_gib,
        "rdma": size.rdma,
        "drivers": [driver.value for driver in size.series.drivers],
        "status": size.lifecycle.status(as_of, region).value,
        "end": end.day.isoformat() if end else None,
    }


def whole(size: Size, as_of: date, region: str, prices: PriceBook) -> Facts:
    """All facts about a size, with their sources."""
    series = size.series
    return {
        **brief(size, as_of, region),
        "as_of": as_of.isoformat(),
        "vendor": size.gpu.vendor if size.gpu else None,
        "gpu_memory_of_one_whole_gib": size.gpu.memory_gib if size.gpu else None,
        "gpu_architecture": size.gpu.architecture if size.gpu else None,
        "compute_capability": (size.gpu.compute_capability or None) if size.gpu else None,
        "mig": {
            name: {"profile": mig.name, "instances": mig.instances, "memory_gib": mig.memory_gib}
            for name, mig in (size.gpu.mig if size.gpu else {}).items()
        },
        "quota_family": series.quota_family or None,
        "quota_vcpus": size.quota_vcpus,
        "vm_generations": [generation for generation in series.generations],
        "processor": series.architecture,
        "restricted": series.restricted,
        "lifecycle": _lifecycle(size.lifecycle),
        "successors_named": [*size.successors, *series.successors],
        "services": {service.value: _verdict(size, service, as_of, region, prices) for service in TAKES_SIZES},
        "prices": prices_of(size.name, region, as_of, prices),
        "notes": [note for note in (size.note, series.note, *(str(fact.value) for fact in notes.about(size.name))) if note],
        "sources": [str(source) for source in series.sources],
    }


def answer(result: SearchResult, as_of: date) -> Facts:
    """The result of a search: matches, and the other sizes with the reasons."""
    return {
        "as_of": as_of.isoformat(),
        "found": [
            {
                **brief(one.size, as_of, one.region),
                "region": one.region or None,
                **price(one.price, as_of),
                "remarks": list(one.remarks),
            }
            for one in result.matches
        ],
        "left_out": [{"size": one.size.name, "reasons": list(one.reasons)} for one in result.left_out],
    }


def price(known: Price | None, as_of: date) -> Facts:
    if known is None:
        return {"usd_hour": None, "price_day": None, "price_stale": None}
    return {"usd_hour": float(known.usd_hour), "price_day": known.day.isoformat(), "price_stale": known.stale(as_of)}


def prices_of(name: str, region: str, as_of: date, prices: PriceBook) -> list[Facts]:
    """List prices of one size, cheapest region first; of one region where one is given."""
    rows = [
        {
            "region": where,
            **price(on_demand := prices.on_demand(name, where), as_of),
            "spot_usd_hour": float(spot.usd_hour) if (spot := prices.spot(name, where)) else None,
            "spot_day": spot.day.isoformat() if spot else None,
            "sources": list(dict.fromkeys(each.source for each in (on_demand, spot) if each)),
        }
        for where in ([region] if region else prices.regions_of(name))
    ]
    return sorted(rows, key=lambda row: (row["usd_hour"] is None, row["usd_hour"] or 0, row["region"]))


def _lifecycle(lifecycle: Lifecycle) -> Mapping[str, object]:
    return {
        "seen": str(lifecycle.seen),
        "general": str(lifecycle.general) if lifecycle.general else None,
        "announced": str(lifecycle.announced) if lifecycle.announced else None,
        "end": str(lifecycle.end) if lifecycle.end else None,
        "end_elsewhere": {region: str(end) for region, end in lifecycle.end_elsewhere.items()},
        "also_given": [str(source) for source in lifecycle.also_given],
        "doubt": str(lifecycle.doubt) if lifecycle.doubt else None,
    }


def _verdict(size: Size, service: Service, as_of: date, region: str, prices: PriceBook) -> list[Facts]:
    return [as_data(one) for one in offers.check(offers.use_of(size, service, region), as_of, prices=prices)]
