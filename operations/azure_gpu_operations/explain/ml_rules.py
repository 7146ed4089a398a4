"""Azure ML's endpoints, deployments, computes and jobs as they were seen, and their rules of code. The others are rows of
`findings.yaml`. Pure.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from azure_gpu.catalog.services.machine_learning.deployments import DEFAULT_REQUEST_TIMEOUT_S, LIVENESS_ROUTE, MANAGED, PORT
from azure_gpu.catalog.services.machine_learning.endpoints import RESERVED, has_gpu, managed
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats.tags import STOPPED_SINCE
from azure_gpu_operations.explain import refusal_rules, table
from azure_gpu_operations.explain.facts import Cause, Container, Facts, Finding, Kind, Refusal
from azure_gpu_operations.machine_learning.endpoints import COMING, Deployment, Endpoint
from azure_gpu_operations.terminal import counted

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
        return self.as_facts().open_refusals

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
            provisioning=deployment.state if deployment else "",
            containers=shown,
            refusals=self.refusals,
            changed=self.changed,
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


_RECENT = 40  # lines of a log that speak of now
_SLOW = 0.95  # of a request's time: what takes as long is cut off a little earlier or later
_UP = "then `pulumi up`"


def explain(case: EndpointCase) -> tuple[Facts, Finding]:
    """The endpoint's failure, else that of its deployments, failed ones first; else that it is healthy."""
    own = _endpoint(case)
    if own is not None:
        return case.as_facts(), own
    for each in sorted(case.deployments, key=lambda each: (not each.failed, -each.share, each.name)):
        found = failure(each)
        if found is not None:
            return each.as_facts(), found
    return case.as_facts(), table.explain_surely("ML endpoint without a failure", case, _RULES, _of_endpoint(case))


def explain_deployment(case: DeploymentCase) -> Finding:
    return failure(case) or table.explain_surely("ML deployment without a failure", case, values=_of_deployment(case))


def explain_compute(case: ComputeCase) -> Finding:
    return table.explain_surely("ML compute", case, _RULES, _of_compute(case))


def explain_job(case: JobCase) -> Finding:
    return table.explain_surely("ML job", case, _RULES, _of_job(case))


def failure(case: DeploymentCase) -> Finding | None:
    """The failure; None if it answers, or will soon."""
    finding = table.explain("ML deployment", case, _RULES, _of_deployment(case))
    return finding._replace(evidence=tuple(map(_first_line, finding.evidence[:2]))) if finding is not None else None


def _first_line(text: str) -> str:
    """Without the log that the service appends: the report has its last lines."""
    return text.partition("\n")[0].removesuffix(" The last lines of its log:")


def _endpoint(case: EndpointCase) -> Finding | None:
    if case.endpoint is not None and case.endpoint.state != "Failed":
        return None
    refused = refusal_rules.first(case.as_facts())
    if refused is None and case.endpoint is not None:
        return Finding(Cause.UNKNOWN, "it is Failed; Azure gives no reason", f"delete it, {_UP}")
    return refused or refusal_rules.not_there("endpoint")


def _coming(case: EndpointCase) -> Finding | None:
    coming = next((each for each in case.deployments if each.deployment and each.deployment.state in COMING), None)
    return explain_deployment(coming) if coming is not None else None


def _not_there(case: DeploymentCase) -> Finding | None:
    return None if case.deployment or case.sentences else refusal_rules.not_there("deployment", "the endpoint")


def _refused_deployment(case: DeploymentCase) -> Finding | None:
    facts = case.as_facts()
    return (refusal_rules.no_capacity(facts) or refusal_rules.other(facts)) if facts.open_refusals else None


def _refused(case: ComputeCase | JobCase) -> Finding | None:
    facts = case.as_facts()
    refused = {"machines": getattr(case, "size", "") or "its machines", "refused": [each.message for each in case.refusals]}
    if case.exists and facts.provisioning != "Failed":
        return None
    found = table.explain("ML compute that was refused", case, values=refused) or refusal_rules.first(facts)
    return found or (None if case.exists else refusal_rules.not_there(facts.kind.value))


def _capacity(case: ComputeCase) -> Finding | None:
    matched = table.first("no capacity", case.errors)
    return refusal_rules.about("no capacity", matched) if matched else None


def _image(case: JobCase) -> Finding | None:
    about_images = any(table.first(name, (case.error,)) for name in ("ML image missing", "image pull", "ML not allowed"))
    if case.status != "Failed" or not about_images:
        return None
    return refusal_rules.of_image(case.as_facts(), "", (case.error,), case.called)


# What rows of the table name beside the attributes of a case.


def _of_endpoint(case: EndpointCase) -> dict[str, Any]:
    traffic = case.endpoint.traffic if case.endpoint else {}
    state = case.endpoint.state if case.endpoint else ""
    return {
        "state": state,
        "is_coming": state in COMING,
        "without_traffic": not any(traffic.values()),
        "stopped_since": case.endpoint.tags.get(STOPPED_SINCE, "") if case.endpoint else "",
        "names": ", ".join(each.name.rsplit("/", 1)[-1] for each in case.deployments),
        "shares": ", ".join(f"{name} {percent} %" for name, percent in traffic.items() if percent),
    }


