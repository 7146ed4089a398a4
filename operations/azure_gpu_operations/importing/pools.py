"""Judges a Batch pool at a day: unchanged if Batch still accepts it, else with successors of what is gone."""

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code, Problem, errors
from azure_gpu.catalog.services.batch import methods, pools
from azure_gpu.catalog.services.batch.request import ContainerTasks, PoolRequest, StartTask, kind_of
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.sizes import SIZES

_GONE = (Code.RETIRED, Code.NOT_OFFERED)
_IMAGE_KEYS = ("image", "image_id", "node_agent")
_WINDOWS_AGENT = "batch.node.windows amd64"


class Judged(NamedTuple):
    """`settings` are what to ask Batch for on that day; `changes` tells, with file and line, where they differ from the files.
    `was` is the pool of the files where a part of it is gone by that day; else None. `problems` are all others."""

    settings: dict[str, Any]
    was: dict[str, Any] | None
    changes: list[str]
    problems: list[Problem]


def judge(settings: Mapping[str, Any], written: Mapping[str, str], location: str, as_of: date) -> Judged:
    """`location` is the account's region; "" if unknown, and then no region is judged."""
    asked = dict(settings)
    found = problems_of(asked, written, location, as_of)
    changes: list[str] = []
    unknown = _unknown_image(asked, found)
    if unknown and asked.get("os_type") == "Windows":  # one agent for all of its versions
        asked["node_agent"] = _WINDOWS_AGENT
        found = problems_of(asked, written, location, as_of)
    elif unknown:
        changes.append(f"{written['image']}: {asked['image']} isn't known, so another is taken")
    if _lacks_containers(asked, written, found) or changes:
        # Some other tool installed Docker, and a driver, on a plain image itself.
        asked = {key: value for key, value in asked.items() if key not in (*_IMAGE_KEYS, "driver")}
        found = problems_of(asked, written, location, as_of)
    gone = [problem for problem in errors(found) if problem.code in _GONE]
    if not gone:
        other = _image(asked, written, location, as_of) if settings.get("image") != asked.get("image") else []
        return Judged(asked, None, changes + other, found)
    today = {key: value for key, value in asked.items() if key not in _IMAGE_KEYS}
    size = next((one for one in gone if one.path == written.get("size") and one.instead), None)
    if size is not None:
        today["size"], more = _successor(str(settings["size"]), size.instead, settings, location)
        changes += more
    ours = problems_of(today, written, location, as_of)
    still_gone = [problem for problem in errors(ours) if problem.code in _GONE]
    changes = (
        [_told(problem) for problem in gone if problem not in still_gone] + changes + _image(today, written, location, as_of)
    )
    if settings.get("image_id"):
        changes.append("a custom image is built again as in examples/gallery-image, and set as gallery_image")
    return Judged(today, asked, changes, ours)


def _lacks_containers(settings: Mapping[str, Any], written: Mapping[str, str], found: list[Problem]) -> bool:
    """Whether the image is rejected for another reason than its end."""
    at_image = [problem for problem in errors(found) if problem.path == written.get("image")]
    return bool(settings.get("image")) and any(problem.code not in _GONE for problem in at_image)


def _unknown_image(settings: Mapping[str, Any], found: list[Problem]) -> bool:
    """Whether it isn't known which agent the Marketplace image takes, which the files may not have."""
    of_agent = [problem for problem in errors(found) if problem.path.endswith(".node_agent") and problem.code not in _GONE]
    return bool(settings.get("image") and of_agent)


def _successor(old: str, instead: tuple[str, ...], settings: Mapping[str, Any], location: str) -> tuple[str, list[str]]:
    """The first that the catalog names with at least as many GPUs; where nodes don't talk to each other, so that InfiniBand is
    nothing to pay for, the cheapest of those."""
    least = gpus_of(old)
    enough = [name for name in instead if gpus_of(name) >= least] or list(instead)
    if settings.get("rdma") or settings.get("inter_node") or settings.get("mpi"):
        return enough[0], []
    prices = packaged()

    def price(name: str) -> Decimal:
        found, _ = prices.cheapest(name, location)
        return found.usd_hour if found else Decimal("Infinity")

    cheapest = min(enough, key=price)
    return cheapest, [] if cheapest == enough[0] else [f"{cheapest} is taken, the cheapest that has {least} GPUs or more"]


def gpus_of(size: str) -> Fraction:
    """How many GPUs a size has; none where that isn't known."""
    found = SIZES.find(size)
    return (found.gpu_count if found else None) or Fraction(0)


def _told(problem: Problem) -> str:
    source = f" Source: {problem.source}." if problem.source else ""
    fix = f" What to do: {problem.fix}." if problem.fix else ""
    return f"{problem.path}: {problem.message}.{fix}{source}"


def _image(settings: Mapping[str, Any], written: Mapping[str, str], location: str, as_of: date) -> list[str]:
    """What runs on the nodes in place of the image that the files name."""
    way, _ = methods.choose(request_of(settings, written, location), as_of)
    at = written.get("image", written.get("size", ""))
    return [f"{at}: the image is chosen by size and day: {way.why}"]


def problems_of(settings: Mapping[str, Any], written: Mapping[str, str], location: str, as_of: date) -> list[Problem]:
    """All problems of the pool, each with its place in the files."""
    request = request_of(settings, written, location)
    way, found = methods.choose(request, as_of)
    found += pools.problems(way.applied(request), as_of)
    if not location:  # the account's region is set later
        found = [problem for problem in found if problem.path != request.at("region")]
    return list(dict.fromkeys(found))


def request_of(settings: Mapping[str, Any], written: Mapping[str, str], location: str) -> PoolRequest:
    """The catalog's words for the keys of a stack file."""
    scale: Mapping[str, Any] = settings.get("autoscale") or {}
    image_id = str(settings.get("image_id") or "")
    words = str(settings["image"]).split(":") if settings.get("image") else []
    task: Mapping[str, Any] | None = settings.get("start_task")
    timeout, interval = settings.get("resize_timeout_minutes"), scale.get("interval_minutes")
    mpi = settings.get("mpi")
    return PoolRequest(
        path=written.get("", ""),
        size=SIZES.find(str(settings.get("size") or "")),
        size_name=str(settings.get("size") or ""),
        written=written,
        region=location,
        operating_system=settings.get("os_type", "Linux"),
        image_kind=kind_of(image_id) if image_id else "Marketplace",
        image=ImageReference(words[0], words[1], words[2]) if len(words) > 2 else None,
        node_agent=str(settings.get("node_agent") or ""),
        dedicated_nodes=settings.get("dedicated_nodes"),
        spot_nodes=settings.get("spot_nodes"),
        resize_timeout=timedelta(minutes=timeout) if timeout is not None else None,
        # A scenario's own formula is sound; that there is one is what counts here.
        autoscale_formula=str(scale.get("formula") or ("$TargetDedicatedNodes = 0;" if scale else "")),
        evaluation_interval=timedelta(minutes=interval) if interval is not None else None,
        task_slots=int(settings.get("task_slots", 1)),
        inter_node=bool(settings.get("inter_node")),
        multi_instance=bool(mpi) or int(scale.get("nodes_per_task", 1)) > 1,
        most=(int(scale.get("max_nodes", 0)), 0),
        mpi=mpi or None,
        rdma=bool(settings.get("rdma")),
        containers=ContainerTasks(elevated=settings.get("os_type") == "Windows") if settings.get("containers") else None,
        start_task=StartTask(str(task["command"]), elevated=bool(task.get("elevated"))) if task else None,
        auto_storage=True,
    )
