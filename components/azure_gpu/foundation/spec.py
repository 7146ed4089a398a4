"""What can be asked of a foundation: its arguments, their defaults, and every reason to refuse them.

In: `FoundationArgs`. Out: a `FoundationSpec` with all defaults filled in, and problems; `look_up` adds what has to be read.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NotRequired, TypedDict, TypeVar

from pulumi_azure_native import containerregistry, managedidentity, operationalinsights, resources, storage

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.formats.build_context import BuildContextError, context_hash
from azure_gpu.shared import existing
from azure_gpu.shared.context import Context, StackArgs
from azure_gpu.shared.workloads import Workload

T = TypeVar("T")

_IMAGE_SOURCE = re.compile(r"https://[^\s#]+\.git#[\w./-]+")


class PartArgs(TypedDict):
    """A part that a company may already have. Exactly one of the two keys; the word `create` alone stands for `create: true`."""

    create: NotRequired[bool]
    """Plain: true creates the part and deletes it with the stack."""
    existing: NotRequired[str]
    """Plain: ARM id of the one to use, in the stack's subscription. It is looked up, never changed and never deleted."""


class FoundationSettings(TypedDict):
    """The parts of a foundation, as a stack file says them."""

    resource_group: NotRequired[PartArgs]
    """The group that everything of the stack goes into. Default: create."""
    identity: NotRequired[PartArgs]
    """The user-assigned identity that containers run as and pull images as. Default: none."""
    registry: NotRequired[PartArgs]
    """The container registry; a created one builds the workloads, an existing one doesn't. Needs `identity`, which gets the role
    AcrPull on either while the stack is there, unless `assign_roles` is false. Default: none."""
    log_workspace: NotRequired[PartArgs]
    """The Log Analytics workspace that containers send their logs to. Default: none."""
    storage: NotRequired[PartArgs]
    """The storage account for data and models. Where the stack has a Batch account, an Azure Machine Learning workspace, virtual
    machines or a service on a cluster that fetches its model, the identity gets the role Storage Blob Data Contributor on it,
    unless `assign_roles` is false. Default: none."""


class FoundationArgs(FoundationSettings):
    """The parts of a foundation, and what the program adds."""

    stack: StackArgs
    """What all components of the stack share."""
    workloads: NotRequired[list[Workload]]
    """Plain: the workloads whose images the registry builds. Default: none."""
    image_source: NotRequired[str]
    """Plain: where the sources of `workloads` are: `https://…/repository.git#<commit>`. Default: nowhere."""
    assign_roles: NotRequired[bool]
    """Plain: false leaves the role assignments to an administrator and prints the commands. Default: true."""
    read_log_key: NotRequired[bool]
    """Plain: true reads the shared key of `log_workspace`, which container groups need and nothing else does. Default: false."""
    write_blobs: NotRequired[bool]
    """Plain: true gives the identity the role Storage Blob Data Contributor on the storage account, as Batch and Azure Machine
    Learning need it. Default: false."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One resolved part: an existing one, or one to create where there is none."""

    name: str
    existing: ArmId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundationSpec:
    """What is declared. A part is None where the stack does without it."""

    context: Context
    resource_group: Part
    identity: Part | None
    registry: Part | None
    log_workspace: Part | None
    storage: Part | None
    workloads: tuple[Workload, ...]
    image_source: str
    assign_roles: bool
    read_log_key: bool
    write_blobs: bool

    @property
    def identity_name(self) -> str:
        """What tells the identity from another: its group and its name, or its whole id where the stack didn't make it."""
        if self.identity is None:
            return ""
        return self.identity.existing.key if self.identity.existing else f"{self.resource_group.name}/{self.identity.name}"

    @property
    def identity_pulls(self) -> bool:
        """Whether the identity has a registry to pull from."""
        return self.identity is not None and self.registry is not None

    @property
    def identity_writes_blobs(self) -> bool:
        """Whether the identity reads and writes blobs in the storage account."""
        return self.identity is not None and self.storage is not None and self.write_blobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What had to be read: Azure's answers for the existing parts, None where there is none, and the state of the sources."""

    image_tags: dict[Workload, str]  # the hash of each workload's folder
    identity: "managedidentity.GetUserAssignedIdentityResult | None" = None
    registry: "containerregistry.GetRegistryResult | None" = None
    log_workspace: "operationalinsights.GetWorkspaceResult | None" = None


def check(args: FoundationArgs, context: Context) -> list[Problem]:
    """Everything that is wrong with the arguments, what has to be read included."""
    spec, problems = resolve(args, context)
    return [*problems, *look_up(spec)[1]]


def resolve(args: FoundationArgs, context: Context) -> tuple[FoundationSpec, list[Problem]]:
    """What is declared, and what is wrong with the arguments. Pure; whether existing parts are there is for `look_up` to say."""
    problems: list[Problem] = []
    create: PartArgs = {"create": True}

    def part(key: str, azure_type: AzureType, what: str, given: PartArgs) -> Part:
        found, more = resolve_part(given, azure_type, what, context, f"foundation.{key}")
        problems.extend(more)
        return found

    def optional(key: str, azure_type: AzureType, what: str, given: PartArgs | None) -> Part | None:
        return part(key, azure_type, what, given) if given is not None else None

    spec = FoundationSpec(
        context=context,
        resource_group=part("resource_group", azure_types.RESOURCE_GROUP, "", args.get("resource_group", create)),
        identity=optional("identity", azure_types.USER_ASSIGNED_IDENTITY, "identity", args.get("identity")),
        registry=optional("registry", azure_types.REGISTRY, "", args.get("registry")),
        log_workspace=optional("log_workspace", azure_types.LOG_WORKSPACE, "logs", args.get("log_workspace")),
        storage=optional("storage", azure_types.STORAGE_ACCOUNT, "", args.get("storage")),
        workloads=tuple(Workload(workload) for workload in args.get("workloads", [])),
        image_source=args.get("image_source", ""),
        assign_roles=args.get("assign_roles", True),
        read_log_key=args.get("read_log_key", False),
        write_blobs=args.get("write_blobs", False),
    )
    return spec, [*problems, *_registry_problems(spec), *_image_source_problems(spec)]


