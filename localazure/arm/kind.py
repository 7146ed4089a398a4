"""How one ARM type is served: the base class of everything in `localazure/kinds`.

The router checks token, api-version, path, name, parent, location, body shape and conflicts before it calls a kind. A kind adds
the rules of its service and the work it does, with the backends that its constructor takes (`localazure.wiring`). All methods run
on the server's event loop: long work must await.
"""

import copy
import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from starlette.routing import BaseRoute

from azure_gpu.formats import conditions
from azure_gpu.formats.arm_ids import SUBSCRIPTION_TYPE, ArmId, parse
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.formats.conditions import Judged, value_at
from localazure import evidence
from localazure.arm import refusals, words
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError, arm_error, conflict, not_implemented, refused, resource_not_found
from localazure.arm.store import Body, Resource, Store
from localazure.evidence import Refusal
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION, SUBSCRIPTIONS


@dataclass(slots=True, kw_only=True)
class Change:
    """A PUT or PATCH under way: validated by the router, and by `Kind.check` once that has returned."""

    id: ArmId
    body: Body  # the whole new body, read-only properties left out; with the kind's defaults from `provision` on
    previous: Resource | None  # None when creating
    as_of: date
    services: Services
    caller: Caller | None = None  # None when work is resumed after a restart
    resource: Resource | None = None  # the stored record, from `provision` on; its `private` may be written
    patched: bool = False  # a PATCH

    @property
    def creating(self) -> bool:
        return self.previous is None

    @property
    def properties(self) -> Body:
        return self.body.get("properties") or {}

    @property
    def stored(self) -> Resource:
        """The stored record, from `provision` on."""
        if self.resource is None:
            raise ValueError("a change is provisioned with its stored record")
        return self.resource


@dataclass(slots=True, kw_only=True)
class Call:
    """A POST action or a GET below a resource."""

    services: Services
    as_of: date
    body: Body = field(default_factory=dict)  # {} where none was sent
    query: Mapping[str, str] = field(default_factory=dict)  # keys as sent
    path: Mapping[str, str] = field(default_factory=dict)  # values of the `{names}` in the pattern
    caller: Caller | None = None


@dataclass(slots=True, kw_only=True)
class Answer:
    """The response of an action. With `work`, the work runs in the background as a long operation: use 202, headers are added."""

    status: int = 200
    body: Any = None  # sent as JSON; None sends no content
    text: str | None = None  # sent as text/plain instead
    headers: dict[str, str] = field(default_factory=dict)
    work: Callable[[], Awaitable[Body | None]] | None = None  # what it returns is the result; ArmError ends it as Failed


Action = Callable[[Resource, Call], Awaitable[Answer]]
Below = Literal["action", "reading", "question", "offer"]
_Method = TypeVar("_Method", bound=Callable[..., Awaitable[Answer]])


def _answers(what: Below) -> Callable[..., Callable[[_Method], _Method]]:
    def at(*patterns: str) -> Callable[[_Method], _Method]:
        def marked(method: _Method) -> _Method:
            vars(method).setdefault("at", {})[what] = patterns
            return method

        return marked

    return at


action = _answers("action")  # POST {id}/{pattern}: `stop`, or `runs/{run}/listLogSasUrl`
reading = _answers("reading")  # GET {id}/{pattern} of what isn't a child resource, such as `containers/{container}/logs`
question = _answers("question")  # POST that changes nothing, such as for logs: also answered while a long operation runs
# POST for a resource that needn't exist yet, such as an address to upload its files to: the method gets the stored resource, or a
# new record of that id that isn't stored. The parent has to exist.
offer = _answers("offer")
Polling = Literal["none", "async", "location", "both"]  # which of Azure-AsyncOperation and Location an answer carries


