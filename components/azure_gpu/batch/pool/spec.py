"""`BatchPoolSpec`: the resolved arguments of a Batch pool, and `PoolDependencies`, which they were validated against."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from azure_gpu.batch.account.spec import AccountFacts
from azure_gpu.batch.pool import immutable as pool_immutable
from azure_gpu.batch.pool.args import Communication, Replace
from azure_gpu.batch.pool.scale import Scale
from azure_gpu.catalog.services.batch.methods import DriverMethod
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.images.args import ImageOfPool
from azure_gpu.images.choice import ImageChoice
from azure_gpu.shared.context import Tags


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolDependencies:
    """Dependencies of a pool that its validation and its name use. Empty: none."""

    account: AccountFacts
    identity: str = ""  # identifies it
    registry: str = ""  # by name
    storage: str = ""  # by name
    own_storage: bool = False  # whether the stack creates that account
    images: Mapping[str, ImageOfPool] = field(default_factory=dict[str, ImageOfPool])


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPoolSpec:
    """The resolved arguments. Outputs and secrets stay in the arguments."""

    base_name: str
    own_containers: tuple[str, ...]  # mounted blob containers, in the account that the stack creates
    containers_name: str  # of the deployment that creates these
    replace: Replace
    immutable: dict[str, object]  # properties that Batch can't change on a pool with nodes, as plain data without secrets
    size: str  # as the catalog spells it
    operating_system: OperatingSystem
    image: ImageChoice
    install_method: DriverMethod  # of the drivers
    request: PoolRequest  # with the additions of the installation method
    scale: Scale
    task_slots: int
    inter_node: bool
    container_images: tuple[str, ...] | None  # sorted; None: tasks don't run in containers
    packages: tuple[tuple[str, str], ...]  # application and version
    communication: Communication
    public_addresses: bool
    metadata: dict[str, str]
    tags: Tags
    expires_at: str | None  # instant in UTC, RFC 3339
    hourly_cost: float | None  # in USD at the maximum number of nodes; None: not known

    def name(self, subnet_id: str) -> str:
        """The pool's name in Azure; with side-by-side replacement it has a hash of the immutable properties."""
        return f"{self.base_name}-{self.digest(subnet_id)}" if self.replace == "side-by-side" else self.base_name

    def digest(self, subnet_id: str) -> str:
        """The hash of the immutable properties."""
        return pool_immutable.digest(self.immutable, subnet_id)
