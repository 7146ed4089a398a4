"""The node agents of Batch, one per operating system, with their retirement days."""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import lifecycle, lifecycle_tables, sources as known_sources, spelling, tables
from azure_gpu.catalog.lifecycle import Lifecycle, Status
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.vm_images import Distribution
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sources import Source
from azure_gpu.catalog.tables import Keyed, Listed, Row, Table

LIST = "list images with their agents and ends of support with `az batch pool supported-images list`"


class NodeAgent(NamedTuple):
    """One node agent."""

    sku: str
    operating_system: OperatingSystem
    distributions: frozenset[Distribution]
    lifecycle: Lifecycle


TABLE = Table(
    tables.beside(__file__, "node_agents.csv"),
    {
        "agent": "its SKU, as Batch spells it",
        "operating_system": "Linux or Windows",
        "distributions": "those whose images take it",
        **lifecycle_tables.COLUMNS,
    },
)
_SYSTEMS = {system.value: system for system in OperatingSystem}
_DISTRIBUTIONS = {distribution.value: distribution for distribution in Distribution}


def read(rows: Iterator[Row], known: Mapping[str, Source]) -> Iterator[NodeAgent]:
    """The values of a table's rows. `known`: the sources to refer to. Raises TableError for an invalid row."""
    for name, row in tables.by_name(rows, "agent").items():
        yield NodeAgent(
            sku=name,
            operating_system=row.one_of("operating_system", _SYSTEMS),
            distributions=frozenset(row.several("distributions", _DISTRIBUTIONS)),
            lifecycle=lifecycle_tables.read(row, known),
        )


AGENTS = Listed(lambda: read(tables.read(TABLE), known_sources.named()))
_BY_LOWER_SKU = Keyed(lambda: {agent.sku.lower(): agent for agent in AGENTS})
_UBUNTU = "batch.node.ubuntu"
_SOLD = (Status.GENERAL, Status.RETIRING)


def sold(as_of: date) -> tuple[str, ...]:
    """The newest agents for Ubuntu that Batch is known to support on that day, two at most."""
    newest_first = [agent for agent in AGENTS if agent.sku.startswith(_UBUNTU)]
    return tuple(agent.sku for agent in newest_first if agent.lifecycle.status(as_of) in _SOLD)[:2]


def find(sku: str) -> NodeAgent | None:
    """The agent of this SKU; compared ignoring case, as in `batch.node.Windows amd64` shows."""
    return _BY_LOWER_SKU.get(sku.strip().lower())


def for_distribution(distribution: Distribution) -> NodeAgent | None:
    """The agent that an image of this distribution takes; None if unknown."""
    return next((agent for agent in AGENTS if distribution in agent.distributions), None)


def agent_problems(sku: str, as_of: date, path: str) -> list[Problem]:
    """The problems of the agent on that day. Custom images end with the agent that they name."""
    agent = find(sku)
    if agent is not None:
        others = tuple(other for other in sold(as_of) if other != agent.sku)
        return lifecycle.check(
            agent.lifecycle,
            f"the node agent {agent.sku}",
            as_of,
            path=path,
            value=sku,
            fix=f"move to an image that takes {' or '.join(others)}" if others else LIST,
            instead=others,
        )
    close = tuple(_BY_LOWER_SKU[key].sku for key in spelling.nearest(sku.lower(), _BY_LOWER_SKU, 3))
    return [
        Problem(
            path=path,
            message="unknown node agent of Batch",
            value=sku,
            allowed="as Batch lists them",
            fix=f"if it is misspelt, write {' or '.join(close)}" if close else LIST,
            instead=close,
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )
    ]