class Kind:
    """One ARM type. What its service does is overridden by subclasses; how it answers is its row of the table of types,
    `localazure/evidence/types.toml`, where it differs from what stands here."""

    azure_type: AzureType
    extra_api_versions: frozenset[str] = frozenset()  # served beyond those of the installed SDK; give the reason beside each
    location: Literal["required", "any", "global", "none"] = "required"  # "any": a region or "global"; "global": nothing else
    parent_type: str | None = None  # ARM type of the parent; None: the resource group
    between: str = ""  # in an id, behind the parent's: a part that isn't a resource, such as "/blobServices/default"
    long_running: bool = False  # PUT answers at once and `provision` runs in the background
    long_running_update: bool | None = None  # the same where the resource was there; None: as `long_running`
    long_running_delete: bool = False  # DELETE answers 202 and `remove` runs in the background
    created_status: int = 201
    updated_status: int = 200
    accepted_shows_resource: bool = False  # a PUT that answers 202 has a body
    patched_status: int | None = None  # None: as `updated_status`
    deleted_status: int = 200  # where not `long_running_delete`
    removed_status: int = 200  # `Location` of a DELETE that has ended
    absent_status: int = 204  # of DELETE for a missing resource; 404 is answered as GET answers it
    # The code of the 404 where the resource group is missing. Services differ, and so do reads and deletes.
    read_without_group: str = "ResourceGroupNotFound"
    delete_without_group: str = "ResourceGroupNotFound"
    outlives_group: bool = False  # an extension that is still made while its group goes, and deleted in silence once that is gone
    created_headers: Polling = "async"  # of what is `long_running`
    updated_headers: Polling | None = None  # None: as `created_headers`
    patched_headers: Polling | None = None  # None: as `updated_headers`
    deleted_headers: Polling = "both"
    # Where clients read the address: `/locations/<region>/<this>OperationStatuses/<id>`; empty: without region and name.
    operations_named: str = ""
    created_location: bool = False  # what isn't `long_running` is answered with its own address as Location
    states: Mapping[str, str] = MappingProxyType({})  # the service's names for Creating, Updating, Deleting, where they differ
    shown_only: tuple[str, ...] = ()  # paths in GET that the SDK's class lacks; a body may have them without effect
    has_system_data: bool = False  # the answer has creator, last editor and times
    patchable: bool = True  # the service has PATCH; else 405
    patches_tags_alone: bool = False  # PATCH changes tags, and nothing runs because of it
    globally_unique: tuple[int, str, str] | None = None  # status, code, message with {name}: the name is taken in all of Azure
    delete_shows_resource: bool = False  # DELETE answers the resource as it was
    shows_state: bool = True  # properties.provisioningState is part of the answer
    listed_as_resource: bool = True  # part of a group's list of resources: neither below another resource nor an extension
    row: Mapping[str, Any] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        if "azure_type" in vars(cls):
            cls._answer_as(cls.azure_type)

    @classmethod
    def _answer_as(cls, azure_type: AzureType) -> None:
        """Takes the row of a type. What a class says of itself stays."""
        row = evidence.types().get(azure_type.arm_type, {})
        above = azure_type.arm_type.rpartition("/")[0]
        parent = row.get("parent_type", above if "/" in above else None)
        location = vars(cls).get("location", row.get("location"))
        found: Body = {
            "parent_type": parent,
            "listed_as_resource": parent is None and location != "none",
            **row,
            "row": row,
        }
        for name, value in found.items():
            if hasattr(Kind, name) and name not in vars(cls) and not callable(getattr(Kind, name)):
                setattr(cls, name, frozenset(value) if name == "extra_api_versions" else value)

    @property
    def arm_type(self) -> str:
        return self.azure_type.arm_type

    def below(self, *what: Below) -> Mapping[str, Action]:
        """What a type answers below its resources, by pattern. Patterns are matched without regard to letter case."""
        found = (pair for each in what for pair in _below(type(self), each).items())
        return {pattern: getattr(self, name) for pattern, name in found}

    def routes(self, services: Services) -> list[BaseRoute]:  # noqa: ARG002
        """Routes outside of ARM that this service answers, such as a build log's URL. Their requests have no ARM token."""
        return []

    def implied(self, resource_id: ArmId, store: Store) -> Resource | None:
        """A resource that exists with its parent without a PUT; None if there is none."""
        above = store.get(self.parent_id(resource_id))
        return self._below(above) if above is not None and resource_id.name.lower() == self.row.get("singleton") else None

    def _below(self, above: Resource) -> Resource:
        """The one resource of a type that is there with its parent, as it is before it is changed."""
        name = parse(f"{above.id.text}/{self.arm_type.rsplit('/', 1)[1]}/{self.row['singleton']}")
        if name is None:
            raise ValueError(f"the id of what lies above is none: {above.id.text!r}")
        return Resource(id=name, body=copy.deepcopy(self.row["defaults"]))

    def busy(self, resource: Resource, operation: str) -> ArmError:  # noqa: ARG002
        """The service's error for a change while a long operation runs on the same resource: put, delete, or an action's name."""
        above = resource.id.scope.rsplit("/", 1)[-1]
        return self._error("busy_error", {"name": resource.id.name, "above": above}) or conflict(
            f"Another operation on '{resource.id.name}' of type '{self.arm_type}' is in progress. Please try again later."
        )

    def _error(self, which: str, values: Mapping[str, str]) -> ArmError | None:
        """An error of the type's row; None where the type has none of its own."""
        if which not in self.row:
            return None
        status, code, message, *target = self.row[which]
        row = Refusal(self.arm_type, "", "", "", "", str(status), code, message, "".join(target), "", "assumed", "")
        return self.refusal(row, message.format_map(values), row.target, values.get("name"))

    def preempts(self, action: str, operation: str) -> bool:  # noqa: ARG002
        """Whether an action cancels the operation that runs on its resource, instead of being refused."""
        return False

    def parent_id(self, resource_id: ArmId) -> str:
        """The id of the parent of a resource with a `parent_type`."""
        return resource_id.scope[: len(resource_id.scope) - len(self.between)]

    def check_removal(self, resource: Resource, services: Services) -> None:
        """Raises ArmError if a DELETE is forbidden. Not called when a whole resource group is deleted."""
        if (error := self._error("removal_error", {})) is not None:
            raise error
        children = services.store.of_type(self.row["kept_by"], resource.key) if "kept_by" in self.row else ()
        if children:
            # Sentence and code: of galleries jenkins-infra/azure pull request 1544 (2026-09-14), of private zones
            # learntocloud/networking-lab issue 8 (2026-02-22).
            ids = ", ".join(child.id.text.partition("/providers/")[2] for child in children[:5])
            raise arm_error("CannotDeleteResource", ids=ids)

    def invalid_name(self, name: str, allowed: str) -> ArmError:
        """The service's error for an invalid name. `allowed` is the rule in words."""
        message = f"Resource name {name} is invalid. It takes {allowed}."
        own = self._error("name_error", {"name": name, "allowed": allowed})
        return own or ArmError(400, "InvalidResourceName", message, target="name")

    def not_found(self, resource_id: ArmId) -> ArmError:
        """The error of a GET of a missing resource."""
        where = {"id": resource_id.text, "group": resource_id.resource_group, "subscription": resource_id.subscription}
        above = resource_id.scope.rsplit("/", 1)[-1]
        return self._error("absent_error", {"name": resource_id.name, "above": above, **where}) or self.absent(resource_id)

    def absent(self, resource_id: ArmId) -> ArmError:
        """The same in ARM's own words."""
        pairs = resource_id.text.split("/")[-2 * self.arm_type.count("/") :]
        return resource_not_found(self.arm_type, "/".join(pairs[1::2]), resource_id.resource_group)

    def read(self, body: Body) -> Body:
        """`body` as the service reads it, where it accepts more than its description. Called before the shape is validated."""
        return body

    def normalise(self, body: Body) -> Body:
        """Replaces spellings that the service accepts with its own.

        Called for a body that its shape rejects, except for a value of a wrong type; the result is validated again.
        """
        return body

    def patched(self, under: Body, patch: Body) -> Body:
        """The whole body after a PATCH. Default: a JSON merge patch (RFC 7396)."""
        return patched(under, patch)

    def check(self, change: Change) -> None:
        """Validates the service's own rules: those of the table, with `facts`, and that references lead somewhere. ArmError."""
        self.check_scope(change.id.scope, change.services.store)
        self.judge(change, change.body, self.facts(change))
        for path, arm_type in self.row.get("references", {}).items():
            for given in conditions.found(path, "set", change.body, {}):
                check_reference({"id": given}, change, arm_type, self._error("reference_error", {"reference": given}))

    def check_scope(self, text: str, store: Store) -> None:
        """ArmError where there is no such scope of an extension whose row has `scope_error`."""
        if "scope_error" not in self.row:
            return
        scope = parse(text)
        known = scope is not None and (
            scope.subscription in SUBSCRIPTIONS if scope.is_type(SUBSCRIPTION_TYPE) else store.get(scope.key) is not None
        )
        if not known and (error := self._error("scope_error", {"scope": text})) is not None:
            raise error

    def judge(self, change: Change, body: Body, facts: Body, *, was: Body | None = None) -> None:
        """Refuses a body by the rows of the table. ArmError. `was`: what was there, where it isn't the stored body.

        Facts of all types: `@name`, `@new`, `@above`, and by its name in the row what an id leads to, as `@linked.storage`."""
        store, before = change.services.store, was or (change.previous.body if change.previous else None)
        above = store.get(self.parent_id(change.id)) if self.parent_type else None
        linked = {name: _linked(value_at(body, path), kind, store) for name, (path, kind) in self.row.get("linked", {}).items()}
        whole = {"name": change.id.name, "new": change.creating, "above": _seen(above), "linked": linked, **facts}
        refusals.judge(self.arm_type, body, change.as_of, before=before, facts=whole, form=self.refusal)

    def facts(self, change: Change) -> Body:  # noqa: ARG002
        """What the conditions of the table of refusals ask for beside the body."""
        return {}

    def refusal(self, row: Refusal, message: str, target: str, value: Any) -> ArmError:
        """The form of the service's refusals."""
        return refusals.plain(row, message, target, value)

    def defaults(self, change: Change) -> Body:
        """The service's defaults, and what stays of what is there, in the body's shape. The body is merged over them, deeply."""
        before = change.previous.body if change.previous else {}
        facts = {"date": change.as_of.isoformat(), "new": change.creating, **self.default_facts(change)}
        own = words.of(Resource(id=change.id, body=change.body), change.services)
        return defaults_of(self.row, Judged(change.body, before, facts), self.kept(change), own)

    def default_facts(self, change: Change) -> Body:  # noqa: ARG002
        """What the conditions and the words of the row's defaults need beside the body."""
        return {}

    def kept(self, change: Change) -> Body:
        """What stays of what is there where the body doesn't name it."""
        found: Body = {}
        for path in self.row.get("keeps", ()) if change.previous else ():
            found = merged(found, _at(path, change.previous.body if change.previous else {}))
        if "changeable" not in self.row or change.previous is None:
            return found
        before = change.previous.properties.items()
        return merged(found, {"properties": {name: each for name, each in before if name not in self.row["changeable"]}})

    def begun(self, change: Change) -> Body:
        """What the service sets before it answers, as `provision` returns it."""
        once = {} if change.previous else self._filled("once", change.stored, change.services)
        return merged(once, self._filled("each", change.stored, change.services))

    async def provision(self, change: Change) -> Body:
        """Does the work; returns the properties that the service sets, merged over the body, deeply, and kept over updates.

        Runs inside the request, or after it where `long_running`. ArmError refuses the request, or ends the operation as Failed.
        """
        made = self._filled("made", change.stored, change.services) if change.creating else {}
        return merged(made, self._filled("done", change.stored, change.services))

    async def resume(self, change: Change) -> Body:
        """Resumes a `provision` that a restart interrupted; `change.previous` is None. Default: provisions again."""
        return await self.provision(change)

    async def resume_action(self, action: str, resource: Resource, services: Services) -> Body | None:
        """Resumes a long action that a restart interrupted."""

    async def remove(self, resource: Resource, services: Services) -> None:
        """Ends what runs for the resource, before its record is deleted. May be called twice."""

    def view(self, resource: Resource, services: Services) -> Body:
        """The answer of GET without id, name and type: stored body, properties set by the service, and live state. No secrets."""
        stored = merged(self._filled("shown_defaults", resource, services), merged(resource.body, resource.service))
        for path in self.row.get("shown_each", {}):
            stored = _at_each(stored, path.split("."), lambda over, path=path: _over(self.row["shown_each"][path], over))
        for path in self.row.get("floats", ()):
            stored = _at_each(stored, path.split("."), _with_floats)
        return merged(merged(stored, self._filled("shown", resource, services)), self.live(resource, services))

    def live(self, resource: Resource, services: Services) -> Body:  # noqa: ARG002
        """What is shown beside that, in the body's shape."""
        return {}

    def _filled(self, name: str, resource: Resource, services: Services) -> Body:
        return words.filled(self.row.get(name, {}), words.of(resource, services))

    def expanded(self, resource: Resource, what: str, services: Services) -> Body:  # noqa: ARG002
        """What `$expand=what` adds to the answer of GET, in its shape. `what` is in lower case."""
        return {}

    def hidden(self, body: Body) -> Body:
        """`body` without secrets that its shape doesn't mark, such as values that another property makes secret."""
        return body

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        """The resources of this type below `scope`. `conditions` is the `$filter`. ArmError 404 where `scope` is missing."""
        scope = scope.removesuffix(self.between)
        if conditions:
            raise not_implemented(f"$filter on the list of '{self.arm_type}'")
        self.check_scope(scope, services.store)
        above = services.store.get(scope)
        if scope.count("/") > 2 and above is None:
            code = "ResourceGroupNotFound" if self.parent_type is None else "ParentResourceNotFound"
            raise ArmError(404, code, f"'{scope.rsplit('/', 1)[1]}' could not be found: no resource has the id '{scope}'.")
        found = services.store.of_type(self.arm_type, scope)
        return [self._below(above)] if not found and above is not None and "singleton" in self.row else found

    def chosen(self, listed: list[Resource], query: Mapping[str, str]) -> list[Resource]:  # noqa: ARG002
        """The resources of a list that further conditions in the query select. Names in `query` are in lower case."""
        return listed

    def before_delete(self, resource_id: ArmId, query: Mapping[str, str], services: Services) -> None:
        """Handles the query of a DELETE over HTTP, its names in lower case. The resource needn't exist."""

    async def started(self, services: Services) -> None:
        """Called when the server has started: resumes what outlived the last one."""

    async def stopping(self, services: Services) -> None:
        """Called before the server ends: leaves background work to the next one."""


