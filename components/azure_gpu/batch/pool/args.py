"""The arguments of a Batch pool, with their defaults.

They are resolved in `batch.pool.resolve` and validated in `batch.pool.rules`; mounts are in `batch.pool.mounts`. Defaults of the
service and of scenarios are in the catalog.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

import pulumi

from azure_gpu.batch.account.account import BatchAccount
from azure_gpu.batch.account.args import BatchDependencies
from azure_gpu.batch.pool.mounts import MountArgs
from azure_gpu.catalog.services.batch.request import Mpi, RequestedMethod
from azure_gpu.catalog.services.batch.scale import Scenario
from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.images.args import ImageComponent, ImageOfPool, SystemChoice
from azure_gpu.shared.context import OfStack, WorkloadChoice
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import Choice, OpenInput

DEFAULT_SCENARIO = "pending_tasks"
DEFAULT_RETRIES = 0


ScenarioChoice = Annotated[Scenario, Choice("Scenario", "What the number of nodes follows.")]
Driver = Annotated[RequestedMethod, Choice("BatchDriver", "The method that a user requests.")]
MpiChoice = Annotated[Mpi, Choice("Mpi", "Which MPI runs the tasks that take several nodes at once.")]
Replace = Annotated[
    Literal["side-by-side", "drain-first"], Choice("BatchReplace", "How a pool whose immutable properties change is replaced.")
]
Communication = Annotated[
    Literal["Simplified", "Classic", "Default"],
    Choice("BatchCommunication", "The communication mode between Batch and the nodes of a pool."),
]

DEFAULT_COMMUNICATION: Communication = "Simplified"
DEFAULT_PUBLIC_ADDRESSES = True


class AutoscaleArgs(TypedDict):
    """Autoscaling by a formula: a predefined scenario or a custom formula. All of it is plain."""

    scenario: NotRequired[ScenarioChoice]
    """A predefined formula: by pending tasks, by the hours of a workday, at nights and weekends, on Spot nodes with dedicated
    ones as a fallback, or a fixed number. At most one of `scenario` and `formula`. Default: pending_tasks."""
    formula: NotRequired[str]
    """A custom formula, which can't be combined with keys of a scenario. Default: none."""
    interval_minutes: NotRequired[int]
    """Minutes between evaluations, at least 5. Default: 15."""
    max_nodes: NotRequired[int]
    """The maximum number of nodes. Default: 1."""
    min_nodes: NotRequired[int]
    """The minimum number of nodes, which are billed while idle. Default: 0."""
    spot: NotRequired[bool]
    """Whether the nodes are Spot nodes, which Azure may evict at any time. Default: false."""
    nodes_per_task: NotRequired[int]
    """Nodes per task; a multi-instance task counts as one pending task. Default: 1."""
    utc_offset_hours: NotRequired[int]
    """UTC offset of the workday in hours; formulas don't support daylight saving time. Default: 0."""
    day_begins: NotRequired[int]
    """The hour at which the workday begins. Default: 8."""
    day_ends: NotRequired[int]
    """The hour at which the workday ends. Default: 18."""


class ResourceFileArgs(TypedDict):
    """Files that a node downloads before its start task. Exactly one of the first three keys."""

    url: NotRequired[pulumi.Input[str]]
    """Wired: URL of one file; one with a signature is kept secret."""
    container_url: NotRequired[pulumi.Input[str]]
    """Wired: URL of a blob container; one with a signature is kept secret."""
    auto_storage_container: NotRequired[str]
    """Plain: name of a container in the account's auto-storage."""
    prefix: NotRequired[str]
    """Plain: only the blobs of a container whose names begin with this. Default: all."""
    path: NotRequired[str]
    """Plain: target path on the node, below the task's working directory; with `url` the file's name, which is required."""
    mode: NotRequired[str]
    """Plain: the file mode on Linux, such as 0755. Default: 0770."""
    use_identity: NotRequired[bool]
    """Plain: whether files are downloaded as the stack's identity, without a signature in the URL. Default: false."""


class StartTaskArgs(TypedDict):
    """A command that runs on each node before any task, and again after each restart. Plain, except where marked as wired."""

    command: str
    """The command line. It doesn't run in a shell: write /bin/sh -c '…' or cmd /c "…" for variables and pipes."""
    elevated: NotRequired[bool]
    """Whether it runs as administrator, as required to install drivers. Default: false."""
    wait_for_success: NotRequired[bool]
    """Whether tasks wait on a node until this has succeeded. Default: true."""
    retries: NotRequired[int]
    """Retries after a failure; -1: no limit. Default: 0."""
    environment: NotRequired[Mapping[str, OpenInput[str]]]
    """Environment variables in plain text. Default: none."""
    secret_environment: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: environment variables that are encrypted in the state; users with read access to the pool in Azure can read them.
    Default: none."""
    resource_files: NotRequired[Sequence[ResourceFileArgs]]
    """Files to download before it runs. Default: none."""


class ContainersArgs(TypedDict):
    """Tasks in containers. `true` is short for all defaults."""

    enabled: NotRequired[bool]
    """Plain: whether tasks run in containers. Default: true."""
    images: NotRequired[Sequence[str]]
    """Plain: images that each node pulls at start, so that tasks don't wait for them. Default: none."""
    workloads: NotRequired[Sequence[WorkloadChoice]]
    """Plain: workloads of this repository that the stack's registry builds for tasks. Nodes pull them with the first task, so a
    new build doesn't require a new pool. Default: none."""


