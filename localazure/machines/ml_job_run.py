"""One run of a job of Azure ML on its nodes: its files, its environment's image, and the containers that are started from it.

A container runs on each node; its output is written to logs in the workspace's storage while it runs. ArmError is the job's
failure. Blobs are read by the compute's identity, else by the workspace's; logs and artifacts are the service's own to write.
Variables: Microsoft Learn, machine-learning/how-to-track-experiments-mlflow and how-to-train-with-custom-image.
"""

import asyncio
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog import roles
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from azure_gpu.formats.conda_file import CondaFileError
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Resource
from localazure.blobs.containers import container_key
from localazure.blobs.service import Blobs
from localazure.containers.build_log import BuildFailedError
from localazure.containers.container_spec import ContainerSpec
from localazure.containers.followed_log import FollowedLog
from localazure.containers.images import Image
from localazure.containers.runtime import Runtime
from localazure.containers.volumes import Mount, MountFailedError, Volume, Volumes
from localazure.kinds import images, ml_uris
from localazure.kinds.images import UnavailableError
from localazure.kinds.ml_assets import version_at
from localazure.kinds.ml_datastores import ARTIFACTS_CONTAINER, BLOB_STORE
from localazure.kinds.roles import has_role
from localazure.kubernetes.gpu_programs import Programs
from localazure.kubernetes.node_gpus import NodeGpu, Visible, gpus
from localazure.machines import identity_tokens, ml_job_files as files, paths
from localazure.machines.model import DRIVER_OF_IMAGES, gpu_node
from localazure.ml import conda, downloads
from localazure.ml.access import Identity
from localazure.ml.downloads import InitializerLog
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION

CONTAINER = "job"
_NODES = "node"
LOOK_SECONDS = 0.15
_INPUTS, _OUTPUTS, _WORKING = "/mnt/azureml/inputs", "/mnt/azureml/outputs", "/mnt/azureml/cr/wd"
_OWN_OUTPUTS = "outputs"  # of the working folder: goes to the artifacts without being asked
_MAY_WRITE = frozenset({roles.STORAGE_BLOB_DATA_CONTRIBUTOR, roles.STORAGE_BLOB_DATA_OWNER})
_VALID = timedelta(days=7)
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


Put = tuple[str, str, str, str]  # a folder whose files are uploaded at the end; the account's id, the container, the path


class JobFiles(NamedTuple):
    """The files of a job on its node."""

    mounts: dict[str, Path]  # by path as the job knows it
    words: dict[str, str]  # by `inputs.name` and `outputs.name`


class Ended(NamedTuple):
    """How the containers ended: the first that failed, else the last."""

    code: int
    stopped: bool  # it was asked to end, or was taken down with this server
    worker: int = 0


