"""What the catalog can't know against a Batch pool: what contradicts itself, and what this program doesn't declare.

In: the settings of a pool and what is resolved of them. Out: problems.
"""

import re
from collections.abc import Iterator

from azure_gpu.batch.pool.args import BatchPoolSettings, ContainersArgs, Replace, ResourceFileArgs, StartTaskArgs
from azure_gpu.batch.pool.mounts import mount_problems, needs_problems, with_keys
from azure_gpu.batch.pool.request import SIZE_NAME
from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Code, Problem, errors
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.services.batch.scale import LARGEST_NUMBER
from azure_gpu.formats import arm_ids, azure_types, image_reference
from azure_gpu.formats.tags import POOL_MPI
from azure_gpu.shared.context import check_tags
from azure_gpu.shared.installation import COMMAND
from azure_gpu.shared.naming import HASH_LENGTH
from azure_gpu.shared.validation import written
from azure_gpu.shared.wording import give_part, stacks, with_part

LOGICAL_NAME = "logical-name"  # in the pool's metadata: its name in the stack
_SOURCES_OF_FILES = ("url", "container_url", "auto_storage_container")
_MODE = re.compile(r"0?[0-7]{3}")
_SUBNET = "Microsoft.Network/virtualNetworks/subnets"
_WITHOUT_ADDRESSES = "Microsoft Learn, batch/simplified-node-communication-pool-no-public-ip, of 2022-05-26: prerequisites"


def problems_of(path: str, said: BatchPoolSettings, request: PoolRequest, replace: Replace, base_name: str) -> list[Problem]:
    """What is wrong with the pool that is described at `path`."""
    mounts = said.get("mounts", {})
    return [
        *_size(said, request, path),
        *_names(said, replace, base_name, path),
        *_metadata(said, path),
        *_start_task(said, path),
        *_containers(said, path),
        *_network(said, path),
        *mount_problems(mounts, request.operating_system, f"{path}.mounts"),
        *_mounts_by_key(said, replace, path),
        *check_tags(said.get("tags", {}), f"{path}.tags"),
    ]


def _size(said: BatchPoolSettings, request: PoolRequest, path: str) -> Iterator[Problem]:
    if request.size is None and not SIZE_NAME.fullmatch(said["size"]):
        yield Problem(
            path=f"{path}.size",
            message="this is no name of a virtual machine size",
            value=said["size"],
            allowed="a size, such as Standard_NC4as_T4_v3",
            fix=f"`{COMMAND} sizes --service batch` shows sizes with GPUs or InfiniBand",
        )


def _names(said: BatchPoolSettings, replace: Replace, base_name: str, path: str) -> Iterator[Problem]:
    if "pool_name" not in said:
        return
    behind = f"-{'0' * HASH_LENGTH}" if replace is Replace.SIDE_BY_SIDE else ""
    whole = base_name + behind if base_name else ""
    for problem in names.check(azure_types.BATCH_POOL.arm_type, whole, f"{path}.pool_name"):
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
    retries = task.get("retries", 0)
    if not -1 <= retries <= LARGEST_NUMBER:
        yield Problem(
            path=f"{here}.retries",
            message="this is too small" if retries < 0 else "this is too large",
            value=retries,
            allowed=f"0 to {LARGEST_NUMBER}, or -1 for ever",
            fix="write 0",
            source=str(sources.PROVIDER),
        )
    for key in ("environment", "secret_environment"):
        for variable in task.get(key, {}):
            if not variable or "=" in variable or "\0" in variable:
                yield Problem(
                    path=f"{here}.{key}.{variable}",
                    message="no environment variable can have this name",
                    value=variable,
                    allowed="any text without =, not empty",
                    fix="choose another name",
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
    if "auto_storage_container" in file:
        yield from names.check(
            azure_types.BLOB_CONTAINER.arm_type, file["auto_storage_container"], f"{path}.auto_storage_container"
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
    for index, image in enumerate(written(said.get("containers", ContainersArgs())).get("images", [])):
        yield from image_reference.check(image, f"{path}.containers.images[{index}]")


def _network(said: BatchPoolSettings, path: str) -> Iterator[Problem]:
    subnet = said.get("subnet_id")
    if isinstance(subnet, str):  # what another resource gives can't be looked at
        found = arm_ids.parse(subnet)
        if found is None or not found.is_type(_SUBNET):
            yield Problem(
                path=f"{path}.subnet_id",
                message="this is no id of a subnet",
                value=subnet,
                allowed=f"/subscriptions/<id>/resourceGroups/<name>/providers/{_SUBNET.replace('/s', '/<name>/s')}/<name>",
                fix="`az network vnet subnet show --query id` says it",
            )
    elif subnet is None and not said.get("public_addresses", True):
        yield Problem(
            path=f"{path}.public_addresses",
            message="nodes without public addresses are in a subnet, which leads out, and none is said",
            value=False,
            allowed="with subnet_id alone",
            fix="add subnet_id, or remove public_addresses",
            source=_WITHOUT_ADDRESSES,
            code=Code.IMPOSSIBLE,
        )


def cloud_services_problems(said: BatchPoolSettings, of_catalog: list[Problem], path: str) -> Iterator[Problem]:
    """What no day changes; where the catalog says of this pool that they ended, that is enough."""
    here = f"{path}.cloud_services"
    if said.get("cloud_services", False) and here not in {problem.path for problem in errors(of_catalog)}:
        yield Problem(
            path=here,
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
    for place in with_keys(said.get("mounts", {})):
        yield Problem(
            path=f"{path}.mounts.{place}.azure_file",
            message="a share is mounted by key, and a pool with a new key can't stand beside the one with the old",
            allowed=f"with replace: {Replace.DRAIN_FIRST}",
            fix=f"write replace: {Replace.DRAIN_FIRST}, or mount blobs as the identity",
        )


def surroundings_problems(path: str, said: BatchPoolSettings, *, identity: bool, storage: bool) -> list[Problem]:
    """What the pool at `path` needs of the foundation and doesn't find there."""
    task = said.get("start_task", StartTaskArgs(command=""))
    files = enumerate(task.get("resource_files", []))
    problems = [
        Problem(
            path=f"{path}.start_task.resource_files[{index}].use_identity",
            message=f"these files are fetched as {stacks(path, 'identity')}, and there is none",
            allowed=with_part(path, "identity"),
            fix=give_part(path, "identity"),
        )
        for index, file in files
        if file.get("use_identity", False) and not identity
    ]
    mounts = said.get("mounts", {})
    return [*problems, *needs_problems(mounts, f"{path}.mounts", identity=identity, storage=storage)]
