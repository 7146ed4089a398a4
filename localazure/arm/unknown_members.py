"""How services handle unknown members of a body: most drop them, some reject them in their own words.

A version that is newer than the shape's, or a preview, may know more than the shape does: there a member is kept and shown.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from localazure.arm.errors import ArmError
from localazure.arm.kind import Kind
from localazure.shapes import default_api_version
from localazure.shapes.check import BodyProblem
from localazure.shapes.versions import presence

# What Azure Resource Manager itself reads of any resource that lies in a group. Azure/azure-sdk-for-net issue 3487:
# "Could not find member 'AccountType' on object of type 'ResourceDefinition'".
_ENVELOPE = frozenset(
    {
        "apiversion",
        "etag",
        "extendedlocation",
        "identity",
        "kind",
        "location",
        "managedby",
        "placement",
        "plan",
        "properties",
        "resources",
        "sku",
        "systemdata",
        "tags",
        "zones",
    }
)
_STRICT_AKS = "2024-01-01"  # Azure/AKS issue 4060: versions before it ignore unknown fields


def refuse(kind: Kind, unknown: Sequence[BodyProblem], version: str) -> None:
    """ArmError where the service takes none of `unknown`, whose paths lie in a body that was sent at `version`."""
    namespace = kind.arm_type.split("/")[0]
    top = [problem for problem in unknown if "." not in problem.path and problem.path.lower() not in _ENVELOPE]
    if top and kind.listed_as_resource:
        raise _content(_not_found(top[0].path, "ResourceDefinition"))
    first = unknown[0]
    owner = first.owner.split(":")[-1].split(".")[0]
    match namespace:
        case "Microsoft.Network":
            detail = ArmError(400, "InvalidJson", _not_found(first.path, _of_network(first.owner)))
            raise ArmError(400, "InvalidRequestFormat", "Cannot parse the request.", details=[detail])
        case "Microsoft.Compute":
            raise ArmError(400, "BadRequest", _not_found(first.path, "Properties" if first.path.count(".") == 1 else owner))
        case "Microsoft.ContainerService" if version >= _STRICT_AKS:
            member = first.path.rsplit(".", 1)[-1]
            raise ArmError(400, "UnmarshalError", f'UnmarshalEntity encountered error: json: unknown field "{member}".')
        case "Microsoft.App":
            member, view = first.path.rsplit(".", 1)[-1], f"Version{version.replace('-', '')}.{owner}View"
            raise _content(f"Unknown properties {member} in Microsoft.ContainerApps.WebApi.Views.{view} are not supported")
        case "Microsoft.Batch":
            raise _content(_not_found(first.path, _of_network(first.owner)))
        case _:
            pass  # dropped


def may_know_more(kind: Kind, version: str) -> bool:
    """Whether `version` may have members that the shape lacks."""
    shown = default_api_version(kind.azure_type)
    return "preview" in version or version > shown


def without_paths(value: Any, gone: set[str], path: str = "") -> Any:
    """`value`, which lies at `path`, without the members at the dotted paths `gone`."""
    if isinstance(value, Mapping):
        named = {name: f"{path}.{name}" if path else name for name in value}
        return {name: without_paths(each, gone, named[name]) for name, each in value.items() if named[name] not in gone}
    if isinstance(value, list):
        return [without_paths(each, gone, f"{path}[{index}]") for index, each in enumerate(value)]
    return value


def _content(message: str) -> ArmError:
    return ArmError(400, "InvalidRequestContent", f"The request content was invalid and could not be deserialized: '{message}'.")


def _not_found(path: str, owner: str) -> str:
    return f"Could not find member '{path.rsplit('.', 1)[-1]}' on object of type '{owner}'. Path '{path}', line 1, position 1."


def _of_network(owner: str) -> str:
    """What the service calls an object: `SubnetProperties` for what lies in the `properties` of a subnet."""
    name = owner.split(":")[-1]
    return f"{name.removesuffix('.properties')}Properties" if name.endswith(".properties") else name


def of_another_version(problem: BodyProblem, version: str) -> bool:
    """Whether an unknown member is one that `version` has, though the shape's own version doesn't."""
    return presence(problem.owner, problem.path.rsplit(".", 1)[-1], version) == "there"
