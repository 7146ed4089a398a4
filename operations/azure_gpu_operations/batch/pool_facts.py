"""The properties of a Batch pool that `run`, `explain` and `running` need. Pure."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from azure_gpu.formats import tags
from azure_gpu_operations.observed.bodies import read

if TYPE_CHECKING:  # Azure's client loads slowly, and validating a command line doesn't need it
    from azure.batch import models

NO_NODES_AGAIN = frozenset({"starttaskfailed", "unusable"})  # states of a node on which no task ever starts
# The MPI of images: those named in catalog/services/batch.
_MPI_OF_OFFERS = {"ubuntu-hpc": "hpcx", "almalinux-hpc": "hpcx", "centos-hpc": "intel_mpi"}


class Registry(NamedTuple):
    """A registry that the pool's nodes may pull from."""

    server: str
    identity: str  # ARM id; "" where it has a user and a password


class PoolFacts(NamedTuple):
    """What a pool is and has at the moment."""

    id: Annotated[str, "id"]
    size: Annotated[str, "vmSize"]
    is_windows: bool = False
    has_containers: bool = False
    registries: tuple[Registry, ...] = ()
    identities: tuple[str, ...] = ()  # ARM ids
    inter_node: Annotated[bool, "enableInterNodeCommunication"] = False
    slots: int = 1
    mpi: str = ""  # of the stack file: hpcx, intel_mpi, microsoft_mpi; "": not set
    image_mpi: str = ""  # of its image; "": none known
    formula: str = ""  # "": fixed numbers of nodes
    dedicated: Annotated[int, "currentDedicatedNodes"] = 0
    spot: Annotated[int, "currentLowPriorityNodes"] = 0
    target_dedicated: Annotated[int, "targetDedicatedNodes"] = 0
    target_spot: Annotated[int, "targetLowPriorityNodes"] = 0
    state: Annotated[str, "state", str.lower] = ""
    allocation: Annotated[str, "allocationState", str.lower] = ""
    resize_errors: tuple[tuple[str, str], ...] = ()  # code, message

    @property
    def nodes(self) -> int:
        return self.dedicated + self.spot

    @property
    def target(self) -> int:
        return self.target_dedicated + self.target_spot

    @property
    def is_steady(self) -> bool:
        return self.allocation == "steady"


def facts_of(pool: "models.BatchPool") -> PoolFacts:
    machine = pool.virtual_machine_configuration
    containers = machine.container_configuration if machine else None
    identities = (pool.identity.user_assigned_identities if pool.identity else None) or []
    return read(
        PoolFacts,
        pool,
        is_windows="windows" in (machine.node_agent_sku_id or "").lower() if machine else False,
        has_containers=containers is not None,
        registries=tuple(
            Registry(
                server=(each.registry_server or "").lower(),
                identity=(each.identity_reference.resource_id or "") if each.identity_reference else "",
            )
            for each in (containers.container_registries if containers else None) or ()
        ),
        identities=tuple(each.resource_id for each in identities),
        slots=pool.task_slots_per_node or 1,
        mpi={each.name: each.value for each in pool.metadata or ()}.get(tags.POOL_MPI) or "",
        image_mpi=_image_mpi(pool),
        formula=(pool.auto_scale_formula or "") if pool.enable_auto_scale else "",
        resize_errors=tuple((each.code or "", each.message or "") for each in pool.resize_errors or ()),
    )


def word(value: object) -> str:
    """A state, which azure-batch gives as an enumeration or as text, in lower case."""
    return str(getattr(value, "value", value) or "").lower()


def _image_mpi(pool: "models.BatchPool") -> str:
    machine = pool.virtual_machine_configuration
    offer = (machine.image_reference.offer or "").lower() if machine and machine.image_reference else ""
    return _MPI_OF_OFFERS.get(offer, "")
