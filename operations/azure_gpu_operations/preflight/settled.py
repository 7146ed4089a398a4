"""Azure's own lists decide what the catalog's lists leave open: regions, Kubernetes versions, workload profiles, sizes.

The catalog's answer is what remains where Azure wasn't asked, or gave no answer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu_operations.azure import SignIn
from azure_gpu_operations.preflight import lists
from azure_gpu_operations.preflight.fetching import Outcome
from azure_gpu_operations.preflight.lists import ListKey, ListKind
from azure_gpu_operations.preflight.rows import Answer, Row, of_problem

_CHECK = "catalog"
_OPEN = (Code.NOT_LISTED, Code.NOT_IN_REGION)  # what a list lacks; an unknown size stays unknown, wherever it is sold
_OF_VERSION = "kubernetes_version"


def readers(
    login: SignIn, subscription: str, problems: Iterable[Problem], uses: Sequence[SizeUse]
) -> Mapping[ListKey, Callable[[], Any]]:
    """What has to be read for these problems and uses."""
    found: dict[ListKey, Callable[[], Any]] = {}
    for problem in problems:
        if _is_of_region(problem):
            found[ListKey(ListKind.LOCATIONS)] = partial(lists.locations, login, subscription)
        elif problem.path.endswith(_OF_VERSION):
            for region in _regions_of(problem, uses):
                key = ListKey(ListKind.KUBERNETES, region)
                found[key] = partial(lists.kubernetes_versions, login, subscription, region)
    for region in {use.region for use in uses if use.service is Service.CONTAINER_APPS}:
        found[ListKey(ListKind.PROFILES, region)] = partial(lists.profiles, login, subscription, region)
    return found


def rows(problems: Iterable[Problem], uses: Sequence[SizeUse], outcomes: Mapping[ListKey, Outcome[Any]]) -> list[Row]:
    """The catalog's problems, but for those of which Azure's lists tell; a row where they say no."""
    found: list[Row] = []
    for problem in problems:
        if _is_of_region(problem):
            found += _asked(problem, outcomes, [ListKey(ListKind.LOCATIONS)], regions.normalise(str(problem.value)))
        elif problem.path.endswith(_OF_VERSION) and problem.code is not Code.INVALID:
            keys = [ListKey(ListKind.KUBERNETES, region) for region in _regions_of(problem, uses)]
            found += _asked(problem, outcomes, keys, str(problem.value))
        elif problem.code not in _OPEN or not _offers_tell(problem, uses, outcomes):
            found.append(of_problem(problem, _CHECK))
    return found


def _is_of_region(problem: Problem) -> bool:
    """Whether it is about a region that the catalog doesn't have, and not about what a region has."""
    value = regions.normalise(str(problem.value))
    return problem.code is Code.NOT_LISTED and regions.may_be(value) and value not in regions.known()


def _regions_of(problem: Problem, uses: Sequence[SizeUse]) -> list[str]:
    """Of the pools of the cluster whose version it is."""
    cluster = problem.path.removesuffix(_OF_VERSION)
    return sorted({use.region for use in uses if use.service is Service.AKS and use.path.startswith(cluster)})


def _asked(problem: Problem, outcomes: Mapping[ListKey, Outcome[Any]], keys: Sequence[ListKey], name: str) -> list[Row]:
    """Nothing where every list has the name; the catalog's row where one is missing."""
    values = [outcomes[key].value if key in outcomes else None for key in keys]
    if not values or None in values:
        return [of_problem(problem, _CHECK)]
    # pyrefly: ignore[not-iterable]
    lacking = [str(key) for key, value in zip(keys, values, strict=True) if name not in value]
    if not lacking:
        # A version that Azure lists can still be near its end, which no list tells.
        return [of_problem(problem, _CHECK)] if problem.code is Code.RETIRING else []
    message = f"{problem.value} isn't in the list of {', '.join(lacking)} of this subscription"
    return [Row(subject=problem.path, check="offer", answer=Answer.NOT_OFFERED, message=message, fix=problem.fix)]


def _offers_tell(problem: Problem, uses: Sequence[SizeUse], outcomes: Mapping[ListKey, Outcome[Any]]) -> bool:
    """Whether each use that it is about has an answer of Azure, which is a row of its own."""
    about = [use for use in uses if problem.path in (use.path, use.region_path)]
    return bool(about) and all(
        (outcome := outcomes.get(offer_key(use))) is not None and outcome.value is not None for use in about
    )


def offer_key(use: SizeUse) -> ListKey:
    """The list that tells whether a use is offered."""
    match use.service:
        case Service.BATCH:
            what = ListKind.BATCH_SIZES
        case Service.ML_COMPUTE | Service.ML_ENDPOINT:
            what = ListKind.ML_SIZES
        case Service.CONTAINER_APPS:
            what = ListKind.PROFILES
        case _:
            what = ListKind.SIZES
    return ListKey(what, use.region)
