"""The Batch job and tasks of a run, as azure-batch models. Pure. How a target becomes a task:

on a pool with containers   the image, built or named; arguments after -- follow its ENTRYPOINT, or are its command
on a pool without           the job preparation task copies a script with its requirements to each node once; a user's command
                            is sent unchanged
on several nodes at once    the same on each node, as a worker that finds the others by TF_CONFIG, or under the pool's mpirun;
                            files are common resource files of the task
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple, get_args

from azure.batch import models

from azure_gpu.catalog.services.batch import mpi
from azure_gpu.catalog.services.batch.mpi import Mpi, MpiCommands
from azure_gpu.formats.task_file import Output, ResourceFile, Task
from azure_gpu_operations.batch.pool_facts import PoolFacts
from azure_gpu_operations.run.on_batch import commands
from azure_gpu_operations.run.on_batch.commands import WORKER_OPTIONS, WorkerCommands, worker_commands, worker_port
from azure_gpu_operations.run.on_batch.request import BatchRequest
from azure_gpu_operations.run.workers import Group

PREPARATION = "jobpreparation"
_JOB_FOLDER = "$AZ_BATCH_JOB_PREP_WORKING_DIR"
_TASK_FOLDER = "$AZ_BATCH_TASK_WORKING_DIR"
_SHARED_FOLDER = "$AZ_BATCH_TASK_SHARED_DIR"
_DEPENDENCIES = {"block": models.DependencyAction.BLOCK, "satisfy": models.DependencyAction.SATISFY}
_JOB_ACTIONS = {
    "none": models.BatchJobActionKind.NONE,
    "disable": models.BatchJobActionKind.DISABLE,
    "terminate": models.BatchJobActionKind.TERMINATE,
}


class Image(NamedTuple):
    """An image, and the identity to pull it with; "" for public images, or if the pool has credentials."""

    name: str
    server: str = ""
    identity: str = ""


class Storage(NamedTuple):
    """The stack's storage account, as nodes access it."""

    endpoint: str  # https://account.blob.core.windows.net/
    container: str  # of this run's files
    identity: str  # ARM id of the pool's

    def url(self, container: str = "") -> str:
        return f"{self.endpoint}{container or self.container}"

    @property
    def reference(self) -> models.BatchNodeIdentityReference:
        return models.BatchNodeIdentityReference(resource_id=self.identity)


class Placed(NamedTuple):
    """Locations of what the tasks need: an image, or files by their name on the node."""

    image: Image | None = None
    files: Mapping[str, str] = {}  # of a script and its requirements: URLs
    secrets_url: str = ""
    storage: Storage | None = None


def job_of(job_id: str, pool: PoolFacts, request: BatchRequest, placed: Placed) -> models.BatchJobCreateOptions:
    """The job. It stays active until `end_when_done`, after all tasks are added."""
    return models.BatchJobCreateOptions(
        id=job_id,
        priority=request.job.priority,
        pool_info=models.BatchPoolInfo(pool_id=pool.id),
        uses_task_dependencies=any(task.depends_on for task in request.job.tasks),
        task_failure_mode=_failure_mode(request),
        constraints=_job_constraints(request),
        job_preparation_task=_preparation(request, placed),
    )


def task_of(job_id: str, task: Task, pool: PoolFacts, request: BatchRequest, placed: Placed) -> models.BatchTaskCreateOptions:
    """One task of it."""
    multi = _multi_instance(job_id, task, pool, request, placed) if task.nodes > 1 else None
    command_line, container = _command(job_id, task, pool, request, placed)
    environment = _environment(task, request)
    if _under_mpi(task, pool, request):
        environment = {**_mpi(task, pool, request).environment, **environment}
    timeout = task.timeout_minutes if task.timeout_minutes is not None else request.timeout_minutes
    return models.BatchTaskCreateOptions(
        id=task.id,
        command_line=command_line,
        container_settings=container,
        resource_files=[*(_resource(each, placed) for each in task.resource_files), *_secrets(placed)] or None,
        output_files=_outputs(job_id, task, pool, request, placed) or None,
        environment_settings=[models.EnvironmentSetting(name=name, value=value) for name, value in environment.items()] or None,
        constraints=models.BatchTaskConstraints(
            max_wall_clock_time=_limit(timeout),
            retention_time=_limit(task.keep_minutes),
            max_task_retry_count=task.retries if task.retries is not None else request.retries,
        ),
        user_identity=_administrator() if task.elevated else None,
        multi_instance_settings=multi,
        depends_on=models.BatchTaskDependencies(task_ids=list(task.depends_on)) if task.depends_on else None,
        exit_conditions=_exit_conditions(task),
    )


def _job_constraints(request: BatchRequest) -> models.BatchJobConstraints | None:
    limit = _limit(request.job.max_minutes)
    return None if limit is None else models.BatchJobConstraints(max_wall_clock_time=limit)


def _script(request: BatchRequest) -> str:
    return request.target.context.script if request.target.context else ""