@functools.cache
def _below(kind: type[Kind], what: str) -> Mapping[str, str]:
    """The names of methods by the patterns that they answer at."""
    marks = {name: getattr(getattr(kind, name), "at", {}) for name in dir(kind)}
    return {pattern: name for name, at in marks.items() for pattern in at.get(what, ())}


def defaults_of(row: Mapping[str, Any], judged: Judged, kept: Body, otherwise: words.Meaning) -> Body:
    """Those of a row, then those of each condition that holds of the body over what came before; `kept` lies over them all."""
    meant = words.of_defaults(judged, otherwise)
    found: Body = words.filled(row.get("defaults", {}), meant)
    for condition, more in row.get("defaults_where", {}).items():
        whole = judged._replace(body=merged(merged(found, kept), judged.body))
        if any(conditions.matching("", condition, whole)):
            found = merged(found, words.filled(more, meant))
    return merged(found, kept)


def merged(under: Body, over: Body) -> Body:
    """`over` laid on `under`, objects joined at every depth; lists and values of `over` replace. Inputs stay untouched."""
    result = dict(under)
    for name, value in over.items():
        below = result.get(name)
        result[name] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def patched(under: Body, patch: Body) -> Body:
    """`patch` laid on `under` as RFC 7396 has it: `null` takes a property away."""
    result = dict(under)
    for key, value in patch.items():
        below = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = patched(below if isinstance(below, dict) else {}, value)
        else:
            result[key] = value
    return result


