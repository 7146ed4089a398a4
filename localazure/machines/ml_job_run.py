"""One run of a job of Azure ML on its nodes: its files, its environment's image, and the containers that are started from it.

A container runs on each node; its output is written to logs in the workspace's storage while it runs. Variables: Microsoft Learn,
machine-learning/how-to-track-experiments-mlflow and how-to-train-with-custom-image.
"""

import asyncio
import contextlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.conda_file import CondaFileError
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Resource
from localazure.blobs.service import Blobs
from localazure.containers.build_log import BuildFailedError
from localazure.containers.container_spec import ContainerSpec
from localazure.containers.followed_log import FollowedLog
from localazure.containers.images import Image
from localazure.containers.runtime import Runtime
from localazure.containers.shim_log import STAMP
from localazure.containers.volumes import Mount, MountFailedError, Volume, Volumes
from localazure.kinds import attached_identities, images
from localazure.kinds.images import UnavailableError
from localazure.kinds.ml_assets import version_at
from localazure.kubernetes.gpu_programs import Programs
from localazure.kubernetes.node_gpus import Visible, gpus
from localazure.machines import ml_job_files, ml_job_files as files, paths
from localazure.machines.ml_job_files import JobFiles, JobIdentity
from localazure.machines.model import DRIVER_OF_IMAGES, gpu_node
from localazure.ml import conda
from localazure.ml.downloads import InitializerLog
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION

CONTAINER = "job"
_NODES = "node"
LOOK_SECONDS = 0.15


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

    async def prepared(self, secret: str, nodes: Sequence[str]) -> tuple[list[ContainerSpec], Volumes, list[JobFiles]]:
        """Everything that the containers on these nodes need. ArmError where something isn't available."""
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)
        await asyncio.to_thread(self.folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        log = InitializerLog(self.folder / "preparation.log")
        image = await self._image(self.folder / "build.log")
        run = secret[:16] + nodes[0][6:22]
        addresses = ml_job_files.addresses(len(nodes))
        specs: list[ContainerSpec] = []
        volumes: list[Volume] = []
        all_laid: list[JobFiles] = []
        for index, node in enumerate(nodes):
            folder = self.folder / str(index)
            laid = await files.lay_out(self.job, folder, self.identity, self.workspace, log, self._blobs, self._services)
            own = [Volume(name=f"v{index}-{number}", shared=path) for number, path in enumerate(laid.mounts.values())]
            line = files.command(str(self.job.properties.get("command") or ""), laid.words)
            specs.append(
                ContainerSpec(
                    name=_container(index),
                    image=replace(image, workdir=files.WORKING),
                    command=("/bin/sh", "-c", paths.in_image(line, image.root, image.workdir)),
                    env=self._variables(laid, index, addresses),
                    machines_env=self._identity_variables(secret),
                    programs=self._gpu_programs(node, folder),
                    restart_policy="Never",
                    gpu_count=self._gpus(),
                    gpus_visible="all" if self._gpus() else "",
                    run=run,
                    mounts=tuple(Mount(one.name, path) for one, path in zip(own, laid.mounts, strict=True)),
                )
            )
            volumes += own
            all_laid.append(laid)
        return specs, Volumes(run=run, volumes=tuple(volumes)), all_laid

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
        log_file = ml_job_files.log_of(worker, ml_job_files.count(self.job.properties))
        place = files.artifact_place(self.job, log_file, self.workspace, self._services)
        url = files.signed(place, self._blobs, self._services) if place else ""
        if place is not None and not sent:
            await self._blobs.ensure_container(place.account.id.name.lower(), place.container)
            await self._blobs.begin_append(url)
        folder = self._runtime.folder_of(self.job.key, _container(worker))
        log, seen = FollowedLog(folder / "log"), 0
        while True:
            state = self._runtime.states(self.job.key).get(_container(worker))
            over = state is None or state["ended"]
            content = await asyncio.to_thread(_new, log, folder / "log", whole=over)
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

    # Its own

    def _identity_variables(self, secret: str) -> dict[str, str]:
        """By which programs get tokens of the compute's identity."""
        settings = self._services.settings
        bundle = str(settings.state / "ca-bundle.pem")
        address = f"{settings.url}/machines/{secret}"
        return {"AZURE_POD_IDENTITY_AUTHORITY_HOST": address, "SSL_CERT_FILE": bundle, "REQUESTS_CA_BUNDLE": bundle}

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
            **ml_job_files.variables(properties, index, addresses),
            **{
                f"AZUREML_{kind[:-1].upper()}_{one}": value for key, value in laid.words.items() for kind, one in [key.split(".")]
            },
            **{
                f"AZURE_ML_{kind[:-1].upper()}_{one}": value
                for key, value in laid.words.items()
                for kind, one in [key.split(".")]
            },
        }
        client = next((one[1] for one in self.principals(self._services) if one[1]), "")
        own |= {"DEFAULT_IDENTITY_CLIENT_ID": client} if client else {}
        given = {str(key): str(value) for key, value in (properties.get("environmentVariables") or {}).items()}
        return {**own, **given}

    def principals(self, services: Services) -> list[tuple[str, str, str]]:
        """Of the compute's identities: principal, client id, resource id."""
        found = [(*attached_identities.ids_of(one, services), one) for one in self.identity.attached]
        own = str((self.compute.service.get("identity") or {}).get("principalId") or "")
        return [(own, own, self.compute.id.text)] * bool(own) + [one for one in found if one[0]]

    def _gpus(self) -> int:
        size = SIZES.find(self._size())
        has = size is not None and size.gpu is not None and size.gpu.vendor == "NVIDIA"
        return -(-size.gpu_count.numerator // size.gpu_count.denominator) if has and size and size.gpu_count else 0

    def _size(self) -> str:
        return str(((self.compute.properties.get("properties") or {}).get("vmSize")) or "")

    def _gpu_programs(self, node: str, folder: Path) -> Path | None:
        """The folder with `nvidia-smi`; None for a node without a GPU of NVIDIA."""
        record = gpu_node(SIZES.find(self._size()), node, self.compute.created_at, DRIVER_OF_IMAGES)
        found = tuple(gpus(record))
        if not found:
            return None
        home = folder / "gpu"
        home.mkdir(mode=0o700, exist_ok=True)
        programs = Programs(home, lambda: record)
        programs.note(_NODES, CONTAINER, Visible("all", found), host_pid=True, pod="")
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


def _new(log: FollowedLog, file: Path, *, whole: bool) -> bytes:
    """What is new; at the end also a last line that no line feed ends."""
    content = log.read_on()
    if whole:
        with contextlib.suppress(FileNotFoundError):
            content += log.read_on() + file.read_bytes().rpartition(b"\n")[2][STAMP:]
    return content


def _container(worker: int) -> str:
    return f"{CONTAINER}-{worker}" if worker else CONTAINER


def _ended(state: Body | None, worker: int) -> Ended:
    current = (state or {}).get("current") or {}
    stopped = (
        state is None or current.get("detailStatus") == "Stopped" or any(one["name"] == "Killing" for one in state["events"])
    )
    return Ended(int(current.get("exitCode", 137)), stopped, worker)
