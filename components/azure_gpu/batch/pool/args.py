"""What a stack file can say about a Batch pool, with the defaults of its keys.

`BatchPoolSettings`. What becomes of it is in `batch.pool.resolve`, what is refused in `batch.pool.rules`; how
nodes mount storage is in `batch.pool.mounts`. Numbers that the service or a scenario has by itself are in the catalog.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal, NotRequired, TypedDict

import pulumi

from azure_gpu.batch.account.account import BatchAccount
from azure_gpu.batch.account.args import BatchSurroundings
from azure_gpu.batch.pool.mounts import MountArgs
from azure_gpu.catalog.services.batch.request import MpiName
from azure_gpu.catalog.services.batch.scenarios import Scenario, ScenarioName
from azure_gpu.catalog.services.batch.way import WantedName
from azure_gpu.catalog.size_use import OperatingSystemName
from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.images.args import ImageComponent, ImageOfPool
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import OpenInput
from azure_gpu.shared.workloads import WorkloadName

DEFAULT_SCENARIO = Scenario.PENDING_TASKS
DEFAULT_RETRIES = 0


class Replace(StrEnum):
    """What becomes of a pool whose immutable properties change."""

    SIDE_BY_SIDE = "side-by-side"
    DRAIN_FIRST = "drain-first"


ReplaceName = Replace | Literal["side-by-side", "drain-first"]


class Communication(StrEnum):
    """How Batch and the nodes of a pool talk to each other."""

    SIMPLIFIED = "Simplified"
    CLASSIC = "Classic"
    DEFAULT = "Default"


CommunicationName = Communication | Literal["Simplified", "Classic", "Default"]


class AutoscaleArgs(TypedDict):
    """A formula by which the pool changes its size, by name or whole. All of it is plain."""

    scenario: NotRequired[ScenarioName]
    """The formula by name: by the tasks that wait, by the hours of a workday, in nights and at weekends, on Spot nodes with
    dedicated ones where there are too few, or a fixed number. At most one of `scenario` and `formula`. Default: pending_tasks."""
    formula: NotRequired[str]
    """A formula of one's own, which then says everything. Default: none."""
    interval_minutes: NotRequired[int]
    """After how many minutes it is evaluated again, 5 at least. Default: 15."""
    max_nodes: NotRequired[int]
    """How many nodes it asks for at most. Default: 1."""
    min_nodes: NotRequired[int]
    """How many nodes stay when nothing is to do; each costs. Default: 0."""
    spot: NotRequired[bool]
    """True: the nodes are Spot nodes, which Azure may take back at any time. Default: false."""
    nodes_per_task: NotRequired[int]
    """Nodes that each task runs on: a task of several nodes counts as one that waits. Default: 1."""
    utc_offset_hours: NotRequired[int]
    """Hours between the workday's clock and UTC, whose summer time a formula doesn't know. Default: 0."""
    day_begins: NotRequired[int]
    """The hour at which a workday begins. Default: 8."""
    day_ends: NotRequired[int]
    """The hour at which it ends. Default: 18."""


class ResourceFileArgs(TypedDict):
    """Files that a node fetches before its start task. Exactly one of the first three keys."""

    url: NotRequired[pulumi.Input[str]]
    """Wired: web address of one file; one with a signature is kept secret."""
    container_url: NotRequired[pulumi.Input[str]]
    """Wired: web address of a container of blobs; one with a signature is kept secret."""
    auto_storage_container: NotRequired[str]
    """Plain: name of a container in the account's own storage."""
    prefix: NotRequired[str]
    """Plain: only the blobs of a container whose names begin with this. Default: all."""
    path: NotRequired[str]
    """Plain: where on the node they go, below the task's working folder; with `url` the file's own name, which is needed."""
    mode: NotRequired[str]
    """Plain: the file's rights on Linux, such as 0755. Default: 0770."""
    use_identity: NotRequired[bool]
    """Plain: true fetches as the stack's identity, without a signature in the address. Default: false."""