def _environment(task: Task, request: BatchRequest) -> dict[str, str]:
    """Variables of a task; the command line overrides the file of tasks. Scripts run unbuffered, for live output."""
    own = {"PYTHONUNBUFFERED": "1"} if _script(request) else {}
    return {**own, **Group(gpus=request.gpus).devices, **task.environment, **request.target.environment}


def _command(
    job_id: str, task: Task, pool: PoolFacts, request: BatchRequest, placed: Placed
) -> tuple[str, models.BatchTaskContainerSettings | None]:
    secrets = bool(placed.secrets_url)
    words = commands.words_of(task.command)
    image = placed.image or (Image(task.image) if task.image else None)
    context = request.target.context
    if image is not None and task.nodes > 1 and not task.coordination_command:
        options = " ".join(filter(None, (task.run_options, WORKER_OPTIONS)))
        return _workers(job_id, task, request, in_container=True).application, _container(image, options, request)
    if image is not None:
        whole = commands.whole_command(context, words) if context else tuple(words) or None
        started = commands.container(words, whole, secrets=secrets) or commands.Started(task.command)
        return started.command_line, _container(image, " ".join(filter(None, (task.run_options, started.run_options))), request)
    if task.nodes > 1:
        return _over_nodes(job_id, task, pool, request), None
    if context is not None:
        text = commands.python(_JOB_FOLDER, context.script, commands.library_of(context), words)
        return commands.script(f"exec {text}", secrets=secrets), None
    return commands.native(task.command, secrets=secrets), None


def _container(image: Image, run_options: str, request: BatchRequest) -> models.BatchTaskContainerSettings:
    """A script runs in the task's folder, where its output files are; anything else in the image's working directory."""
    place = (
        models.ContainerWorkingDirectory.TASK_WORKING_DIRECTORY
        if _script(request) or not request.has_target
        else models.ContainerWorkingDirectory.CONTAINER_IMAGE_DEFAULT
    )
    registry = None
    if image.identity:
        registry = models.ContainerRegistryReference(
            registry_server=image.server, identity_reference=models.BatchNodeIdentityReference(resource_id=image.identity)
        )
    return models.BatchTaskContainerSettings(
        image_name=image.name, registry=registry, working_directory=place, container_run_options=run_options or None
    )


def _over_nodes(job_id: str, task: Task, pool: PoolFacts, request: BatchRequest) -> str:
    """The command of the primary, after every node is ready."""
    if task.coordination_command:
        return task.command  # a custom coordination command starts the processes too
    if _under_mpi(task, pool, request):
        return _mpi(task, pool, request).application
    return _workers(job_id, task, request, in_container=False).application


def _under_mpi(task: Task, pool: PoolFacts, request: BatchRequest) -> bool:
    return task.nodes > 1 and not task.coordination_command and request.uses_mpi(pool)


def _workers(job_id: str, task: Task, request: BatchRequest, *, in_container: bool) -> WorkerCommands:
    context = request.target.context
    words = commands.words_of(task.command)
    port = worker_port(job_id, task.id)
    if in_container:
        program, plain = commands.by_number((commands.whole_command(context, words) if context else None) or words)
        return worker_commands(program, port, words=plain)
    if context is None:
        program, plain = commands.by_number(words)
        return worker_commands(program, port, words=plain)
    program = commands.python(_SHARED_FOLDER, context.script, commands.library_of(context), words)
    return worker_commands(program, port, prepare=commands.install(context, _SHARED_FOLDER))


def _mpi(task: Task, pool: PoolFacts, request: BatchRequest) -> MpiCommands:
    context = request.target.context
    words = commands.words_of(task.command)
    program = commands.shell_line(words)
    if context is not None:
        program = commands.python(_SHARED_FOLDER, context.script, commands.library_of(context), words)
    # mpirun doesn't pass variables to other nodes, so each process is started with them.
    variables = [f"{name}={value}" for name, value in _environment(task, request).items()]
    program = f"env {commands.shell_line(variables)} {program}" if variables else program
    system = "Windows" if pool.is_windows else "Linux"
    return mpi.commands(_flavour(pool), system, program, processes_per_node=request.processes or 1)


def _flavour(pool: PoolFacts) -> Mpi:
    default: Mpi = "microsoft_mpi" if pool.is_windows else "hpcx"
    return next((each for each in get_args(Mpi) for named in (pool.mpi, pool.image_mpi) if each == named), default)


def _multi_instance(
    job_id: str, task: Task, pool: PoolFacts, request: BatchRequest, placed: Placed
) -> models.MultiInstanceSettings:
    files = [_resource(each, placed) for each in task.shared_files]
    files += [_of_storage(url, path, placed) for path, url in placed.files.items()]
    in_container = bool(placed.image or task.image)
    coordination = task.coordination_command or _coordination(job_id, task, pool, request, in_container=in_container)
    return models.MultiInstanceSettings(
        number_of_instances=task.nodes, coordination_command_line=coordination, common_resource_files=files or None
    )


