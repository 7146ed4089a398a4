"""The table of Marketplace images: those of the source documents, current ones for GPUs and MPI, and plain ones.

`IMAGES` is read from `vm_images.csv` at its first use. Where Batch names the day on which a system loses its publisher's
support, it is unknown whether the Marketplace still sells the image after it: such a day is a doubt, not an end.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date

from azure_gpu.catalog import lifecycle_tables, sources, tables
from azure_gpu.catalog.services.vm_images import Distribution, ImageReference, Plan, Software, VmImage
from azure_gpu.catalog.sizes.model import VmGeneration
from azure_gpu.catalog.sources import Dated, Source
from azure_gpu.catalog.tables import Listed, Row, Table

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
        **lifecycle_tables.COLUMNS,
    },
)
# Rules about what these images bring name the source, too.
HPC_IMAGES = Source("Azure/azhpc-images, README and versions.json", Dated.OBSERVED, date(2026, 7, 29))

_DISTRIBUTIONS = {distribution.value: distribution for distribution in Distribution}
_SOFTWARE = {software.value: software for software in Software}
_GENERATIONS = {generation.value: generation for generation in VmGeneration}


def read(rows: Iterable[Row], known: Mapping[str, Source]) -> Iterator[VmImage]:
    """The values of a table's rows. `known`: the sources to refer to. Raises TableError for an invalid row."""
    lines: dict[str, int] = {}
    for row in rows:
        image = VmImage(
            reference=ImageReference(row.filled("publisher"), row.filled("offer"), row["sku"]),
            distribution=row.one_of("distribution", _DISTRIBUTIONS),
            has=frozenset(row.several("has", _SOFTWARE)),
            generations=row.several("generations", _GENERATIONS),
            lifecycle=lifecycle_tables.read(row, known),
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
