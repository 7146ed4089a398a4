"""The services that `run` starts programs on, each as far as one run meets it, for the suite that all of them pass.

A service has one run of a program, and answers as the real one does: that it succeeded or failed, that its time was over, that it
was deleted, or not at all.
"""

import subprocess
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from azure.batch import models

from azure_gpu.formats.task_file import Task, TaskFile
from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.batch.pool_facts import facts_of
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.targets import ClusterTarget
from azure_gpu_operations.job_bodies import ContainerStatus, Execution, job_of
from azure_gpu_operations.run.on_batch import plan as batch_plan
from azure_gpu_operations.run.on_batch.request import BatchRequest
from azure_gpu_operations.run.on_batch.run import BatchRun, Brought
from azure_gpu_operations.run.on_cluster import plan as cluster_plan
from azure_gpu_operations.run.on_cluster.outcome import DEADLINE, JOB
from azure_gpu_operations.run.on_cluster.placing import Placement
from azure_gpu_operations.run.on_cluster.request import ClusterRequest
from azure_gpu_operations.run.on_cluster.run import ClusterRun
from azure_gpu_operations.run.on_job.request import JobRequest
from azure_gpu_operations.run.on_job.run import JobRun
from azure_gpu_operations.run.on_local.plan import Plan as Planned
from azure_gpu_operations.run.on_local.run import LocalRun
from azure_gpu_operations.run.on_ml_cluster.request import MlRequest
from azure_gpu_operations.run.on_ml_cluster.run import MlRun
from azure_gpu_operations.run.on_vm.request import VmRequest
from azure_gpu_operations.run.on_vm.run import VmRun
from azure_gpu_operations.run.protocol import Output, Run
from azure_gpu_operations.run.target import RunMethod, Target
from azure_gpu_operations.virtual_machines import Machine
from tests.operations import batch_answers, kubernetes_bodies

IMAGE = "docker.io/me/app:1"
TARGET = Target(image=IMAGE)
LATE, GONE = "late", "gone"  # in place of an exit code: the time is over; it was deleted


class Service:
    """`ends`: the program's exit code, LATE or GONE. `refuses`: what it answers to a stop. `sent`: what was changed in it."""

    stopping: tuple[str, ...]  # what stopping it sends

    def __init__(self) -> None:
        self.ends: int | str = 0
        self.looks: BaseException | None = None  # raised where its state is read
        self.refuses: BaseException | None = None
        self.sent: list[str] = []

    def run(self, output: Output, *, minutes: float | None = None) -> Run:
        """One that wasn't started yet."""
        raise NotImplementedError

    def look(self) -> None:
        if self.looks is not None:
            raise self.looks

    def change(self, what: str, *, stops: bool = False) -> None:
        self.sent.append(what)
        if stops and self.refuses is not None:
            raise self.refuses


class OnLocal(Service):
    """A process."""

    stopping = ("signal 15",)

    def run(self, output: Output, *, minutes: float | None = None) -> Run:
        planned = Planned(RunMethod.PYTHON, ())
        return LocalRun(planned, TARGET, "run-1", ["python"], {}, minutes, output)

    def popen(self, words: list[str], **_: Any) -> Any:
        """In place of `subprocess.Popen`."""
        self.change("start")
        return SimpleNamespace(wait=self._wait, send_signal=lambda number: self.change(f"signal {int(number)}"))

    def _wait(self, seconds: float | None = None) -> int:
        self.look()
        if self.ends == LATE and self.sent[-1] == "start":
            raise subprocess.TimeoutExpired("python", seconds or 0)
        return self.ends if isinstance(self.ends, int) else -15


