"""The rows of the table of images: those of the source documents, those for GPUs and MPI today, and plain ones beside them.

`IMAGES`.
"""

from datetime import date

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.services.batch.sources import end
from azure_gpu.catalog.services.vm_images import Distribution, ImageReference, Plan, Software, VmImage
from azure_gpu.catalog.sizes.model import VmGeneration
from azure_gpu.catalog.sources import BATCH_ARTICLE, WORKBENCH_ARTICLE, Dated, Source

GEN1 = (VmGeneration.GEN1,)
GEN2 = (VmGeneration.GEN2,)

HPC_IMAGES = Source("Azure/azhpc-images, README and versions.json", Dated.OBSERVED, date(2026, 7, 29))
DSVM_OVERVIEW = Source("MicrosoftDocs/azure-ai-docs, data-science-virtual-machine/overview.md", Dated.OBSERVED, date(2024, 4, 26))
DSVM_PINS = "public repositories of 2026 that pin the image after reading Azure's list"
TRUSTED_LAUNCH = Source("a comment in Azure/aks-flex", Dated.OBSERVED, date(2026, 11, 20))
PUBLIC_TEMPLATES = Source("public deployment templates that name the SKU", Dated.OBSERVED, date(2026, 11, 20))

_AGENT_INFERRED = "its node agent in Batch is that of plain AlmaLinux (inferred)"
_GPU_CONTAINERS = frozenset({Software.NVIDIA_DRIVER, Software.CONTAINERS, Software.NVIDIA_CONTAINERS})
_HPC = frozenset(
    {Software.NVIDIA_DRIVER, Software.INFINIBAND_DRIVERS, Software.HPC_X, Software.CONTAINERS, Software.NVIDIA_CONTAINERS}
)
_HPC_ROCM = frozenset({Software.ROCM_DRIVER, Software.INFINIBAND_DRIVERS, Software.HPC_X, Software.CONTAINERS})
_DSVM_PLAN = Plan(name="linuxdsvmubuntu", product="linux-data-science-vm-ubuntu", publisher="microsoft-ads")


def _seen(source: Source) -> Lifecycle:
    return Lifecycle(seen=source)


# CentOS 7 lost its publisher's support on this day; whether each Marketplace image is still sold after it no source says.
_CENTOS = Lifecycle(seen=BATCH_ARTICLE, doubt=end(sources.CENTOS_7, 2024, 7, 1))
_UBUNTU_16 = Lifecycle(seen=BATCH_ARTICLE, doubt=end(sources.UBUNTU_16, 2021, 5, 21))
_WINDOWS_2012 = Lifecycle(seen=BATCH_ARTICLE, announced=sources.WINDOWS_2012, end=end(sources.WINDOWS_2012, 2024, 12, 5))
_WINDOWS_2016 = Lifecycle(
    seen=BATCH_ARTICLE,
    announced=sources.WINDOWS_2016,
    end=Source("azure.microsoft.com/updates?id=549077, and Azure/Batch issue 197", Dated.VALID_FROM, date(2027, 1, 12)),
)
_WITH_CONTAINERS = Lifecycle(
    seen=sources.CONTAINERS,
    announced=sources.WINDOWS_CONTAINERS,
    end=end(sources.WINDOWS_CONTAINERS, 2023, 4, 30),
    also_given=(end(sources.WINDOWS_2016, 2027, 1, 12),),  # that notice still lists the SKUs of 2016 with containers
)
_DSVM_OLD = Lifecycle(seen=DSVM_OVERVIEW, doubt=Source(DSVM_PINS, Dated.OBSERVED, date(2026, 11, 20)))
_UBUNTU_18 = Lifecycle(seen=sources.EXTENSIONS, doubt=end(sources.OLD_AGENTS, 2025, 1, 1))
_UBUNTU_22 = Lifecycle(seen=HPC_IMAGES, doubt=end(sources.UBUNTU_22, 2027, 7, 1))
_UBUNTU_20 = Lifecycle(seen=sources.UBUNTU_20, doubt=end(sources.UBUNTU_20, 2025, 4, 24))


def _windows(
    sku: str, distribution: Distribution, lifecycle: Lifecycle, *, gen2: bool = False, containers: bool = False
) -> VmImage:
    return VmImage(
        reference=ImageReference("MicrosoftWindowsServer", "WindowsServer", sku),
        distribution=distribution,
        has=frozenset({Software.WINDOWS_CONTAINERS}) if containers else frozenset(),
        generations=GEN2 if gen2 else GEN1,
        lifecycle=lifecycle,
    )


def _ubuntu_hpc(sku: str, distribution: Distribution, has: frozenset[Software], note: str = "") -> VmImage:
    return VmImage(
        reference=ImageReference("microsoft-dsvm", "ubuntu-hpc", sku),
        distribution=distribution,
        has=has,
        generations=GEN2,
        lifecycle=_UBUNTU_22 if distribution is Distribution.UBUNTU_22_04 else _seen(HPC_IMAGES),
        docker_root="/var/lib/docker",  # on the operating system's disk, which it can fill
        trusted_launch_doubt=TRUSTED_LAUNCH,
        note=note,
    )


