"""A run on a compute cluster of a stack's workspace: a command job, with a separate environment and code, followed to its end.

Imported when a run starts. Code is uploaded to the workspace's storage account, and the log read from it, with this login.
KeyboardInterrupt passes through while it is followed.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.build_context import content_hash
from azure_gpu.formats.dates import instant
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.batch.blobs import Blobs
from azure_gpu_operations.exit_codes import FAILED_RUN, TIMED_OUT
from azure_gpu_operations.machine_learning import job_log, usages
from azure_gpu_operations.machine_learning.endpoints import API_VERSION, seconds_of
from azure_gpu_operations.one_part import COMPUTE
from azure_gpu_operations.run import carried, gpu_confirmation, service_run, used_part
from azure_gpu_operations.run.log_lines import BlobTail, Read
from azure_gpu_operations.run.on_ml_cluster import plan as bodies
from azure_gpu_operations.run.on_ml_cluster.request import MlRequest, check_cluster, quota_problems
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, Say, WrongRunError
from azure_gpu_operations.run.service_run import HasEndedError, ServiceRun
from azure_gpu_operations.run.target import Target, run_name
from azure_gpu_operations.run.used_part import registry_of
from azure_gpu_operations.stack_view import StackView

DRAIN_SECONDS = 15.0  # how long the log may continue after the job's end
OVER = ("Completed", "Failed", "Canceled", "NotResponding")
# Messages of a job's states before its program starts: allocating a node takes minutes.
_WAITS = {
    "NotStarted": "the job is accepted",
    "Queued": "waiting for a node; an empty cluster gets one within minutes",
    "Provisioning": "the cluster is allocating a node",
    "Preparing": "preparing its environment",
    "Starting": "starting on a node",
}
_QUEUED_FOR_SEVERAL = "waiting for {} free nodes at once; an empty cluster gets them within minutes"
# States in which it uses its nodes.
_ON_NODE = ("Preparing", "Starting", "Running", "Finalizing")


class End(NamedTuple):
    """How the job ended."""

    status: str = ""  # one of OVER; "": it was deleted
    exit_code: int | None = None
    seconds: float | None = None  # observed, for which it used its nodes
    nodes: int = 1
    message: str = ""  # of the service


class Follower(service_run.Follower[End]):
    """One job."""

    poll_seconds = 1.5

    def __init__(self, arm: Arm, job_id: str, read_log: Read, output: Output, **times: Any) -> None:
        super().__init__("the job", output, **times)
        self._arm, self._id = arm, job_id
        self._log = BlobTail(read_log, self._line)
        self._code: int | None = None
        self._status = ""
        self._on_node_at: float | None = None

    def follow(self) -> End:
        return self._drained(super().follow())

    @property
    def seconds(self) -> float | None:
        return None if self._on_node_at is None else self._clock() - self._on_node_at

    def _look(self) -> End | None:
        end = self.look()
        self._log.more()
        return end

    def look(self) -> End | None:
        """The end; None while it isn't over."""
        body = self._arm.get(self._id, API_VERSION)
        if body is None:
            return End()
        properties = body.get("properties") or {}
        status = str(properties.get("status") or "")
        if status in _ON_NODE and self._on_node_at is None:
            self._on_node_at = self._clock()
        nodes = int((properties.get("resources") or {}).get("instanceCount") or 1)
        if status != self._status and status in _WAITS:
            self._say(_QUEUED_FOR_SEVERAL.format(nodes) if status == "Queued" and nodes > 1 else _WAITS[status])
        self._status = status
        if status not in OVER:
            return None
        return End(
            status, seconds=_reported_seconds(properties) or self.seconds, nodes=nodes, message=job_log.error_of(properties)
        )

    def _drained(self, end: End) -> End:
        """Reads the log's last lines; the very last one has the exit code."""
        waited = 0.0
        while self._code is None and waited < DRAIN_SECONDS and self._on_node_at is not None and end.status != "Canceled":
            self._sleep(self.poll_seconds)
            waited += self.poll_seconds
            self._log.more()
        self._log.finish()
        return end._replace(exit_code=self._code)

    def _line(self, line: str) -> None:
        code = bodies.exit_code(line)
        if code is not None:
            self._code = code
            return
        gpu_confirmation.pass_on(line, self._output.show, self._say)


def _reported_seconds(properties: Mapping[str, Any]) -> float | None:
    """Run time reported by the service."""
    more = properties.get("properties") or {}
    began, ended = instant(more.get("StartTimeUtc")), instant(more.get("EndTimeUtc"))
    return max(0.0, (ended - began).total_seconds()) if began is not None and ended is not None else None