class OnJob(Service):
    """A job of Container Apps."""

    stopping = ("stop run-1",)

    def run(self, output: Output, *, minutes: float | None = None) -> Run:
        jobs: Any = self
        job = job_of({"id": "/jobs/trainer", "name": "trainer"})
        request = JobRequest(TARGET, timeout_minutes=minutes)
        return JobRun("dev", "train", output, request, jobs, job, sleep=lambda _: None)

    def profile_type(self, _: object) -> str:
        return ""

    def start(self, *_: object) -> str:
        self.change("start")
        return "run-1"

    def execution(self, *_: object) -> Execution | None:
        self.look()
        if self.ends == GONE:
            return None
        if self.ends == LATE:
            return Execution("run-1", "Stopped" if "stop run-1" in self.sent else "Running")
        status = "Failed" if self.ends else "Succeeded"
        return Execution("run-1", status, containers=(ContainerStatus("r", "main", "Terminated", int(self.ends), ""),))

    def replicas(self, *_: object) -> list[dict[str, Any]]:
        return []

    def stop(self, _: object, name: str) -> None:
        self.change(f"stop {name}", stops=True)

    def wait_until_over(self, *_: object, **__: object) -> Execution | None:
        return Execution("run-1", "Stopped")


class OnBatch(Service):
    """A pool, whose task writes its exit code and nothing else."""

    stopping = ("terminate run-1",)
    location = "eastus"

    def run(self, output: Output, *, minutes: float | None = None) -> Run:
        account: Any = self
        pool = facts_of(batch_answers.pool())
        tasks = TaskFile((Task("main", "python train.py", "TARGET"),))
        request = BatchRequest(Target(), tasks, timeout_minutes=minutes)
        placed = batch_plan.Placed()
        job = batch_plan.job_of("run-1", pool, request, placed)
        return BatchRun("dev", "train", output, request, account, pool, Brought(placed), name="run-1", job=job, prepares=False)

    def create_job(self, _: object) -> None:
        self.change("start")

    def add_tasks(self, _: str, tasks: list[Any], added: Any) -> list[Any]:
        added(len(tasks))
        return []

    def end_when_done(self, _: str) -> None:
        pass

    def task(self, _: str, task_id: str) -> models.BatchTask | None:
        self.look()
        if self.ends == GONE:
            return None
        info: dict[str, Any] = {"retryCount": 0, "requeueCount": 0, "startTime": "2026-11-22T10:00:00Z"}
        code = 137 if self.ends == LATE else int(self.ends)
        info |= {"exitCode": code, "result": "failure" if code else "success", "endTime": "2026-11-22T10:05:00Z"}
        if self.ends == LATE:
            info["failureInfo"] = {"category": "usererror", "code": "TaskEnded", "message": "Task was terminated"}
        return models.BatchTask({"id": task_id, "state": "completed", "executionInfo": info, "nodeInfo": {"nodeId": "n"}})

    def tasks(self, job: str, condition: str = "") -> list[models.BatchTask]:
        found = self.task(job, "main")
        return [] if found is None else [found]

    def counts(self, _: str) -> None:
        return None

    def pool(self, _: str) -> models.BatchPool:
        return batch_answers.pool()

    def nodes(self, _: str) -> list[Any]:
        return []

    def read_from(self, *_: object) -> None:
        return None

    def task_file(self, *_: object) -> None:
        return None

    def terminate(self, name: str, _: str) -> None:
        self.change(f"terminate {name}", stops=True)

    def delete_job(self, name: str) -> None:
        self.change(f"delete {name}")


class OnCluster(Service):
    """A cluster of AKS."""

    stopping = ("delete run-1",)

    def run(self, output: Output, *, minutes: float | None = None) -> Run:
        api: Any = self
        request = ClusterRequest(TARGET, timeout_minutes=minutes)
        body = cluster_plan.job("run-1", "jobs", "dev", IMAGE, request, Placement())
        place = ClusterTarget("gpu", "/c", namespace="jobs")
        return ClusterRun("dev", "gpu", output, request, api, place, JOB, name="run-1", body=body)

    def create(self, _: str, body: dict[str, Any]) -> dict[str, Any]:
        self.change("start")
        return body

    def delete(self, path: str) -> None:
        self.change(f"delete {path.rpartition('/')[2]}", stops=True)

    def get(self, path: str) -> dict[str, Any] | None:
        self.look()
        if "/nodes/" in path or self.ends == GONE:
            return None
        failed = kubernetes_bodies.failed(DEADLINE) if self.ends == LATE else kubernetes_bodies.failed()
        return kubernetes_bodies.job("run-1", conditions=[failed if self.ends else kubernetes_bodies.complete()])

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        if not path.endswith("/pods") or not isinstance(self.ends, int):
            return []
        phase = "Failed" if self.ends else "Succeeded"
        return [kubernetes_bodies.pod("run-1-abcde", phase=phase, node="n", container=kubernetes_bodies.ended(self.ends))]

    def log(self, *_: object, **__: object) -> Iterator[str]:
        return iter(())