def _coordination(job_id: str, task: Task, pool: PoolFacts, request: BatchRequest, *, in_container: bool) -> str:
    """Runs on each node before the primary's command: installs a script's requirements, then prepares MPI or starts a worker."""
    if not _under_mpi(task, pool, request):
        return _workers(job_id, task, request, in_container=in_container).coordination
    context = request.target.context
    install = commands.install(context, _SHARED_FOLDER) if context else ""
    start = _mpi(task, pool, request).coordination
    return commands.in_shell(f"set -e; {install}; {commands.inner(start)}") if install else start


def _preparation(request: BatchRequest, placed: Placed) -> models.BatchJobPreparationTask | None:
    """Copies a script to a node once, before the first of the job's tasks there."""
    context = request.target.context
    if context is None or not placed.files or all(task.nodes > 1 for task in request.job.tasks):
        return None
    install = commands.install(context, _TASK_FOLDER)
    return models.BatchJobPreparationTask(
        id=PREPARATION,
        command_line=commands.in_shell(f"set -e; {install}" if install else "true"),
        resource_files=[_of_storage(url, path, placed) for path, url in placed.files.items()],
        constraints=models.BatchTaskConstraints(max_task_retry_count=1),
        wait_for_success=True,
    )


def _resource(file: ResourceFile, placed: Placed) -> models.ResourceFile:
    storage = placed.storage
    mode = file.mode or None
    if file.container:
        url = storage.url(file.container) if storage else file.container
        return models.ResourceFile(
            storage_container_url=url,
            blob_prefix=file.prefix or None,
            file_path=file.path or None,
            file_mode=mode,
            identity_reference=storage.reference if storage else None,
        )
    ours = storage is not None and file.url.startswith(storage.endpoint) and "?" not in file.url
    return models.ResourceFile(
        http_url=file.url,
        file_path=file.path or file.url.split("?")[0].rsplit("/", 1)[-1],
        file_mode=mode,
        identity_reference=storage.reference if ours and storage else None,
    )


def _of_storage(url: str, path: str, placed: Placed) -> models.ResourceFile:
    reference = placed.storage.reference if placed.storage else None
    return models.ResourceFile(http_url=url, file_path=path, identity_reference=reference)


def _secrets(placed: Placed) -> list[models.ResourceFile]:
    return [_of_storage(placed.secrets_url, commands.SECRETS_FILE, placed)] if placed.secrets_url else []


def _outputs(job_id: str, task: Task, pool: PoolFacts, request: BatchRequest, placed: Placed) -> list[models.OutputFile]:
    """Uploaded with any exit code: the files of a failed task may explain it."""
    storage = placed.storage
    if storage is None:
        return []
    # Under mpirun a program works in the folder that its nodes share, which is the one above the task's own.
    above = "../" if _under_mpi(task, pool, request) else ""
    patterns = [*(Output(above + each) for each in request.outputs), *task.outputs]
    return [
        models.OutputFile(
            file_pattern=each.pattern,
            destination=models.OutputFileDestination(
                container=models.OutputFileBlobContainerDestination(
                    container_url=storage.url(each.container),
                    path=_blob_path(job_id, task, each),
                    identity_reference=storage.reference,
                )
            ),
            upload_options=models.OutputFileUploadConfiguration(
                upload_condition=models.OutputFileUploadCondition.TASK_COMPLETION
            ),
        )
        for each in patterns
    ]


def _blob_path(job_id: str, task: Task, output: Output) -> str | None:
    """A folder for a pattern, the blob's name for a single file, as the service expects."""
    folder = output.path or ("" if output.container else f"{job_id}/{task.id}")
    if any(sign in output.pattern for sign in "*?["):
        return folder or None
    return f"{folder}/{output.pattern.removeprefix('../')}".lstrip("/")


def _exit_conditions(task: Task) -> models.ExitConditions | None:
    if not task.on_failure_job and not task.on_failure_dependents:
        return None
    options = models.ExitOptions(
        job_action=_JOB_ACTIONS[task.on_failure_job] if task.on_failure_job else None,
        dependency_action=_DEPENDENCIES[task.on_failure_dependents] if task.on_failure_dependents else None,
    )
    return models.ExitConditions(default=options, pre_processing_error=options)


def _failure_mode(request: BatchRequest) -> models.BatchTaskFailureMode | None:
    acts = any(task.on_failure_job not in ("", "none") for task in request.job.tasks)
    return models.BatchTaskFailureMode.PERFORM_EXIT_OPTIONS_JOB_ACTION if acts else None


def _administrator() -> models.UserIdentity:
    return models.UserIdentity(
        auto_user=models.AutoUserSpecification(scope=models.AutoUserScope.POOL, elevation_level=models.ElevationLevel.ADMIN)
    )


def _limit(amount: float | None) -> timedelta | None:
    return None if amount is None else timedelta(minutes=amount)
