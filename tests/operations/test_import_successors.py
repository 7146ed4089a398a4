"""A size that is gone becomes one with at least as many GPUs, in every import of a pool."""

from datetime import date
from itertools import product

from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.problems import Code, errors
from azure_gpu.catalog.sizes import SIZES
from azure_gpu_operations.importing.pools import gpus_of, judge

DAY, AT = date(2026, 11, 21), "pool.json:1: vmSize"


def test_a_pool_never_loses_gpus_and_is_never_its_own_successor() -> None:
    gone = [size for size in SIZES if size.gpu_count and size.lifecycle.status(DAY, "westeurope") is Status.RETIRED]
    wrong, moved = list[object](), 0
    for size, region, talk in product(gone, ("westeurope", "eastus", "francesouth"), (True, False)):
        judged = judge({"size": size.name, "inter_node": talk, "dedicated_nodes": 1}, {"size": AT}, region, DAY)
        now = str(judged.settings["size"])
        if now == size.name:  # nothing that is sold there has as many, so that it is refused as it is
            right = any(problem.path == AT and problem.code is Code.RETIRED for problem in errors(judged.problems))
        else:
            moved += 1
            right = gpus_of(now) >= gpus_of(size.name) and not (talk and "is taken, the cheapest" in " ".join(judged.changes))
        if not right:
            wrong.append((size.name, region, talk, now, judged.changes))
    assert wrong == []
    assert moved > len(gone)
