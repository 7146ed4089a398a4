"""`FoundationSpec`: the resolved arguments of a foundation, with their validation. Existing parts are read in `existing`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from azure_gpu.catalog import roles
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.customer_keys import REGISTRIES_PAGE
from azure_gpu.catalog.services.private_networks import ENDPOINTS, PREMIUM_PAGE, TASKS_PAGE
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.formats.likely_secrets import check_login, holds_secret
from azure_gpu.foundation.args import FoundationWiring
from azure_gpu.shared import customer_key, principals, private_link_scope, private_network
from azure_gpu.shared.context import Context
from azure_gpu.shared.part import Named, NamedPartArgs, Part, not_changed, resolve_part
from azure_gpu.shared.principals import Principal, PrincipalsArgs
from azure_gpu.shared.private_link_scope import LinkScopeSpec, PrivateLinkScopeArgs
from azure_gpu.shared.private_network import PrivateNetworkSpec
from azure_gpu.shared.validation import written
from azure_gpu.shared.workloads import Workload

PATH = "foundation"  # in a stack file
_PREMIUM = "Premium"
UPLOAD = "upload"  # in place of a URL
_PUBLIC = "the URL of a repository that is read without a login"
_PRIVATE = f"build private sources from the files here, by image_source: {UPLOAD}"
_IMAGE_SOURCE = re.compile(r"https://[^\s#]+\.git#[\w./-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundationSpec:
    """The resolved arguments. A part is None where the stack doesn't have it."""

    context: Context
    resource_group: Part
    identity: Part | None
    serving_identity: Part | None  # for serving; None: the identity above is used
    registry: Part | None
    log_workspace: Part | None
    storage: Part | None
    network: PrivateNetworkSpec | None  # None: services have public addresses
    link_scope: LinkScopeSpec | None  # None: those of Azure Monitor have, too
    key: ArmId | None  # that encrypts data; None: keys of Azure do
    workloads: tuple[Workload, ...]
    image_source: str
    purges: bool  # old builds are deleted from a created registry
    assign_roles: bool
    write_blobs: bool
    data_access: tuple[Principal, ...]  # principals with write access to blobs, beside the identity
    share_files: bool  # and to file shares, where Azure Machine Learning keeps notebooks

    @property
    def access_by_role(self) -> list[tuple[Principal, str]]:
        """Who of `data_access` gets which role. Source of the second: MicrosoftDocs/azure-ai-docs, articles/machine-learning/
        how-to-disable-local-auth-storage.md, Scenarios for role assignments."""
        files = (roles.STORAGE_FILE_DATA_PRIVILEGED_CONTRIBUTOR,) if self.share_files else ()
        return [(each, role) for role in (roles.STORAGE_BLOB_DATA_CONTRIBUTOR, *files) for each in self.data_access]

    @property
    def storage_id(self) -> str:
        """The ARM id of the storage account, known before it exists; empty without one."""
        if self.storage is None or self.storage.existing:
            return self.storage.existing.text if self.storage and self.storage.existing else ""
        inputs = {"resourceGroupName": self.resource_group.name, azure_types.STORAGE_ACCOUNT.name_parameter: self.storage.name}
        return azure_types.STORAGE_ACCOUNT.id_of(self.context.subscription_id, inputs)

    @property
    def uploads(self) -> bool:
        """Whether workloads are built from the files here."""
        return self.image_source == UPLOAD

    @property
    def registry_is_premium(self) -> bool:
        """Whether a created registry is of the tier that can be private, and encrypted by a key of the customer's."""
        return self.network is not None or self.key is not None

    @property
    def group_is_within(self) -> bool:
        """Whether the resource group is in the provider's subscription."""
        group = self.resource_group.existing
        return group is None or group.subscription.lower() == self.context.subscription_id.lower()

    @property
    def identity_name(self) -> str:
        """Identifies the identity: its group and its name, or its whole id where the stack didn't create it."""
        return self._key_of(self.identity)

    @property
    def serving_identity_name(self) -> str:
        """The same of the serving identity."""
        return self._key_of(self.serving_identity)

    def _key_of(self, identity: Part | None) -> str:
        if identity is None:
            return ""
        return identity.existing.key if identity.existing else f"{self.resource_group.name}/{identity.name}"

    @property
    def identity_pulls(self) -> bool:
        """Whether the identity pulls from a registry."""
        return self.identity is not None and self.registry is not None

    @property
    def identity_writes_blobs(self) -> bool:
        """Whether the identity reads and writes blobs in the storage account."""
        return self.identity is not None and self.storage is not None and self.write_blobs

    @property
    def serving_identity_pulls(self) -> bool:
        """Whether the serving identity pulls from a registry."""
        return self.serving_identity is not None and self.registry is not None

    @property
    def serving_identity_reads_blobs(self) -> bool:
        """Whether the serving identity reads blobs in the storage account."""
        return self.serving_identity is not None and self.storage is not None