def check_reference(reference: Any, change: Change, arm_type: str, own: ArmError | None = None) -> str:
    """The id in `{"id": …}`, whose resource has to be there; "" where nothing is given. `own`: the refusal of the type that names
    it, where it has one."""
    given = str((reference or {}).get("id") or "")
    parsed = parse(given)
    here = parsed is not None and parsed.is_type(arm_type) and parsed.subscription == SUBSCRIPTION
    if given and (parsed is None or not here or change.services.store.get(parsed.key) is None):
        raise own or missing_reference(given, change.id.text)
    return given


def missing_reference(reference: str, by: str) -> ArmError:
    return refused("InvalidResourceReference", reference=reference, by=by)


def _seen(resource: Resource | None) -> Body | None:
    """A resource as conditions see it."""
    if resource is None:
        return None
    return {"id": resource.id.text, "name": resource.id.name, "state": resource.state, **resource.body}


def _linked(given: Any, arm_type: str, store: Store) -> Body | None:
    parsed = parse(str(given or "").removeprefix("azureml:"))
    return _seen(store.get(parsed.key)) if parsed is not None and parsed.is_type(arm_type) else None


def _at(path: str, body: Body) -> Body:
    """What stands at a path of a body, alone in that place; {} where nothing does."""
    name, _, rest = path.partition(".")
    below = body.get(name)
    if rest:
        below = _at(rest, below) if isinstance(below, dict) else {}
    return {} if below is None or (rest and not below) else {name: below}


def _at_each(value: Any, steps: list[str], change: Callable[[Any], Any]) -> Any:
    """A copy of a body in which what lies at a path is changed; the path is written as those of conditions are."""
    if not steps:
        return change(value)
    name, rest = steps[0].rstrip("[]{}"), steps[1:]
    if not isinstance(value, dict) or name not in value:
        return value
    below = value[name]
    if steps[0].endswith("[]"):
        found: Any = [_at_each(each, rest, change) for each in below or ()]
    elif steps[0].endswith("{}"):
        found = {key: _at_each(each, rest, change) for key, each in (below or {}).items()}
    else:
        found = _at_each(below, rest, change)
    return {**value, name: found}


def _over(under: Body, value: Any) -> Any:
    """An object with what is shown of it where nothing is set."""
    return merged(under, {name: each for name, each in value.items() if each is not None}) if isinstance(value, dict) else value


def _with_floats(value: Any) -> Any:
    """Whole numbers, as services write them that show a decimal point."""
    if isinstance(value, dict):
        return {name: _with_floats(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_floats(each) for each in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
