"""`FoundationSpec`: the resolved arguments of a foundation, with their validation. Existing parts are read in `existing`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

from azure_gpu.catalog import roles
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.private_networks import ENDPOINTS
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
Key = Literal["resource_group", "identity", "serving_identity", "registry", "log_workspace", "storage"]
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

    def assignments(self, pull_role: str = roles.ACR_PULL) -> list["RoleOn"]:
        """Returns the roles that the identities, and those of `data_access`, get on parts. `pull_role`: on the registry. Source
        of the role on file shares: MicrosoftDocs/azure-ai-docs, articles/machine-learning/how-to-disable-local-auth-storage.md,
        Scenarios for role assignments."""
        registry, storage = (azure_types.REGISTRY, self.registry), (azure_types.STORAGE_ACCOUNT, self.storage)
        key = (azure_types.KEY_VAULT_KEY, Part(name=self.key.name, existing=self.key) if self.key is not None else None)
        on_data = {"data-access": roles.STORAGE_BLOB_DATA_CONTRIBUTOR}
        on_data |= {"file-access": roles.STORAGE_FILE_DATA_PRIVILEGED_CONTRIBUTOR} if self.share_files else {}
        rows = [
            ("pull-role", pull_role, self.identity, registry),
            ("blob-role", roles.STORAGE_BLOB_DATA_CONTRIBUTOR, self.identity if self.write_blobs else None, storage),
            ("serving-pull-role", pull_role, self.serving_identity, registry),
            ("serving-blob-role", roles.STORAGE_BLOB_DATA_READER, self.serving_identity, storage),
            ("key-role", roles.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER, self.identity, key),
            *((f"{end}-{each.object_id[:8]}", on_data[end], each, storage) for end in on_data for each in self.data_access),
        ]
        return [
            RoleOn(end, role, who, part, self.id_of(azure_type, part))
            for end, role, who, (azure_type, part) in rows
            if who is not None and part is not None
        ]

    def id_of(self, azure_type: AzureType, part: Part) -> str:
        """Returns the ARM id of a part, known before it exists."""
        if part.existing:
            return part.existing.text
        inputs = {"resourceGroupName": self.resource_group.name, azure_type.name_parameter: part.name}
        return azure_type.id_of(self.context.subscription_id, inputs)

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


class RoleOn(NamedTuple):
    """A role that somebody gets on a part."""

    end: str  # of the assignment's logical name
    role: str
    who: Part | Principal  # an identity of the foundation, or one of `data_access`
    part: Part
    scope: str  # ARM id of the part


# The parts, by their keys: the type, and what is in the name in Azure.
PARTS: Mapping[Key, tuple[AzureType, str]] = {
    "resource_group": (azure_types.RESOURCE_GROUP, ""),
    "identity": (azure_types.USER_ASSIGNED_IDENTITY, "identity"),
    "serving_identity": (azure_types.USER_ASSIGNED_IDENTITY, "serves"),
    "registry": (azure_types.REGISTRY, ""),
    "log_workspace": (azure_types.LOG_WORKSPACE, "logs"),
    "storage": (azure_types.STORAGE_ACCOUNT, ""),
}


def resolve(args: FoundationWiring, context: Context) -> tuple[FoundationSpec, list[Problem]]:
    """Resolves and validates the arguments. Pure; `look_up` checks whether existing parts exist."""
    path, parts, problems = context.path(PATH), dict[str, Part](), list[Problem]()
    create: NamedPartArgs = {"create": True}
    for key, (azure_type, what) in PARTS.items():
        if key in args or key == "resource_group":
            settings = written(cast(NamedPartArgs, args.get(key, create)))
            named = Named(settings["name"], f"{path}.{key}.name") if "name" in settings else None
            parts[key], more = resolve_part(settings, azure_type, what, context, f"{path}.{key}", named)
            problems += [*more, *not_changed(settings, f"{path}.{key}")]
    # pyrefly: ignore[bad-specialization, missing-attribute]
    of_scope: PrivateLinkScopeArgs | None = written(args.get("log_workspace", create)).get("private_link_scope")
    network, link_scope, key = None, None, None
    of_network, of_link_scope, of_key = list[Problem](), list[Problem](), list[Problem]()
    if "network" in args:
        monitor = of_scope is not None and "existing" not in written(of_scope)
        network, of_network = private_network.resolve(written(args["network"]), context, f"{path}.network", monitor=monitor)
    if of_scope is not None:
        at, logs = f"{path}.log_workspace.private_link_scope", parts.get("log_workspace")
        link_scope, of_link_scope = private_link_scope.resolve(written(of_scope), context, at, network, logs)
    if "customer_managed_key" in args:
        at = f"{path}.customer_managed_key"
        key, of_key = customer_key.resolve(args["customer_managed_key"], at, context.subscription_id)
    # pyrefly: ignore[bad-specialization, missing-attribute]
    data_access: PrincipalsArgs = written(args.get("storage", create)).get("data_access", {})
    spec = FoundationSpec(
        context=context,
        resource_group=parts["resource_group"],
        identity=parts.get("identity"),
        serving_identity=parts.get("serving_identity"),
        registry=parts.get("registry"),
        log_workspace=parts.get("log_workspace"),
        storage=parts.get("storage"),
        network=network,
        link_scope=link_scope,
        key=key,
        workloads=tuple(args.get("workloads", [])),
        image_source=args.get("image_source", ""),
        purges=_purge_of(args, bool(args.get("workloads"))),
        assign_roles=args.get("assign_roles", True),
        write_blobs=args.get("write_blobs", False),
        share_files=args.get("share_files", False),
        data_access=principals.resolve(data_access),
    )
    problems += [*principals.check(data_access, f"{path}.storage.data_access"), *of_network, *of_link_scope, *of_key]
    return spec, [*problems, *_of_parts(spec, args, path), *_of_builds(spec, args, path), *_image_source_problems(spec)]


def _purge_of(args: FoundationWiring, default: bool) -> bool:
    # pyrefly: ignore[bad-specialization, missing-attribute]
    return written(args.get("registry", {})).get("purge", default)


def _of_parts(spec: FoundationSpec, args: FoundationWiring, path: str) -> Iterator[Problem]:
    """Rejects parts that exclude each other, or lack one that they require."""
    for key, part in (("registry", spec.registry), ("storage", spec.storage)):
        in_existing = spec.network is not None and spec.network.existing
        if part is not None and part.existing is None and in_existing and ENDPOINTS not in in_existing:
            yield private_network.no_subnet(f"{path}.{key}", ENDPOINTS)
    sku = dict(written(args.get("registry", {})).get("overrides", {})).get("sku")
    tier = cast(Mapping[str, object], sku).get("name", _PREMIUM) if isinstance(sku, Mapping) else _PREMIUM
    if tier != _PREMIUM and spec.registry_is_premium:
        why = "foundation.tier_of_private" if spec.network is not None else "foundation.tier_of_encrypted"
        yield refused(why, f"{path}.registry.overrides.sku", tier)
    group = spec.resource_group.existing
    if group is not None and not spec.group_is_within:
        own = spec.context.subscription_id
        yield refused("foundation.group_elsewhere", f"{path}.resource_group.existing", group.text, subscription=own)
    if spec.identity is None and "customer_managed_key" in args:
        yield refused("foundation.key_without_identity", f"{path}.identity")
    if spec.identity is None and spec.registry is not None:
        yield refused("foundation.registry_without_identity", f"{path}.identity")
    serving = spec.serving_identity.existing if spec.serving_identity else None
    # Azure rejects assigning a role twice, and one identity for both purposes wouldn't separate anything.
    if serving is not None and spec.serving_identity_name == spec.identity_name:
        yield refused("foundation.one_identity", f"{path}.serving_identity.existing", serving.text)


def _of_builds(spec: FoundationSpec, args: FoundationWiring, path: str) -> Iterator[Problem]:
    """Rejects builds where there is no registry for them, and their deletion in one that has none."""
    registry, names = spec.registry, ", ".join(spec.workloads)
    if registry is not None and _purge_of(args, default=False) and (registry.existing or spec.network):
        why = "foundation.purge_of_existing" if registry.existing else "foundation.purge_of_private"
        yield refused(why, f"{path}.registry.purge", True)
    if spec.workloads and registry is None:
        yield refused("foundation.workloads_without_registry", f"{path}.registry", names=names)
    elif spec.workloads and registry is not None and registry.existing:
        yield refused("foundation.workloads_in_existing", f"{path}.registry", registry.existing.text, names=names)
    elif spec.workloads and spec.network is not None:
        yield refused("foundation.builds_of_private", f"{path}.network", "private", names=names)


def _image_source_problems(spec: FoundationSpec) -> list[Problem]:
    path = spec.context.own_path("image_source")
    if problems := [*check_login(spec.image_source, path, allowed=_PUBLIC, fix=_PRIVATE)]:
        return problems
    if not spec.workloads or spec.uploads or _IMAGE_SOURCE.fullmatch(spec.image_source):
        return []
    what = "not a git URL with a commit" if spec.image_source else "required to build the workloads"
    value = None if holds_secret(spec.image_source) else spec.image_source or None
    why = "foundation.image_source" if spec.context.component is None else "foundation.image_source_in_program"
    return [refused(why, path, value, what=what)]
