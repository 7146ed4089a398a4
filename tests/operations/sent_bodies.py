"""What `run` sends to Batch, a cluster, a workspace of Azure ML and a virtual machine, by the requests in `sent/requests.yaml`:
recorded in `sent/`, a file of each service. Run as a module it writes these again."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from azure_gpu.formats.task_file import Task, TaskFile
from azure_gpu_operations.batch.pool_facts import PoolFacts
from azure_gpu_operations.clusters.objects import Taint
from azure_gpu_operations.run.context import of_folder, of_script
from azure_gpu_operations.run.on_batch import plan as batch_plan
from azure_gpu_operations.run.on_batch.plan import Image, Placed, Storage
from azure_gpu_operations.run.on_batch.request import BatchRequest
from azure_gpu_operations.run.on_cluster import plan as cluster_plan
from azure_gpu_operations.run.on_cluster.placing import Placement
from azure_gpu_operations.run.on_cluster.request import ClusterRequest
from azure_gpu_operations.run.on_ml_cluster import plan as ml_plan
from azure_gpu_operations.run.on_ml_cluster.request import MlRequest
from azure_gpu_operations.run.on_vm import plan as vm_plan
from azure_gpu_operations.run.on_vm.request import VmRequest
from azure_gpu_operations.run.target import Target
from tests.operations.yaml_tables import made

SENT = Path(__file__).parent / "sent"
REQUESTS: dict[str, dict[str, Any]] = yaml.load((SENT / "requests.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
SCRIPT = of_script("train.py", "print(1)\n", "", "python:3.11-slim")
IDENTITY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"
BLOBS = "https://store.blob.core.windows.net/"
STORAGE = Storage(BLOBS, "runs", IDENTITY)
POOL = PoolFacts("train-1a2b3c4d", "Standard_NC4as_T4_v3", identities=(IDENTITY,))
MPI = POOL._replace(id="mpi-1a2b3c4d", inter_node=True, mpi="hpcx")
POOLS = {
    "train": POOL,
    "mpi": MPI,
    "group": MPI._replace(mpi="", image_mpi="hpcx"),
    "containers": MPI._replace(has_containers=True),
}


def target_of(row: Mapping[str, Any]) -> Target:
    given = row["target"]
    context = {"script": SCRIPT, "folder": of_folder("mnist", {"Dockerfile": row.get("dockerfile", "").encode()})}.get(given)
    return Target(context, "" if context else given, row.get("environment", {}), row.get("secrets", {}))


def to_batch(row: Mapping[str, Any]) -> dict[str, Any]:
    secrets_url = f"{STORAGE.url()}/run-x/environment" if "secrets" in row else ""
    placed = {
        "": Placed(files={"train.py": f"{BLOBS}runs/scripts/abc/train.py"}, storage=STORAGE, secrets_url=secrets_url),
        "own": Placed(image=Image("reg.azurecr.io/run/train:abc", "reg.azurecr.io", IDENTITY)),
        "public": Placed(image=Image(row["target"], "docker.io")),
        "none": Placed(),
    }[row.get("image", "")]
    task = made(Task, {"id": "main", "command": "", "path": "TARGET", **row.get("task", {})})
    job = made(TaskFile, row.get("job", {}) | {"tasks": []})._replace(tasks=(task,))
    pool = POOLS[row.get("pool", "train")]
    request = BatchRequest(target_of(row), job, **of_request(BatchRequest, row))
    return {
        "job": batch_plan.job_of("run-x", pool, request, placed).as_dict(),
        "task": batch_plan.task_of("run-x", task, pool, request, placed).as_dict(),
    }


def to_cluster(row: Mapping[str, Any]) -> dict[str, Any]:
    request = ClusterRequest(target_of(row), **of_request(ClusterRequest, row))
    gpu = Placement("nvidia.com/gpu", 1, "t4", (Taint("sku", "gpu", "NoSchedule"),), with_host=row.get("host", False))
    placed = gpu if row.get("gpus", 1) else Placement()
    job = cluster_plan.job("run-x", "jobs", "dev", request.target.image or "r.azurecr.io/run:1", request, placed)
    answered = {**job, "metadata": {**job["metadata"], "uid": "u1"}}
    secrets = {name: "hunter2" for name in row.get("secrets", {})}
    return {"job": job, **({"secret": cluster_plan.secret("jobs", "dev", secrets, answered)} if secrets else {})}


def to_ml(row: Mapping[str, Any]) -> dict[str, Any]:
    request = MlRequest(target_of(row), **of_request(MlRequest, row))
    known = {"compute_id": "/c", "environment_id": "/e", "code_id": row.get("code", ""), "stack": "dev"}
    return {"job": ml_plan.job("run-1", request, "the command", client_id=row.get("client_id"), **known)}


def to_vm(row: Mapping[str, Any]) -> dict[str, Any]:
    store = vm_plan.OutputStore("https://data.blob.core.windows.net/", row.get("client_id", ""))
    request = VmRequest(target_of(row), **of_request(VmRequest, row))
    return {"run command": vm_plan.body("run-train-20261122-120000-abcd", "eastus", "the script", store, request)}


def of_request(kind: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request that a row sets."""
    found = made(kind, {**row.get("request", {}), **({"job": {"tasks": []}} if kind is BatchRequest else {}), "target": {}})
    return {name: getattr(found, name) for name in row.get("request", {})}


SENDING: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "batch": to_batch,
    "cluster": to_cluster,
    "ml": to_ml,
    "vm": to_vm,
}


def recorded(service: str) -> dict[str, Any]:
    """By the names of the requests."""
    return yaml.load((SENT / f"{service}.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


def now(service: str, name: str) -> dict[str, Any]:
    return SENDING[service](REQUESTS[service][name])


def write() -> None:
    for service, rows in REQUESTS.items():
        text = yaml.safe_dump({name: now(service, name) for name in rows}, width=130)
        (SENT / f"{service}.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
