"""Sources that several Batch modules cite. A page without a date has the day on which its facts were gathered."""

from datetime import date

from azure_gpu.catalog.sources import Dated, Source

_BATCH_DOCS = "MicrosoftDocs/azure-docs, articles/batch/"


def _page(name: str, year: int, month: int, day: int) -> Source:
    return Source(_BATCH_DOCS + name, Dated.OBSERVED, date(year, month, day))


TEMPLATE_2017 = Source(
    "Microsoft Learn, azure/templates/microsoft.batch/2017-09-01/batchaccounts/pools", Dated.OBSERVED, date(2017, 9, 1)
)
LIMITS = _page("batch-quota-limit.md", 2019, 8, 13)
AUTOSCALE = _page("batch-automatic-scaling.md", 2019, 10, 24)
CONTAINERS = _page("batch-docker-container-workloads.md", 2020, 10, 6)
SIZES = _page("batch-pool-vm-sizes.md", 2021, 7, 20)
EXTENSIONS = _page("create-pool-extensions.md", 2021, 11, 3)
SPOT_2023 = _page("batch-spot-vms.md", 2023, 4, 11)
SPOT = _page("batch-spot-vms.md", 2026, 4, 14)
MPI = _page("batch-mpi.md", 2026, 11, 20)
PACKAGES = _page("batch-application-packages.md", 2026, 11, 20)
PROVIDER = Source("pulumi-azure-native 3.29.0, module batch", Dated.OBSERVED, date(2026, 11, 20))
END_OF_LIFE = Source("Azure/EOL, service_list.json", Dated.OBSERVED, date(2025, 12, 18))


def end(source: Source, year: int, month: int, day: int) -> Source:
    """The last day that `source` gives."""
    return Source(source.where, Dated.VALID_FROM, date(year, month, day))
