"""Arguments that every component of a program takes: its resource group, and the parts of a foundation that it uses."""

from collections.abc import Callable, Mapping
from typing import Any, NotRequired, Protocol, TypeVar, cast

import pulumi
from pulumi_azure_native import containerregistry, managedidentity

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.shared import existing, private_network
from azure_gpu.shared.context import Dependencies, LogsArgs, RegistryArgs, StorageArgs, known
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


T = TypeVar("T")
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
        described.problems.append(refused("foundation.no_group", f"{component}.resource_group_name"))
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
    for key, (azure_type, resolve) in _PARTS.items():
        if key in args:
            path, text, plain = f"{component}.{key}", known(args[key]), _plain(args[key])
            described.problems.extend(existing.check_id(text, azure_type, path) if text is not None else [])
            unreachable = asked_by.unreachable(plain, described.subscription_id, path) if plain is not None else []
            described.problems.extend(unreachable)
            dependencies |= resolve(args[key], asked_by.opts if unreachable else asked_by.at(plain, described.subscription_id))
    given_group = "resource_group_name" in args or around is None
    location = (
        location_of(into, asked_by) if given_group and "location" not in args else around.context.location if around else ""
    )
    return wired(described, _COMMON, dependencies, stack_of(described, around.context if around else None, location))


def _plain(given: pulumi.Input[str]) -> ArmId | None:
    return arm_ids.parse(known(given) or "")


def _read(get: Callable[..., pulumi.Output[T]], azure_type: AzureType, id_: pulumi.Input[str], at: pulumi.InvokeOptions) -> Any:
    """Returns what a look-up of the SDK shows of a part, whose id may be an output."""
    parts = existing.parts(id_)
    names: Any = {
        "resourceGroupName": parts.apply(lambda each: each.resource_group),
        azure_type.name_parameter: parts.apply(lambda each: each.name),
    }
    return told(get(**existing.arguments(names), opts=at))


def _identity(given: pulumi.Input[str], at: pulumi.InvokeOptions) -> Dependencies:
    get, plain = managedidentity.get_user_assigned_identity_output, _plain(given)
    found = _read(get, azure_types.USER_ASSIGNED_IDENTITY, given, at)
    identity = {"id": given, "name": plain.key if plain is not None else "", "is_own": False}
    identity |= {"client_id": found.client_id, "principal_id": found.principal_id}
    return cast(Dependencies, {f"identity_{key}": value for key, value in identity.items()})


def _registry(given: pulumi.Input[str], at: pulumi.InvokeOptions) -> Dependencies:
    found, plain = _read(containerregistry.get_registry_output, azure_types.REGISTRY, given, at), _plain(given)
    name = plain.name if plain is not None else ""
    return cast(Dependencies, {"registry": RegistryArgs(name=name, id=given, server=found.login_server, workload_images={})})


def _logs(given: pulumi.Input[str], _: pulumi.InvokeOptions) -> Dependencies:
    return cast(Dependencies, {"logs": LogsArgs(workspace_arm_id=given)})


def _storage(given: pulumi.Input[str], _: pulumi.InvokeOptions) -> Dependencies:
    plain = _plain(given)
    name = plain.name if plain is not None else existing.parts(given).apply(lambda each: each.name)
    return cast(Dependencies, {"storage": StorageArgs(name=name, id=given, is_own=False)})


# Parts of a foundation that are given by their ids.
_PARTS: Mapping[str, tuple[AzureType, Callable[[pulumi.Input[str], pulumi.InvokeOptions], Dependencies]]] = {
    "identity_id": (azure_types.USER_ASSIGNED_IDENTITY, _identity),
    "registry_id": (azure_types.REGISTRY, _registry),
    "log_workspace_id": (azure_types.LOG_WORKSPACE, _logs),
    "storage_account_id": (azure_types.STORAGE_ACCOUNT, _storage),
}
