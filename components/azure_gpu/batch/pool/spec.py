"""The resolved Batch pool, `BatchPoolSpec`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from azure_gpu.batch.account.args import AccountFacts
from azure_gpu.batch.pool import immutable, mounts
from azure_gpu.batch.pool.args import BatchPoolSettings, Replace
from azure_gpu.catalog.services.batch.methods import DriverMethod
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.services.batch.scale import DEFAULT_TASK_SLOTS
from azure_gpu.formats.tags import POOL_MPI
from azure_gpu.images.args import ImageOfPool
from azure_gpu.images.choice import ImageChoice
from azure_gpu.shared.context import Tags

LOGICAL_NAME = "logical-name"  # in the pool's metadata: its name in the stack


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolDependencies:
    """Dependencies of a pool that its validation and its name use. Empty: none."""

    account: AccountFacts
    location_path: str = "location"  # of the setting of the account's region
    identity: str = ""  # identifies it
    registry: str = ""  # by name
    storage: str = ""  # by name
    own_storage: bool = False  # whether the stack creates that account
    images: Mapping[str, ImageOfPool] = field(default_factory=dict[str, ImageOfPool])


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPoolSpec:
    """The resolved arguments. What needs no resolving, outputs and secrets stay in the arguments."""

    logical_name: str
    settings: BatchPoolSettings
    dependencies: PoolDependencies
    base_name: str
    containers_name: str  # of the deployment that creates the mounted containers
    size: str  # as the catalog spells it
    image: ImageChoice
    install_method: DriverMethod  # of the drivers
    request: PoolRequest  # with the additions of the installation method
    container_images: tuple[str, ...] | None  # sorted; None: tasks don't run in containers
    tags: Tags
    expires_at: str | None  # instant in UTC, RFC 3339
    hourly_cost: float | None  # in USD at the maximum number of nodes; None: not known

    @property
    def replace(self) -> Replace:
        return self.settings.get("replace", "side-by-side")

    @property
    def own_containers(self) -> tuple[str, ...]:
        """The mounted blob containers in the account that the stack creates."""
        of_stack = self.dependencies
        return mounts.own_containers(self.settings.get("mounts", {}), of_stack.storage) if of_stack.own_storage else ()

    @property
    def metadata(self) -> dict[str, str]:
        own = {LOGICAL_NAME: self.logical_name, **({POOL_MPI: str(self.settings["mpi"])} if "mpi" in self.settings else {})}
        return {**self.settings.get("metadata", {}), **own}

    @property
    def immutable(self) -> dict[str, object]:
        """The properties that Batch can't change on a pool with nodes, as plain data without secrets, by their paths where they
        have one."""
        request, of_stack, images = self.request, self.dependencies, self.container_images
        return immutable.given(
            {
                "name": self.base_name,  # Batch's names are case-insensitive
                immutable.SIZE: self.size,
                immutable.IMAGE: immutable.of_image(request, self.image),
                immutable.NODE_AGENT: request.node_agent,
                immutable.EXTENSIONS: [
                    immutable.of_extension(each, self.install_method.extension_version) for each in request.extensions
                ],
                immutable.CONTAINERS: images is not None,
                immutable.IMAGE_NAMES: list(images or ()),
                immutable.REGISTRY: of_stack.registry if images is not None and of_stack.identity else "",
                immutable.IDENTITY: of_stack.identity,
                immutable.TASK_SLOTS: request.task_slots if request.task_slots != DEFAULT_TASK_SLOTS else None,
                immutable.INTER_NODE: request.inter_node,
                f"{immutable.NETWORK} without public addresses": not request.public_addresses,
                immutable.MOUNTS: mounts.without_secrets(self.settings.get("mounts", {}), of_stack.storage),
            }
        )

    def name(self, subnet_id: str) -> str:
        """The pool's name in Azure; with side-by-side replacement it has a hash of the immutable properties."""
        return f"{self.base_name}-{self.digest(subnet_id)}" if self.replace == "side-by-side" else self.base_name

    def digest(self, subnet_id: str) -> str:
        """The hash of the immutable properties."""
        return immutable.digest(self.immutable, subnet_id)
