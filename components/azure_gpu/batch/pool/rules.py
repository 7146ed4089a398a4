"""Validates a Batch pool beyond the catalog: contradictions in its settings, and limits of this program."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from azure_gpu.batch.pool.args import (
    DEFAULT_PUBLIC_ADDRESSES,
    DEFAULT_RETRIES,
    BatchPoolSettings,
    ContainersArgs,
    Replace,
    ResourceFileArgs,
    StartTaskArgs,
)
from azure_gpu.batch.pool.catalog_request import SIZE_NAME
from azure_gpu.batch.pool.mounts import mount_problems, needs_problems, with_keys
from azure_gpu.catalog import names, quotas
from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.quotas import BatchAccountLimits
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.services.batch.scale import LARGEST_NUMBER
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.formats import arm_ids, azure_types, image_reference
from azure_gpu.formats.tags import POOL_MPI
from azure_gpu.shared.context import check_tags
from azure_gpu.shared.installation import COMMAND
from azure_gpu.shared.naming import HASH_LENGTH
from azure_gpu.shared.validation import written
from azure_gpu.shared.wording import give_part, stacks, with_part

if TYPE_CHECKING:
    from azure_gpu.batch.pool.spec import BatchPoolSpec

LOGICAL_NAME = "logical-name"  # in the pool's metadata: its name in the stack
_SOURCES_OF_FILES = ("url", "container_url", "auto_storage_container")
_MODE = re.compile(r"0?[0-7]{3}")
_SUBNET = "Microsoft.Network/virtualNetworks/subnets"
_WITHOUT_ADDRESSES = "Microsoft Learn, batch/simplified-node-communication-pool-no-public-ip, of 2022-05-26: prerequisites"


def problems_of(path: str, settings: BatchPoolSettings, request: PoolRequest, replace: Replace, base_name: str) -> list[Problem]:
    """Validates the pool at `path`."""
    mounts = settings.get("mounts", {})
    return [
        *_size(settings, request, path),
        *_names(settings, replace, base_name, path),
        *_metadata(settings, path),
        *_start_task(settings, path),
        *_containers(settings, path),
        *_network(settings, path),
        *mount_problems(mounts, request.operating_system, f"{path}.mounts"),
        *_mounts_by_key(settings, replace, path),
        *check_tags(settings.get("tags", {}), f"{path}.tags"),
    ]


def quota(spec: "BatchPoolSpec", account: BatchAccountLimits | None, path: str) -> list[Problem]:
    """Warns of machines beyond the quotas of an account that exists, or of one that is new (None): Batch takes such a pool, and
    gives it no nodes."""
    dedicated, spot = spec.scale.most or (0, 0)
    region = account.region if account is not None else ""
    uses = [
        SizeUse(Service.BATCH, spec.size, region, f"{path}.size", path, nodes, spot=is_spot)
        for nodes, is_spot in ((dedicated, False), (spot, True))
        if nodes
    ]
    found = quotas.batch_problems(uses, account) if account is not None else quotas.new_account_problems(uses)
    return [each._replace(severity=Severity.WARNING) for each in found if each.code is Code.NO_QUOTA]


def _size(settings: BatchPoolSettings, request: PoolRequest, path: str) -> Iterator[Problem]:
    if request.size is None and not SIZE_NAME.fullmatch(settings["size"]):
        yield Problem(
            path=f"{path}.size",
            message="not a valid virtual machine size",
            value=settings["size"],
            allowed="a size, such as Standard_NC4as_T4_v3",
            fix=f"list sizes with GPUs or InfiniBand with `{COMMAND} sizes --service batch`",
        )


def _names(settings: BatchPoolSettings, replace: Replace, base_name: str, path: str) -> Iterator[Problem]:
    if "pool_name" not in settings:
        return
    behind = f"-{'0' * HASH_LENGTH}" if replace == "side-by-side" else ""
    whole = base_name + behind if base_name else ""
    for problem in names.check(azure_types.BATCH_POOL.arm_type, whole, f"{path}.pool_name"):
        room = f", {len(behind)} of them for the hash of side-by-side" if behind else ""
        yield problem._replace(value=base_name, allowed=problem.allowed + room, fix=problem.fix.replace(behind, ""))


def _metadata(settings: BatchPoolSettings, path: str) -> Iterator[Problem]:
    for key in settings.get("metadata", {}):
        if key in (LOGICAL_NAME, POOL_MPI):
            yield Problem(
                path=f"{path}.metadata.{key}",
                message="this key is set by the program",
                value=key,
                allowed=f"any key except {LOGICAL_NAME} and {POOL_MPI}",
                fix="choose another key",
            )


def _start_task(settings: BatchPoolSettings, path: str) -> Iterator[Problem]:
    task = settings.get("start_task")
    if task is None:
        return
    here = f"{path}.start_task"
    if not task["command"].strip():
        yield Problem(path=f"{here}.command", message="must not be empty", fix="write the command line")
    retries = task.get("retries", DEFAULT_RETRIES)
    if not -1 <= retries <= LARGEST_NUMBER:
        yield Problem(
            path=f"{here}.retries",
            message="too small" if retries < 0 else "too large",
            value=retries,
            allowed=f"0 to {LARGEST_NUMBER}, or -1 for ever",
            fix="write 0",
            source=str(sources.PROVIDER),
        )
    for key in ("environment", "secret_environment"):
        # pyrefly: ignore[not-iterable]
        for variable in task.get(key, {}):
            if not variable or "=" in variable or "\0" in variable:
                yield Problem(
                    path=f"{here}.{key}.{variable}",
                    message="not a valid name of an environment variable",
                    value=variable,
                    allowed="any text without =, not empty",
                    fix="choose another name",
                )
    for variable in sorted(task.get("environment", {}).keys() & task.get("secret_environment", {}).keys()):
        yield Problem(
            path=f"{here}.environment.{variable}",
            message="set both as plain and as secret",
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
            message="set exactly one source of files",
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
            path=f"{path}.path",
            message="required with `url`: the file's path on the node",
            fix="add path",
            source=str(sources.PROVIDER),
        )
    if "url" in file and "prefix" in file:
        yield Problem(
            path=f"{path}.prefix",
            message="`prefix` can't be combined with `url`",
            value=file["prefix"],
            allowed="only with a container of blobs",
            fix="remove it",
            source=str(sources.PROVIDER),
        )
    if "mode" in file and not _MODE.fullmatch(file["mode"]):
        yield Problem(
            path=f"{path}.mode",
            message="invalid file mode",
            value=file["mode"],
            allowed="an octal number, such as 0755",
            fix='write "0755"',
        )


def _containers(settings: BatchPoolSettings, path: str) -> Iterator[Problem]:
    for index, image in enumerate(written(settings.get("containers", ContainersArgs())).get("images", [])):
        yield from image_reference.check(image, f"{path}.containers.images[{index}]")


def _network(settings: BatchPoolSettings, path: str) -> Iterator[Problem]:
    subnet = settings.get("subnet_id")
    if isinstance(subnet, str):  # outputs can't be validated
        found = arm_ids.parse(subnet)
        if found is None or not found.is_type(_SUBNET):
            yield Problem(
                path=f"{path}.subnet_id",
                message="not a valid subnet id",
                value=subnet,
                allowed=f"/subscriptions/<id>/resourceGroups/<name>/providers/{_SUBNET.replace('/s', '/<name>/s')}/<name>",
                fix="get it with `az network vnet subnet show --query id`",
            )
    elif subnet is None and not settings.get("public_addresses", DEFAULT_PUBLIC_ADDRESSES):
        yield Problem(
            path=f"{path}.public_addresses",
            message="`public_addresses: false` requires `subnet_id` of a subnet with outbound access",
            value=False,
            allowed="only with subnet_id",
            fix="add subnet_id, or remove public_addresses",
            source=_WITHOUT_ADDRESSES,
            code=Code.IMPOSSIBLE,
        )


def cloud_services_problems(settings: BatchPoolSettings, of_catalog: list[Problem], path: str) -> Iterator[Problem]:
    """Rejects Cloud Services pools at any date, unless the catalog reports their retirement already."""
    here = f"{path}.cloud_services"
    if settings.get("cloud_services", False) and here not in {problem.path for problem in errors(of_catalog)}:
        yield Problem(
            path=here,
            message="pools of Cloud Services configuration aren't in the API that this program uses",
            value=True,
            allowed="pools of virtual machines",
            fix="remove it, and name an image",
            source=str(sources.PROVIDER),
            code=Code.IMPOSSIBLE,
        )


def _mounts_by_key(settings: BatchPoolSettings, replace: Replace, path: str) -> Iterator[Problem]:
    """Rejects mounts by key with side-by-side replacement: the hash in the name doesn't include the key, so a new key would keep
    the name."""
    if replace != "side-by-side":
        return
    for mount_path in with_keys(settings.get("mounts", {})):
        yield Problem(
            path=f"{path}.mounts.{mount_path}.azure_file",
            message="a share that is mounted by key can't be combined with side-by-side replacement",
            allowed="only with replace: drain-first",
            fix="write replace: drain-first, or mount blobs as the identity",
        )


def missing_dependencies(path: str, settings: BatchPoolSettings, *, identity: bool, storage: bool) -> list[Problem]:
    """Returns problems for parts of the foundation that the pool at `path` requires and that are missing."""
    task = settings.get("start_task", StartTaskArgs(command=""))
    files = enumerate(task.get("resource_files", []))
    problems = [
        Problem(
            path=f"{path}.start_task.resource_files[{index}].use_identity",
            message=f"`use_identity` requires {stacks(path, 'identity')}",
            allowed=with_part(path, "identity"),
            fix=give_part(path, "identity"),
        )
        for index, file in files
        if file.get("use_identity", False) and not identity
    ]
    mounts = settings.get("mounts", {})
    return [*problems, *needs_problems(mounts, f"{path}.mounts", identity=identity, storage=storage)]
