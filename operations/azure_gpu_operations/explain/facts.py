"""Facts about a resource that may have failed, in one form for all kinds. Pure."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu_operations.clusters.arm_facts import CLUSTER_TYPE, POOL_TYPE as CLUSTER_POOL_TYPE

KILLED, ENDED_BY_TERM = 137, 143  # exit codes
# What can be explained by its ARM id.
GROUP_TYPE = azure_types.CONTAINER_GROUP.arm_type
POOL_TYPE = "Microsoft.Batch/batchAccounts/pools"
JOB_TYPES = ("Microsoft.App/jobs", "Microsoft.App/jobs/executions")
CLUSTER_TYPES = (CLUSTER_TYPE, CLUSTER_POOL_TYPE)
ML_TYPES = tuple(
    f"Microsoft.MachineLearningServices/workspaces/{each}"
    for each in ("onlineEndpoints", "onlineEndpoints/deployments", "computes", "jobs")
)
MACHINE_TYPE = azure_types.VIRTUAL_MACHINE.arm_type
EXPLAINED_TYPES = (GROUP_TYPE, POOL_TYPE, *JOB_TYPES, *CLUSTER_TYPES, *ML_TYPES, MACHINE_TYPE)


class Kind(StrEnum):
    GROUP = "container group"
    JOB = "job"
    POOL = "Batch pool"
    BATCH_JOB = "Batch job"
    CLUSTER = "cluster"
    CLUSTER_POOL = "pool of a cluster"
    KUBERNETES_JOB = "Kubernetes Job"
    POD = "pod"
    ENDPOINT = "endpoint"
    DEPLOYMENT = "deployment of an endpoint"
    ML_COMPUTE = "compute of a workspace"
    ML_JOB = "job of a workspace"
    MACHINE = "virtual machine"


class Event(NamedTuple):
    """One event that the service noted about a group or a container, such as `BackOff`."""

    name: str
    message: str
    is_warning: bool = False


class Container(NamedTuple):
    """One container as the service last saw it, and what it wrote last."""

    name: str
    image: str = ""
    state: str = ""  # Waiting, Running, Terminated; of a job the service's own word
    exit_code: int | None = None
    detail: str = ""  # the service's words about its state
    previous_exit_code: int | None = None
    previous_detail: str = ""
    restarts: int = 0
    events: tuple[Event, ...] = ()
    log: tuple[str, ...] = ()
    began: datetime | None = None
    memory: str = ""  # as it was asked for: "1.5 GB", "56Gi"
    is_init: bool = False

    @property
    def details(self) -> tuple[str, ...]:
        """Every sentence of the service about it."""
        return tuple(text for text in (self.detail, self.previous_detail, *map(_sentence, self.events)) if text)

    @property
    def last_exit_code(self) -> int | None:
        return self.previous_exit_code if self.exit_code is None else self.exit_code


class Refusal(NamedTuple):
    """A request that ARM rejected, from the activity log."""

    code: str
    message: str
    at: datetime | None = None
    operation: str = ""


class Facts(NamedTuple):
    """The facts. `built`: images in the stack's registry; None if it wasn't read."""

    name: str
    kind: Kind
    id: str
    exists: bool = True
    state: str = ""  # of the group, or of the job's last execution
    provisioning: str = ""
    containers: tuple[Container, ...] = ()
    events: tuple[Event, ...] = ()
    refusals: tuple[Refusal, ...] = ()  # the newest first
    execution: str = ""  # of a job, the last one's name
    accepted: datetime | None = None  # when the service took that execution, which may wait still
    message: str = ""  # the service's message about the execution
    timeout_seconds: int = 0
    ran_seconds: float | None = None
    built: frozenset[str] | None = None
    server: str = ""  # of the stack's registry
    changed: datetime | None = None  # when it was changed last, where the service says so

    @property
    def began(self) -> datetime | None:
        """When its newest run began, or was taken to begin."""
        moments = [*(each.began for each in self.containers), self.accepted]
        return max((each for each in moments if each), default=None)

    @property
    def open_refusals(self) -> tuple[Refusal, ...]:
        """The rejections after which nothing has run and nothing was changed."""
        last = max((each for each in (self.began, self.changed) if each), default=None)
        if not self.exists or self.provisioning == "Failed" or last is None:
            return self.refusals
        return tuple(each for each in self.refusals if each.at is not None and each.at > last)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The service's messages about the whole resource."""
        return tuple(text for text in (self.message, *map(_sentence, self.events)) if text)


