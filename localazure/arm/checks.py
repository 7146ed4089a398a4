"""The rules that hold for every resource type: api-version, name, place, parent, tags, and the shape of the body.

Each check raises ArmError in the words of ARM. What a service refuses beyond that is its kind's `check`.
"""

from collections.abc import Callable, Collection

from azure_gpu.catalog import names, regions
from azure_gpu.formats import arm_ids
from azure_gpu.formats.arm_ids import RESOURCE_GROUP_TYPE, ArmId
from localazure import shapes
from localazure.arm import requested_version, unknown_members
from localazure.arm.errors import ArmError, arm_error, conflict, resource_not_found
from localazure.arm.kind import Kind
from localazure.arm.store import Body, Resource, Store

MAX_TAGS = 50  # this and the next two: Microsoft Learn, azure-resource-manager/management/tag-resources
MAX_TAG_KEY = 512
MAX_TAG_VALUE = 256


def api_version(kind: Kind, given: str) -> None:
    """The query's `api-version` has to be one that the type knows."""
    own = "" if kind.arm_type == RESOURCE_GROUP_TYPE else kind.arm_type.partition("/")[2]
    version_among(shapes.api_versions(kind.azure_type) | kind.extra_api_versions, given, own)


def version_among(supported: Collection[str], given: str, served: str = "") -> None:
    """The same of what isn't a resource type: of what `served` names, or of Resource Manager itself. "" is no version."""
    if not given:
        raise arm_error("MissingApiVersionParameter")
    if given.lower() not in supported:
        versions = ", ".join(sorted(supported, reverse=True))
        code = "NoRegisteredProviderFound" if served else "InvalidApiVersionParameter"
        raise arm_error(code, given=given, served=served, versions=versions)


def name(kind: Kind, resource_id: ArmId) -> None:
    allowed = wrong_name(kind.arm_type, resource_id.name)
    if allowed:
        raise kind.invalid_name(resource_id.name, allowed)


def wrong_name(arm_type: str, given: str) -> str:
    """What a name of the type takes, where this is none; "" where it is one."""
    rule = names.rule_for(arm_type)
    fits = rule is None or (rule.shortest <= len(given) <= rule.longest and rule.pattern.fullmatch(given))
    return "" if rule is None or fits else rule.allowed


def group_of(resource_id: ArmId, store: Store, missing: Callable[[], ArmError] | None = None) -> Resource | None:
    """The resource group that an id lies in; None for an id outside of any group.

    ArmError 404 where the group doesn't exist: `missing`, or ARM's own.
    """
    if not resource_id.resource_group or resource_id.is_type(RESOURCE_GROUP_TYPE):
        return None
    group = store.group(resource_id.subscription, resource_id.resource_group)
    if group is None:
        raise missing() if missing else _no_group(resource_id.resource_group)
    return group


def without_group(code: str, operation: str, kind: Kind, resource_id: ArmId) -> ArmError:
    """The refusal of `operation` on a resource whose group doesn't exist, by the code that the resource's service has for it."""
    match code:
        case "ResourceNotFound" if operation == "read":
            return kind.absent(resource_id)
        case "ResourceNotFound" if (above := _above(kind, resource_id)) is not None:
            pairs = above.text.split("/")[-2 * above.type.count("/") :]
            return resource_not_found(above.type, "/".join(pairs[1::2]), above.resource_group)
        case "ParentResourceNotFound":
            return _no_parent(operation, kind, resource_id)
        case _:
            return _no_group(resource_id.resource_group)


def extended_gone_group(kind: Kind, resource_id: ArmId, store: Store) -> bool:
    """Whether it extended a resource group that is gone, where nothing is left to delete, and nothing refused."""
    if not kind.outlives_group or not resource_id.resource_group or _above(kind, resource_id) is not None:
        return False
    return store.group(resource_id.subscription, resource_id.resource_group) is None


