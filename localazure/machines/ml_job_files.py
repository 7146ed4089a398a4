"""Files of a job of Azure ML: code, inputs and outputs, and the identity that accesses them.

ArmError is the job's failure. Blobs are read by the compute's identity, else by the workspace's; logs and artifacts are the
service's own to write. A job with `distribution` of the type TensorFlow runs its command once on each node, and the service sets
TF_CONFIG there: Microsoft Learn, machine-learning/how-to-train-tensorflow ("Distributed training"), REST reference 2025-12-01,
`TensorFlow`.
"""

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog import roles
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Resource
from localazure.blobs.containers import container_key
from localazure.blobs.service import Blobs
from localazure.kinds import ml_uris
from localazure.kinds.ml_assets import version_at
from localazure.kinds.ml_datastores import ARTIFACTS_CONTAINER, BLOB_STORE
from localazure.kinds.roles import has_role
from localazure.ml import downloads
from localazure.ml.access import Identity
from localazure.services import Services

INPUTS, OUTPUTS, WORKING = "/mnt/azureml/inputs", "/mnt/azureml/outputs", "/mnt/azureml/cr/wd"
FOLDERS = ("uri_folder", "mltable", "custom_model", "mlflow_model", "triton_model")
FILES = ("uri_file",)
LITERAL = "literal"
OWN_OUTPUTS = "outputs"  # of the working folder: goes to the artifacts without being asked
_MAY_WRITE = frozenset({roles.STORAGE_BLOB_DATA_CONTRIBUTOR, roles.STORAGE_BLOB_DATA_OWNER})
_VALID = timedelta(days=7)
_NAME = re.compile(r"[A-Za-z0-9_]+")
_REFERENCE = re.compile(r"\$\{\{\s*(inputs|outputs|search_space)\.([A-Za-z0-9_]+)\s*\}\}")
_NAMED = re.compile(r"azureml:(?P<name>[^:/]+):(?P<version>[^:/]+)")


class JobIdentity(Identity):
    """As whom a job reads and pulls: the compute's identities, else the workspace's."""

    def __init__(self, compute: Resource, workspace: Resource, services: Services) -> None:
        has = (compute.body.get("identity") or {}).get("type", "None") not in ("None", "")
        super().__init__(compute if has else workspace, workspace, services)
        self._of_compute = has

    @property
    def shown(self) -> str:
        return super().shown.replace("endpoint", "compute" if self._of_compute else "workspace")

    def may_write(self, account: Resource, container: str) -> bool:
        scope = container_key(account, container)
        return any(has_role(self._services, each, _MAY_WRITE, scope) for each in self.principals())

    def principals(self) -> Iterator[str]:
        yield from self._principals()


class JobOutput(NamedTuple):
    """A folder of the job whose files are uploaded to blob storage at the end."""

    folder: Path
    place: ml_uris.BlobPlace


class JobFiles(NamedTuple):
    """The files of a job on its node."""

    mounts: dict[str, Path]  # by path as the job knows it
    words: dict[str, str]  # by `inputs.name` and `outputs.name`
    puts: tuple[JobOutput, ...]


def check(properties: Body) -> str:
    """What of the job's inputs and outputs isn't imitated; "" where nothing is. ArmError for a name that none can have."""
    for kind, given in (("inputs", properties.get("inputs")), ("outputs", properties.get("outputs"))):
        for name, value in (given or {}).items():
            if not _NAME.fullmatch(name):  # it becomes part of a path
                message = f"'{name}' isn't a valid name of {kind}; one has letters, digits and underscores."
                raise ArmError(400, "UserError", message, target=f"properties.{kind}")
            of_type = str(value.get("jobInputType") or value.get("jobOutputType") or "")
            if of_type.lower() not in (*FOLDERS, *FILES, *((LITERAL,) if kind == "inputs" else ())):
                return f"the {kind[:-1]} '{name}' of the type '{of_type}'"
    return ""


async def lay_out(
    job: Resource,
    folder: Path,
    identity: JobIdentity,
    workspace: Resource,
    log: downloads.InitializerLog,
    blobs: Blobs,
    services: Services,
) -> JobFiles:
    """Brings code and inputs, and makes room for outputs. ArmError where something isn't available."""
    properties = job.properties
    code = folder / "code"
    await asyncio.to_thread(code.mkdir, parents=True, exist_ok=True)
    found = (
        version_at(str(properties.get("codeId") or ""), azure_types.ML_CODE_VERSION, services)
        if properties.get("codeId")
        else None
    )
    if found is not None:
        await downloads.fetch("code", str(found.properties["codeUri"]), code, workspace, identity, log, blobs, services)
    mounts: dict[str, Path] = {WORKING: code}
    words: dict[str, str] = {}
    for name, given in (properties.get("inputs") or {}).items():
        if str(given.get("jobInputType")).lower() == LITERAL:
            words[f"inputs.{name}"] = str(given.get("value") or "")
            continue
        target = folder / "inputs" / name
        uri = _uri_of(str(given.get("uri") or ""), workspace, services)
        await downloads.fetch("input", uri, target, workspace, identity, log, blobs, services)
        mounts[f"{INPUTS}/{name}"] = target
        alone = str(given.get("jobInputType")).lower() in FILES
        words[f"inputs.{name}"] = f"{INPUTS}/{name}/{uri.rstrip('/').rsplit('/', 1)[-1]}" if alone else f"{INPUTS}/{name}"
    puts: list[JobOutput] = []
    for name, given in (properties.get("outputs") or {}).items():
        target = folder / "outputs" / name
        await asyncio.to_thread(target.mkdir, parents=True, exist_ok=True)
        uri = str(given.get("uri") or f"azureml://datastores/{BLOB_STORE}/paths/azureml/{job.id.name}/{name}/")
        puts.append(JobOutput(target, _place(uri, name, workspace, identity, services)))
        mounts[f"{OUTPUTS}/{name}"] = target
        alone = str(given.get("jobOutputType")).lower() in FILES
        words[f"outputs.{name}"] = f"{OUTPUTS}/{name}/{name}" if alone else f"{OUTPUTS}/{name}"
    artifacts = artifact_place(job, OWN_OUTPUTS, workspace, services)
    if artifacts is not None:
        puts.append(JobOutput(code / OWN_OUTPUTS, artifacts))
    return JobFiles(mounts, words, tuple(puts))


