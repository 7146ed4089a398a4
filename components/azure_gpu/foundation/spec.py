"""What is decided of a foundation, and how: `FoundationSpec`, `resolve` and its problems.

Existing parts are read in `existing`.
"""

import re
from dataclasses import dataclass
from typing import Literal

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.foundation.args import FoundationWiring
from azure_gpu.shared import principals
from azure_gpu.shared.context import Context
from azure_gpu.shared.part import Named, NamedPartArgs, Part, not_changed, resolve_part
from azure_gpu.shared.principals import Principal, PrincipalsArgs
from azure_gpu.shared.validation import written
from azure_gpu.shared.workloads import Workload

PATH = "foundation"  # where a stack file describes it
_IMAGE_SOURCE = re.compile(r"https://[^\s#]+\.git#[\w./-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundationSpec:
    """What is declared. A part is None where the stack does without it."""

    context: Context
    resource_group: Part
    identity: Part | None
    serving_identity: Part | None  # what answers requests speaks as it; None: as the identity above
    registry: Part | None
    log_workspace: Part | None
    storage: Part | None
    workloads: tuple[Workload, ...]
    image_source: str
    assign_roles: bool
    write_blobs: bool
    data_access: tuple[Principal, ...]  # who reads and writes blobs in the storage account beside the identity

    @property
    def storage_id(self) -> str:
        """The ARM id of the storage account, said before it is there; empty without one."""
        if self.storage is None or self.storage.existing:
            return self.storage.existing.text if self.storage and self.storage.existing else ""
        inputs = {"resourceGroupName": self.resource_group.name, azure_types.STORAGE_ACCOUNT.name_parameter: self.storage.name}
        return azure_types.STORAGE_ACCOUNT.id_of(self.context.subscription_id, inputs)

    @property
    def group_is_within(self) -> bool:
        """Whether the resource group lies in the subscription that everything is created in."""
        group = self.resource_group.existing
        return group is None or group.subscription.lower() == self.context.subscription_id.lower()

    @property
    def identity_name(self) -> str:
        """What tells the identity from another: its group and its name, or its whole id where the stack didn't make it."""
        return self._told_by(self.identity)

    @property
    def serving_identity_name(self) -> str:
        """The same of the identity that serves."""
        return self._told_by(self.serving_identity)

    def _told_by(self, identity: Part | None) -> str:
        if identity is None:
            return ""
        return identity.existing.key if identity.existing else f"{self.resource_group.name}/{identity.name}"

    @property
    def identity_pulls(self) -> bool:
        """Whether the identity has a registry to pull from."""
        return self.identity is not None and self.registry is not None

    @property
    def identity_writes_blobs(self) -> bool:
        """Whether the identity reads and writes blobs in the storage account."""
        return self.identity is not None and self.storage is not None and self.write_blobs

    @property
    def serving_identity_pulls(self) -> bool:
        """Whether the identity that serves has a registry to pull from."""
        return self.serving_identity is not None and self.registry is not None

    @property
    def serving_identity_reads_blobs(self) -> bool:
        """Whether the identity that serves reads blobs in the storage account."""
        return self.serving_identity is not None and self.storage is not None


def resolve(args: FoundationWiring, context: Context) -> tuple[FoundationSpec, list[Problem]]:
    """What is declared, and what is wrong with the arguments. Pure; whether existing parts are there is for `look_up` to say."""
    problems: list[Problem] = []
    create: NamedPartArgs = {"create": True}

    def part(key: str, azure_type: AzureType, what: str, given: NamedPartArgs | Literal["create"]) -> Part:
        said, path = written(given), f"{context.path(PATH)}.{key}"
        named = Named(said["name"], f"{path}.name") if "name" in said else None
        found, more = resolve_part(said, azure_type, what, context, path, named)
        problems.extend([*more, *not_changed(said, path)])
        return found

    def optional(key: str, azure_type: AzureType, what: str, given: NamedPartArgs | Literal["create"] | None) -> Part | None:
        return part(key, azure_type, what, given) if given is not None else None

    data_access: PrincipalsArgs = written(args.get("storage", create)).get("data_access", {})
    spec = FoundationSpec(
        context=context,
        resource_group=part("resource_group", azure_types.RESOURCE_GROUP, "", args.get("resource_group", create)),
        identity=optional("identity", azure_types.USER_ASSIGNED_IDENTITY, "identity", args.get("identity")),
        serving_identity=optional("serving_identity", azure_types.USER_ASSIGNED_IDENTITY, "serves", args.get("serving_identity")),
        registry=optional("registry", azure_types.REGISTRY, "", args.get("registry")),
        log_workspace=optional("log_workspace", azure_types.LOG_WORKSPACE, "logs", args.get("log_workspace")),
        storage=optional("storage", azure_types.STORAGE_ACCOUNT, "", args.get("storage")),
        workloads=tuple(Workload(workload) for workload in args.get("workloads", [])),
        image_source=args.get("image_source", ""),
        assign_roles=args.get("assign_roles", True),
        write_blobs=args.get("write_blobs", False),
        data_access=principals.resolve(data_access),
    )
    problems += principals.check(data_access, f"{context.path(PATH)}.storage.data_access")
    of_parts = [*_group_problems(spec), *_identity_problems(spec), *_registry_problems(spec), *_image_source_problems(spec)]
    return spec, [*problems, *of_parts]


def _group_problems(spec: FoundationSpec) -> list[Problem]:
    group = spec.resource_group.existing
    if group is None or spec.group_is_within:
        return []
    return [
        Problem(
            path=f"{spec.context.path(PATH)}.resource_group.existing",
            message="this resource group lies in another subscription than everything that is created in it",
            value=group.text,
            allowed=f"a resource group of subscription {spec.context.subscription_id}, which is the provider's",
            fix="name one of that subscription, or set azure-native:subscriptionId to the group's",
        )
    ]


def _identity_problems(spec: FoundationSpec) -> list[Problem]:
    """Azure refuses a role that the same identity gets twice, and one identity that does both separates nothing."""
    serving = spec.serving_identity.existing if spec.serving_identity else None
    if serving is None or spec.serving_identity_name != spec.identity_name:
        return []
    return [
        Problem(
            path=f"{spec.context.path(PATH)}.serving_identity.existing",
            message="this is the stack's identity too, so that what serves could do all that what trains can",
            value=serving.text,
            allowed="create, or another identity than `identity`",
            fix="write serving_identity: create, or remove it",
        )
    ]


def _registry_problems(spec: FoundationSpec) -> list[Problem]:
    problems: list[Problem] = []
    if spec.registry and not spec.identity:
        problems.append(
            Problem(
                path=f"{spec.context.path(PATH)}.identity",
                message="a registry is pulled from as an identity, and there is none",
                allowed="create, or existing: <id>",
                fix="add identity: create",
            )
        )
    names = ", ".join(spec.workloads)
    if spec.workloads and not spec.registry:
        problems.append(
            Problem(
                path=f"{spec.context.path(PATH)}.registry",
                message=f"there is no registry to build the workloads in that groups or jobs use: {names}",
                allowed="create",
                fix="add registry: create, or give these an image instead of a workload",
            )
        )
    if spec.workloads and spec.registry and spec.registry.existing:
        problems.append(
            Problem(
                path=f"{spec.context.path(PATH)}.registry",
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
    component = spec.context.component
    return [
        Problem(
            path=spec.context.own_path("image_source"),
            message=f"the registry builds the workloads from a git URL with a commit, and {what}",
            value=spec.image_source or None,
            allowed=f"{form}; without a commit a build could take other sources than the ones that were previewed",
            fix=f"run: pulumi config set image_source {form}; a stack's file without it takes the checkout's `origin`, once "
            "that has the workloads as they are here"
            if component is None
            else f"push a checkout of azure-gpu to a fork and add image_source: {form}",
        )
    ]
