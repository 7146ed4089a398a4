"""What a subscription answers beside its resources: lists, checks of names and policies, features, requests for quota.

Each is a row of `served.tsv`: method, path below the subscription, type as ARM's errors name it (empty: what follows the
namespace, without the location), api-versions (a type stands for its own), and which of the answers below. Versions: those of the
azure-mgmt packages, of azure-ai-ml 1.35.2 and of azure-cli 2.91.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from starlette.responses import Response

from azure_gpu.catalog import regions
from localazure import activity_log, evidence, shapes, tables
from localazure.arm import answers, checks, filters, paths
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.store import Body
from localazure.kinds import managed_cluster_versions
from localazure.kinds.stored import type_of
from localazure.lists import (
    batch,
    compute,
    container_apps,
    container_instances,
    deleted,
    features,
    machine_learning,
    vm_publishers,
)
from localazure.lists.query import ListQuery
from localazure.services import Services
from localazure.weather import policies, support_tickets


class Row(NamedTuple):
    """What is answered at a path."""

    method: str
    path: str
    type: str
    versions: str
    answer: str

    @property
    def shown_type(self) -> str:
        return self.type or self.path.split("/", 2)[2].replace("/{location}", "")

    def all_versions(self) -> frozenset[str]:
        found: set[str] = set()
        for word in self.versions.split():
            own = shapes.api_versions(type_of(word)) | {*evidence.types()[word]["extra_api_versions"]} if "/" in word else {word}
            found |= own
        return frozenset(found)


class Asked(NamedTuple):
    """A request for one of them."""

    row: Row
    segments: Sequence[str]  # of the whole path, as it was sent
    path: Mapping[str, str]  # what the names in the row's path stand for
    query: Callable[[str], str]
    body: Body
    services: Services

    @property
    def name(self) -> str:
        return self.path["name"]

    def region(self) -> str:
        """The location in the path, which is that of a registered provider; "" where the path has none."""
        lower = [segment.lower() for segment in self.segments]
        self.services.deviations.check_registered(self.segments[lower.index("providers") + 1])
        given = self.path.get("location", "")
        region = regions.normalise(given)
        if given and not regions.may_be(region):
            raise ArmError(
                400,
                "NoRegisteredProviderFound",
                f"No registered resource provider found for location '{given}' for type '{self.row.shown_type}'. "
                f"The supported locations are '{', '.join(sorted(regions.known()))}'.",
            )
        return region


Answer = Callable[[Asked], Any]  # a list, an object, or a response that is whole


def at(segments: Sequence[str]) -> list[tuple[Row, Mapping[str, str]]]:
    """The rows of a path below a subscription, one for each method, with what their names stand for."""
    below = "/".join(segments[2:])
    return [(row, found) for row in ROWS if (found := paths.match(row.path, below)) is not None]


def answered(asked: Asked) -> Response:
    row = asked.row
    checks.version_among(row.all_versions(), asked.query("api-version"), row.shown_type)
    answer = _ANSWERS[row.answer](asked)
    if isinstance(answer, Response):
        return answer
    return answers.listed(answer) if isinstance(answer, list) else answers.respond(200, answer)


def _queried(answer: Callable[[ListQuery], list[Body] | Body]) -> Answer:
    """A list of a region, or of all."""

    def answered(asked: Asked) -> list[Body] | Body:
        services = asked.services
        if "group" in asked.path:
            checks.scope("/" + "/".join(asked.segments[:4]), services.store)
        region = asked.region() or _filtered(asked.query("$filter"))
        return answer(ListQuery(region=region, as_of=services.clock.as_of, deviations=services.deviations, store=services.store))

    return answered


def _filtered(conditions: str) -> str:
    """The location of `$filter=location eq 'westeurope'`. One that doesn't exist has no sizes, and that isn't an error."""
    return regions.normalise(filters.parse(conditions, ("location",)).get("location", ""))


def _name_availability(asked: Asked) -> Body:
    """Of Batch, whose names are unique in a region."""
    asked.region()
    return batch.name_availability(str(asked.body.get("name")), asked.services.store)


def _feature(asked: Asked) -> Body:
    namespace, services = asked.path["namespace"], asked.services
    if asked.row.method == "POST":
        features.register(namespace, asked.name, services.store)
    return features.feature(namespace, asked.name, services.deviations, services.store)


def kubernetes_versions(query: ListQuery) -> Body:
    """Of clusters, on that day."""
    return managed_cluster_versions.listed(query.as_of)


def permissions(query: ListQuery) -> list[Body]:
    """What the caller may do: everything that no fault forbids."""
    return [{"actions": ["*"], "notActions": query.deviations.forbidden(), "dataActions": [], "notDataActions": []}]


_LISTS = (
    *(compute.skus, compute.usages, batch.quotas, batch.sizes, permissions, container_apps.profiles),
    *(machine_learning.usages, machine_learning.quotas, machine_learning.sizes, kubernetes_versions),
    *(container_instances.usages, container_instances.capabilities, container_instances.cached_images),
)
_ANSWERS: Mapping[str, Answer] = {
    **{f"{each.__module__.rpartition('.')[2]}.{each.__name__}": _queried(each) for each in _LISTS},
    "names of Batch accounts": _name_availability,
    "feature": _feature,
    "publishers of machines": lambda asked: answers.respond(200, vm_publishers.answered(asked.segments)),
    "deleted vaults": lambda asked: deleted.vaults(asked.services),
    "a deleted vault": lambda asked: deleted.vault(asked.path, asked.services),
    "purge of a vault": lambda asked: deleted.purge(asked.path, asked.query("api-version"), asked.services),
    "deleted workspaces of logs": lambda asked: deleted.workspaces(asked.services),
    "activity log": lambda asked: list(activity_log.listed(asked.query("$filter"), asked.query("$select"), asked.services)),
    "assignments of policies": lambda asked: policies.assignments(asked.services),
    "exemptions of policies": lambda asked: [],  # noqa: ARG005
    "what policies deny": lambda asked: policies.restrictions(asked.body, asked.services),
    "support tickets": lambda asked: support_tickets.listed(asked.services),
    "a support ticket": lambda asked: support_tickets.one(asked.name, asked.services),
    "a new support ticket": lambda asked: support_tickets.created(asked.name, asked.body, asked.services),
}
ROWS = tuple(Row(*row) for row in tables.rows(__file__, "served.tsv", header=True))


def asked(
    rows: Sequence[tuple[Row, Mapping[str, str]]],
    method: str,
    segments: Sequence[str],
    query: Callable[[str], str],
    body: Body,
    services: Services,
) -> Asked:
    """The request, by one of the rows of its path. ArmError 501 for another method."""
    found = next(((row, path) for row, path in rows if row.method == method), None)
    if found is None:
        raise not_implemented(f"{method} on '/{'/'.join(segments)}'")
    return Asked(found[0], segments, found[1], query, body, services)
