"""Rules for the number of nodes of a Batch pool, its resize timeout, and task slots."""

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
        message = "a pool can't have both fixed numbers of nodes and an autoscale formula"
        yield _problem(request, "autoscale_formula", message, _fixed(request), "one of the two")
    elif request.autoscale_formula and request.resize_timeout is not None:
        message = "a resize timeout applies to a fixed number of nodes, not to an autoscale formula"
        yield _problem(request, "resize_timeout", message, str(request.resize_timeout), "a fixed number of nodes, or no timeout")
    elif not request.autoscale_formula and not fixed:
        message = "a pool needs a number of dedicated or of Spot nodes, or an autoscale formula"
        yield _problem(request, "dedicated_nodes", message, None, "one of the two numbers, 0 included")
    for key, number in (("dedicated_nodes", request.dedicated_nodes), ("spot_nodes", request.spot_nodes)):
        if number is not None and number < 0:
            yield _problem(request, key, "the number of nodes is negative", number, "0 or more")
        if number is not None and number > LARGEST_NUMBER:
            yield _problem(request, key, "the number of nodes is too large for Batch", number, f"at most {LARGEST_NUMBER}")
        if number is not None and request.image_kind is ImageKind.MANAGED and number > MOST_FROM_MANAGED_IMAGE[key]:
            most = MOST_FROM_MANAGED_IMAGE[key]
            message = f"a pool from a managed image has at most {most} of these nodes"
            yield _problem(request, key, message, number, f"at most {most}", sources.LIMITS)
    if request.resize_timeout is not None and request.resize_timeout < SHORTEST_RESIZE_TIMEOUT:
        message = "the resize timeout is too short"
        yield _problem(request, "resize_timeout", message, str(request.resize_timeout), "PT5M or more; the default is PT15M")
    if request.autoscale_formula:
        yield from autoscale.formula_problems(request.autoscale_formula, request.at("autoscale_formula"))
    if request.evaluation_interval is not None:
        yield from autoscale.interval_problems(request.evaluation_interval, request.at("evaluation_interval"))
    yield from _spot(request)


def _fixed(request: PoolRequest) -> str:
    """The fixed numbers that are set together with a formula."""
    given = (("dedicated nodes", request.dedicated_nodes), ("Spot nodes", request.spot_nodes))
    return ", ".join([*(f"{kind}: {number}" for kind, number in given if number is not None), "a formula"])


def _spot(request: PoolRequest) -> Iterator[Problem]:
    if not request.spot_nodes:
        return
    if request.ephemeral_os_disk:
        message = "Spot nodes of Batch can't have an ephemeral operating system disk"
        yield _problem(request, "ephemeral_os_disk", message, True, "a managed disk, or dedicated nodes", sources.SPOT)
    if request.max_price:
        message = "Spot nodes of Batch can't have a maximum price"
        yield _problem(request, "max_price", message, True, "no maximum price", sources.SPOT)


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
