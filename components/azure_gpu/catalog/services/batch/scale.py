"""How many nodes a Batch pool has, of which kind, how that changes, and how many tasks run on each.

In: a `PoolRequest`. Out: problems.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.batch import autoscale, sources
from azure_gpu.catalog.services.batch.request import ImageKind, PoolRequest
from azure_gpu.catalog.sources import Source

DEFAULT_RESIZE_TIMEOUT = timedelta(minutes=15)
SHORTEST_RESIZE_TIMEOUT = timedelta(minutes=5)
DEFAULT_TASK_SLOTS = 1
SLOTS_PER_CORE = 4
MOST_TASK_SLOTS = 256
LARGEST_NUMBER = 2**31 - 1  # the API's numbers of nodes are integers of 32 bits; an account's quota is far smaller
MOST_FROM_MANAGED_IMAGE: Mapping[str, int] = {"dedicated_nodes": 2000, "spot_nodes": 1000}


def scale_problems(request: PoolRequest) -> Iterator[Problem]:
    """Fixed numbers or a formula, never both and never neither; the times that go with them; what Spot nodes can't have."""
    fixed = request.dedicated_nodes is not None or request.spot_nodes is not None
    if fixed and request.autoscale_formula:
        message = "a pool has fixed numbers of nodes or an autoscale formula, not both"
        yield _problem(request, "autoscale_formula", message, _fixed(request), "one of the two")
    elif request.autoscale_formula and request.resize_timeout is not None:
        message = "a pool waits so long for a fixed number of nodes, and this one has an autoscale formula"
        yield _problem(
            request, "resize_timeout", message, str(request.resize_timeout), "a fixed number of nodes, or no such time"
        )
    elif not request.autoscale_formula and not fixed:
        message = "a pool needs a number of dedicated or of Spot nodes, or an autoscale formula"
        yield _problem(request, "dedicated_nodes", message, None, "one of the two numbers, 0 included")
    for key, number in (("dedicated_nodes", request.dedicated_nodes), ("spot_nodes", request.spot_nodes)):
        if number is not None and number < 0:
            yield _problem(request, key, "a pool has no negative number of nodes", number, "0 or more")
        if number is not None and number > LARGEST_NUMBER:
            yield _problem(request, key, "this is no number of nodes that Batch can read", number, f"at most {LARGEST_NUMBER}")
        if number is not None and request.image_kind is ImageKind.MANAGED and number > MOST_FROM_MANAGED_IMAGE[key]:
            most = MOST_FROM_MANAGED_IMAGE[key]
            message = f"a pool from a managed image has at most {most} of these nodes"
            yield _problem(request, key, message, number, f"at most {most}", sources.LIMITS)
    if request.resize_timeout is not None and request.resize_timeout < SHORTEST_RESIZE_TIMEOUT:
        message = "a resize of a pool waits at least 5 minutes"
        yield _problem(request, "resize_timeout", message, str(request.resize_timeout), "PT5M or more; the default is PT15M")
    if request.autoscale_formula:
        yield from autoscale.formula_problems(request.autoscale_formula, request.at("autoscale_formula"))
    if request.evaluation_interval is not None:
        yield from autoscale.interval_problems(request.evaluation_interval, request.at("evaluation_interval"))
    yield from _spot(request)


def _fixed(request: PoolRequest) -> str:
    """The fixed numbers that stand beside a formula."""
    given = (("dedicated nodes", request.dedicated_nodes), ("Spot nodes", request.spot_nodes))
    return ", ".join([*(f"{kind}: {number}" for kind, number in given if number is not None), "a formula"])


def _spot(request: PoolRequest) -> Iterator[Problem]:
    if not request.spot_nodes:
        return
    if request.ephemeral_os_disk:
        message = "Spot nodes of Batch can't have an ephemeral operating system disk"
        yield _problem(request, "ephemeral_os_disk", message, True, "a managed disk, or dedicated nodes", sources.SPOT)
    if request.max_price:
        message = "Spot nodes of Batch have no most price: they cost what Spot costs"
        yield _problem(request, "max_price", message, True, "no most price", sources.SPOT)


def slot_problems(request: PoolRequest) -> Iterator[Problem]:
    """Tasks that run on a node at the same time: 1 up to the smaller of 4 times its cores and 256."""
    cores = request.size.vcpus if request.size is not None else None
    most = MOST_TASK_SLOTS if cores is None else min(SLOTS_PER_CORE * cores, MOST_TASK_SLOTS)
    if not 1 <= request.task_slots <= most:
        message = f"a node runs 1 to {most} tasks at a time: at most {SLOTS_PER_CORE} for each core, and {MOST_TASK_SLOTS}"
        yield _problem(request, "task_slots", message, request.task_slots, f"1 to {most}")


def _problem(
    request: PoolRequest, key: str, message: str, value: object, allowed: str, source: Source = sources.PROVIDER
) -> Problem:
    return Problem(
        path=request.at(key),
        message=message,
        value=value,
        allowed=allowed,
        fix=f"give {allowed}",
        source=str(source),
        code=Code.IMPOSSIBLE,
    )
