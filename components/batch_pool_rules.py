"""What the catalog can't know against a Batch pool: what contradicts itself, and what this program doesn't declare.

In: the settings of a pool and what is resolved of them. Out: problems.
"""

import re
from collections.abc import Iterator

from catalog import names
from catalog.problems import Code, Problem
from catalog.services.batch import sources
from catalog.services.batch.request import PoolRequest
from components import batch_pool_mounts
from components.batch_pool_settings import BatchPoolSettings, Replace, ResourceFileArgs, StartTaskArgs
from components.context import check_tags
from components.naming import HASH_LENGTH
from formats import azure_types, image_reference
from formats.tags import POOL_MPI

LOGICAL_NAME = "logical-name"  # in the pool's metadata: its name in the stack
_SOURCES_OF_FILES = ("url", "container_url", "auto_storage_container")
_MODE = re.compile(r"0?[0-7]{3}")


def problems_of(name: str, said: BatchPoolSettings, request: PoolRequest, replace: Replace, base_name: str) -> list[Problem]:
    """What is wrong with the pool that the stack file calls `name`."""
    path = f"pools.{name}"
    mounts = said.get("mounts", {})
    return [
        *_names(said, replace, base_name, path),
        *_metadata(said, path),
        *_start_task(said, path),
        *_containers(said, path),
        *_cloud_services(said, path),
        *batch_pool_mounts.mount_problems(mounts, request.operating_system, f"{path}.mounts"),
        *_mounts_by_key(said, replace, path),
        *check_tags(said.get("tags", {}), f"{path}.tags"),
    ]


def _names(said: BatchPoolSettings, replace: Replace, base_name: str, path: str) -> Iterator[Problem]:
    if "pool_name" not in said:
        return
    behind = f"-{'0' * HASH_LENGTH}" if replace is Replace.SIDE_BY_SIDE else ""
    for problem in names.check(azure_types.BATCH_POOL.arm_type, base_name + behind, f"{path}.pool_name"):
        room = f", {len(behind)} of them for the hash of {Replace.SIDE_BY_SIDE}" if behind else ""
        yield problem._replace(value=base_name, allowed=problem.allowed + room, fix=problem.fix.replace(behind, ""))


def _metadata(said: BatchPoolSettings, path: str) -> Iterator[Problem]:
    for key in said.get("metadata", {}):
        if key in (LOGICAL_NAME, POOL_MPI):
            yield Problem(
                path=f"{path}.metadata.{key}",
                message="the program writes this name itself",
                value=key,
                allowed=f"any name but {LOGICAL_NAME} and {POOL_MPI}",
                fix="choose another name",
            )


def _start_task(said: BatchPoolSettings, path: str) -> Iterator[Problem]:
    task = said.get("start_task")
    if task is None:
        return
    here = f"{path}.start_task"
    if not task["command"].strip():
        yield Problem(
            path=f"{here}.command", message="a start task runs a command, and this is none", fix="write the command line"
        )
    if task.get("retries", 0) < -1:
        yield Problem(
            path=f"{here}.retries",
            message="this is too small",
            value=task.get("retries"),
            allowed="0 or more, or -1 for ever",
            fix="write 0",
            source=str(sources.PROVIDER),
        )
    for variable in sorted(task.get("environment", {}).keys() & task.get("secret_environment", {}).keys()):
        yield Problem(
            path=f"{here}.environment.{variable}",
            message="this variable is given as plain and as secret",
            allowed="one of environment and secret_environment",
            fix="remove it from environment",
        )
    for index, file in enumerate(task.get("resource_files", [])):
        yield from _resource_file(file, f"{here}.resource_files[{index}]")


def _resource_file(file: ResourceFileArgs, path: str) -> Iterator[Problem]:
    given = [key for key in _SOURCES_OF_FILES if key in file]
    if len(given) != 1:
        yield Problem(
            path=path,
            message="files come from one place",
            value=", ".join(given) or None,
            allowed=f"exactly one of {', '.join(_SOURCES_OF_FILES)}",
            fix="keep one",
            source=str(sources.PROVIDER),
        )
    if "url" in file and "path" not in file:
        yield Problem(
            path=f"{path}.path", message="a single file needs a name on the node", fix="add path", source=str(sources.PROVIDER)
        )
    if "url" in file and "prefix" in file:
        yield Problem(
            path=f"{path}.prefix",
            message="a single file has no prefix",
            value=file["prefix"],
            allowed="with a container of blobs alone",
            fix="remove it",
            source=str(sources.PROVIDER),
        )
    if "mode" in file and not _MODE.fullmatch(file["mode"]):
        yield Problem(
            path=f"{path}.mode",
            message="these are no rights of a file",
            value=file["mode"],
            allowed="an octal number, such as 0755",
            fix='write "0755"',
        )


def _containers(said: BatchPoolSettings, path: str) -> Iterator[Problem]:
    for index, image in enumerate(said.get("containers", {}).get("images", [])):
        yield from image_reference.check(image, f"{path}.containers.images[{index}]")


def _cloud_services(said: BatchPoolSettings, path: str) -> Iterator[Problem]:
    if said.get("cloud_services", False):
        yield Problem(
            path=f"{path}.cloud_services",
            message="this program declares no pools of Cloud Services configuration: the API that it speaks has none",
            value=True,
            allowed="pools of virtual machines",
            fix="remove it, and name an image",
            source=str(sources.PROVIDER),
            code=Code.IMPOSSIBLE,
        )


def _mounts_by_key(said: BatchPoolSettings, replace: Replace, path: str) -> Iterator[Problem]:
    """The hash in the name would have to hold a trace of the key; without it, a new key would ask for a pool of the same name."""
    if replace is not Replace.SIDE_BY_SIDE:
        return
    for place in batch_pool_mounts.with_keys(said.get("mounts", {})):
        yield Problem(
            path=f"{path}.mounts.{place}.azure_file",
            message="a share is mounted by key, and a pool with a new key can't stand beside the one with the old",
            allowed=f"with replace: {Replace.DRAIN_FIRST}",
            fix=f"write replace: {Replace.DRAIN_FIRST}, or mount blobs as the identity",
        )


def surroundings_problems(name: str, said: BatchPoolSettings, *, identity: bool, storage: bool) -> list[Problem]:
    """What the pool `name` needs of the foundation and doesn't find there."""
    path = f"pools.{name}"
    task = said.get("start_task", StartTaskArgs(command=""))
    files = enumerate(task.get("resource_files", []))
    problems = [
        Problem(
            path=f"{path}.start_task.resource_files[{index}].use_identity",
            message="these files are fetched as the stack's identity, and there is none",
            allowed="with foundation.identity alone",
            fix="add identity: create to the foundation",
        )
        for index, file in files
        if file.get("use_identity", False) and not identity
    ]
    mounts = said.get("mounts", {})
    return [*problems, *batch_pool_mounts.needs_problems(mounts, f"{path}.mounts", identity=identity, storage=storage)]
