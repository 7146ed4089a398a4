"""Look-ups of a foundation: existing parts, role assignments, and the hashes of the workloads' sources."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from pulumi_azure_native import containerregistry, managedidentity, operationalinsights, resources, storage

from azure_gpu.catalog import roles
from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.formats.build_context import BuildContextError
from azure_gpu.foundation.spec import PATH, UPLOAD, FoundationSpec
from azure_gpu.shared import assigned_already, customer_key, existing, private_link_scope, private_network, registry_modes
from azure_gpu.shared.customer_key import KeyFacts
from azure_gpu.shared.look_up import OF_STACK, AskedBy
from azure_gpu.shared.part import Part
from azure_gpu.shared.workloads import Workload

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundationLookup:
    """Results of the look-ups: Azure's data of the existing parts, None where there is none, and the hashes of the sources."""

    image_tags: dict[Workload, str]  # the hash of each workload's sources
    identity: "managedidentity.GetUserAssignedIdentityResult | None" = None
    serving_identity: "managedidentity.GetUserAssignedIdentityResult | None" = None
    registry: "containerregistry.GetRegistryResult | None" = None
    log_workspace: "operationalinsights.GetWorkspaceResult | None" = None
    key: KeyFacts | None = None  # of the key that encrypts data
    key_is_usable: bool = False  # the identity has the role on it by an assignment outside of the stack
    pull_role: str = roles.ACR_PULL  # allows pulling from the registry
    pulls_already: bool = False  # the identity has that role by an assignment outside of the stack
    writes_already: bool = False  # the same of its role on the storage account
    serving_pulls_already: bool = False  # the same of the roles of the serving identity
    serving_reads_already: bool = False
    have_data_access: frozenset[tuple[str, str]] = frozenset()  # object ids of `data_access` and roles that they have


def look_up(spec: FoundationSpec, asked_by: AskedBy = OF_STACK) -> tuple[FoundationLookup, list[Problem]]:
    """Looks up the existing parts and the hashes of the workloads' sources, with a problem for each missing one."""
    problems: list[Problem] = []

    own, path = spec.context.subscription_id, spec.context.path(PATH)

    def read(key: str, azure_type: AzureType, part: Part | None, get: Callable[..., T]) -> T | None:
        if part is None or part.existing is None:
            return None
        found, more = existing.get(get, azure_type, part.existing, f"{path}.{key}.existing", asked_by, own)
        problems.extend(more)
        return found

    group = spec.resource_group if spec.group_is_within else None
    read("resource_group", azure_types.RESOURCE_GROUP, group, resources.get_resource_group)
    read("storage", azure_types.STORAGE_ACCOUNT, spec.storage, storage.get_storage_account)
    get_identity = managedidentity.get_user_assigned_identity
    of_path = f"{path}.customer_managed_key"
    key, of_key = customer_key.look_up(spec.key, of_path, asked_by, own, assigns_roles=spec.assign_roles)
    tags, tag_problems = _image_tags(spec)
    found = FoundationLookup(
        image_tags=tags,
        key=key,
        identity=read("identity", azure_types.USER_ASSIGNED_IDENTITY, spec.identity, get_identity),
        serving_identity=read("serving_identity", azure_types.USER_ASSIGNED_IDENTITY, spec.serving_identity, get_identity),
        registry=read("registry", azure_types.REGISTRY, spec.registry, containerregistry.get_registry),
        log_workspace=read("log_workspace", azure_types.LOG_WORKSPACE, spec.log_workspace, operationalinsights.get_workspace),
    )
    of_network = private_network.look_up(spec.network, f"{path}.network", asked_by)
    of_scope = private_link_scope.look_up(spec.link_scope, asked_by, own)
    return _with_roles(found, spec, asked_by), [*problems, *of_network, *of_scope, *of_key, *tag_problems]


def _with_roles(found: FoundationLookup, spec: FoundationSpec, asked_by: AskedBy) -> FoundationLookup:
    """Adds which roles of existing identities on existing resources are assigned already."""
    own = spec.context.subscription_id
    registry = spec.registry.existing if spec.registry else None
    storage = spec.storage.existing if spec.storage else None
    if registry is not None and found.registry is not None:
        found = replace(found, pull_role=registry_modes.pull_role(registry, asked_by, own))
    if not spec.assign_roles:
        return found

    def is_assigned(role: str, scope: ArmId | None, principal_id: str | None) -> bool:
        if scope is None or not principal_id:
            return False
        of_stack_file = spec.context.component is None
        return assigned_already.outside_of_stack(role, scope, principal_id, asked_by, own, of_stack_file=of_stack_file)

    identity, writes = found.identity.principal_id if found.identity is not None else None, roles.STORAGE_BLOB_DATA_CONTRIBUTOR
    serving = found.serving_identity.principal_id if found.serving_identity is not None else None
    # People may also have it on an account of the stack, assigned by hand before the stack file listed them.
    account = arm_ids.parse(spec.storage_id)
    return replace(
        found,
        key_is_usable=is_assigned(roles.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER, spec.key, identity),
        pulls_already=is_assigned(found.pull_role, registry, identity),
        writes_already=spec.identity_writes_blobs and is_assigned(writes, storage, identity),
        serving_pulls_already=is_assigned(found.pull_role, registry, serving),
        serving_reads_already=is_assigned(roles.STORAGE_BLOB_DATA_READER, storage, serving),
        have_data_access=frozenset(
            (each.object_id, role) for each, role in spec.access_by_role if is_assigned(role, account, each.object_id)
        ),
    )


def _image_tags(spec: FoundationSpec) -> tuple[dict[Workload, str], list[Problem]]:
    tags: dict[Workload, str] = {}
    problems: list[Problem] = []
    if missing := [each for each in spec.workloads if spec.uploads and not each.context.is_dir()]:
        problem = Problem(
            path=spec.context.own_path("image_source"),
            message=f"the sources aren't installed of: {', '.join(missing)}",
            value=UPLOAD,
            allowed="in a checkout, or with the package azure-gpu-operations",
            fix="install azure-gpu-operations beside azure-gpu, of the same version",
        )
        return tags, [problem]
    for workload in spec.workloads:
        try:
            tags[workload] = workload.tag
        except BuildContextError as error:
            problems.append(Problem(path=workload.source, message=f"this folder can't be built: {error}"))
    return tags, problems
