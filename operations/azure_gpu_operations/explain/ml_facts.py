"""Facts of an endpoint, a deployment, a compute or a job of Azure ML, for the rules and for the report. Pure."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from azure_gpu.catalog.services.machine_learning.deployments import MANAGED
from azure_gpu.catalog.services.machine_learning.endpoints import has_gpu
from azure_gpu.catalog.services.machine_learning.scoring import LIVENESS_ROUTE, PORT
from azure_gpu.formats.tags import STOPPED_SINCE
from azure_gpu_operations.explain.facts import Container, Facts, Kind, Refusal, counted
from azure_gpu_operations.machine_learning.endpoints import COMING, Deployment, Endpoint

# The containers of a deployment, by the names under which `az ml online-deployment get-logs` has them.
STORAGE, SERVER = "storage-initializer", "inference-server"


class DeploymentCase(NamedTuple):
    """One deployment. `deployment` None: it isn't there."""

    name: str  # endpoint/deployment
    id: str
    endpoint: Endpoint | None = None
    deployment: Deployment | None = None
    changed: datetime | None = None  # when it was put last
    refusals: tuple[Refusal, ...] = ()  # the newest first
    storage_log: tuple[str, ...] = ()
    server_log: tuple[str, ...] = ()
    events: tuple[str, ...] = ()  # warnings about its containers
    is_down: bool = False  # a container doesn't run

    @property
    def failed(self) -> bool:
        return self.is_down or self.deployment is None or self.deployment.state in ("Failed", "Canceled")

    @property
    def open_refusals(self) -> tuple[Refusal, ...]:
        """The rejections after which no update has succeeded."""
        if self.deployment is None or self.deployment.state == "Failed" or self.changed is None:
            return self.refusals
        return tuple(each for each in self.refusals if each.at is not None and each.at > self.changed)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The service's messages."""
        return (*(f"{each.code}: {each.message}".strip(": ") for each in self.open_refusals), *self.events)

    @property
    def lines(self) -> tuple[str, ...]:
        """Of the server's log and of the service's messages."""
        return (*self.server_log, *(line for text in self.sentences for line in text.splitlines()))

    @property
    def recent_log(self) -> tuple[str, ...]:
        """The lines that speak of now."""
        return self.server_log[-40:]

    @property
    def exists(self) -> bool:
        return self.deployment is not None

    @property
    def state(self) -> str:
        return self.deployment.state if self.deployment else ""

    @property
    def is_coming(self) -> bool:
        return self.state in COMING

    @property
    def size(self) -> str:
        return self.deployment.instance_type if self.deployment else ""

    @property
    def machine(self) -> str:
        return self.size or "its machine"

    @property
    def too_little(self) -> str:
        return f": {self.size} has too little" if self.size else ""

    @property
    def has_gpu(self) -> bool:
        """Whether Azure's own machines under it have one; those of a cluster may."""
        return self.deployment is None or self.deployment.kind != MANAGED or has_gpu(self.size)

    @property
    def how_without_gpu(self) -> str:
        return "so it doesn't start" if self.failed else "so it runs on the CPU"

    @property
    def script(self) -> str:
        return (self.deployment.script if self.deployment else "") or "the scoring script"

    @property
    def raised(self) -> str:
        return exception(self.server_log)

    @property
    def model(self) -> str:
        return "/".join(self.deployment.model.split("/")[-3::2]) if self.deployment and self.deployment.model else "the model"

    @property
    def azure_route(self) -> str:
        return f"{PORT} and {LIVENESS_ROUTE}"

    @property
    def share(self) -> int:
        return self.endpoint.traffic.get(self.deployment.name, 0) if self.endpoint and self.deployment else 0

    def as_facts(self) -> Facts:
        deployment = self.deployment
        shown = (Container(STORAGE, log=self.storage_log[-15:]), Container(SERVER, log=self.server_log[-15:]))
        state = f"{deployment.state}, {self.share} % of the traffic" if deployment else ""
        return Facts(
            self.name,
            Kind.DEPLOYMENT,
            self.id,
            exists=deployment is not None,
            state=state,
            containers=shown,
            refusals=self.refusals,
        )