def above_of_deleted(kind: Kind, resource_id: ArmId, store: Store) -> None:
    """The refusal of a deletion below a resource that is gone, where the service has a code for it (agent pools:
    Test_Latest_Reconciled_Generation_Reconciles_AllEvents, 2024-08-01). A registry's replications have none."""
    above = _above(kind, resource_id)
    if kind.delete_without_group != "ResourceGroupNotFound" and above is not None and store.get(above.key) is None:
        raise without_group(kind.delete_without_group, "delete", kind, resource_id)


def _above(kind: Kind, resource_id: ArmId) -> ArmId | None:
    """The resource that an id hangs under; None below a resource group or a subscription."""
    above = arm_ids.parse(kind.parent_id(resource_id))
    return above if above is not None and "/providers/" in above.key else None


def parent(kind: Kind, resource_id: ArmId, group: Resource | None, store: Store) -> None:
    """Nothing is created below what doesn't exist or is on its way out."""
    if group is not None and group.state == "Deleting" and not kind.outlives_group:
        raise arm_error("ResourceGroupBeingDeleted", name=group.id.name)
    if kind.parent_type is None:
        return
    above = store.get(kind.parent_id(resource_id))
    if above is None:
        raise _no_parent("write", kind, resource_id)
    if above.state == "Deleting":
        raise conflict(f"The parent resource '{above.id.text}' is being deleted.")


def location(kind: Kind, body: Body, resource_id: ArmId, previous: Resource | None) -> None:
    """Where the resource lies: a known region, and the same one as before. Writes the region's normalised name into `body`."""
    given = body.get("location")
    if kind.location == "none":
        return
    if given is None and kind.location in ("required", "any"):
        if previous is None or not previous.location:
            raise arm_error("LocationRequired", target="location")
        given = previous.location
    if not isinstance(given, str):
        return  # the body's shape has something to say about it
    region = regions.normalise(given)
    # Azure opens regions, and the list is of a day: whatever has the form of a region's name is one. Azure refuses BadLocation
    # with these codes (recorded: Test_NewResourceGroup_Error).
    allowed = kind.location in ("global", "any") if region == "global" else kind.location != "global" and regions.may_be(region)
    if not allowed:
        raise _not_there(kind, given)
    if previous is not None and previous.location != region:
        code = "InvalidResourceGroupLocation" if kind.arm_type == RESOURCE_GROUP_TYPE else "InvalidResourceLocation"
        where = {"name": resource_id.name, "group": resource_id.resource_group}
        raise arm_error(code, was=previous.location, region=region, **where)
    body["location"] = region


def _not_there(kind: Kind, given: str) -> ArmError:
    listed = ",".join(["global"] if kind.location == "global" else sorted(regions.known()))
    is_group = kind.arm_type == RESOURCE_GROUP_TYPE
    code = "LocationNotAvailableForResourceGroup" if is_group else "LocationNotAvailableForResourceType"
    return arm_error(code, given=given, listed=listed, type=kind.arm_type)


def tags(body: Body) -> None:
    """How many tags, and how long. Their types are the body's shape."""
    given = body.get("tags")
    if not isinstance(given, dict):
        return
    if len(given) > MAX_TAGS:
        raise arm_error("InvalidTags", target="tags", number=len(given), most=MAX_TAGS)
    for key, value in given.items():
        if len(key) > MAX_TAG_KEY or (isinstance(value, str) and len(value) > MAX_TAG_VALUE):
            raise ArmError(
                400,
                "InvalidTagValue" if len(key) <= MAX_TAG_KEY else "InvalidTagName",
                f"The tag '{key[:80]}' is too long: keys take at most {MAX_TAG_KEY} characters, values {MAX_TAG_VALUE}.",
                target="tags",
            )


def known(kind: Kind, body: Body) -> Body:
    """A PATCH's body without what the service doesn't know. ArmError 400 where it refuses that."""
    shape, version = shapes.arm_shape(kind.azure_type), requested_version.current()
    body = shapes.respelled(shape, body)
    return _without_unknown(
        kind, body, _unknown(shapes.body_problems(shape, body, creating=False, version=_other(kind))), version
    )


