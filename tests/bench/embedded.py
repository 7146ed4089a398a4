"""How fast the embedded Azure answers and what it weighs: pairs of PUT and GET on one connection, each a new resource."""

import statistics
import time

from tests.bench.results import Bench, Limit, resident_mib
from tests.support.embedded import SUBSCRIPTION, ServedAzure

PAIR_P50_MS, RESIDENT_MIB = Limit("at most", 10), Limit("at most", 250)
IDENTITIES = "2023-01-31"
GROUPS = "2024-03-01"


def measure(bench: Bench, azure: ServedAzure, pairs: int) -> None:
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/bench"
    azure.put(group, {"location": "westeurope"}, GROUPS).raise_for_status()
    took: list[float] = []
    for number in range(pairs):
        path = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/identity-{number:04d}"
        began = time.perf_counter()
        azure.put(path, {"location": "westeurope", "tags": {"number": str(number)}}, IDENTITIES).raise_for_status()
        azure.get(path, IDENTITIES).raise_for_status()
        took.append((time.perf_counter() - began) * 1000)
    cuts = statistics.quantiles(took, n=100)
    found = {"pairs": pairs, "p50_ms": cuts[49], "p95_ms": cuts[94], "longest_ms": max(took)}
    bench.figures["embedded_azure"] = found | {"resident_mib": resident_mib(azure.pid)}
    bench.hold("embedded Azure, PUT and GET pair, p50 in ms", PAIR_P50_MS, cuts[49])
    bench.say(f"  p95 {cuts[94]:.1f} ms, longest {max(took):.1f} ms, {pairs} pairs")
    bench.hold(f"embedded Azure, MiB resident with {pairs} resources", RESIDENT_MIB, resident_mib(azure.pid))