class StartTaskArgs(TypedDict):
    """What runs on each node before any task, and again after each restart. Plain, but for what is called wired."""

    command: str
    """The command line. It doesn't run in a shell: write /bin/sh -c '…' or cmd /c "…" for variables and pipes."""
    elevated: NotRequired[bool]
    """True: as administrator, as drivers are installed. Default: false."""
    wait_for_success: NotRequired[bool]
    """True: no task starts on a node before this has succeeded. Default: true."""
    retries: NotRequired[int]
    """How often it is tried again after a failure, -1 for ever. Default: 0."""
    environment: NotRequired[Mapping[str, OpenInput[str]]]
    """Environment variables that everybody may read. Default: none."""
    secret_environment: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: environment variables that nobody may read in the state; whoever may read the pool in Azure reads them. Default:
    none."""
    resource_files: NotRequired[Sequence[ResourceFileArgs]]
    """Files that it needs. Default: none."""


class ContainersArgs(TypedDict):
    """Tasks that run in containers. `true` alone stands for all defaults."""

    enabled: NotRequired[bool]
    """Plain: whether tasks run in containers. Default: true."""
    images: NotRequired[Sequence[str]]
    """Plain: images that each node fetches as it comes up, so that no task waits for them. Default: none."""
    workloads: NotRequired[Sequence[WorkloadName]]
    """Plain: workloads of this repository that the stack's registry builds for tasks here. Nodes fetch them with the first task
    and not before, so that a new build needs no new pool. Default: none."""


class BatchPoolSettings(TypedDict):
    """A pool of GPU or RDMA nodes, as a stack file says it. Plain, but for what is called wired."""

    size: str
    """The virtual machine size of its nodes, such as Standard_NC4as_T4_v3."""
    os_type: NotRequired[OperatingSystemName]
    """The operating system of its nodes. Default: Linux."""
    image: NotRequired[str]
    """Image of the Marketplace as publisher:offer:sku or publisher:offer:sku:version; at most one of `image`, `image_id` and
    `gallery_image`. Default: one that suits size, operating system and containers."""
    image_id: NotRequired[str]
    """ARM id of a version in a Compute Gallery; before 2026-03-31 also of a managed image. Default: none."""
    gallery_image: NotRequired[ImageComponent | str]
    """One of the stack's own images that has a version: its name under `gallery_images`; in a program, the component.
    Default: none."""
    node_agent: NotRequired[str]
    """Batch's agent for the image's operating system, such as batch.node.ubuntu 24.04, in any letter case. Default: the image's;
    an `image_id` has none."""
    driver: NotRequired[WantedName]
    """How the GPU's or the network's software comes onto the nodes: with the image, by the driver extension, from an application
    package with a start task, by the start task alone, or not at all. Default: auto, which chooses and says why."""
    driver_version: NotRequired[str]
    """The driver's version, such as 411.82. Default: the newest."""
    driver_package: NotRequired[str]
    """The application whose package has the driver's installer. Default: none."""
    dedicated_nodes: NotRequired[int]
    """A fixed number of nodes that stay; not with `autoscale`. Default: none."""
    spot_nodes: NotRequired[int]
    """A fixed number of Spot nodes, which Azure may take back at any time; not with `autoscale`. Default: none."""
    resize_timeout_minutes: NotRequired[int]
    """After how many minutes Batch gives up to reach a fixed number. Default: 15."""
    autoscale: NotRequired[AutoscaleArgs]
    """A number of nodes by a formula. Default: where no fixed number is said, pending_tasks from 0 to 1 node."""
    task_slots: NotRequired[int]
    """Tasks that run on a node at the same time. Default: 1."""
    inter_node: NotRequired[bool]
    """True: nodes talk to each other, as tasks over several nodes need it. Default: false, and true with `mpi`."""
    mpi: NotRequired[MpiName]
    """The MPI that starts tasks on several nodes at once. Default: none; each node runs the program, told of the others by
    `TF_CONFIG`."""
    rdma: NotRequired[bool]
    """Whether MPI goes over InfiniBand, which the size must have. Default: false, and true with `mpi`."""
    start_task: NotRequired[StartTaskArgs]
    """What runs on each node before any task. Default: none."""
    packages: NotRequired[Mapping[str, str]]
    """Application packages that each node gets: the version by the application's id. They have to be active, which
    `python -m operations package push` makes them. Default: none."""
    containers: NotRequired[ContainersArgs | bool]
    """Tasks in containers, whose images come from the stack's registry as its identity, or from anywhere. Default: none; tasks
    are programs on the node."""
    mounts: NotRequired[Mapping[str, MountArgs]]
    """Storage on each node, by its path below AZ_BATCH_NODE_MOUNTS_DIR. Default: none."""
    subnet_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of the subnet of its nodes. Default: one of Batch's own."""
    public_addresses: NotRequired[bool]
    """False: nodes have no public addresses; they need `subnet_id`, and the subnet has to lead out. Default: true."""
    explicit_outbound: NotRequired[bool]
    """True says that the subnet has a way out of its own, such as a NAT gateway. Default: false."""
    communication: NotRequired[CommunicationName]
    """How Batch reaches the nodes; Simplified needs no way in. Default: Simplified."""
    metadata: NotRequired[Mapping[str, str]]
    """What programs read about the pool in Batch itself. Default: its name here, and its MPI."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags beside the stack's, over which they win. Default: none."""
    pool_name: NotRequired[str]
    """Name of the pool in Azure; with `replace: side-by-side` a hash follows. Default: the pool's name here."""
    as_of: NotRequired[str]
    """The day at which the pool is judged, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the pool, YYYY-MM-DD; the tag `expires-at` holds the instant at which that day ends in UTC. Tools and
    people keep it: Azure itself deletes nothing by it. Every pool needs one. Default: none."""
    replace: NotRequired[ReplaceName]
    """What becomes of the pool when something changes that Batch can't change on one with nodes: its size, image, network and
    most others. side-by-side makes the new pool beside the old one, under another name, and needs twice the quota while both
    stand; drain-first deletes the old one first, with whatever still runs on it: `python -m operations drain` waits for that.
    Default: side-by-side."""
    cloud_services: NotRequired[bool]
    """Pools of Cloud Services configuration, which ended on 2024-02-29: true is always refused, with what to do. Default:
    false."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.BATCH_POOL)]]
    """azure-native properties of the pool, set last and judged only by Azure; null removes one. Default: none."""


class BatchPoolArgs(BatchPoolSettings, CommonArgs):
    """A pool, and where it belongs."""

    batch_account: BatchAccount | OpenInput[str]
    """The account that it is in: the component, or its ARM id. Identity, registry and storage account are the component's where
    none are given here. What an output is the id of can't be read before it is there, so nothing is judged by it."""


class BatchPoolWiring(BatchPoolSettings, OfStack, BatchSurroundings):
    """The same, wired to what it needs."""

    images: NotRequired[Mapping[str, ImageOfPool]]
    """Images of the stack's own by name, for `gallery_image`. Default: none."""
