"""Makes a run's image, script and secrets available to nodes, in the stack's registry and storage, and downloads files of tasks.

Scripts are stored by content, so that each is uploaded once. Secrets are deleted when the block ends. Standard output and error
are downloaded from the nodes, output files from the storage account; files of a node that no longer exists are skipped.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import requests
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.batch.blobs import Blobs
from azure_gpu_operations.batch.pool_facts import PoolFacts
from azure_gpu_operations.run.carried import CONTAINER
from azure_gpu_operations.run.context import DOCKERFILE, Context
from azure_gpu_operations.run.on_batch.commands import secrets_file
from azure_gpu_operations.run.on_batch.plan import Image, Placed, Storage
from azure_gpu_operations.run.on_batch.request import BatchRequest
from azure_gpu_operations.run.protocol import Say, WrongRunError
from azure_gpu_operations.run.used_part import registry_of
from azure_gpu_operations.stack_view import StackView


class Brought(NamedTuple):
    placed: Placed
    blobs: Blobs | None = None


@contextmanager
def brought(arm: Arm, view: StackView, pool: PoolFacts, request: BatchRequest, job_id: str, say: Say) -> Iterator[Brought]:
    """Provides image, files and secrets while the block runs."""
    image = _image(arm, view, pool, request, say) if pool.has_containers else None
    context = request.target.context
    script = context if context is not None and not pool.has_containers else None
    if not (script or request.collects or request.target.secrets or _names_storage(request)) or not view.storage:
        yield Brought(Placed(image=image))
        return
    with closing(Blobs(arm, view.storage)) as blobs:
        storage = Storage(blobs.endpoint, CONTAINER, pool.identities[0] if pool.identities else "")
        named = {each.container for task in request.job.tasks for each in task.outputs if each.container}
        for container in (CONTAINER, *sorted(named)):  # nodes upload into no container that isn't there
            blobs.make_container(container)
        files = _files(blobs, storage, script) if script else {}
        secret = f"{job_id}/environment" if request.target.secrets else ""
        try:
            if secret:
                blobs.put(CONTAINER, secret, secrets_file(request.target.secrets.items()))
            url = f"{storage.url()}/{secret}" if secret else ""
            yield Brought(Placed(image=image, files=files, secrets_url=url, storage=storage), blobs)
        finally:
            if secret:
                _take_away(blobs, secret, say)


def _image(arm: Arm, view: StackView, pool: PoolFacts, request: BatchRequest, say: Say) -> Image | None:
    """The image of all tasks; None if each task has its own."""
    target = request.target
    if target.context is None:
        return _with_identity(target.image, pool) if target.image else None
    registry = registry_of(arm, view)
    if not _identity_for(registry.server, pool):
        raise WrongRunError([_no_identity(registry.server, pool)])
    return _with_identity(registry.build(target.context, say), pool)


def _with_identity(name: str, pool: PoolFacts) -> Image:
    """An image of one of the pool's registries is pulled with its identity, others without."""
    server = name.partition("/")[0].lower()
    known = any(each.server == server for each in pool.registries)
    ours = known or server.endswith((".azurecr.io", ".azurecr.cn", ".azurecr.us")) or ":" in server
    return Image(name, server, _identity_for(server, pool) if ours else "")


def _identity_for(server: str, pool: PoolFacts) -> str:
    """The pool's identity for this registry, else its first."""
    of_registry = [each.identity for each in pool.registries if each.server == server.lower() and each.identity]
    return next(iter((*of_registry, *pool.identities)), "")


def _no_identity(server: str, pool: PoolFacts) -> Problem:
    return Problem(
        path="--pool",
        message=f"the pool has no identity to pull from {server}",
        value=pool.id,
        fix="add `identity: create` to the stack's foundation and run `pulumi up`",
    )


def _files(blobs: Blobs, storage: Storage, script: Context) -> dict[str, str]:
    """URLs of a script and its requirements, by their names on a node."""
    files: dict[str, str] = {}
    for path, content in script.files.items():
        if path == DOCKERFILE:
            continue
        blob = f"scripts/{script.tag}/{path}"
        blobs.put(CONTAINER, blob, content, again=False)
        files[path] = f"{storage.url()}/{blob}"
    return files


def _names_storage(request: BatchRequest) -> bool:
    return any(each.container or each.url for task in request.job.tasks for each in (*task.resource_files, *task.shared_files))


def _take_away(blobs: Blobs, secret: str, say: Say) -> None:
    try:
        blobs.delete(CONTAINER, secret)
    except (KeyboardInterrupt, AzureError, AzureCoreError, requests.RequestException) as error:
        say(f"the run's secrets are still in the storage account {blobs.name}; delete the blob {CONTAINER}/{secret} ({error})")


LOGS = ("stdout.txt", "stderr.txt")


def fetch_files(
    task_ids: Sequence[str],
    job_id: str,
    folder: Path,
    read: Callable[[str, str], bytes | None],
    blobs: Blobs | None,
    *,
    apart: bool,
) -> int:
    """Returns the number of files. `apart`: each task has a subfolder."""
    count = 0
    for task_id in task_ids:
        target = folder / task_id if apart else folder
        target.mkdir(parents=True, exist_ok=True)
        for name in LOGS:
            count += _log(target / name, task_id, name, read)
        if blobs is not None:
            count += sum(1 for _ in blobs.fetch(CONTAINER, f"{job_id}/{task_id}/", target))
    return count


def _log(file: Path, task_id: str, name: str, read: Callable[[str, str], bytes | None]) -> int:
    try:
        content = read(task_id, name)
    except (AzureError, AzureCoreError, requests.RequestException):
        return 0
    if content is None:
        return 0
    file.write_bytes(content)
    return 1
