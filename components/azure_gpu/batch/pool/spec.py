"""What is decided of a Batch pool: `BatchPoolSpec`, from which the component declares, and `PoolPlace`, what it was judged by."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from azure_gpu.batch.account.spec import AccountFacts
from azure_gpu.batch.pool import immutable as pool_immutable
from azure_gpu.batch.pool.args import Communication, Replace
from azure_gpu.batch.pool.scale import Scale
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.services.batch.ways import Way
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.images.args import ImageOfPool
from azure_gpu.images.choice import ImageChoice
from azure_gpu.shared.context import Tags


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlace:
    """What a pool stands on, as far as it is judged by it and named after it. Empty: there is none."""

    account: AccountFacts
    identity: str = ""  # what tells it from another
    registry: str = ""  # by name
    storage: str = ""  # by name
    own_storage: bool = False  # whether the stack has made that account
    images: Mapping[str, ImageOfPool] = field(default_factory=dict[str, ImageOfPool])


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPoolSpec:
    """What is declared. Wired values stay in the arguments."""

    base_name: str
    own_containers: tuple[str, ...]  # of blobs that nodes mount, in the account that the stack has made
    containers_name: str  # of the deployment that makes these
    replace: Replace
    immutable: dict[str, object]  # what Batch can't change on a pool with nodes, as plain data and without secrets
    size: str  # as the catalog spells it
    operating_system: OperatingSystem
    image: ImageChoice
    way: Way  # how the software comes onto the nodes
    request: PoolRequest  # with everything that the way adds
    scale: Scale
    task_slots: int
    inter_node: bool
    container_images: tuple[str, ...] | None  # in their order; None: tasks don't run in containers
    packages: tuple[tuple[str, str], ...]  # application and version
    communication: Communication
    public_addresses: bool
    metadata: dict[str, str]
    tags: Tags
    expires_at: str | None  # instant in UTC, RFC 3339
    hourly_cost: float | None  # in USD with all nodes that there can be; None: not known

    def name(self, subnet_id: str) -> str:
        """The pool's name in Azure: with what it can't change in it, so that its replacement has another."""
        return f"{self.base_name}-{self.digest(subnet_id)}" if self.replace is Replace.SIDE_BY_SIDE else self.base_name

    def digest(self, subnet_id: str) -> str:
        """The same for the same immutable properties, whatever else changes."""
        return pool_immutable.digest(self.immutable, subnet_id)
