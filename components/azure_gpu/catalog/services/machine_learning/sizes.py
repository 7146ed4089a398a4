"""VM sizes of Azure Machine Learning: clusters and instances, and, through `endpoints`, managed online endpoints.

Azure says that it doesn't support every size, and lists them by API only, so a series that no page names is a warning.
"""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog import lifecycle, lifecycle_tables, listed, tables
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.problems import Problem, not_listed
from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import Dated, Source

_PAGE = "Microsoft Learn, machine-learning/concept-compute-target"
TARGETS_PAGE = Source(_PAGE, Dated.OBSERVED, date(2024, 1, 23))
EOL = Source("Azure/EOL, service_list.json", Dated.OBSERVED, date(2025, 12, 18))


# NCv3 and NVv3 have no end of their own here: they end with the machines.
COMPUTE_SERIES = lifecycle_tables.of_series(tables.beside(__file__, "compute_series.csv"))


def size_problems(size: Size, use: SizeUse, as_of: date) -> Iterator[Problem]:
    """The problems of the size in clusters, instances or managed endpoints, whichever the use names."""
    if use.service is Service.ML_ENDPOINT:
        yield from endpoints.size_problems(size, use, as_of)
        return
    if size.lifecycle.status(as_of, use.region) is not Status.RETIRED:  # else its retirement is reported
        yield from _series(size, use, as_of)


def _series(size: Size, use: SizeUse, as_of: date) -> Iterator[Problem]:
    known = COMPUTE_SERIES.get(size.series.name)
    if known is None and listed.has(listed.Azure.ML_SIZES, use.region, size.name):
        return
    if known is None:
        what = f"the series {size.series.name} in Azure Machine Learning compute"
        yield not_listed(
            use.path,
            what,
            use.size,
            listed.since(listed.Azure.ML_SIZES, use.region, TARGETS_PAGE),
            "list a region's sizes with `az ml compute list-sizes`",
        )
        return
    what = f"the series {size.series.name} in Azure Machine Learning compute"
    yield from lifecycle.check(known, what, as_of, path=use.path, value=use.size, region=use.region)