CLUSTER = "AmlCompute"
DATASTORE = "workspaceblobstore"  # the workspace's default for code and data
UPLOADS = "LocalUpload"  # folder of code, as in Azure's client
_CANCELED = "Canceled"
_COMPLETED = "Completed"


@contextmanager
def plan(view: StackView, name: str, request: MlRequest, output: Output) -> Iterator["MlRun"]:
    """Registers its environment and code."""
    with closing(Arm(view.connection)) as arm:
        workspace_id = view.ml_computes[name].rpartition("/computes/")[0]
        workspace = _there(arm, workspace_id, "the workspace")
        compute = _cluster(arm, view, name)
        problems = check_cluster(name, _settings(compute), request.group) + _of_quota(arm, compute, request)
        used_part.accepted([*problems, *used_part.expired(COMPUTE, view, name, lambda: compute)], output.say)
        identity = partial(used_part.carrier_of, COMPUTE, name, compute)
        with carried.carrying(arm, view.storage, request.target, request.arguments, request.files, identity) as carrying:
            request = request._replace(target=carrying.target, arguments=tuple(carrying.arguments))
            text, problems = bodies.command(request)
            if problems:
                raise WrongRunError(problems)
            environment_id = _environment(arm, view, workspace_id, request, output.say)
            with closing(Blobs(arm, str(workspace["properties"]["storageAccount"]))) as blobs:
                code_id = _code(arm, blobs, workspace_id, request)
                job_name = carrying.files.name or run_name(request.target)
                body = bodies.job(
                    job_name,
                    request,
                    text,
                    compute_id=view.ml_computes[name],
                    environment_id=environment_id,
                    code_id=code_id,
                    stack=view.name,
                    client_id=used_part.client_id(compute),
                )
                job_id, files = f"{workspace_id}/jobs/{job_name}", carrying.files
                yield MlRun(view.name, name, output, request, arm, blobs, compute, job_id, body=body, files=files)


def find(arm: Arm, view: StackView, name: str, output: Output) -> "MlRun | None":
    """The job of this name in the stack's workspace, if it runs on one of the stack's computes."""
    job_id = f"{view.ml_workspace}/jobs/{name}"
    job = arm.get(job_id, API_VERSION) if view.ml_workspace else None
    compute_id = str(((job or {}).get("properties") or {}).get("computeId") or "").lower()
    place = next((each for each, known in view.ml_computes.items() if known.lower() == compute_id), "")
    if not place:
        return None
    workspace = _there(arm, view.ml_workspace, "the workspace")
    blobs = Blobs(arm, str(workspace["properties"]["storageAccount"]))
    compute = _there(arm, view.ml_computes[place], "the compute")
    return MlRun(view.name, place, output, MlRequest(Target()), arm, blobs, compute, job_id, is_sent=True)


@dataclass
class MlRun(ServiceRun[MlRequest]):
    """One job."""

    arm: Arm
    blobs: Blobs
    compute: Mapping[str, Any]
    job_id: str
    body: dict[str, Any] | None = field(kw_only=True, default=None)
    owner = "workspace"
    stopped = "is canceled"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.name = self.job_id.rsplit("/", 1)[-1]
        self._end = End()
        self._follower = Follower(self.arm, self.job_id, job_log.Reader(self.blobs, self.name).read_from, self.output)

    def _send(self) -> str:
        assert self.body is not None, "it was created earlier"
        self.arm.put(self.job_id, API_VERSION, self.body)
        over = f" over {self.request.group.nodes} nodes" if self.request.group.is_several else ""
        return f"{self.request.target.described} on compute {self.place}{over}"

    def follow(self) -> Outcome:
        self._end = end = self._follower.follow()
        if not end.status:
            raise self.gone()
        if end.status == _CANCELED and self.request.timeout_minutes is not None and "cancel" not in end.message.lower():
            return Outcome(TIMED_OUT, "stopped after its timeout")
        self.end_files()
        code = end.exit_code if end.exit_code is not None else 0 if end.status == _COMPLETED else FAILED_RUN
        result = f"exit code {end.exit_code}" if end.exit_code is not None else end.message or "no exit code reported"
        return Outcome(code, f"{end.status}, {result}")

    def _cancel(self) -> None:
        self._end = End(seconds=self._follower.seconds)
        try:
            self.arm.post(f"{self.job_id}/cancel", API_VERSION)
        except AzureError:
            end = self._follower.look()
            if end is None or not end.status:
                raise
            self._end = end
            raise HasEndedError(end.status) from None

    def cost(self) -> Cost:
        """Cost of its nodes for the time of the job. They stay, and are billed, for the cluster's idle time."""
        seconds, nodes = self._end.seconds, self._end.nodes
        scale = _settings(self.compute).get("scaleSettings") or {}
        least = int(scale.get("minNodeCount") or 0)
        idle = seconds_of(scale.get("nodeIdleTimeBeforeScaleDown"))
        one = nodes == 1
        stays = f"which stay{'s' if one else ''} for {idle / 60:g} idle minutes" if idle is not None else ""
        stays = stays or ("which is removed when idle" if one else "which are removed when idle")
        for_nodes = "its node, " if one else f"its {nodes} nodes together, "
        more = f" for {for_nodes}" + (stays if least == 0 else f"and {least} of the cluster's nodes always stay")
        return self.cost_of(None if seconds is None else seconds * nodes, _price(self.compute), more)

    def settle(self) -> None:
        """Keeps the job in the workspace's history."""
        if self._end.status not in (_COMPLETED, _CANCELED):
            self.say(f"why: {self.explain()}")


