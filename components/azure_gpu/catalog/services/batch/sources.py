"""Sources that several Batch modules cite. A page without a date has the day on which its facts were gathered."""

from azure_gpu.catalog.sources import Source, observed, valid_from

_BATCH_DOCS = "MicrosoftDocs/azure-docs, articles/batch/"


def _page(name: str, year: int, month: int, day: int) -> Source:
    return observed(_BATCH_DOCS + name, year, month, day)


TEMPLATE_2017 = observed("Microsoft Learn, azure/templates/microsoft.batch/2017-09-01/batchaccounts/pools", 2017, 9, 1)
LIMITS = _page("batch-quota-limit.md", 2019, 8, 13)
AUTOSCALE = _page("batch-automatic-scaling.md", 2019, 10, 24)
CONTAINERS = _page("batch-docker-container-workloads.md", 2020, 10, 6)
SIZES = _page("batch-pool-vm-sizes.md", 2021, 7, 20)
EXTENSIONS = _page("create-pool-extensions.md", 2021, 11, 3)
SPOT_2023 = _page("batch-spot-vms.md", 2023, 4, 11)
SPOT = _page("batch-spot-vms.md", 2026, 4, 14)
MPI = _page("batch-mpi.md", 2026, 11, 20)
PACKAGES = _page("batch-application-packages.md", 2026, 11, 20)
PROVIDER = observed("pulumi-azure-native 3.29.0, module batch", 2026, 11, 20)
END_OF_LIFE = observed("Azure/EOL, service_list.json", 2025, 12, 18)


def end(source: Source, year: int, month: int, day: int) -> Source:
    """The last day that `source` gives."""
    return valid_from(source.where, year, month, day)
