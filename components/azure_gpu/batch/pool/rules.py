"""Validates a Batch pool beyond the catalog: contradictions in its settings, and limits of this program."""

import re
from collections.abc import Iterator

from azure_gpu.batch.pool.args import (
    DEFAULT_PUBLIC_ADDRESSES,
    DEFAULT_RETRIES,
    BatchPoolSettings,
    ContainersArgs,
    ResourceFileArgs,
    StartTaskArgs,
)
from azure_gpu.batch.pool.mounts import mount_problems, needs_problems, unmanaged_containers
from azure_gpu.batch.pool.spec import LOGICAL_NAME, BatchPoolSpec
from azure_gpu.catalog import names, quotas
from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.quotas import BatchAccountLimits
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.batch.scale import LARGEST_NUMBER
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import observed
from azure_gpu.formats import arm_ids, azure_types, image_reference
from azure_gpu.formats.tags import POOL_MPI
from azure_gpu.images.choice import ImageChoice, generation_problems
from azure_gpu.shared.context import check_tags
from azure_gpu.shared.installation import COMMAND
from azure_gpu.shared.naming import HASH_LENGTH
from azure_gpu.shared.validation import written
from azure_gpu.shared.wording import without_part

_SOURCES_OF_FILES = ("url", "container_url", "auto_storage_container")
_MODE = re.compile(r"0?[0-7]{3}")
_SUBNET = "Microsoft.Network/virtualNetworks/subnets"
_REPLICAS = observed("Microsoft Learn, azure-arm-batch: id of ImageReference", 2026, 11, 25)
_WITHOUT_ADDRESSES = "Microsoft Learn, batch/simplified-node-communication-pool-no-public-ip, of 2022-05-26: prerequisites"


def problems_of(spec: BatchPoolSpec, path: str) -> Iterator[Problem]:
    """Validates the pool at `path`."""
    settings = spec.settings
    mounts = settings.get("mounts", {})
    if spec.request.size is None and spec.request.size_name is None:
        yield refused("pool.bad_size", f"{path}.size", spec.size, command=COMMAND)
    if "pool_name" in settings:
        yield from _name(spec, f"{path}.pool_name")
    for key in (key for key in settings.get("metadata", {}) if key in (LOGICAL_NAME, POOL_MPI)):
        yield refused("pool.own_metadata", f"{path}.metadata.{key}", key, logical_name=LOGICAL_NAME, pool_mpi=POOL_MPI)
    if "start_task" in settings:
        yield from _start_task(settings["start_task"], f"{path}.start_task")
    for index, image in enumerate(written(settings.get("containers", ContainersArgs())).get("images", [])):
        yield from image_reference.check(image, f"{path}.containers.images[{index}]")
    yield from _network(settings, path)
    yield from mount_problems(mounts, spec.request.operating_system, f"{path}.mounts")
    if spec.replace == "side-by-side":  # the hash in the name doesn't include the key, so a new key would keep the name
        for mount_path in (mount_path for mount_path, mount in mounts.items() if "azure_file" in mount):
            yield refused("pool.key_side_by_side", f"{path}.mounts.{mount_path}.azure_file")
    yield from check_tags(settings.get("tags", {}), f"{path}.tags")
    yield from unmanaged_containers(mounts, spec.own_containers, spec.dependencies.storage, f"{path}.mounts")


def fit_problems(
    settings: BatchPoolSettings, choice: ImageChoice, size: Size | None, path: str, location: str = ""
) -> Iterator[Problem]:
    """Validates a custom image, which isn't in the catalog, against the rest of the pool. `location`: the account's region, empty
    where it isn't known."""
    image = choice.of_gallery
    if (choice.image_id or image) and not settings.get("node_agent") and not choice.node_agent:
        place = f"gallery_images.{choice.gallery_image}.node_agent, or node_agent here" if image else "node_agent"
        yield refused("pool.node_agent_unknown", f"{path}.node_agent", place=place)
    if image is None:
        return
    if "os_type" in settings and settings["os_type"] != image["os_type"]:
        words = {"allowed": image["os_type"], "choice": choice}
        yield refused("pool.other_system", f"{path}.os_type", settings["os_type"], **words)
    here, name, available = f"{path}.gallery_image", choice.gallery_image, image["regions"]
    if location and available and location not in available:
        words = {"location": location, "regions": ", ".join(available)}
        yield refused("pool.image_not_copied", here, name, source=_REPLICAS, **words)
    yield from generation_problems("pool.other_generation", size, choice.of_gallery, name, here)


