"""The node agents of Batch, one per operating system, with the days on which Batch drops them.

In: an agent's SKU in any letter case, or a distribution, and the day. Out: the agent, and problems.
"""

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import lifecycle, spelling
from azure_gpu.catalog.lifecycle import Lifecycle, Status
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.services.batch.sources import end
from azure_gpu.catalog.services.vm_images import Distribution
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sources import BATCH_ARTICLE, FACTS_DAY, Dated, Source

LIST = "`az batch pool supported-images list` shows every image with its agent and the end of its support"
_EL_9 = Source("public pool definitions with almalinux/almalinux-x86_64/9-gen2", Dated.OBSERVED, FACTS_DAY)
_NO_NEW_POOLS = end(sources.OLD_AGENTS, 2024, 12, 31)


class NodeAgent(NamedTuple):
    """One node agent."""

    sku: str
    operating_system: OperatingSystem
    distributions: frozenset[Distribution]
    lifecycle: Lifecycle


def _linux(sku: str, life: Lifecycle, *distributions: Distribution) -> NodeAgent:
    return NodeAgent(sku=sku, operating_system=OperatingSystem.LINUX, distributions=frozenset(distributions), lifecycle=life)


AGENTS: tuple[NodeAgent, ...] = (
    _linux("batch.node.ubuntu 24.04", Lifecycle(seen=sources.SPOT), Distribution.UBUNTU_24_04),
    _linux(
        "batch.node.ubuntu 22.04",
        Lifecycle(
            seen=sources.UBUNTU_20,  # which proposes 22.04 instead
            announced=sources.UBUNTU_22,
            end=Source("azure.microsoft.com/updates?id=558365, and Azure/Batch issue 200", Dated.VALID_FROM, date(2027, 6, 30)),
        ),
        Distribution.UBUNTU_22_04,
    ),
    _linux(
        "batch.node.ubuntu 20.04",
        Lifecycle(seen=sources.UBUNTU_16, announced=sources.UBUNTU_20, end=end(sources.UBUNTU_20, 2025, 4, 23)),
        Distribution.UBUNTU_20_04,
    ),
    _linux(
        "batch.node.ubuntu 18.04",
        Lifecycle(seen=sources.UBUNTU_16, announced=sources.OLD_AGENTS, end=_NO_NEW_POOLS),
        Distribution.UBUNTU_18_04,
    ),
    _linux(
        "batch.node.ubuntu 16.04",
        Lifecycle(
            seen=BATCH_ARTICLE, announced=sources.UBUNTU_16, end=end(sources.UBUNTU_16, 2021, 5, 21), also_given=(_NO_NEW_POOLS,)
        ),
        Distribution.UBUNTU_16_04,
    ),
    _linux(
        "batch.node.centos 7",
        Lifecycle(
            seen=BATCH_ARTICLE, announced=sources.CENTOS_7, end=end(sources.CENTOS_7, 2024, 6, 30), also_given=(_NO_NEW_POOLS,)
        ),
        Distribution.CENTOS_7,
        Distribution.CENTOS_7_3,
        Distribution.CENTOS_7_4,
        Distribution.CENTOS_HPC_7_4,
    ),
    _linux(
        "batch.node.centos 8",
        Lifecycle(
            seen=sources.CENTOS_8,
            announced=sources.CENTOS_8,
            end=end(sources.CENTOS_8, 2021, 12, 31),
            also_given=(_NO_NEW_POOLS,),
        ),
        Distribution.CENTOS_8,
    ),
    _linux("batch.node.el 8", Lifecycle(seen=sources.ALMALINUX), Distribution.ALMALINUX_8, Distribution.RHEL_8),
    _linux("batch.node.el 9", Lifecycle(seen=_EL_9), Distribution.ALMALINUX_9),
    *(
        _linux(
            f"batch.node.debian {version}", Lifecycle(seen=sources.OLD_AGENTS, announced=sources.OLD_AGENTS, end=_NO_NEW_POOLS)
        )
        for version in ("8", "9", "10")
    ),
    NodeAgent(
        sku="batch.node.windows amd64",
        operating_system=OperatingSystem.WINDOWS,
        distributions=frozenset(one for one in Distribution if one.operating_system is OperatingSystem.WINDOWS),
        lifecycle=Lifecycle(seen=BATCH_ARTICLE),
    ),
)
_BY_LOWER_SKU: Mapping[str, NodeAgent] = {agent.sku.lower(): agent for agent in AGENTS}
_UBUNTU_NEWEST_FIRST = tuple(agent for agent in AGENTS if agent.sku.startswith("batch.node.ubuntu"))
_SOLD = (Status.GENERAL, Status.RETIRING)


def sold(as_of: date) -> tuple[str, ...]:
    """The newest agents for Ubuntu that are known to be taken on that day, two at most."""
    return tuple(agent.sku for agent in _UBUNTU_NEWEST_FIRST if agent.lifecycle.status(as_of) in _SOLD)[:2]


def find(sku: str) -> NodeAgent | None:
    """The agent of this SKU; the service compares without letter case, as `batch.node.Windows amd64` shows."""
    return _BY_LOWER_SKU.get(sku.strip().lower())


def for_distribution(distribution: Distribution) -> NodeAgent | None:
    """The agent that an image of this distribution takes; None where no source names one."""
    return next((agent for agent in AGENTS if distribution in agent.distributions), None)


def agent_problems(sku: str, as_of: date, path: str) -> list[Problem]:
    """What speaks against the agent on that day. Custom images end with the agent that they name."""
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
            message="no node agent of Batch is known by this name",
            value=sku,
            allowed="as Batch lists them",
            fix=f"if it is misspelt, write {' or '.join(close)}" if close else LIST,
            instead=close,
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )
    ]