def _of_deployment(case: DeploymentCase) -> dict[str, Any]:
    deployment = case.deployment or Deployment("", "")
    return {
        "lines": [*case.server_log, *(line for text in case.sentences for line in text.splitlines())],
        "recent_log": case.server_log[-_RECENT:],
        "exists": case.deployment is not None,
        "state": deployment.state,
        "is_coming": deployment.state in COMING,
        "machine": deployment.instance_type or "its machine",
        "too_little": f": {deployment.instance_type} has too little" if deployment.instance_type else "",
        "has_gpu": deployment.kind != MANAGED or has_gpu(deployment.instance_type),  # those of a cluster may
        "how_without_gpu": "so it doesn't start" if case.failed else "so it runs on the CPU",
        "script": deployment.script or "the scoring script",
        "raised": exception(case.server_log),
        "model": "/".join(deployment.model.split("/")[-3::2]) or "the model",
        "azure_route": f"{PORT} and {LIVENESS_ROUTE}",
        **_of_quota(case),
        **_of_rights(case),
        **_of_requests(case),
        **_of_build(case),
    }


def _of_quota(case: DeploymentCase) -> dict[str, Any]:
    """What is said of Azure Machine Learning's quota, and what upgrades reserve of it."""
    said = table.first("ML quota", case.sentences)
    named, figures = re.search(r"\b(Standard_\w+)\b", said), table.phrase("ML quota figures").search(said)
    size = SIZES.find(named[1]) if named else None
    row = managed(size) if size is not None else None
    share = f"{int(RESERVED * 100)} % of the instances, rounded up, are reserved for upgrades and count: 1 instance uses 2"
    return {
        "quota_said": said,
        "quota_family": named[1] if named else "this family",
        "quota_machines": named[1] if named else "these machines",
        "reserved": f"; {share}" if row is None or row.reserves else "",
        "all_needed": f" of {int(figures['used']) + int(figures['needed'])} vCPUs" if figures else "",
    }


def _of_rights(case: DeploymentCase) -> dict[str, Any]:
    """A missing right of the endpoint's identity, by the role or the resource in the message."""
    denied = table.first("ML not allowed", (*case.sentences, *case.storage_log)) if case.failed else ""
    of_model = re.search(r"Storage Blob|\bblobs?\b|user model|model", denied, re.IGNORECASE)
    identities = case.endpoint.identities if case.endpoint is not None else ()
    return {
        "denied": denied,
        "denied_read": of_model and not re.search("AcrPull", denied),
        "denied_log": STORAGE if denied in case.storage_log else "",
        "whose": "the endpoint's identity" + (f" {identities[0].rsplit('/', 1)[-1]}" if identities else ""),
    }


def _of_requests(case: DeploymentCase) -> dict[str, Any]:
    """Whether it answers later than its limit: clients get 408 or 504."""
    if case.deployment is None or case.failed:
        return {"slow": ""}
    limit = case.deployment.timeout_seconds or DEFAULT_REQUEST_TIMEOUT_S
    requests = (table.phrase("ML request").search(line) for line in case.server_log)
    took = [float(found["ms"]) / 1000 for found in requests if found]
    slow = [seconds for seconds in took if seconds >= limit * _SLOW]
    stopped = table.first("ML worker timeout", case.server_log).strip()
    of_worker = "a worker was stopped because it took longer" if stopped else ""
    return {
        "slow": f"{len(slow)} of its last {len(took)} requests took longer" if slow else of_worker,
        "slow_said": stopped or (f"the slowest took {max(slow):.1f} s" if slow else ""),
        "request_limit": f"{limit:g}",
    }


def _of_build(case: DeploymentCase) -> dict[str, Any]:
    said = table.first("ML image build", case.sentences)
    missing = table.phrase("ML no distribution").search(said)
    return {"build_said": said, "not_found": (missing["one"] or missing["other"]) if missing else ""}


def _of_compute(case: ComputeCase) -> dict[str, Any]:
    count = {state: case.nodes.get(f"{state}NodeCount", 0) for state in ("unusable", "preempted", "preparing")}
    working = sum(case.nodes.get(f"{state}NodeCount", 0) for state in ("idle", "running", "leaving"))
    all_evicted = count["preempted"] and sum(case.nodes.values()) == count["preempted"]
    broken = "its nodes can't be created" if case.kind == "AmlCompute" else "it can't be attached"
    return {
        "attached_name": case.attached.rsplit("/", 1)[-1],
        "machines": case.size or "its machines",
        "broken": broken if case.errors or case.state == "Failed" else "",
        "unusable": f"{count['unusable']} of its nodes {'is' if count['unusable'] == 1 else 'are'}" if count["unusable"] else "",
        "evicted": ("node" if count["preempted"] == 1 else f"{count['preempted']} nodes") if all_evicted else "",
        "is_changing": case.state in ("Creating", "Updating") or case.allocation == "Resizing" or count["preparing"],
        "has_nodes": f"it has {counted(working, 'node')}" if working else "it has no nodes and costs nothing; a job adds nodes",
    }


def _of_job(case: JobCase) -> dict[str, Any]:
    raised = exception(case.log)
    return {
        "end_of_log": case.log[-5:],
        "limit": f" of {case.timeout_seconds / 60:g} minutes" if case.timeout_seconds else "",
        "with_code": "" if case.exit_code is None else f" with exit code {case.exit_code}",
        "raised": f": {raised}" if raised else "",
        "awaited": "a node" if case.nodes == 1 else f"{case.nodes} free nodes at once",
        "compute_name": case.compute.rsplit("/", 1)[-1] or "its compute",
        "state": case.status or "there",
    }


_RULES: dict[str, table.Rule] = {
    "not_there": _not_there,
    "refused_deployment": _refused_deployment,
    "coming": _coming,
    "refused": _refused,
    "capacity": _capacity,
    "image": _image,
}