def command(text: str, words: dict[str, str]) -> str:
    """The job's command with its references filled in."""

    def filled(found: re.Match[str]) -> str:
        return words.get(f"{found[1]}.{found[2]}", found[0])

    return _REFERENCE.sub(filled, text)


async def put_out(puts: tuple[JobOutput, ...], blobs: Blobs, services: Services) -> int:
    """Uploads what the job has written; how many files."""
    count = 0
    for put in puts:
        files = await asyncio.to_thread(lambda folder: sorted(one for one in folder.rglob("*") if one.is_file()), put.folder)
        if not files:
            continue
        account = put.place.account.id.name.lower()
        await blobs.ensure_container(account, put.place.container)
        url = blobs.sas_url(account, put.place.container, "", "racw", services.clock.now() + _VALID)
        for file in files:
            below = file.relative_to(put.folder).as_posix()
            await blobs.upload(file, url, "/".join(part for part in (put.place.path, below) if part))
            count += 1
    return count


def artifact_place(job: Resource, path: str, workspace: Resource, services: Services) -> ml_uris.BlobPlace | None:
    """Where the workspace keeps what a job leaves; None where its storage account is gone."""
    account = services.store.get(str(workspace.properties.get("storageAccount") or ""))
    return ml_uris.BlobPlace(account, ARTIFACTS_CONTAINER, f"{ml_uris.RUNS}{job.id.name}/{path}") if account else None


def signed(place: ml_uris.BlobPlace, blobs: Blobs, services: Services) -> str:
    """An address at which the service itself may write."""
    account = place.account.id.name.lower()
    return blobs.sas_url(account, place.container, place.path, "racw", services.clock.now() + _VALID)


def _uri_of(text: str, workspace: Resource, services: Services) -> str:
    """A URI, or that of the model that a name or an id means."""
    named = _NAMED.fullmatch(text)
    if named:
        text = f"{workspace.id.text}/models/{named['name']}/versions/{named['version']}"
    parsed = parse(text.removeprefix("azureml:"))
    if parsed is None:
        return text
    found = version_at(text, azure_types.ML_MODEL_VERSION, services)
    if found is None:
        raise ArmError(400, "UserError", f"The input '{text}' was not found among the models of the workspace.")
    return str(found.properties["modelUri"])


def _place(uri: str, name: str, workspace: Resource, identity: JobIdentity, services: Services) -> ml_uris.BlobPlace:
    place = ml_uris.blob_of(uri, workspace, services)
    if place is None:
        raise ArmError(400, "UserError", f"The output '{name}' isn't in the embedded Azure's blob storage: '{uri}'.")
    if not identity.may_write(place.account, place.container):
        where = f"{place.account.id.name}/{place.container}"
        message = f"The output '{name}' can't be written: {identity.shown} needs Storage Blob Data Contributor on {where}."
        raise ArmError(403, "UserError", message)
    return place


TENSORFLOW = "TensorFlow"
_HOST = "127.0.0.1"
_ALONE = "user_logs/std_log.txt"


def count(properties: Body) -> int:
    """On how many nodes the job runs."""
    return max(1, int((properties.get("resources") or {}).get("instanceCount") or 1))


def left_out(properties: Body) -> str:
    """What of the job's distribution isn't run here; "" where all of it is."""
    distribution: Body = properties.get("distribution") or {}
    kind, nodes = str(distribution.get("distributionType") or ""), count(properties)
    if not kind:
        return "jobs on more than one node without a distribution" if nodes > 1 else ""
    if kind != TENSORFLOW:
        return f"a distribution of the type '{kind}'"
    if int(distribution.get("parameterServerCount") or 0):
        return "parameter servers of a distribution"
    if int(distribution.get("workerCount") or nodes) != nodes:
        return "another number of workers than of nodes"
    return ""


def addresses(workers: int) -> list[str]:
    """Where workers meet: each at its own port, since all nodes are this machine."""
    with contextlib.ExitStack() as probing:
        probes = [probing.enter_context(socket.create_server((_HOST, 0))) for _ in range(workers)]
        return [f"{_HOST}:{each.getsockname()[1]}" for each in probes]


def variables(properties: Body, index: int, addresses: Sequence[str]) -> dict[str, str]:
    """What worker `index` finds in its environment; `addresses` are all workers', host and port."""
    found = {"AZUREML_NODE_COUNT": str(count(properties)), "NODE_RANK": str(index)}
    if (properties.get("distribution") or {}).get("distributionType") != TENSORFLOW:
        return found
    task = {"type": "worker", "index": index}
    return {**found, "TF_CONFIG": json.dumps({"cluster": {"worker": list(addresses)}, "task": task, "environment": "cloud"})}


def log_of(index: int, workers: int) -> str:
    """The file of a worker's output: `std_log.txt` of one that is alone, else one for each process, as public logs of jobs show
    them: `std_log_process_0.txt`, with as many digits as the last has."""
    return _ALONE if workers <= 1 else f"user_logs/std_log_process_{index:0{len(str(workers - 1))}}.txt"