def resolve(args: FoundationWiring, context: Context) -> tuple[FoundationSpec, list[Problem]]:
    """Resolves and validates the arguments. Pure; `look_up` checks whether existing parts exist."""
    problems: list[Problem] = []
    create: NamedPartArgs = {"create": True}

    def part(key: str, azure_type: AzureType, what: str, given: NamedPartArgs | Literal["create"]) -> Part:
        settings, path = written(given), f"{context.path(PATH)}.{key}"
        named = Named(settings["name"], f"{path}.name") if "name" in settings else None
        found, more = resolve_part(settings, azure_type, what, context, path, named)
        problems.extend([*more, *not_changed(settings, path)])
        return found

    def optional(key: str, azure_type: AzureType, what: str, given: NamedPartArgs | Literal["create"] | None) -> Part | None:
        return part(key, azure_type, what, given) if given is not None else None

    # pyrefly: ignore[bad-specialization, missing-attribute]
    of_scope: PrivateLinkScopeArgs | None = written(args.get("log_workspace", create)).get("private_link_scope")
    network, of_network = None, list[Problem]()
    if "network" in args:
        monitor, path = of_scope is not None and "existing" not in written(of_scope), f"{context.path(PATH)}.network"
        network, of_network = private_network.resolve(written(args["network"]), context, path, monitor=monitor)
    logs = optional("log_workspace", azure_types.LOG_WORKSPACE, "logs", args.get("log_workspace"))
    link_scope = None
    if of_scope is not None:
        path = f"{context.path(PATH)}.log_workspace.private_link_scope"
        link_scope, more = private_link_scope.resolve(written(of_scope), context, path, network, logs)
        of_network += more
    key, of_key = None, list[Problem]()
    if "customer_managed_key" in args:
        path = f"{context.path(PATH)}.customer_managed_key"
        key, of_key = customer_key.resolve(args["customer_managed_key"], path, context.subscription_id)
    # pyrefly: ignore[bad-specialization, missing-attribute]
    data_access: PrincipalsArgs = written(args.get("storage", create)).get("data_access", {})
    spec = FoundationSpec(
        context=context,
        resource_group=part("resource_group", azure_types.RESOURCE_GROUP, "", args.get("resource_group", create)),
        identity=optional("identity", azure_types.USER_ASSIGNED_IDENTITY, "identity", args.get("identity")),
        serving_identity=optional("serving_identity", azure_types.USER_ASSIGNED_IDENTITY, "serves", args.get("serving_identity")),
        registry=optional("registry", azure_types.REGISTRY, "", args.get("registry")),
        log_workspace=logs,
        storage=optional("storage", azure_types.STORAGE_ACCOUNT, "", args.get("storage")),
        network=network,
        link_scope=link_scope,
        key=key,
        workloads=tuple(Workload(workload) for workload in args.get("workloads", [])),
        image_source=args.get("image_source", ""),
        purges=_purge_of(args, bool(args.get("workloads"))),
        assign_roles=args.get("assign_roles", True),
        write_blobs=args.get("write_blobs", False),
        share_files=args.get("share_files", False),
        data_access=principals.resolve(data_access),
    )
    problems += principals.check(data_access, f"{context.path(PATH)}.storage.data_access")
    of_parts = [*_group_problems(spec), *_identity_problems(spec), *_registry_problems(spec), *_image_source_problems(spec)]
    of_network += of_key
    return spec, [
        *problems,
        *of_network,
        *_private_parts(spec),
        *_premium(spec, args),
        *_purge_problems(spec, args),
        *of_parts,
    ]


def _purge_of(args: FoundationWiring, default: bool) -> bool:
    # pyrefly: ignore[bad-specialization, missing-attribute]
    return written(args.get("registry", {})).get("purge", default)


def _purge_problems(spec: FoundationSpec, args: FoundationWiring) -> Iterator[Problem]:
    """Rejects the deletion of old builds in a registry that has none of this stack's."""
    path = f"{spec.context.path(PATH)}.registry.purge"
    if not spec.registry or not _purge_of(args, default=False):
        return
    if spec.registry.existing:
        yield Problem(
            path=path,
            message="an existing part is never changed",
            value=True,
            allowed="in a registry that the stack creates",
            fix="remove it, or have the owner of the registry purge it",
        )
    elif spec.network:
        yield Problem(
            path=path,
            message="a task of the registry runs outside of the network and doesn't reach a private one",
            value=True,
            allowed="in a registry that isn't private",
            fix="remove it",
            source=str(TASKS_PAGE),
            code=Code.IMPOSSIBLE,
        )


def _private_parts(spec: FoundationSpec) -> Iterator[Problem]:
    """Rejects private parts that can't have an endpoint, as there is no subnet."""
    if spec.network is None:
        return
    path = spec.context.path(PATH)
    for key, part in (("registry", spec.registry), ("storage", spec.storage)):
        if part is not None and part.existing is None and spec.network.existing and ENDPOINTS not in spec.network.existing:
            yield private_network.no_subnet(f"{path}.{key}", ENDPOINTS)