def resolve_part(given: PartArgs, azure_type: AzureType, what: str, context: Context, path: str) -> tuple[Part, list[Problem]]:
    """The part that `given` asks for; `what` tells it from the stack's others of its type, `path` is where it is written."""
    new = Part(name=context.name(azure_type.arm_type, what), existing=None)
    if given.get("create", False) == ("existing" in given):
        problem = Problem(
            path=path,
            message="exactly one of the two has to be said",
            value=dict(given),
            allowed="create, or existing: <id>",
            fix="write create, or leave the part out if the stack needs none",
        )
        return new, [problem]
    if "existing" not in given:
        return new, []
    found, problems = existing.resolve_id(given["existing"], azure_type, context.subscription_id, f"{path}.existing")
    return (Part(name=found.name, existing=found) if found else new), problems


def _registry_problems(spec: FoundationSpec) -> list[Problem]:
    problems: list[Problem] = []
    if spec.registry and not spec.identity:
        problems.append(
            Problem(
                path="foundation.identity",
                message="a registry is pulled from as an identity, and there is none",
                allowed="create, or existing: <id>",
                fix="add identity: create",
            )
        )
    names = ", ".join(spec.workloads)
    if spec.workloads and not spec.registry:
        problems.append(
            Problem(
                path="foundation.registry",
                message=f"there is no registry to build the workloads in that groups or jobs use: {names}",
                allowed="create",
                fix="add registry: create, or give these an image instead of a workload",
            )
        )
    if spec.workloads and spec.registry and spec.registry.existing:
        problems.append(
            Problem(
                path="foundation.registry",
                message=f"the program doesn't build into a registry that it didn't create; groups or jobs use: {names}",
                value=spec.registry.existing.text,
                allowed="create, where a workload is used",
                fix="build these workloads into the registry yourself and give their image by digest",
            )
        )
    return problems


def _image_source_problems(spec: FoundationSpec) -> list[Problem]:
    if not spec.workloads or _IMAGE_SOURCE.fullmatch(spec.image_source):
        return []
    form = "https://<host>/<repository>.git#<commit>"
    what = "this isn't one" if spec.image_source else "there is none"
    return [
        Problem(
            path="image_source",
            message=f"the registry builds the workloads from a git URL with a commit, and {what}",
            value=spec.image_source or None,
            allowed=f"{form}; without a commit a build could take other sources than the ones that were previewed",
            fix=f"push your checkout to a fork and run: pulumi config set image_source {form}",
        )
    ]


def look_up(spec: FoundationSpec) -> tuple[Found, list[Problem]]:
    """Azure's answers for the existing parts and the hashes of the workloads' folders, with a problem for what isn't there."""
    problems: list[Problem] = []

    def read(key: str, azure_type: AzureType, part: Part | None, lookup: Callable[[str, str], T]) -> T | None:
        if part is None or part.existing is None:
            return None
        found, more = existing.read(lookup, azure_type, part.existing, f"foundation.{key}.existing")
        problems.extend(more)
        return found

    read(
        "resource_group",
        azure_types.RESOURCE_GROUP,
        spec.resource_group,
        lambda _, name: resources.get_resource_group(resource_group_name=name),
    )
    read(
        "storage",
        azure_types.STORAGE_ACCOUNT,
        spec.storage,
        lambda group, name: storage.get_storage_account(resource_group_name=group, account_name=name),
    )
    tags, tag_problems = _image_tags(spec.workloads)
    found = Found(
        image_tags=tags,
        identity=read(
            "identity",
            azure_types.USER_ASSIGNED_IDENTITY,
            spec.identity,
            lambda group, name: managedidentity.get_user_assigned_identity(resource_group_name=group, resource_name=name),
        ),
        registry=read(
            "registry",
            azure_types.REGISTRY,
            spec.registry,
            lambda group, name: containerregistry.get_registry(resource_group_name=group, registry_name=name),
        ),
        log_workspace=read(
            "log_workspace",
            azure_types.LOG_WORKSPACE,
            spec.log_workspace,
            lambda group, name: operationalinsights.get_workspace(resource_group_name=group, workspace_name=name),
        ),
    )
    return found, [*problems, *tag_problems]


def _image_tags(workloads: Sequence[Workload]) -> tuple[dict[Workload, str], list[Problem]]:
    tags: dict[Workload, str] = {}
    problems: list[Problem] = []
    for workload in workloads:
        try:
            tags[workload] = context_hash(workload.folder)
        except BuildContextError as error:
            problems.append(Problem(path=f"workloads/{workload}", message=f"this folder can't be built: {error}"))
    return tags, problems