def body_shape(kind: Kind, body: Body, *, creating: bool = True) -> Body:
    """The body without what only the service may set, and without what it doesn't know. ArmError 400 with every other problem.

    Clients PUT back what they GET, so that read-only properties are left out, whether the resource is there or not.
    """
    shape, version = shapes.arm_shape(kind.azure_type), requested_version.current()
    other = _other(kind)
    body = kind.read(unknown_members.without_paths(body, set(kind.shown_only)) if kind.shown_only else body)
    checked = shapes.without_read_only(shape, body)
    problems = shapes.body_problems(shape, checked, creating=creating, version=other)
    if problems and all(problem.kind != "type" for problem in problems):
        checked = kind.normalise(shapes.without_read_only(shape, shapes.respelled(shape, checked)))
        problems = shapes.body_problems(shape, checked, creating=creating, version=other)
    checked = _without_unknown(kind, checked, _unknown(problems), version)
    problems = [problem for problem in problems if problem.kind != "unknown"]
    if problems:
        details = [ArmError(400, "InvalidRequestContent", problem.message, target=problem.path) for problem in problems]
        raise ArmError(
            400,
            "InvalidRequestContent",
            "The request content was invalid: " + "; ".join(problem.message for problem in problems) + ".",
            target=problems[0].path,
            details=details,
        )
    return {key: value for key, value in checked.items() if key not in ("id", "name", "type", "apiVersion")}


def _other(kind: Kind) -> str:
    """The version that was sent, where it isn't the shape's own; else ""."""
    version = requested_version.current()
    return "" if version == shapes.default_api_version(kind.azure_type) else version


def _unknown(problems: list[shapes.BodyProblem]) -> list[shapes.BodyProblem]:
    return [problem for problem in problems if problem.kind == "unknown"]


def _without_unknown(kind: Kind, body: Body, unknown: list[shapes.BodyProblem], version: str) -> Body:
    if version and unknown_members.may_know_more(kind, version):
        return body
    foreign = [problem for problem in unknown if not (version and unknown_members.of_another_version(problem, version))]
    if foreign:
        unknown_members.refuse(kind, foreign, version or shapes.default_api_version(kind.azure_type))
    return unknown_members.without_paths(body, {problem.path for problem in foreign})


def scope(text: str, store: Store) -> None:
    """Validates the scope of a list: a subscription, or an existing resource group."""
    parsed = arm_ids.parse(text)
    if parsed is not None and parsed.is_type(RESOURCE_GROUP_TYPE) and store.get(parsed.key) is None:
        raise _no_group(parsed.name)


def stored(kind: Kind, resource_id: ArmId, store: Store) -> Resource:
    """The resource with an id, in a group that is there. ArmError 404 otherwise."""
    group_of(resource_id, store, lambda: without_group(kind.read_without_group, "read", kind, resource_id))
    return exists(store.get(resource_id.key) or kind.implied(resource_id, store), kind, resource_id)


def exists(resource: Resource | None, kind: Kind, resource_id: ArmId) -> Resource:
    """The resource itself. ArmError 404 where it doesn't exist."""
    if resource is not None:
        return resource
    if kind.arm_type == RESOURCE_GROUP_TYPE:
        raise _no_group(resource_id.name)
    raise kind.not_found(resource_id)


def _no_parent(operation: str, kind: Kind, resource_id: ArmId) -> ArmError:
    below, over = resource_id.text.rsplit("/", 2)[-2:], kind.parent_id(resource_id).rsplit("/", 1)[-1]
    words = {"operation": operation, "type": kind.arm_type.partition("/")[2], "parent": kind.parent_id(resource_id)}
    return arm_error("ParentResourceNotFound", target=f"{over}/{below[1]}", **words)


def _no_group(name: str) -> ArmError:
    return arm_error("ResourceGroupNotFound", name=name)