class OnArm(Service):
    """What Resource Manager has of a run."""

    def put(self, resource_id: str, *_: object) -> None:
        self.change("start" if resource_id.endswith("run-1") else f"put {resource_id.rpartition('/')[2]}")

    def delete(self, resource_id: str, _: str) -> None:
        self.change(f"delete {resource_id.rpartition('/')[2]}", stops=True)

    def post(self, path: str, _: str) -> None:
        self.change(" ".join(reversed(path.rsplit("/", 2)[1:])), stops=True)

    def get(self, *_: object, **__: str) -> dict[str, Any] | None:
        self.look()
        return None if self.ends == GONE else {"properties": self.properties()}

    def properties(self) -> dict[str, Any]:
        raise NotImplementedError


class OnVm(OnArm):
    """A machine."""

    stopping = ("delete run-1", "delete run-1/stdout.txt", "delete run-1/stderr.txt")

    def run(self, output: Output, *, minutes: float | None = None) -> Run:
        arm: Any = self
        blobs: Any = SimpleNamespace(read_from=lambda *_: None, delete=lambda _, path: self.change(f"delete {path}"))
        machine = Machine("/vm", "box", size="Standard_NC4as_T4_v3", location="eastus")
        request = VmRequest(TARGET, timeout_minutes=minutes)
        return VmRun("dev", "box", output, request, arm, blobs, machine, None, name="run-1", body={})

    def properties(self) -> dict[str, Any]:
        state = "TimedOut" if self.ends == LATE else "Failed" if self.ends else "Succeeded"
        times = {"startTime": "2026-11-22T10:00:00Z", "endTime": "2026-11-22T10:05:00Z"}
        return {"instanceView": {"executionState": state, "exitCode": self.ends if isinstance(self.ends, int) else None, **times}}


class OnMlCluster(OnArm):
    """A compute cluster of a workspace."""

    stopping = ("cancel run-1",)

    def run(self, output: Output, *, minutes: float | None = None) -> Run:
        arm: Any = self
        blobs: Any = SimpleNamespace(names=lambda *_: [_LOG], read_from=lambda _, __, at: self._log()[at:])
        compute = {"location": "eastus", "properties": {"properties": {"vmSize": "Standard_NC4as_T4_v3"}}}
        request = MlRequest(TARGET, timeout_minutes=minutes)
        return MlRun("dev", "gpu", output, request, arm, blobs, compute, "/ws/jobs/run-1", body={})

    def _log(self) -> bytes:
        return f"azure-gpu: exit {self.ends}\n".encode() if isinstance(self.ends, int) else b""

    def properties(self) -> dict[str, Any]:
        status = "Canceled" if self.ends == LATE else "Failed" if self.ends else "Completed"
        status = "Running" if self.refuses is REFUSALS["cluster"] else status
        return {"status": status, "properties": {"StartTimeUtc": "2026-11-22T10:00:00Z", "EndTimeUtc": "2026-11-22T10:05:00Z"}}


_LOG = "ExperimentRun/dcid.run-1/user_logs/std_log.txt"
SERVICES: Mapping[str, type[Service]] = {
    "local": OnLocal,
    "job": OnJob,
    "batch": OnBatch,
    "aks": OnCluster,
    "vm": OnVm,
    "cluster": OnMlCluster,
}
REFUSALS: Mapping[str, Exception] = {
    "job": AzureError("Conflict: busy", 409),
    "batch": AzureError("Conflict: busy", 409),
    "aks": ClusterError("Conflict: busy", 409),
    "vm": AzureError("Conflict: busy", 409),
    "cluster": AzureError("Conflict: busy", 409),
}