class EndpointCase(NamedTuple):
    """An endpoint with its deployments, and with those that were refused and so aren't there."""

    name: str
    id: str
    endpoint: Endpoint | None = None
    deployments: tuple[DeploymentCase, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def state(self) -> str:
        return self.endpoint.state if self.endpoint else ""

    @property
    def is_coming(self) -> bool:
        return self.state in COMING

    @property
    def without_traffic(self) -> bool:
        return self.endpoint is not None and not any(self.endpoint.traffic.values())

    @property
    def stopped_since(self) -> str:
        return self.endpoint.tags.get(STOPPED_SINCE, "") if self.endpoint else ""

    @property
    def names(self) -> str:
        return ", ".join(each.name.rsplit("/", 1)[-1] for each in self.deployments)

    @property
    def shares(self) -> str:
        return ", ".join(
            f"{name} {percent} %" for name, percent in (self.endpoint.traffic if self.endpoint else {}).items() if percent
        )

    def as_facts(self) -> Facts:
        exists, state = self.endpoint is not None, self.state
        return Facts(self.name, Kind.ENDPOINT, self.id, exists=exists, state=state, provisioning=state, refusals=self.refusals)


class ComputeCase(NamedTuple):
    """A compute of a workspace."""

    name: str
    id: str
    exists: bool = False
    kind: str = ""  # AmlCompute, Kubernetes, VirtualMachine
    state: str = ""  # Succeeded, Failed, …
    size: str = ""
    allocation: str = ""  # of a cluster: Steady, Resizing
    nodes: Mapping[str, int] = {}  # by state
    target: int = 0
    errors: tuple[str, ...] = ()  # the service's words
    attached: str = ""  # what it is made of, by ARM id: a cluster of AKS, a virtual machine
    refusals: tuple[Refusal, ...] = ()

    @property
    def attached_name(self) -> str:
        return self.attached.rsplit("/", 1)[-1]

    @property
    def machines(self) -> str:
        return self.size or "its machines"

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(each.message for each in self.refusals)

    @property
    def broken(self) -> str:
        if not self.errors and self.state != "Failed":
            return ""
        return "its nodes can't be created" if self.kind == "AmlCompute" else "it can't be attached"

    @property
    def unusable(self) -> str:
        count = self.nodes.get("unusableNodeCount", 0)
        return f"{count} of its nodes {'is' if count == 1 else 'are'}" if count else ""

    @property
    def evicted(self) -> str:
        """The nodes, where all of them were."""
        count = self.nodes.get("preemptedNodeCount", 0)
        return "" if sum(self.nodes.values()) > count else {0: "", 1: "node"}.get(count, f"{count} nodes")

    @property
    def is_changing(self) -> bool:
        coming = self.state in ("Creating", "Updating") or self.allocation == "Resizing"
        return coming or bool(self.nodes.get("preparingNodeCount"))

    @property
    def has_nodes(self) -> str:
        working = sum(self.nodes.get(f"{state}NodeCount", 0) for state in ("idle", "running", "leaving"))
        return f"it has {counted(working, 'node')}" if working else "it has no nodes and costs nothing; a job adds nodes"

    def as_facts(self) -> Facts:
        state = ", ".join(text for text in (self.kind, self.state, self.allocation) if text)
        return Facts(
            self.name,
            Kind.ML_COMPUTE,
            self.id,
            exists=self.exists,
            state=state,
            provisioning=self.state,
            message="; ".join(self.errors),
            refusals=self.refusals,
        )


class JobCase(NamedTuple):
    """A job of a workspace."""

    name: str
    id: str
    exists: bool = False
    status: str = ""  # Completed, Failed, Queued, …
    error: str = ""  # the service's words
    exit_code: int | None = None
    compute: str = ""  # ARM id
    nodes: int = 1  # at once
    timeout_seconds: float | None = None
    log: tuple[str, ...] = ()  # the last lines that it wrote
    refusals: tuple[Refusal, ...] = ()

    def as_facts(self) -> Facts:
        return Facts(
            self.name,
            Kind.ML_JOB,
            self.id,
            exists=self.exists,
            state=self.status,
            containers=(Container(self.called, exit_code=self.exit_code, log=self.log),),
            refusals=self.refusals,
        )

    @property
    def called(self) -> str:
        return f"job {self.name}"

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(each.message for each in self.refusals)

    @property
    def machines(self) -> str:
        return "its machines"

    @property
    def end_of_log(self) -> tuple[str, ...]:
        return self.log[-5:]

    @property
    def limit(self) -> str:
        return f" of {self.timeout_seconds / 60:g} minutes" if self.timeout_seconds else ""

    @property
    def with_code(self) -> str:
        return "" if self.exit_code is None else f" with exit code {self.exit_code}"

    @property
    def raised(self) -> str:
        found = exception(self.log)
        return f": {found}" if found else ""

    @property
    def awaited(self) -> str:
        return "a node" if self.nodes == 1 else f"{self.nodes} free nodes at once"

    @property
    def compute_name(self) -> str:
        return self.compute.rsplit("/", 1)[-1] or "its compute"

    @property
    def state(self) -> str:
        return self.status or "there"


_SERVERS = re.compile(r"gunicorn\.|azureml_inference_server_http\.|SystemExit")
_LAST_OF_TRACEBACK = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit|Warning)\b.*")


def exception(log: Sequence[str]) -> str:
    """The last line of the last traceback in a log that a program of the user's has left, "" where there is none.

    The server's own tracebacks come behind it: that a worker didn't start isn't why it didn't.
    """
    begins = [at for at, line in enumerate(log) if "Traceback (most recent call last)" in line]
    ends = (next((line.strip() for line in log[at + 1 :] if _LAST_OF_TRACEBACK.match(line.strip())), "") for at in begins)
    return next((end for end in reversed(list(ends)) if end and not _SERVERS.match(end)), "")
