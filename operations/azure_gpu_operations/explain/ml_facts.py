"""Facts of an endpoint, a deployment, a compute or a job of Azure ML, for the rules and for the report. Pure."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from azure_gpu_operations.explain.facts import Container, Facts, Kind, Refusal
from azure_gpu_operations.machine_learning.endpoints import Deployment, Endpoint

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

    def as_facts(self) -> Facts:
        state = self.endpoint.state if self.endpoint else ""
        exists = self.endpoint is not None
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


_SERVERS = re.compile(r"gunicorn\.|azureml_inference_server_http\.|SystemExit")
_LAST_OF_TRACEBACK = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit|Warning)\b.*")


def exception(log: Sequence[str]) -> str:
    """The last line of the last traceback in a log that a program of the user's has left, "" where there is none.

    The server's own tracebacks come behind it: that a worker didn't start isn't why it didn't.
    """
    begins = [at for at, line in enumerate(log) if "Traceback (most recent call last)" in line]
    ends = (next((line.strip() for line in log[at + 1 :] if _LAST_OF_TRACEBACK.match(line.strip())), "") for at in begins)
    return next((end for end in reversed(list(ends)) if end and not _SERVERS.match(end)), "")