class BatchPoolSettings(TypedDict):
    """Settings of a pool of GPU or RDMA nodes. Plain, except where marked as wired."""

    size: str
    """The virtual machine size of its nodes, such as Standard_NC4as_T4_v3."""
    os_type: NotRequired[SystemChoice]
    """The operating system of its nodes. Default: Linux."""
    image: NotRequired[str]
    """Marketplace image as publisher:offer:sku or publisher:offer:sku:version; at most one of `image`, `image_id` and
    `gallery_image`. Default: one for the size, operating system and containers."""
    image_id: NotRequired[str]
    """ARM id of a version in a Compute Gallery; before 2026-03-31 also of a managed image. Default: none."""
    gallery_image: NotRequired[ImageComponent | str]
    """A custom image of the stack with a version: its name under `gallery_images`; in a program, the component. Default: none."""
    node_agent: NotRequired[str]
    """Batch's node agent for the image's operating system, such as batch.node.ubuntu 24.04, case-insensitive. Default: the
    image's; required with `image_id`."""
    driver: NotRequired[Driver]
    """How the drivers of GPU and network are installed: with the image, by the driver extension, from an application package with
    a start task, by the start task only, or not at all. Default: auto, which chooses and shows the reason in a preview."""
    driver_version: NotRequired[str]
    """The driver's version, such as 411.82. Default: the newest."""
    driver_package: NotRequired[str]
    """The application whose package contains the driver's installer. Default: none."""
    dedicated_nodes: NotRequired[int]
    """A fixed number of dedicated nodes; not with `autoscale`. Default: none."""
    spot_nodes: NotRequired[int]
    """A fixed number of Spot nodes, which Azure may evict at any time; not with `autoscale`. Default: none."""
    resize_timeout_minutes: NotRequired[int]
    """Minutes after which Batch gives up reaching a fixed number. Default: 15."""
    autoscale: NotRequired[AutoscaleArgs]
    """Autoscaling by a formula. Default: without a fixed number, pending_tasks with 0 to 1 node."""
    task_slots: NotRequired[int]
    """Concurrent tasks per node. Default: 1."""
    inter_node: NotRequired[bool]
    """Whether nodes can communicate with each other, as required by multi-instance tasks. Default: false, and true with `mpi`."""
    mpi: NotRequired[MpiChoice]
    """The MPI that starts a task on several nodes. Default: none; each node runs the program, which gets the others by
    `TF_CONFIG`."""
    rdma: NotRequired[bool]
    """Whether MPI uses InfiniBand, which the size must have. Default: false, and true with `mpi`."""
    start_task: NotRequired[StartTaskArgs]
    """A command that runs on each node before any task. Default: none."""
    packages: NotRequired[Mapping[str, str]]
    """Application packages for each node: the version by the application's id. They must be active: push them with
    `az batch application package create`. Default: none."""
    containers: NotRequired[ContainersArgs | bool]
    """Tasks in containers, with images from the stack's registry, pulled as its identity, or from elsewhere. Default: none; tasks
    are programs on the node."""
    mounts: NotRequired[Mapping[str, MountArgs]]
    """Storage mounted on each node, by the path below AZ_BATCH_NODE_MOUNTS_DIR. Default: none."""
    subnet_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of the subnet of its nodes. Default: a network of Batch."""
    public_addresses: NotRequired[bool]
    """Whether nodes have public addresses; false requires `subnet_id` of a subnet with outbound access. Default: true."""
    explicit_outbound: NotRequired[bool]
    """True declares that the subnet has explicit outbound access, such as a NAT gateway. Default: false."""
    communication: NotRequired[Communication]
    """The communication mode of Batch with the nodes; Simplified requires no inbound access. Default: Simplified."""
    metadata: NotRequired[Mapping[str, str]]
    """Metadata of the pool in Batch, for programs. Default: its name here, and its MPI."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Additional tags, which override the stack's. Default: none."""
    pool_name: NotRequired[str]
    """Name of the pool in Azure; with `replace: side-by-side` a hash follows. Default: the pool's name here."""
    as_of: NotRequired[str]
    """The date at which the pool is evaluated, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the pool, YYYY-MM-DD; the tag `expires-at` holds the end of that day in UTC. It is for people and tools:
    Azure deletes nothing by it. Default: none; required."""
    replace: NotRequired[Replace]
    """How the pool is replaced when a property changes that Batch can't change on a pool with nodes: size, image, network and
    most others. side-by-side creates the new pool beside the old one, under another name, and needs twice the quota during the
    overlap; drain-first deletes the old one first, including running tasks: `python -m operations stop` waits for these.
    Default: side-by-side."""
    cloud_services: NotRequired[bool]
    """Pools of Cloud Services configuration, which were retired on 2024-02-29: true is always an error, with a fix. Default:
    false."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.BATCH_POOL)]]
    """azure-native properties of the pool, set last and validated only by Azure; null removes one. Default: none."""


class BatchPoolArgs(BatchPoolSettings, CommonArgs):
    """Arguments of BatchPool."""

    batch_account: BatchAccount | OpenInput[str]
    """The account of the pool: the component, or its ARM id. Identity, registry and storage account default to the component's.
    With an output as the id, the account can't be read, and nothing is validated against it."""


class BatchPoolWiring(BatchPoolSettings, OfStack, BatchDependencies):
    """Arguments of BatchPool, including the outputs of account and foundation."""

    images: NotRequired[Mapping[str, ImageOfPool]]
    """Custom images of the stack by name, for `gallery_image`. Default: none."""
