"""Runs jobs of Azure ML and the compute clusters that they run on.

Nodes are added when a job waits and removed when they are idle, by the embedded Azure's clock. A job runs in its environment's
image on one or several nodes. The store has a document for each cluster and each job, from which the next server continues.
Everything happens on the server's event loop.
"""

import asyncio
import logging
import shutil
from pathlib import Path

from azure_gpu.catalog import durations
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.containers.runtime import Runtime
from localazure.folder import random_secret, same_secret
from localazure.machines import ml_clusters, ml_job_files
from localazure.machines.machines import Machines
from localazure.machines.ml_clusters import Clusters, Jobs
from localazure.machines.ml_job_run import Ended, Run
from localazure.services import Services
from localazure.waiting import canceled

log = logging.getLogger(__name__)
_JOBS = "ml-jobs/"
ENDED = ("Completed", "Failed", "Canceled")
_ON_NODE = ("Preparing", "Running", "Finalizing")
_USER, _SYSTEM = "UserError", "SystemError"


class JobRunner:
    """All clusters and jobs of this server."""

    def __init__(self, services: Services, blobs: Blobs, machines: Machines, folder: Path) -> None:
        self._services = services
        self._blobs = blobs
        self._machines = machines
        self._folder = folder
        self._files = folder.parent / "ml-job-files"
        self._runtime = Runtime(folder)
        self.clusters = Clusters(services, Jobs(self._waiting, self._nodes_of, self._assign))
        self._jobs: dict[str, Body] = {}
        self._going: dict[str, asyncio.Task[None]] = {}  # by job
        self._stopped = False

    # Computes, for ARM

    async def remove_compute(self, compute_id: str) -> None:
        """The cluster goes; its jobs end with it."""
        key = compute_id.lower()
        for job_key, job in list(self._jobs.items()):
            if job["compute"] == key and job["status"] not in ENDED:
                await self._end(job_key, "Canceled", "", "The compute was deleted.")
        self.clusters.remove(key)

    # Jobs, for ARM

    def check(self, change: Change) -> None:
        """ArmError for what of a job isn't run here."""
        properties = change.properties
        compute = self._services.store.get(str(properties.get("computeId") or ""))
        kind = (compute.properties.get("computeType") if compute else "") or ""
        if kind != "AmlCompute":
            raise not_implemented(f"jobs on a compute of the type '{kind}'; only AmlCompute is supported")
        for what in ml_job_files.not_run(properties):
            raise not_implemented(what)
        limit = (properties.get("limits") or {}).get("timeout")
        if limit and durations.length(str(limit)) is None:
            raise ArmError(400, "UserError", f"'{limit}' isn't an ISO 8601 duration.", target="properties.limits.timeout")

    async def start(self, job: Resource) -> None:
        """Puts the job into its cluster's queue. It runs as its compute, whoever started it."""
        compute = str(job.properties["computeId"]).lower()
        self._jobs[job.key] = {
            "id": job.id.text,
            "compute": compute,
            "status": "Queued",
            "asked": self._now(),
            "secret": random_secret(),
            "nodes": [],
            "sent": [],
            "started": "",
            "ended": "",
            "code": "",
            "message": "",
            "exit": None,
        }
        self._save_job(job.key)
        self.clusters.look(compute)

    async def cancel(self, job: Resource) -> None:
        kept = self._jobs.get(job.key)
        if kept is None or kept["status"] in ENDED:
            return
        if kept["status"] == "Queued":
            await self._end(job.key, "Canceled", "", "")
            return
        kept["status"] = "CancelRequested"
        self._save_job(job.key)
        await self._runtime.stop(job.key)
        task = self._going.get(job.key)
        # Only while it hasn't got as far as a container: one that is ending must come to where it frees its node.
        if kept["status"] == "CancelRequested" and task is not None and not self._runtime.states(job.key):
            task.cancel()

    async def remove(self, job: Resource) -> None:
        await self._forget_run(job.key)
        kept = self._jobs.pop(job.key, None)
        if kept is not None:
            self.clusters.free(kept["compute"], job.key)
        self._services.store.delete_document(_JOBS + job.key)

    def job_view(self, job_id: str) -> Body:
        """The live part of a job's properties."""
        kept = self._jobs.get(job_id.lower())
        if kept is None:
            return {"status": "NotStarted"}
        told = {"azureml.nodeCount": str(len(kept["nodes"]))} if kept["started"] else {}
        times = {"StartTimeUtc": kept["started"], "EndTimeUtc": kept["ended"]}
        told |= {name: value for name, value in times.items() if value}
        if kept["code"]:
            told |= {"azureml.error.code": kept["code"], "azureml.error.message": kept["message"]}
        if kept["exit"] is not None:
            told["azureml.exitCode"] = str(kept["exit"])
        return {"status": kept["status"], "properties": told}

    def by_secret(self, secret: str) -> "Run | None":
        """Whose programs ask for a token."""
        on_nodes = ((key, one["secret"]) for key, one in self._jobs.items() if one["status"] in _ON_NODE)
        found = next((key for key, ours in on_nodes if same_secret(ours, secret)), None)
        return self._run_of(found) if found else None

    # Faults on purpose

    async def evict(self, name: str) -> list[str]:
        """Takes low-priority nodes away: of a cluster, or one of them (`COMPUTE/NODE`). Their jobs wait for another."""
        requested, _, node_id = name.partition("/")
        taken: list[str] = []
        for key, record in list(self.clusters.records.items()):
            scale = self.clusters.scale(key)
            if scale is None or not scale.low_priority or key.rsplit("/", 1)[-1] != requested.lower():
                continue
            for node in [one for one in ml_clusters.living(record) if not node_id or one["id"] == node_id]:
                taken.append(node["id"])
                await self._preempt(key, node)
        return taken

    async def _preempt(self, key: str, node: Body) -> None:
        job_key = node["job"]
        if job_key and self._jobs[job_key]["status"] != "CancelRequested":
            self._jobs[job_key].update(status="Queued", nodes=[], sent=[])  # before its containers end: that end isn't the job's
            self._save_job(job_key)
        self.clusters.preempt(key, node)
        if job_key:
            await self._forget_run(job_key)
            self.clusters.free(key, job_key)  # its other nodes

    # This server

    async def started(self) -> None:
        """Resumes clusters and jobs: what runs continues, what was being prepared begins again, what has ended is kept."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        store = self._services.store
        for name, kept in store.documents(_JOBS).items():
            key = name.removeprefix(_JOBS)
            if store.get(key) is None:
                store.delete_document(name)
            else:
                self._jobs[key] = kept
        running = ("Running", "CancelRequested")
        on_nodes = {key for key, one in self._jobs.items() if one["status"] in (*_ON_NODE, "CancelRequested")}
        at_work = {run.folder for key in on_nodes if (run := self._run_of(key)) is not None}
        for folder in self._files.glob("[!.]*/"):  # the server before was killed while it took a job's files away
            if folder not in at_work:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        await self._runtime.adopt([key for key, one in self._jobs.items() if one["status"] in running])
        for key in on_nodes:
            self._go(key, taken_up=self._jobs[key]["status"] in running)
        self.clusters.started(on_nodes)
        self._machines.each_tick(self.clusters.look_at_all)

    async def stopping(self) -> None:
        """This server ends; what runs continues for the next."""
        self._stopped = True
        await self.clusters.close()
        await canceled(*self._going.values())

    # Jobs on nodes

    def _waiting(self, key: str) -> list[str]:
        """The jobs that wait for a compute, the longest first."""
        found = [job for job, kept in self._jobs.items() if kept["compute"] == key and kept["status"] == "Queued"]
        return sorted(found, key=lambda job: self._jobs[job]["asked"])

    def _nodes_of(self, job_key: str) -> int:
        """On how many nodes at once a job runs."""
        job = self._services.store.get(job_key)
        return ml_job_files.count(job.properties) if job else 1

    def _assign(self, job_key: str, nodes: list[Body]) -> None:
        self._jobs[job_key].update(status="Preparing", nodes=[node["id"] for node in nodes])
        self._save_job(job_key)
        self._go(job_key, taken_up=False)

    def _go(self, job_key: str, *, taken_up: bool) -> None:
        task = self._going[job_key] = asyncio.create_task(self._guarded(job_key, taken_up=taken_up))
        task.add_done_callback(lambda _: self._going.pop(job_key, None) if self._going.get(job_key) is task else None)

    async def _guarded(self, job_key: str, *, taken_up: bool) -> None:
        try:
            await self._on_node(job_key, taken_up=taken_up)
        except asyncio.CancelledError:
            if not self._stopped and self._jobs.get(job_key, {}).get("status") == "CancelRequested":
                await self._end(job_key, "Canceled", "", "")
            raise
        except ArmError as error:
            await self._end(job_key, "Failed", _USER, error.message)
        except BlobError as error:
            await self._end(job_key, "Failed", _SYSTEM, f"The job's output could not be kept: {error.code}: {error.message}")
        except Exception:
            log.exception("the job %s failed", job_key)
            await self._end(job_key, "Failed", _SYSTEM, "The embedded Azure failed with an internal error; see its log.")

    async def _on_node(self, job_key: str, *, taken_up: bool) -> None:
        run, kept = self._run_of(job_key), self._jobs[job_key]
        if run is None:
            await self._end(job_key, "Failed", _SYSTEM, "The compute or the workspace of the job is gone.")
            return
        if kept["status"] == "Finalizing":
            await self._finalised(job_key, run)
            return
        if not taken_up:
            specs, volumes, puts = await run.prepared(kept["secret"], kept["nodes"])
            if kept["status"] != "CancelRequested":
                await run.start(specs, volumes)
            if kept["status"] == "CancelRequested":  # meanwhile
                await self._end(job_key, "Canceled", "", "")
                return
            kept.update(status="Running", started=self._now(), puts=puts, sent=[0] * len(specs))
            self._save_job(job_key)

        def told(worker: int, sent: int) -> None:
            kept["sent"][worker] = sent
            self._save_job(job_key)

        limit = durations.length(str((run.job.properties.get("limits") or {}).get("timeout") or ""))
        following = asyncio.create_task(run.followed(kept["sent"], told))
        try:
            done, _ = await asyncio.wait([following], timeout=limit.total_seconds() if limit else None)
            late = not done
            if late:
                await run.stop()
            ended = await following
        except asyncio.CancelledError:
            following.cancel()
            raise
        await self._over(job_key, run, ended, late=late)

    async def _over(self, job_key: str, run: Run, ended: Ended, *, late: bool) -> None:
        kept = self._jobs[job_key]
        if kept["status"] == "Queued":
            return  # its node was taken away: another one runs it again
        if kept["status"] == "CancelRequested":
            await self._end(job_key, "Canceled", "", "")
            return
        if late:
            await self._end(job_key, "Canceled", _USER, "The job ran longer than its limits.timeout and was canceled.")
            return
        if ended.stopped:  # the server before was taken down, and the node with it
            kept.update(status="Queued", nodes=[], sent=[])
            self._save_job(job_key)
            self.clusters.free(self._jobs[job_key]["compute"], job_key)
            return
        kept.update(status="Finalizing", exit=ended.code, worker=ended.worker)
        self._save_job(job_key)
        await self._finalised(job_key, run)

    async def _finalised(self, job_key: str, run: Run) -> None:
        """Keeps what the job has written; then it is over."""
        kept = self._jobs[job_key]
        await run.put_out(kept.get("puts") or ())
        if kept["exit"] == 0:
            await self._end(job_key, "Completed", "", "")
            return
        message = (
            f"Execution failed. User process '/bin/sh' exited with status code {kept['exit']}. Please check log file "
            f"'{ml_job_files.log_of(kept.get('worker', 0), len(kept['nodes']))}' for error details."
        )
        await self._end(job_key, "Failed", _USER, message)

    async def _end(self, job_key: str, status: str, code: str, message: str) -> None:
        kept = self._jobs.get(job_key)
        if kept is None:
            return
        kept.update(status=status, code=code, message=message, ended=self._now())
        self._save_job(job_key)
        task = self._going.get(job_key)
        if task is not None and task is not asyncio.current_task():
            await canceled(task)
        run = self._run_of(job_key)
        if run is not None:
            await run.remove()
        else:
            await self._runtime.remove(job_key)
        self.clusters.free(self._jobs[job_key]["compute"], job_key)

    async def _forget_run(self, job_key: str) -> None:
        task = self._going.pop(job_key, None)
        if task is not None and task is not asyncio.current_task():
            await canceled(task)
        await self._runtime.remove(job_key)

    def _run_of(self, job_key: str) -> Run | None:
        kept = self._jobs[job_key]
        store = self._services.store
        job, compute = store.get(job_key), store.get(kept["compute"])
        workspace = store.get(job.id.scope) if job else None
        if job is None or compute is None or workspace is None:
            return None
        return Run(
            job,
            compute,
            workspace,
            self._runtime,
            self._files / f"{job.id.name}-{kept['secret'][:8]}",
            self._blobs,
            self._services,
        )

    def _save_job(self, key: str) -> None:
        if key in self._jobs:
            self._services.store.put_document(_JOBS + key, self._jobs[key])

    def _now(self) -> str:
        return self._services.clock.stamp()