class Cause(StrEnum):
    """The possible causes."""

    IMAGE_NOT_FOUND = "image not found"
    NO_RIGHT_TO_PULL = "no right to pull the image"
    OUT_OF_MEMORY = "out of memory"
    OUT_OF_GPU_MEMORY = "out of GPU memory"
    CRASH_LOOP = "crash loop"
    NO_CAPACITY = "no capacity"
    QUOTA = "quota"
    COMMAND_NOT_FOUND = "command not found"
    PROGRAM_ERROR = "program error"
    TIMEOUT = "timeout"
    NO_CONTAINER = "no container was started"
    WENT_ON = "it went on after its program"
    PROBE = "killed by its probe"
    VOLUME = "a volume can't be mounted"
    RETIRED_GPU = "retired GPU"
    START_TASK = "the start task failed"
    PREPARATION = "the job's preparation failed"
    UNUSABLE_NODE = "a node is unusable"
    RESIZE = "a resize failed"
    FORMULA = "the autoscale formula failed"
    FILES = "file transfer failed"
    PACKAGE = "an application package can't be installed"
    NEVER_STARTS = "can never start"
    EVICTED = "a Spot node was evicted"
    PRESSURE = "evicted by its node"
    UNTOLERATED = "a taint isn't tolerated"
    NO_PLUGIN = "no device plugin"
    OTHER_RESOURCE = "another name for GPUs"
    NO_FREE_GPU = "no GPU is free"
    NO_ROOM = "no node has room"
    AT_MOST = "the autoscaler is at its limit"
    NOT_FROM_ZERO = "can't scale from zero"
    NODE_NOT_READY = "a node isn't ready"
    SETTINGS = "its settings are wrong"
    CLUSTER_STOPPED = "the cluster is stopped"
    UNREACHABLE = "the cluster doesn't answer"
    NO_RIGHTS = "no access to the cluster"
    NO_RIGHT_TO_READ = "no right to read the model"
    MODEL_NOT_FOUND = "model not found"
    MODEL_INPUTS = "the model has more than one input"
    BUILD = "the environment can't be built"
    SCRIPT = "the scoring script failed"
    MISSING_PACKAGE = "a package is missing"
    NOT_READY = "never ready"
    NO_GPU = "no GPU"
    NO_TRAFFIC = "no traffic"
    EXTENSION = "an extension failed"
    RUN_COMMAND = "a run-command failed"
    OUT_OF_HOURS = "deallocated by its schedule"
    DEALLOCATED = "deallocated"
    SHUT_DOWN = "shut down from inside, and billed"
    REFUSED = "refused by Azure"
    NOT_THERE = "not there"
    STOPPED = "stopped"
    NEVER_STARTED = "never started"
    STARTING = "still starting"
    HEALTHY = "no failure"
    UNKNOWN = "unknown"


NO_FAILURE = frozenset({Cause.HEALTHY, Cause.NEVER_STARTED, Cause.STARTING})


class Finding(NamedTuple):
    """A cause, what speaks for it, and what to do. `container`: whose last lines belong to it."""

    cause: Cause
    what: str
    fix: str
    evidence: tuple[str, ...] = ()
    container: str = ""


def _sentence(event: Event) -> str:
    return f"{event.name}: {event.message}" if event.message else event.name