def _there(arm: Arm, resource_id: str, what: str) -> dict[str, Any]:
    body = arm.get(resource_id, API_VERSION)
    if body is None:
        fix = "run `pulumi refresh` and `pulumi up` on the stack"
        raise WrongRunError(
            [Problem("--compute", f"{what} doesn't exist; it was deleted outside the stack", resource_id, fix=fix)]
        )
    return body


def _cluster(arm: Arm, view: StackView, name: str) -> dict[str, Any]:
    body = _there(arm, view.ml_computes[name], "the compute")
    kind = str((body.get("properties") or {}).get("computeType") or "")
    if kind != CLUSTER:
        where = "--on aks" if kind == "Kubernetes" else "--on vm"
        message = f"the compute is of kind {kind}, and runs require a compute cluster"
        raise WrongRunError([Problem("--compute", message, name, allowed=f"a compute of kind {CLUSTER}", fix=f"use {where}")])
    return body


def _of_quota(arm: Arm, compute: Mapping[str, Any], request: MlRequest) -> list[Problem]:
    """Quota problems of a job on several nodes. Not checked if this login may not read the region's usages."""
    if not request.group.is_several:
        return []
    try:
        listed = list(arm.values(usages.path(str(compute["id"]), str(compute.get("location") or "")), API_VERSION))
    except AzureError as error:
        if error.status == 403:
            return []
        raise
    return quota_problems(compute, request.group, listed)


def _environment(arm: Arm, view: StackView, workspace_id: str, request: MlRequest, say: Say) -> str:
    """The id of the environment's version, created if missing; its name and version are derived from the content."""
    context = request.target.context
    if context is None:
        image = request.target.image
        name, version = "run-image", content_hash({"image": image.encode()})
    else:
        built = bodies.image_context(context)
        image = registry_of(arm, view).build(built, say)
        name, version = built.repository.replace("/", "-"), built.tag
    environment_id = f"{workspace_id}/environments/{name}/versions/{version}"
    if arm.get(environment_id, API_VERSION) is None:
        arm.put(environment_id, API_VERSION, bodies.environment(image))
    return environment_id


def _code(arm: Arm, blobs: Blobs, workspace_id: str, request: MlRequest) -> str:
    """The id of the code's version, uploaded and registered if missing; "" without code."""
    files = bodies.code_files(request.target.context)
    if not files:
        return ""
    version = content_hash(files)
    code_id = f"{workspace_id}/codes/run/versions/{version}"
    if arm.get(code_id, API_VERSION) is not None:
        return code_id
    store = _there(arm, f"{workspace_id}/datastores/{DATASTORE}", "the workspace's datastore")
    container = str(store["properties"]["containerName"])
    for path, content in files.items():
        blobs.put(container, f"{UPLOADS}/{version}/{path}", content)
    arm.put(code_id, API_VERSION, bodies.code(f"{blobs.endpoint.rstrip('/')}/{container}/{UPLOADS}/{version}"))
    return code_id


def _settings(compute: Mapping[str, Any]) -> Mapping[str, Any]:
    return (compute.get("properties") or {}).get("properties") or {}


def _price(compute: Mapping[str, Any]) -> Price | None:
    settings = _settings(compute)
    size, place = str(settings.get("vmSize") or ""), str(compute.get("location") or "")
    spot = settings.get("vmPriority") not in (None, "Dedicated")
    return packaged().spot(size, place) if spot else packaged().on_demand(size, place)