def _plain(publisher: str, offer: str, sku: str, distribution: Distribution, lifecycle: Lifecycle) -> VmImage:
    return VmImage(reference=ImageReference(publisher, offer, sku), distribution=distribution, lifecycle=lifecycle)


def _batch_containers(offer: str, sku: str, distribution: Distribution, lifecycle: Lifecycle, *, rdma: bool) -> VmImage:
    return VmImage(
        reference=ImageReference("microsoft-azure-batch", offer, sku),
        distribution=distribution,
        has=_GPU_CONTAINERS | ({Software.RDMA_DRIVERS} if rdma else set[Software]()),
        lifecycle=lifecycle,
        docker_root="/mnt/batch/docker",  # on the temporary disk
        batch_only=True,
    )


def _hpc(publisher: str, offer: str, sku: str, distribution: Distribution, *, gen2: bool = True, note: str = "") -> VmImage:
    return VmImage(
        reference=ImageReference(publisher, offer, sku),
        distribution=distribution,
        has=_HPC - {Software.CONTAINERS, Software.NVIDIA_CONTAINERS},
        generations=GEN2 if gen2 else (),
        lifecycle=_seen(HPC_IMAGES),
        note=note,
    )


IMAGES: tuple[VmImage, ...] = (
    # For GPUs and MPI today.
    _ubuntu_hpc("2404", Distribution.UBUNTU_24_04, _HPC, "driver 580.173.02 in the x64 build of 2026-07-29; renewed quarterly"),
    _ubuntu_hpc("2204", Distribution.UBUNTU_22_04, _HPC),
    _ubuntu_hpc("2204-v100", Distribution.UBUNTU_22_04, _HPC, "the driver branch for V100, CUDA 12.9"),
    _ubuntu_hpc("2204-rocm", Distribution.UBUNTU_22_04, _HPC_ROCM),
    _ubuntu_hpc("2404-rocm", Distribution.UBUNTU_24_04, _HPC_ROCM),
    _hpc("almalinux", "almalinux-hpc", "8_10-hpc-gen2", Distribution.ALMALINUX_8, note=_AGENT_INFERRED),
    _hpc("almalinux", "almalinux-hpc", "8_10-hpc-v100-gen2", Distribution.ALMALINUX_8, note=_AGENT_INFERRED),
    _hpc("almalinux", "almalinux-hpc", "9-hpc-gen2", Distribution.ALMALINUX_9, note=_AGENT_INFERRED),
    _hpc(
        "azure-hpc",
        "azurelinux-hpc",
        "3",
        Distribution.AZURE_LINUX_3,
        gen2=False,
        note="no source says which node agent of Batch it takes",
    ),
    # Data Science Virtual Machines, which bring an NVIDIA driver.
    VmImage(
        reference=ImageReference("microsoft-dsvm", "ubuntu-2204", "2204-gen2"),
        distribution=Distribution.UBUNTU_22_04,
        has=frozenset({Software.NVIDIA_DRIVER}),
        generations=GEN2,
        lifecycle=_seen(Source(DSVM_PINS, Dated.OBSERVED, date(2025, 6, 18))),
        newest="25.06.18",
        note="no build after mid-2025 was seen; Microsoft points to compute instances of Azure Machine Learning",
    ),
    VmImage(
        reference=ImageReference("microsoft-dsvm", "dsvm-win-2022", "winserver-2022"),
        distribution=Distribution.WINDOWS_2022,
        has=frozenset({Software.NVIDIA_DRIVER}),
        lifecycle=_seen(Source(DSVM_PINS, Dated.OBSERVED, date(2025, 5, 10))),
        newest="25.05.10",
        note="no build after mid-2025 was seen",
    ),
    VmImage(
        reference=ImageReference("microsoft-dsvm", "dsvm-win-2019", ""),
        distribution=Distribution.WINDOWS_2019,
        has=frozenset({Software.NVIDIA_DRIVER}),
        lifecycle=_DSVM_OLD,
    ),
    VmImage(
        reference=ImageReference("microsoft-dsvm", "ubuntu-2004", ""),
        distribution=Distribution.UBUNTU_20_04,
        has=frozenset({Software.NVIDIA_DRIVER}),
        lifecycle=_DSVM_OLD,
        note="Ubuntu 20.04 is out of standard support",
    ),
    VmImage(  # of the second and third source documents
        reference=ImageReference("microsoft-ads", "linux-data-science-vm-ubuntu", "linuxdsvmubuntu"),
        distribution=Distribution.UBUNTU_16_04,
        has=frozenset({Software.NVIDIA_DRIVER, Software.CONTAINERS, Software.NVIDIA_CONTAINERS}),
        lifecycle=Lifecycle(seen=WORKBENCH_ARTICLE, doubt=DSVM_OVERVIEW),
        plan=_DSVM_PLAN,
    ),
    VmImage(
        reference=ImageReference("microsoft-dsvm", "linux-data-science-vm-ubuntu", "linuxdsvmubuntu"),
        distribution=Distribution.UBUNTU_16_04,
        has=frozenset({Software.NVIDIA_DRIVER, Software.CONTAINERS, Software.NVIDIA_CONTAINERS}),
        lifecycle=Lifecycle(seen=BATCH_ARTICLE, doubt=DSVM_OVERVIEW),
    ),
    VmImage(
        reference=ImageReference("microsoft-dsvm", "dsvm-windows", "server-2016"),
        distribution=Distribution.WINDOWS_2016,
        has=frozenset({Software.NVIDIA_DRIVER}),
        lifecycle=Lifecycle(seen=BATCH_ARTICLE, doubt=DSVM_OVERVIEW),
    ),
    # Of the third source document.
    VmImage(
        reference=ImageReference("OpenLogic", "CentOS-HPC", "7.4"),
        distribution=Distribution.CENTOS_HPC_7_4,
        has=frozenset({Software.RDMA_DRIVERS, Software.INTEL_MPI, Software.CONTAINERS}),
        lifecycle=_CENTOS,
        note="on the Marketplace as RogueWave.CentOSbased74HPC",
    ),
    _plain("OpenLogic", "CentOS", "7.3", Distribution.CENTOS_7_3, _CENTOS),
    _plain("OpenLogic", "CentOS", "7.4", Distribution.CENTOS_7_4, _CENTOS),
    _plain("Canonical", "UbuntuServer", "16.04-LTS", Distribution.UBUNTU_16_04, _UBUNTU_16),
    _batch_containers("centos-container", "", Distribution.CENTOS_7, _CENTOS, rdma=False),
    _batch_containers("centos-container-rdma", "", Distribution.CENTOS_7, _CENTOS, rdma=True),
    _batch_containers("ubuntu-server-container", "16-04-lts", Distribution.UBUNTU_16_04, _UBUNTU_16, rdma=False),
    _batch_containers("ubuntu-server-container-rdma", "16-04-lts", Distribution.UBUNTU_16_04, _UBUNTU_16, rdma=True),
    _batch_containers("ubuntu-server-container", "20-04-lts", Distribution.UBUNTU_20_04, _UBUNTU_20, rdma=False),
    _batch_containers("ubuntu-server-container-rdma", "20-04-lts", Distribution.UBUNTU_20_04, _UBUNTU_20, rdma=True),
    # Plain Linux, for the driver extension.
    _plain("Canonical", "UbuntuServer", "18.04-LTS", Distribution.UBUNTU_18_04, _UBUNTU_18),
    _plain("Canonical", "0001-com-ubuntu-server-focal", "20_04-lts", Distribution.UBUNTU_20_04, _UBUNTU_20),
    _plain("Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts", Distribution.UBUNTU_22_04, _seen(PUBLIC_TEMPLATES)),
    _plain("Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2", Distribution.UBUNTU_22_04, _seen(PUBLIC_TEMPLATES)),
    _plain("Canonical", "ubuntu-24_04-lts", "server", Distribution.UBUNTU_24_04, _seen(sources.SPOT)),
    # Windows Server.
    _windows("2012-Datacenter", Distribution.WINDOWS_2012, _WINDOWS_2012),
    _windows("2012-Datacenter-smalldisk", Distribution.WINDOWS_2012, _WINDOWS_2012),
    _windows("2012-R2-Datacenter", Distribution.WINDOWS_2012_R2, _WINDOWS_2012),
    _windows("2012-R2-Datacenter-smalldisk", Distribution.WINDOWS_2012_R2, _WINDOWS_2012),
    _windows("2016-Datacenter", Distribution.WINDOWS_2016, _WINDOWS_2016),
    _windows("2016-Datacenter-smalldisk", Distribution.WINDOWS_2016, _WINDOWS_2016),
    _windows("2016-datacenter-gensecond", Distribution.WINDOWS_2016, _WINDOWS_2016, gen2=True),
    _windows("2016-datacenter-smalldisk-g2", Distribution.WINDOWS_2016, _WINDOWS_2016, gen2=True),
    _windows("2016-datacenter-gs", Distribution.WINDOWS_2016, _WINDOWS_2016, gen2=True),
    _windows("2016-Datacenter-with-Containers", Distribution.WINDOWS_2016, _WITH_CONTAINERS, containers=True),
    _windows("2016-datacenter-with-containers-g2", Distribution.WINDOWS_2016, _WITH_CONTAINERS, gen2=True, containers=True),
    _windows("2019-Datacenter-with-Containers", Distribution.WINDOWS_2019, _WITH_CONTAINERS, containers=True),
    _windows("2019-datacenter-with-containers-g2", Distribution.WINDOWS_2019, _WITH_CONTAINERS, gen2=True, containers=True),
    _windows("2022-datacenter", Distribution.WINDOWS_2022, _seen(PUBLIC_TEMPLATES)),
    _windows("2022-datacenter-g2", Distribution.WINDOWS_2022, _seen(PUBLIC_TEMPLATES), gen2=True),
    _windows("2022-datacenter-smalldisk", Distribution.WINDOWS_2022, _seen(PUBLIC_TEMPLATES)),
    _windows("2022-datacenter-smalldisk-g2", Distribution.WINDOWS_2022, _seen(PUBLIC_TEMPLATES), gen2=True),
)
