"""Sources that several Batch modules cite. A page without a date has the day on which its facts were gathered."""

from azure_gpu.catalog.sources import Source, observed

_BATCH_DOCS = "MicrosoftDocs/azure-docs, articles/batch/"


def _page(name: str, year: int, month: int, day: int) -> Source:
    return observed(_BATCH_DOCS + name, year, month, day)


LIMITS = _page("batch-quota-limit.md", 2019, 8, 13)
CONTAINERS = _page("batch-docker-container-workloads.md", 2020, 10, 6)
SIZES = _page("batch-pool-vm-sizes.md", 2021, 7, 20)
EXTENSIONS = _page("create-pool-extensions.md", 2021, 11, 3)
SPOT = _page("batch-spot-vms.md", 2026, 4, 14)
MPI = _page("batch-mpi.md", 2026, 11, 20)
PACKAGES = _page("batch-application-packages.md", 2026, 11, 20)
PROVIDER = observed("pulumi-azure-native 3.29.0, module batch", 2026, 11, 20)
