"""A run on a compute cluster of a stack's workspace, from what is asked for to the exit code: builds its environment, uploads and
registers its code, submits a job, follows it, sums up.

In: a stack's view, the compute's name in it, a `Wanted`. Out: an exit code; the job's log on standard output, all else on
standard error. Loaded when a run begins. Code goes to the workspace's storage account with the token of this login; the log comes
from there in the same way.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import requests
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.problems import Problem
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import job_cost
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.batch.blobs import Blobs
from azure_gpu_operations.machine_learning import job_log
from azure_gpu_operations.machine_learning.endpoints import API_VERSION, seconds_of
from azure_gpu_operations.run import names
from azure_gpu_operations.run.command import FAILED_RUN, INTERRUPTED, TIMED_OUT
from azure_gpu_operations.run.context import content_hash
from azure_gpu_operations.run.errors import RunError, WrongRunError
from azure_gpu_operations.run.on_ml_cluster import plan
from azure_gpu_operations.run.on_ml_cluster.follow import End, Follower
from azure_gpu_operations.run.on_ml_cluster.wanted import Wanted
from azure_gpu_operations.run.stack_registry import of_stack
from azure_gpu_operations.stack_view import StackView

CLUSTER = "AmlCompute"
DATASTORE = "workspaceblobstore"  # the workspace's own for code and data
UPLOADS = "LocalUpload"  # where Azure's own client puts code
_CANCELED = "Canceled"

Say = Callable[[str], None]


def run(view: StackView, name: str, wanted: Wanted, *, detach: bool, show: Say, say: Say) -> int:
    """The exit code of what ran."""
    with closing(Arm(view.connection)) as arm:
        workspace_id = view.ml_computes[name].rpartition("/computes/")[0]
        workspace = _there(arm, workspace_id, "the workspace")
        compute = _cluster(arm, view, name)
        text, problems = plan.command(wanted)
        if problems:
            raise WrongRunError(problems)
        environment_id = _environment(arm, view, workspace_id, wanted, say)
        with closing(Blobs(arm, str(workspace["properties"]["storageAccount"]))) as blobs:
            code_id = _code(arm, blobs, workspace_id, wanted)
            job_name = names.of_run(wanted.target)
            session = _Session(arm, blobs, view, name, compute, workspace_id, job_name, show, say)
            try:
                session.send(
                    plan.job(
                        job_name,
                        wanted,
                        text,
                        compute_id=view.ml_computes[name],
                        environment_id=environment_id,
                        code_id=code_id,
                        stack=view.name,
                        client_id=_client_id(compute),
                    ),
                    wanted,
                )
                if detach:
                    say(f"it runs on; what became of it: {COMMAND} explain {job_name} --stack {view.name}")
                    return 0
                return session.sum_up(session.follower.follow(), wanted)
            except KeyboardInterrupt:
                return session.interrupted()


def _there(arm: Arm, resource_id: str, what: str) -> dict[str, Any]:
    body = arm.get(resource_id, API_VERSION)
    if body is None:
        fix = "run `pulumi refresh` and `pulumi up` on the stack"
        raise WrongRunError([Problem("--compute", f"{what} isn't there: somebody has deleted it", resource_id, fix=fix)])
    return body


def _cluster(arm: Arm, view: StackView, name: str) -> dict[str, Any]:
    body = _there(arm, view.ml_computes[name], "the compute")
    kind = str((body.get("properties") or {}).get("computeType") or "")
    if kind != CLUSTER:
        where = "--on aks" if kind == "Kubernetes" else "--on vm"
        message = f"the compute is of kind {kind}, and jobs are sent to a cluster of machines"
        raise WrongRunError([Problem("--compute", message, name, allowed=f"a compute of kind {CLUSTER}", fix=f"write {where}")])
    return body


def _client_id(compute: Mapping[str, Any]) -> str | None:
    """Of the identity that the cluster was given; "" for one of its own, None for none."""
    identity = compute.get("identity") or {}
    given = (identity.get("userAssignedIdentities") or {}).values()
    return next((str(each.get("clientId") or "") for each in given), "" if identity.get("principalId") else None)


def _environment(arm: Arm, view: StackView, workspace_id: str, wanted: Wanted, say: Say) -> str:
    """The id of the environment's version, made where it isn't there: its name and version say its content."""
    context = wanted.target.context
    if context is None:
        image = wanted.target.image
        name, version = "run-image", content_hash({"image": image.encode()})
    else:
        built = plan.image_context(context)
        image = of_stack(arm, view).build(built, say)
        name, version = built.repository.replace("/", "-"), built.tag
    environment_id = f"{workspace_id}/environments/{name}/versions/{version}"
    if arm.get(environment_id, API_VERSION) is None:
        arm.put(environment_id, API_VERSION, plan.environment(image))
    return environment_id


def _code(arm: Arm, blobs: Blobs, workspace_id: str, wanted: Wanted) -> str:
    """The id of the code's version, uploaded and registered where it isn't there; "" where there is none."""
    files = plan.code_files(wanted.target.context)
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
    arm.put(code_id, API_VERSION, plan.code(f"{blobs.endpoint.rstrip('/')}/{container}/{UPLOADS}/{version}"))
    return code_id


class _Session:
    """One job."""

    def __init__(
        self,
        arm: Arm,
        blobs: Blobs,
        view: StackView,
        name: str,
        compute: Mapping[str, Any],
        workspace_id: str,
        job_name: str,
        show: Say,
        say: Say,
    ) -> None:
        self._arm, self._view, self._compute_name, self._compute, self._name = arm, view, name, compute, job_name
        self._id, self._say = f"{workspace_id}/jobs/{job_name}", say
        self._is_sent = False
        log = (job_log.CONTAINER, job_log.blob_of(job_name))
        self.follower = Follower(arm, self._id, lambda at: blobs.read_from(*log, at), show=show, say=say)

    def send(self, body: dict[str, Any], wanted: Wanted) -> None:
        self._is_sent = True  # from here on it may be there, whatever is answered
        self._arm.put(self._id, API_VERSION, body)
        self._say(f"started {wanted.target.described} on compute {self._compute_name}: job {self._name}")

    def interrupted(self) -> int:
        if not self._is_sent:
            return INTERRUPTED
        try:
            self._arm.post(f"{self._id}/cancel", API_VERSION)
        except (KeyboardInterrupt, AzureError, AzureCoreError, requests.RequestException) as error:
            told = f" ({error})" if str(error) else ""
            self._say(f"the job {self._name} may still run and cost{told}; see: {COMMAND} running")
            return INTERRUPTED
        self._say(f"{self._compute_name}: canceled at your word; {self._cost(self.follower.seconds)}")
        return INTERRUPTED

    def sum_up(self, end: End, wanted: Wanted) -> int:
        if not end.status:
            raise RunError(f"the job {self._name} isn't there any more: somebody has deleted it, or the workspace")
        cost = self._cost(end.seconds)
        if end.status == _CANCELED and wanted.timeout_minutes is not None and "cancel" not in end.message.lower():
            self._say(f"{self._compute_name}: stopped when its time was over; {cost}")
            return TIMED_OUT
        code = end.exit_code if end.exit_code is not None else 0 if end.status == "Completed" else FAILED_RUN
        told = f"exit code {end.exit_code}" if end.exit_code is not None else end.message or "the service tells no exit code"
        self._say(f"{self._compute_name}: {end.status}, {told}; {cost}")
        if code:
            self._say(f"why: {COMMAND} explain {self._name} --stack {self._view.name}")
        return code

    def _cost(self, seconds: float | None) -> str:
        """Of its node while it worked for the job. It stays for the cluster's idle time, and costs then, too."""
        told = job_cost.summary(seconds, _price(self._compute), datetime.now(UTC).date())
        scale = _settings(self._compute).get("scaleSettings") or {}
        least = int(scale.get("minNodeCount") or 0)
        idle = seconds_of(scale.get("nodeIdleTimeBeforeScaleDown"))
        stays = "which goes when it is idle" if idle is None else f"which stays for {idle / 60:g} idle minutes"
        return f"{told} for its node, " + (stays if least == 0 else f"and {least} of the cluster's nodes always stay")


def _settings(compute: Mapping[str, Any]) -> Mapping[str, Any]:
    return (compute.get("properties") or {}).get("properties") or {}


def _price(compute: Mapping[str, Any]) -> Price | None:
    settings = _settings(compute)
    size, place = str(settings.get("vmSize") or ""), str(compute.get("location") or "")
    spot = settings.get("vmPriority") not in (None, "Dedicated")
    return packaged().spot(size, place) if spot else packaged().on_demand(size, place)