def _premium(spec: FoundationSpec, args: FoundationWiring) -> Iterator[Problem]:
    """Rejects another tier of a registry that is private or encrypted by a key, and a key without the identity that reads it."""
    path, sku = spec.context.path(PATH), dict(written(args.get("registry", {})).get("overrides", {})).get("sku")
    tier = cast(Mapping[str, object], sku).get("name", _PREMIUM) if isinstance(sku, Mapping) else _PREMIUM
    if tier != _PREMIUM and spec.registry_is_premium:
        private = spec.network is not None
        yield Problem(
            path=f"{path}.registry.overrides.sku",
            message="only a Premium registry has private endpoints, and `network` makes this one private"
            if private
            else "only a Premium registry is encrypted by a key of yours, which `customer_managed_key` sets",
            value=tier,
            allowed=_PREMIUM,
            fix="remove it",
            source=str(PREMIUM_PAGE if private else REGISTRIES_PAGE),
            code=Code.IMPOSSIBLE,
        )
    if "customer_managed_key" in args and spec.identity is None:
        yield Problem(
            path=f"{path}.identity",
            message="`customer_managed_key` requires `identity`, as which services read the key",
            allowed="create, or existing: <id>",
            fix="add identity: create",
        )


def _group_problems(spec: FoundationSpec) -> list[Problem]:
    group = spec.resource_group.existing
    if group is None or spec.group_is_within:
        return []
    return [
        Problem(
            path=f"{spec.context.path(PATH)}.resource_group.existing",
            message="the resource group must be in the provider's subscription",
            value=group.text,
            allowed=f"a resource group of subscription {spec.context.subscription_id}",
            fix="use one of that subscription, or set azure-native:subscriptionId to the group's",
        )
    ]


def _identity_problems(spec: FoundationSpec) -> list[Problem]:
    """Rejects one identity for both purposes: Azure rejects assigning it a role twice, and it wouldn't separate anything."""
    serving = spec.serving_identity.existing if spec.serving_identity else None
    if serving is None or spec.serving_identity_name != spec.identity_name:
        return []
    return [
        Problem(
            path=f"{spec.context.path(PATH)}.serving_identity.existing",
            message="must differ from `identity`, or serving gets the roles of training",
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
                message="`registry` requires `identity`, by which images are pulled",
                allowed="create, or existing: <id>",
                fix="add identity: create",
            )
        )
    names = ", ".join(spec.workloads)
    if spec.workloads and not spec.registry:
        problems.append(
            Problem(
                path=f"{spec.context.path(PATH)}.registry",
                message=f"a registry is required to build these workloads: {names}",
                allowed="create",
                fix="add registry: create, or set an image in place of each workload",
            )
        )
    if spec.workloads and spec.registry and spec.registry.existing:
        problems.append(
            Problem(
                path=f"{spec.context.path(PATH)}.registry",
                message=f"workloads are built only in a registry that the stack creates; in use: {names}",
                value=spec.registry.existing.text,
                allowed="create, where a workload is used",
                fix="build these workloads into the registry yourself and set their images by digest",
            )
        )
    if spec.workloads and spec.registry and not spec.registry.existing and spec.network:
        problems.append(
            Problem(
                path=f"{spec.context.path(PATH)}.network",
                message=f"the registry's builds run outside of the network and can't push to a private one; in use: {names}",
                value="private",
                allowed="with images that are built and pushed from inside of the network",
                fix="build these workloads inside of the network and set their images by digest",
                source=str(TASKS_PAGE),
                code=Code.IMPOSSIBLE,
            )
        )
    return problems


def _image_source_problems(spec: FoundationSpec) -> list[Problem]:
    path = spec.context.own_path("image_source")
    if problems := [*check_login(spec.image_source, path, allowed=_PUBLIC, fix=_PRIVATE)]:
        return problems
    if not spec.workloads or spec.uploads or _IMAGE_SOURCE.fullmatch(spec.image_source):
        return []
    form = "https://<host>/<repository>.git#<commit>"
    what = "not a git URL with a commit" if spec.image_source else "required to build the workloads"
    component = spec.context.component
    return [
        Problem(
            path=path,
            message=what,
            value=None if holds_secret(spec.image_source) else spec.image_source or None,
            allowed=f"{form}; without a commit a build could take other sources than the ones that were previewed; or {UPLOAD}",
            fix=f"run: pulumi config set image_source {UPLOAD}, which builds from the files here; or push the workloads as they "
            "are here to the checkout's `origin`, which is used where it isn't set"
            if component is None
            else f"in a checkout of azure-gpu add image_source: {UPLOAD}, or push it to a fork and add image_source: {form}",
        )
    ]
