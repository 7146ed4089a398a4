"""The sources that several of the Batch modules cite.

`Source` constants, among them the Batch team's notices of what ends. A page without a date of its own has the
day on which its facts were gathered.
"""

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
AUTOSCALE_2025 = _page("batch-automatic-scaling.md", 2025, 6, 5)
CONTAINERS = _page("batch-docker-container-workloads.md", 2020, 10, 6)
SIZES = _page("batch-pool-vm-sizes.md", 2021, 7, 20)
SIZES_A100 = Source(
    "MicrosoftDocs/azure-docs pull request 98921, which adds NC_A100_v4 to articles/batch/batch-pool-vm-sizes.md",
    Dated.OBSERVED,
    date(2022, 9, 23),
)
SIZES_H100 = Source(
    "nextflow-io/nextflow issue 5983, of a user with a Batch pool of Standard_NC40ads_H100_v5", Dated.OBSERVED, date(2025, 4, 18)
)
EXTENSIONS = _page("create-pool-extensions.md", 2021, 11, 3)
SPOT_2023 = _page("batch-spot-vms.md", 2023, 4, 11)
SPOT = _page("batch-spot-vms.md", 2026, 4, 14)
MPI = _page("batch-mpi.md", 2026, 11, 20)
PACKAGES = _page("batch-application-packages.md", 2026, 11, 20)
ENVIRONMENT = _page("batch-compute-node-environment-variables.md", 2026, 11, 20)
REMOTE_ACCESS = _page("pool-endpoint-configuration.md", 2026, 11, 20)
PROVIDER = Source("pulumi-azure-native 3.29.0, module batch", Dated.OBSERVED, date(2026, 11, 20))
END_OF_LIFE = Source("Azure/EOL, service_list.json", Dated.OBSERVED, date(2025, 12, 18))


def notice(number: int, title: str, year: int, month: int, day: int) -> Source:
    """What the Batch team wrote in its public issue list, on the day on which it wrote it."""
    return Source(f"Azure/Batch issue {number}: {title}", Dated.OBSERVED, date(year, month, day))


def end(source: Source, year: int, month: int, day: int) -> Source:
    """The last day that `source` gives."""
    return Source(source.where, Dated.VALID_FROM, date(year, month, day))


CENTOS_7 = notice(169, "CentOS 7 ending", 2024, 3, 1)
CENTOS_8 = notice(119, "CentOS 8 ending", 2021, 10, 27)
UBUNTU_16 = notice(106, "Ubuntu 16.04 ending", 2021, 3, 29)
UBUNTU_20 = notice(174, "Ubuntu 20.04 ending", 2024, 6, 26)
UBUNTU_22 = notice(200, "Ubuntu 22.04 ending", 2026, 5, 15)
OLD_AGENTS = notice(180, "end of support of node agents", 2024, 10, 9)
ALMALINUX = notice(181, "AlmaLinux images ending", 2024, 10, 11)
WINDOWS_2012 = notice(179, "Windows Server 2012 and 2012 R2 images ending", 2024, 10, 9)
WINDOWS_2016 = notice(197, "Windows Server 2016 images ending", 2026, 2, 26)
WINDOWS_CONTAINERS = notice(136, "Windows Server container images removed", 2022, 9, 12)
