"""Arguments that every component of a program takes: its resource group, and the parts of a foundation that it uses."""

from collections.abc import Callable
from typing import Any, NamedTuple, NotRequired, Protocol, cast

import pulumi
from pulumi_azure_native import containerregistry, managedidentity

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.shared import existing, private_network
from azure_gpu.shared.context import ComponentOfProgram, Dependencies, LogsArgs, RegistryArgs, StorageArgs, known
from azure_gpu.shared.look_up import AskedBy, told
from azure_gpu.shared.program import Around, Described, OwnerArgs, location_of, stack_of, wired
from azure_gpu.shared.validation import OpenInput
from azure_gpu.shared.wired import Wired


class CommonArgs(OwnerArgs):
    """Resource group and shared parts of a component in a program."""

    foundation: NotRequired[Foundation]
    """The foundation that it uses: resource group, identity, registry, log workspace, storage account, team and tags. Each key
    here overrides the foundation's. Default: none."""
    resource_group_name: NotRequired[OpenInput[str]]
    """The resource group to create it in. Default: the foundation's; required without one."""
    identity_id: NotRequired[OpenInput[str]]
    """ARM id of the user-assigned identity that containers run as and that pulls images. It must have its roles already. Default:
    the foundation's, else none."""
    registry_id: NotRequired[OpenInput[str]]
    """ARM id of the container registry that this identity pulls images from. Default: the foundation's, else none."""
    log_workspace_id: NotRequired[OpenInput[str]]
    """ARM id of the Log Analytics workspace that logs go to. Default: the foundation's, else none."""
    storage_account_id: NotRequired[OpenInput[str]]
    """ARM id of the storage account for data. Default: the foundation's, else none."""
    assign_roles: NotRequired[bool]
    """Plain: false leaves role assignments to an administrator and prints the commands. Default: the foundation's, else true."""


# A component may have a separate `as_of`.
_COMMON = frozenset({*CommonArgs.__annotations__, *OwnerArgs.__annotations__, "protect_data", "lock_data"} - {"as_of"})


class _Around(Protocol):
    """A component that others are put into."""

    dependencies: Any
    around: Around


_OfId = Callable[[Any, str, AskedBy, str], tuple[Any, list[Problem]]]


def put_into(described: Described, key: str, kind: type[_Around], dependency: str, of_id: _OfId) -> Around | None:
    """Replaces the component that is given by `key`, or its ARM id, by the `dependency` on it. Returns what is around that
    component; None for an id, which `of_id` looks up."""
    own = described.args.pop(key)
    if isinstance(own, kind):
        described.args.update(own.dependencies)
        return own.around
    path = f"{described.component}.{key}"
    described.args[dependency], problems = of_id(own, path, described.asked_by, described.subscription_id)
    described.problems.extend(problems)
    return None


def wire(
    described: Described, of: Around | None = None, group: pulumi.Input[str] | None = None, *, needs_group: bool = True
) -> Wired[Any, Any]:
    """Adds the dependencies of a component. `of`: those of the component that it is put into; `group`: the resource group of
    that."""
    args, component, asked_by = described.args, described.component, described.asked_by
    foundation = cast(Foundation | None, args.get("foundation"))
    around = foundation.around if foundation is not None else of
    dependencies: dict[str, Any] = dict(around.dependencies) if around is not None else {}
    into = args.get("resource_group_name", group if group is not None else dependencies.get("resource_group_name"))
    if into is None and needs_group:
        described.problems.append(_no_group(component))
    elif into is not None and into is not dependencies.get("resource_group_name"):
        dependencies["resource_group_name"] = into
        dependencies["resource_group"] = known(into) or "<resource-group>"
    if "assign_roles" in args:
        dependencies["assign_roles"] = args["assign_roles"]
    network = dependencies.get("private_network")
    described.problems.extend(private_network.missing(component.kind, args, network, str(component)))
    args.update(private_network.keys_of(component.kind, args, network))
    if "identity_id" in args:  # overrides both identities of the foundation
        dependencies.pop("serving", None)
    for key, part in _PARTS.items():
        if key in args:
            path, plain = f"{component}.{key}", _plain(args[key])
            described.problems.extend(_wrong_id(args[key], part.azure_type, path))
            unreachable = asked_by.unreachable(plain, described.subscription_id, path) if plain is not None else []
            described.problems.extend(unreachable)
            at = asked_by.opts if unreachable else asked_by.at(plain, described.subscription_id)
            dependencies |= part.resolve(args[key], at)
    given_group = "resource_group_name" in args or around is None
    location = (
        location_of(into, asked_by) if given_group and "location" not in args else around.context.location if around else ""
    )
    return wired(described, _COMMON, dependencies, stack_of(described, around.context if around else None, location))


def _no_group(component: ComponentOfProgram) -> Problem:
    return Problem(
        path=f"{component}.resource_group_name",
        message="this is needed and not given",
        allowed="a resource group's name, or `foundation`",
        fix="add resource_group_name or foundation",
    )


def _wrong_id(given: pulumi.Input[str], expected: AzureType, path: str) -> list[Problem]:
    text = known(given)
    return existing.check_id(text, expected, path) if text is not None else []


def _plain(given: pulumi.Input[str]) -> ArmId | None:
    text = known(given)
    return arm_ids.parse(text) if text is not None else None


def _identity(given: pulumi.Input[str], asked_by: pulumi.InvokeOptions) -> Dependencies:
    parts, plain = existing.parts(given), _plain(given)
    found = told(
        managedidentity.get_user_assigned_identity_output(
            resource_group_name=parts.apply(lambda each: each.resource_group),
            resource_name=parts.apply(lambda each: each.name),
            opts=asked_by,
        )
    )
    return cast(
        Dependencies,
        {
            "identity_id": given,
            "identity_name": plain.key if plain is not None else "",
            "identity_client_id": found.client_id,
            "identity_principal_id": found.principal_id,
            "identity_is_own": False,
        },
    )


def _registry(given: pulumi.Input[str], asked_by: pulumi.InvokeOptions) -> Dependencies:
    parts, plain = existing.parts(given), _plain(given)
    found = told(
        containerregistry.get_registry_output(
            resource_group_name=parts.apply(lambda each: each.resource_group),
            registry_name=parts.apply(lambda each: each.name),
            opts=asked_by,
        )
    )
    name = plain.name if plain is not None else ""
    return cast(Dependencies, {"registry": RegistryArgs(name=name, id=given, server=found.login_server, workload_images={})})


def _logs(given: pulumi.Input[str], _: pulumi.InvokeOptions) -> Dependencies:
    return cast(Dependencies, {"logs": LogsArgs(workspace_arm_id=given)})


def _storage(given: pulumi.Input[str], _: pulumi.InvokeOptions) -> Dependencies:
    plain = _plain(given)
    name = plain.name if plain is not None else existing.parts(given).apply(lambda each: each.name)
    return cast(Dependencies, {"storage": StorageArgs(name=name, id=given, is_own=False)})


class _Part(NamedTuple):
    """A part of a foundation that is given by its id."""

    azure_type: AzureType
    resolve: Callable[[pulumi.Input[str], pulumi.InvokeOptions], Dependencies]


_PARTS = {
    "identity_id": _Part(azure_types.USER_ASSIGNED_IDENTITY, _identity),
    "registry_id": _Part(azure_types.REGISTRY, _registry),
    "log_workspace_id": _Part(azure_types.LOG_WORKSPACE, _logs),
    "storage_account_id": _Part(azure_types.STORAGE_ACCOUNT, _storage),
}