class Run:
    """A job on a node. `folder` holds its files while it runs."""

    def __init__(
        self,
        job: Resource,
        compute: Resource,
        workspace: Resource,
        runtime: Runtime,
        folder: Path,
        blobs: Blobs,
        services: Services,
    ) -> None:
        self.job = job
        self.compute = compute
        self.workspace = workspace
        self.folder = folder
        self.identity = JobIdentity(compute, workspace, services)
        self._runtime = runtime
        self._blobs = blobs
        self._services = services

    async def prepared(self, secret: str, nodes: Sequence[str]) -> tuple[list[ContainerSpec], Volumes, list[Put]]:
        """Everything that the containers on these nodes need. ArmError where something isn't available."""
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)
        await asyncio.to_thread(self.folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        log = InitializerLog(self.folder / "preparation.log")
        image = await self._image(self.folder / "build.log")
        run = secret[:16] + nodes[0][6:22]
        addresses = files.addresses(len(nodes))
        specs: list[ContainerSpec] = []
        volumes: list[Volume] = []
        puts: list[Put] = []
        size = SIZES.find(str((self.compute.properties.get("properties") or {}).get("vmSize") or ""))
        for index, node in enumerate(nodes):
            folder = self.folder / str(index)
            record = gpu_node(size, node, self.compute.created_at, DRIVER_OF_IMAGES)
            seen = tuple(gpus(record))
            laid = await self._laid_out(folder, log, puts)
            own = [Volume(name=f"v{index}-{number}", shared=path) for number, path in enumerate(laid.mounts.values())]
            line = files.command(str(self.job.properties.get("command") or ""), laid.words)
            specs.append(
                ContainerSpec(
                    name=_container(index),
                    image=replace(image, workdir=_WORKING),
                    command=("/bin/sh", "-c", paths.in_image(line, image.root, image.workdir)),
                    env=self._variables(laid, index, addresses),
                    machines_env=identity_tokens.metadata_variables(secret, self._services),
                    programs=self._gpu_programs(seen, record, folder / "gpu"),
                    restart_policy="Never",
                    gpu_count=len(seen),
                    gpus_visible="all" if seen else "",
                    run=run,
                    mounts=tuple(Mount(one.name, path) for one, path in zip(own, laid.mounts, strict=True)),
                )
            )
            volumes += own
        return specs, Volumes(run=run, volumes=tuple(volumes)), puts

    async def start(self, specs: list[ContainerSpec], volumes: Volumes) -> None:
        try:
            await self._runtime.start(self.job.key, specs, volumes)
        except MountFailedError as error:
            raise ArmError(400, "UserError", str(error)) from error

    async def followed(self, sent: Sequence[int], told: Callable[[int, int], None]) -> Ended:
        """Sends their output on until they have ended; one that fails ends the others. `sent`: bytes of the logs that are there
        already."""
        following = [asyncio.create_task(self._followed(worker, already, told)) for worker, already in enumerate(sent)]
        try:
            first = await self._first_failed(following)
            if first is not None and len(following) > 1:
                await self.stop()
            ended = [await each for each in following]
        finally:
            for each in following:
                each.cancel()
        return first or ended[-1]

    async def _first_failed(self, following: Sequence["asyncio.Task[Ended]"]) -> Ended | None:
        for each in asyncio.as_completed(following):
            ended = await each
            if ended.code or ended.stopped:
                return ended
        return None

    async def _followed(self, worker: int, sent: int, told: Callable[[int, int], None]) -> Ended:
        """One container."""
        log_file = files.log_of(worker, files.count(self.job.properties))
        storage, url = self._artifacts(), ""
        if storage is not None:
            account, path = storage.id.name.lower(), self._artifact(log_file)
            url = self._blobs.sas_url(account, ARTIFACTS_CONTAINER, path, "racw", self._services.clock.now() + _VALID)
            if not sent:
                await self._blobs.ensure_container(account, ARTIFACTS_CONTAINER)
                await self._blobs.begin_append(url)
        log, seen = FollowedLog(self._runtime.folder_of(self.job.key, _container(worker)) / "log"), 0
        while True:
            state = self._runtime.states(self.job.key).get(_container(worker))
            over = state is None or state["ended"]
            content = await asyncio.to_thread(log.read_on, ended=over)
            fresh = content[max(0, sent - seen) :]
            seen += len(content)
            if fresh and url:
                await self._blobs.append(url, fresh)
                sent += len(fresh)
                told(worker, sent)
            if over:
                return _ended(state, worker)
            await asyncio.sleep(LOOK_SECONDS)

    async def stop(self) -> None:
        await self._runtime.stop(self.job.key)

    async def remove(self) -> None:
        await self._runtime.remove(self.job.key)
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    async def put_out(self, puts: Sequence[Sequence[str]]) -> None:
        """Uploads what the job has written."""
        for folder, account_id, container, path in puts:
            account = self._services.store.get(account_id)
            found = await asyncio.to_thread(_files_below, Path(folder)) if account else []
            if account is None or not found:
                continue
            name = account.id.name.lower()
            await self._blobs.ensure_container(name, container)
            url = self._blobs.sas_url(name, container, "", "racw", self._services.clock.now() + _VALID)
            for file in found:
                below = file.relative_to(folder).as_posix()
                await self._blobs.upload(file, url, "/".join(part for part in (path, below) if part))

    # Its files

    async def _laid_out(self, folder: Path, log: InitializerLog, puts: list[Put]) -> JobFiles:
        """Brings code and inputs, and makes room for outputs. ArmError where something isn't available."""
        properties = self.job.properties
        code = folder / "code"
        await asyncio.to_thread(code.mkdir, parents=True, exist_ok=True)
        found = version_at(str(properties.get("codeId") or ""), azure_types.ML_CODE_VERSION, self._services)
        if found is not None:
            await self._fetch("code", str(found.properties["codeUri"]), code, log)
        laid = JobFiles({_WORKING: code}, {})
        for name, given in (properties.get("inputs") or {}).items():
            kind = str(given.get("jobInputType")).lower()
            if kind == files.LITERAL:
                laid.words[f"inputs.{name}"] = str(given.get("value") or "")
                continue
            uri, inside = self._uri_of(str(given.get("uri") or "")), f"{_INPUTS}/{name}"
            laid.mounts[inside] = folder / "inputs" / name
            await self._fetch("input", uri, laid.mounts[inside], log)
            laid.words[f"inputs.{name}"] = f"{inside}/{uri.rstrip('/').rsplit('/', 1)[-1]}" if kind in files.FILES else inside
        for name, given in (properties.get("outputs") or {}).items():
            inside = f"{_OUTPUTS}/{name}"
            target = laid.mounts[inside] = folder / "outputs" / name
            await asyncio.to_thread(target.mkdir, parents=True, exist_ok=True)
            uri = str(given.get("uri") or f"azureml://datastores/{BLOB_STORE}/paths/azureml/{self.job.id.name}/{name}/")
            puts.append(self._put(target, uri, name))
            kind = str(given.get("jobOutputType")).lower()
            laid.words[f"outputs.{name}"] = f"{inside}/{name}" if kind in files.FILES else inside
        storage = self._artifacts()
        if storage is not None:
            puts.append((str(code / _OWN_OUTPUTS), storage.id.text, ARTIFACTS_CONTAINER, self._artifact(_OWN_OUTPUTS)))
        return laid

    async def _fetch(self, what: str, uri: str, target: Path, log: InitializerLog) -> None:
        await downloads.fetch(what, uri, target, self.workspace, self.identity, log, self._blobs, self._services)

    def _uri_of(self, text: str) -> str:
        """A URI, or that of the model that a name or an id means."""
        named = _NAMED.fullmatch(text)
        if named:
            text = f"{self.workspace.id.text}/models/{named['name']}/versions/{named['version']}"
        if parse(text.removeprefix("azureml:")) is None:
            return text
        found = version_at(text, azure_types.ML_MODEL_VERSION, self._services)
        if found is None:
            raise ArmError(400, "UserError", f"The input '{text}' was not found among the models of the workspace.")
        return str(found.properties["modelUri"])

    def _put(self, folder: Path, uri: str, name: str) -> Put:
        """Where an output goes. ArmError where it may not be written."""
        place = ml_uris.blob_of(uri, self.workspace, self._services)
        if place is None:
            raise ArmError(400, "UserError", f"The output '{name}' isn't in the embedded Azure's blob storage: '{uri}'.")
        scope = container_key(place.account, place.container)
        if not any(has_role(self._services, each, _MAY_WRITE, scope) for each in self.identity.principals()):
            where = f"{place.account.id.name}/{place.container}"
            message = (
                f"The output '{name}' can't be written: {self.identity.shown} needs Storage Blob Data Contributor on {where}."
            )
            raise ArmError(403, "UserError", message)
        return str(folder), place.account.id.text, place.container, place.path

    def _artifacts(self) -> Resource | None:
        """The storage account in which the workspace keeps what a job leaves; None where it is gone."""
        return self._services.store.get(str(self.workspace.properties.get("storageAccount") or ""))

    def _artifact(self, path: str) -> str:
        return f"{ml_uris.RUNS}{self.job.id.name}/{path}"

    # Its containers

    def _variables(self, laid: JobFiles, index: int, addresses: Sequence[str]) -> dict[str, str]:
        properties = self.job.properties
        name = self.job.id.name
        own = {
            "AZUREML_ARM_PROJECT_NAME": str(properties.get("experimentName") or ""),
            "AZUREML_ARM_RESOURCEGROUP": self.job.id.resource_group,
            "AZUREML_ARM_SUBSCRIPTION": SUBSCRIPTION,
            "AZUREML_ARM_WORKSPACE_NAME": self.workspace.id.name,
            "AZUREML_EXPERIMENT_NAME": str(properties.get("experimentName") or ""),
            "AZUREML_ROOT_RUN_ID": name,
            "AZUREML_RUN_ID": name,
            **files.variables(properties, index, addresses),
        }
        for key, value in laid.words.items():
            kind, one = key.split(".")
            own |= {f"{prefix}_{kind[:-1].upper()}_{one}": value for prefix in ("AZUREML", "AZURE_ML")}
        client = next((one.client for one in self.identities() if one.client), "")
        own |= {"DEFAULT_IDENTITY_CLIENT_ID": client} if client else {}
        given = {str(key): str(value) for key, value in (properties.get("environmentVariables") or {}).items()}
        return {**own, **given}

    def identities(self) -> list[identity_tokens.Identity]:
        """The compute's, else those that the workspace was given."""
        found = identity_tokens.held_by(self.identity.holder, self._services)
        return [one for one in found if one.resource_id != self.workspace.id.text]

    def _gpu_programs(self, seen: tuple[NodeGpu, ...], record: Body, home: Path) -> Path | None:
        """The folder with `nvidia-smi`; None for a node without a GPU of NVIDIA."""
        if not seen:
            return None
        home.mkdir(mode=0o700, exist_ok=True)
        programs = Programs(home, lambda: record)
        programs.note(_NODES, CONTAINER, Visible("all", seen), host_pid=True, pod="")
        return programs.folder_of(_NODES, CONTAINER)

    async def _image(self, log: Path) -> Image:
        environment = version_at(
            str(self.job.properties.get("environmentId") or ""), azure_types.ML_ENVIRONMENT_VERSION, self._services
        )
        if environment is None:
            raise ArmError(400, "UserError", f"The environment '{self.job.properties.get('environmentId')}' was not found.")
        if environment.properties.get("condaFile"):
            return await self._from_conda(str(environment.properties["condaFile"]), log)
        return await self._pulled(str(environment.properties.get("image") or ""))

    async def _pulled(self, text: str) -> Image:
        begin = f"Failed to pull Docker image {text}:"
        try:
            images.check(text, lambda registry: "" if self.identity.may_pull(registry) else "denied", self._services)
            return await images.pull(text, self._services)
        except UnavailableError as error:
            if error.why == "denied":
                message = f"{begin} {self.identity.shown} needs AcrPull on the registry {error.registry}."
                raise ArmError(403, "UserError", message) from error
            raise ArmError(400, "UserError", f"{begin} {error.message}") from error

    async def _from_conda(self, text: str, log: Path) -> Image:
        try:
            requested = conda.environment(text)
            return (await self._services.images.of_packages(requested.python, requested.requirements, "the conda file", log))[0]
        except CondaFileError as error:
            message = f"Image build failed: the environment's conda file can't be read: {error}."
            raise ArmError(400, "UserError", message) from error
        except BuildFailedError as error:
            raise ArmError(400, "UserError", f"Image build failed: {error.message.splitlines()[-1]}") from error


def _files_below(folder: Path) -> list[Path]:
    return sorted(one for one in folder.rglob("*") if one.is_file())


def _container(worker: int) -> str:
    return f"{CONTAINER}-{worker}" if worker else CONTAINER


def _ended(state: Body | None, worker: int) -> Ended:
    current = (state or {}).get("current") or {}
    stopped = (
        state is None or current.get("detailStatus") == "Stopped" or any(one["name"] == "Killing" for one in state["events"])
    )
    return Ended(int(current.get("exitCode", 137)), stopped, worker)