def quota(spec: BatchPoolSpec, account: BatchAccountLimits | None, path: str) -> list[Problem]:
    """Warns of machines beyond the quotas of an account that exists, or of one that is new (None): Batch takes such a pool, and
    gives it no nodes."""
    dedicated, spot = spec.request.most or (0, 0)
    region = account.region if account is not None else ""
    uses = [
        SizeUse(Service.BATCH, spec.size, region, f"{path}.size", path, nodes, spot=is_spot)
        for nodes, is_spot in ((dedicated, False), (spot, True))
        if nodes
    ]
    found = quotas.batch_problems(uses, account) if account is not None else quotas.new_account_problems(uses)
    return [each._replace(severity=Severity.WARNING) for each in found if each.code is Code.NO_QUOTA]


def _name(spec: BatchPoolSpec, path: str) -> Iterator[Problem]:
    base_name, behind = spec.base_name, f"-{'0' * HASH_LENGTH}" if spec.replace == "side-by-side" else ""
    for problem in names.check(azure_types.BATCH_POOL.arm_type, base_name + behind if base_name else "", path):
        room = f", {len(behind)} of them for the hash of side-by-side" if behind else ""
        yield problem._replace(value=base_name, allowed=problem.allowed + room, fix=problem.fix.replace(behind, ""))


def _start_task(task: StartTaskArgs, here: str) -> Iterator[Problem]:
    if not task["command"].strip():
        yield refused("pool.no_command", f"{here}.command")
    retries = task.get("retries", DEFAULT_RETRIES)
    if not -1 <= retries <= LARGEST_NUMBER:
        what = "too small" if retries < 0 else "too large"
        yield refused("pool.bad_retries", f"{here}.retries", retries, what=what, most=LARGEST_NUMBER)
    for key in ("environment", "secret_environment"):
        # pyrefly: ignore[not-iterable]
        for variable in task.get(key, {}):
            if not variable or "=" in variable or "\0" in variable:
                yield refused("variables.bad_name", f"{here}.{key}.{variable}", variable)
    for variable in sorted(task.get("environment", {}).keys() & task.get("secret_environment", {}).keys()):
        yield refused("variables.set_twice", f"{here}.environment.{variable}")
    for index, file in enumerate(task.get("resource_files", [])):
        yield from _resource_file(file, f"{here}.resource_files[{index}]")


def _resource_file(file: ResourceFileArgs, path: str) -> Iterator[Problem]:
    given = [key for key in _SOURCES_OF_FILES if key in file]
    if len(given) != 1:
        yield refused("pool.sources_of_file", path, ", ".join(given) or None, sources=", ".join(_SOURCES_OF_FILES))
    if "auto_storage_container" in file:
        yield from names.check(
            azure_types.BLOB_CONTAINER.arm_type, file["auto_storage_container"], f"{path}.auto_storage_container"
        )
    if "url" in file and "path" not in file:
        yield refused("pool.file_without_path", f"{path}.path")
    if "url" in file and "prefix" in file:
        yield refused("pool.prefix_of_url", f"{path}.prefix", file["prefix"])
    if "mode" in file and not _MODE.fullmatch(file["mode"]):
        yield refused("pool.bad_file_mode", f"{path}.mode", file["mode"])


def _network(settings: BatchPoolSettings, path: str) -> Iterator[Problem]:
    subnet = settings.get("subnet_id")
    if isinstance(subnet, str):  # outputs can't be validated
        found = arm_ids.parse(subnet)
        if found is None or not found.is_type(_SUBNET):
            yield refused("pool.bad_subnet", f"{path}.subnet_id", subnet)
    elif subnet is None and not settings.get("public_addresses", DEFAULT_PUBLIC_ADDRESSES):
        yield refused("pool.no_addresses_without_subnet", f"{path}.public_addresses", False, source=_WITHOUT_ADDRESSES)


def cloud_services_problems(settings: BatchPoolSettings, of_catalog: list[Problem], path: str) -> Iterator[Problem]:
    """Rejects Cloud Services pools at any date, unless the catalog reports their retirement already."""
    here = f"{path}.cloud_services"
    if settings.get("cloud_services", False) and here not in {problem.path for problem in errors(of_catalog)}:
        yield refused("pool.cloud_services", here, True)


def missing_dependencies(path: str, settings: BatchPoolSettings, *, identity: bool, storage: bool) -> list[Problem]:
    """Returns problems for parts of the foundation that the pool at `path` requires and that are missing."""
    files = settings.get("start_task", StartTaskArgs(command="")).get("resource_files", [])
    unreadable = [index for index, file in enumerate(files) if file.get("use_identity", False) and not identity]
    paths = [f"{path}.start_task.resource_files[{index}].use_identity" for index in unreadable]
    of_mounts = needs_problems(settings.get("mounts", {}), f"{path}.mounts", identity=identity, storage=storage)
    return [*(without_part("pool.file_without_identity", each, "identity") for each in paths), *of_mounts]
