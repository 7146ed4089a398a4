"""Marketplace images for machines with GPUs: what each brings, when it is sold, and which ones follow it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Literal, NamedTuple, get_args

from azure_gpu.catalog import lifecycle, sources, spelling, tables
from azure_gpu.catalog.lifecycle import SOLD, Lifecycle
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size, VmGeneration
from azure_gpu.catalog.sources import Source, observed
from azure_gpu.catalog.tables import Listed, Row, Table

X64 = "x64"
FOR_GRACE = "microsoft-dsvm:ubuntu-hpc:2404-gb"  # for the Arm64 processors of GB200 and GB300; not known to work in Batch


Distribution = Literal[
    "Ubuntu 16.04 LTS",
    "Ubuntu 18.04 LTS",
    "Ubuntu 20.04 LTS",
    "Ubuntu 22.04 LTS",
    "Ubuntu 24.04 LTS",
    "CentOS 7",  # where no source gives the minor version
    "CentOS 7.3",
    "CentOS 7.4",
    "CentOS-HPC 7.4",
    "CentOS 8",
    "Red Hat Enterprise Linux 7",
    "Red Hat Enterprise Linux 8",
    "AlmaLinux 8",
    "AlmaLinux 9",
    "Azure Linux 3",
    "Windows Server 2008 R2",
    "Windows Server 2012",
    "Windows Server 2012 R2",
    "Windows Server 2016",
    "Windows Server 2019",
    "Windows Server 2022",
]
"""The operating system inside an image, as the tables of Batch and of the driver extension distinguish them."""


def system_of(distribution: Distribution) -> OperatingSystem:
    return "Windows" if distribution.startswith("Windows") else "Linux"


Software = Literal[
    "NVIDIA driver",
    "AMD ROCm driver",
    "RDMA drivers",  # for the network before SR-IOV: H16r, NC24r and their like
    "InfiniBand drivers",  # SR-IOV
    "Intel MPI 5.1",
    "HPC-X MPI",
    "Docker-compatible containers",
    "NVIDIA container toolkit",
    "Windows containers",
]
"""Software in an image."""


class ImageReference(NamedTuple):
    """A Marketplace image as a user names it. Azure compares all three ignoring case."""

    publisher: str
    offer: str
    sku: str

    def __str__(self) -> str:
        return f"{self.publisher}/{self.offer}/{self.sku}"


class Plan(NamedTuple):
    """The purchase plan that a deployment of the image must include."""

    name: str
    product: str
    publisher: str


class VmImage(NamedTuple):
    """One Marketplace image, or with an empty SKU every image of the offer that has no separate row."""

    reference: ImageReference
    distribution: Distribution
    lifecycle: Lifecycle
    has: frozenset[Software] = frozenset()
    generations: tuple[VmGeneration, ...] = ()  # empty: unknown
    newest: str = ""  # the newest version that a source pins, with its day in `lifecycle`
    plan: Plan | None = None  # None: no plan is needed
    docker_root: str = ""  # where Docker keeps images and layers; empty: unknown
    trusted_launch_doubt: Source | None = None  # a report of failure under Trusted Launch
    batch_only: bool = False  # usable only in Batch pools
    note: str = ""

    @property
    def operating_system(self) -> OperatingSystem:
        return system_of(self.distribution)


def find(reference: ImageReference, images: Sequence[VmImage]) -> VmImage | None:
    """The row of this image, else that of its whole offer, else None."""
    key = str(reference).lower()
    whole_offer = str(ImageReference(reference.publisher, reference.offer, "")).lower()
    by_key = {str(image.reference).lower(): image for image in images}
    return by_key.get(key) or by_key.get(whole_offer)


# Replacements of an image that isn't available, best first. The first two bring drivers, InfiniBand and containers.
WITH_DRIVERS = ("microsoft-dsvm/ubuntu-hpc/2404", "microsoft-dsvm/ubuntu-hpc/2204")
WITH_ROCM = ("microsoft-dsvm/ubuntu-hpc/2404-rocm", "microsoft-dsvm/ubuntu-hpc/2204-rocm")
_AFTER: Mapping[OperatingSystem, tuple[str, ...]] = {
    "Linux": (
        *WITH_DRIVERS,
        "Canonical/0001-com-ubuntu-server-focal/20_04-lts",
        "Canonical/UbuntuServer/18.04-LTS",
    ),
    "Windows": (
        "MicrosoftWindowsServer/WindowsServer/2022-datacenter-g2",
        "MicrosoftWindowsServer/WindowsServer/2022-datacenter",
        "MicrosoftWindowsServer/WindowsServer/2016-Datacenter",
    ),
}
_MOST = 2


def sold(names: Sequence[str], as_of: date, images: Sequence[VmImage]) -> tuple[str, ...]:
    """Those of the images that are known to be sold on that day, two at most."""
    by_key = {str(image.reference).lower(): image for image in images}
    found = [name for name in names if name.lower() in by_key and by_key[name.lower()].lifecycle.status(as_of) in SOLD]
    return tuple(found[:_MOST])


def choice(names: Sequence[str]) -> str:
    """The fix: choose one of them, or if there is none, list images."""
    return f"choose {' or '.join(names)}" if names else "list images with `az vm image list --all`"


def image_problems(
    reference: ImageReference,
    as_of: date,
    path: str,
    images: Sequence[VmImage],
    *,
    size: Size | None = None,
    in_batch: bool = False,
    trusted_launch: bool = False,
) -> Iterator[Problem]:
    """All problems of the image on that day and on that size; a warning if it is unknown."""
    image = find(reference, images)
    if image is None:
        yield _unknown(reference, path, images)
        return
    others = [name for name in _AFTER[image.operating_system] if name.lower() != str(image.reference).lower()]
    instead = sold(others, as_of, images)
    yield from lifecycle.check(
        image.lifecycle,
        f"the image {reference}",
        as_of,
        path=path,
        value=str(reference),
        fix=choice(instead),
        instead=instead,
    )
    if size is not None:
        yield from _on_size(image, reference, size, path)
    if image.batch_only and not in_batch:
        yield refused("image.batch_only", path, str(reference), fix=choice(instead), source=image.lifecycle.seen, instead=instead)
    if trusted_launch and image.trusted_launch_doubt is not None:
        yield refused("image.trusted_launch_doubt", path, str(reference), source=image.trusted_launch_doubt)


def _on_size(image: VmImage, reference: ImageReference, size: Size, path: str) -> Iterator[Problem]:
    allowed = size.series.generations
    if image.generations and allowed and not set(image.generations) & set(allowed):
        yield refused(
            "image.generation",
            path,
            str(reference),
            source="; ".join(str(source) for source in size.series.sources),
            size=size,
            generations=" and ".join(image.generations),
            boots=" and ".join(allowed),
            either=" or ".join(allowed),
        )
    if size.series.architecture != X64:  # all images of the table are for that
        yield refused("image.architecture", path, str(reference), size=size, for_grace=FOR_GRACE)


def _unknown(reference: ImageReference, path: str, images: Sequence[VmImage]) -> Problem:
    known = {str(image.reference).lower(): str(image.reference) for image in images if image.reference.sku}
    close = tuple(known[key] for key in spelling.nearest(str(reference).lower(), known, 3, 0.8))
    return refused("image.unknown", path, str(reference), close=close)


TABLE = Table(
    tables.beside(__file__, "vm_images.csv"),
    {
        "publisher": "of the Marketplace",
        "offer": "of the publisher",
        "sku": "of the offer; empty for every SKU of the offer without a separate row",
        "distribution": "the operating system inside",
        "has": "what the image brings along",
        "generations": "of the machines that run it: Gen1, Gen2; empty if unknown",
        "newest": "the newest version that a source pins, with its day in the lifecycle",
        "plan": "name, product and publisher of the purchase plan; empty where none is needed",
        "docker_root": "where Docker keeps layers: /var/lib on the system's disk, which it can fill, /mnt on the temporary one",
        "trusted_launch_doubt": "a report of failure under Trusted Launch",
        "batch_only": "whether it can be used only in Batch pools: yes or no",
        "note": "a note",
        **lifecycle.COLUMNS,
    },
)
# Rules about what these images bring name the source, too.
HPC_IMAGES = observed("Azure/azhpc-images, README and versions.json", 2026, 7, 29)


def read(rows: Iterable[Row], known: Mapping[str, Source]) -> Iterator[VmImage]:
    """The values of a table's rows. `known`: the sources to refer to. Raises TableError for an invalid row."""
    lines: dict[str, int] = {}
    for row in rows:
        image = VmImage(
            reference=ImageReference(row.filled("publisher"), row.filled("offer"), row["sku"]),
            distribution=row.one_of("distribution", get_args(Distribution)),
            has=frozenset(row.several("has", get_args(Software))),
            generations=row.several("generations", get_args(VmGeneration)),
            lifecycle=lifecycle.read(row, known),
            newest=row["newest"],
            plan=_plan(row),
            docker_root=row["docker_root"],
            trusted_launch_doubt=row.maybe("trusted_launch_doubt", known, sources.WHERE),
            batch_only=row.yes("batch_only"),
            note=row["note"],
        )
        name = str(image.reference).lower()
        if name in lines:
            raise row.wrong("sku", f"an image that line {lines[name]} doesn't have")
        lines[name] = row.line
        yield image


def _plan(row: Row) -> Plan | None:
    found = row.texts("plan")
    if found and len(found) != len(Plan._fields):
        raise row.wrong("plan", f"name, product and publisher separated by {tables.SEPARATOR!r}, or nothing")
    return Plan(*found) if found else None


IMAGES = Listed(lambda: read(tables.read(TABLE), sources.named()))
