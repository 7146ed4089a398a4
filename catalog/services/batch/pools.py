"""What Batch takes as a pool: every rule over a whole pool together.

In: a `PoolRequest` and the day. Out: every problem. What holds for the size alone is in `catalog.offers`, which a caller asks
beside this.
"""

from collections.abc import Iterator
from datetime import date

from catalog.problems import Problem
from catalog.services.batch import containers, features, images, installs, mpi, names, packages, requirements, scale
from catalog.services.batch.request import PoolRequest


def check(request: PoolRequest, as_of: date) -> list[Problem]:
    """Every reason for which Batch refuses this pool on that day, and warnings. Empty: nothing known speaks against it."""
    return list(_all(request, as_of))


def _all(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    yield from names.name_problems(request)
    yield from features.pool_problems(request, as_of)
    if request.cloud_services and request.size is not None:
        yield from requirements.cloud_services_problems(request.size, request.at("size"))
    yield from images.image_problems(request, as_of)
    yield from scale.scale_problems(request)
    yield from scale.slot_problems(request)
    yield from mpi.mpi_problems(request)
    yield from containers.container_problems(request)
    yield from packages.package_problems(request.packages, request.at("packages"), auto_storage=request.auto_storage)
    yield from installs.install_problems(request, as_of)
