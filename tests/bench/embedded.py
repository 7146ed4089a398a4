"""How fast the embedded Azure answers and what it weighs: pairs of PUT and GET on one connection, each a new resource."""

import statistics
import subprocess
import time
from dataclasses import dataclass

from tests.support.embedded import SUBSCRIPTION, ServedAzure

IDENTITIES = "2023-01-31"
GROUPS = "2024-03-01"


@dataclass(frozen=True, slots=True)
class Served:
    """Milliseconds of PUT and GET pairs, and the server's resident memory with all resources in it."""

    pairs: int
    p50_ms: float
    p95_ms: float
    longest_ms: float
    resident_mib: float


def measure(azure: ServedAzure, pairs: int) -> Served:
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/bench"
    azure.put(group, {"location": "westeurope"}, GROUPS).raise_for_status()
    took: list[float] = []
    for number in range(pairs):
        path = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/identity-{number:04d}"
        began = time.perf_counter()
        azure.put(path, {"location": "westeurope", "tags": {"number": str(number)}}, IDENTITIES).raise_for_status()
        azure.get(path, IDENTITIES).raise_for_status()
        took.append((time.perf_counter() - began) * 1000)
    resident = subprocess.run(["ps", "-o", "rss=", "-p", str(azure.pid)], capture_output=True, text=True, check=True).stdout
    cuts = statistics.quantiles(took, n=100)
    return Served(pairs, cuts[49], cuts[94], max(took), int(resident) / 1024)
