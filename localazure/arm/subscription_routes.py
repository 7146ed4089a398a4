"""Resources above resource groups: tenant, subscription, regions, resource providers, and lists over all types."""

from collections.abc import Iterable, Mapping

from starlette.responses import Response

from azure_gpu.catalog import providers, regions
from azure_gpu.formats.arm_ids import RESOURCE_GROUP_TYPE
from localazure import shapes
from localazure.arm import answers, checks, filters
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Kind
from localazure.arm.store import Body, Resource
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION, SUBSCRIPTIONS
from localazure.weather import registrations

NAME = "embedded Azure (local)"
# What azure-mgmt-resource, azure-mgmt-subscription and azure-cli 2.91 send here, beside the versions of resource groups.
EXTRA_API_VERSIONS = frozenset({"2016-06-01", "2018-06-01", "2019-06-01", "2019-11-01", "2020-01-01", "2021-01-01", "2022-12-01"})
_RESOURCE_FILTERS = ("resourceType", "resourceGroup", "name", "location", "tagName", "tagValue")
_GROUP_FILTERS = ("tagName", "tagValue")


class Subscriptions:
    """Answers alone; nothing here is written."""

    def __init__(self, services: Services, kinds: Mapping[str, Kind]) -> None:
        self._services = services
        self._kinds = kinds

    def api_version(self, given: str) -> None:
        supported = EXTRA_API_VERSIONS | shapes.api_versions(self._kinds[RESOURCE_GROUP_TYPE.lower()].azure_type)
        checks.version_among(supported, given)

    def tenants(self) -> Response:
        tenant = self._services.settings.tenant_id
        return answers.listed(
            [{"id": f"/tenants/{tenant}", "tenantId": tenant, "tenantCategory": "Home", "displayName": NAME, "domains": []}]
        )

    def subscriptions(self) -> Response:
        return answers.listed(map(self._subscription, SUBSCRIPTIONS))

    def subscription(self, subscription: str) -> Response:
        return answers.respond(200, self._subscription(subscription.lower()))

    def locations(self, subscription: str) -> Response:
        """Those of the catalog, and those that groups are in: Azure opens regions."""
        found = {*regions.known(), *(group.location for group in self._services.store.of_type(RESOURCE_GROUP_TYPE))}
        return answers.listed(
            {
                "id": f"/subscriptions/{subscription}/locations/{region}",
                "name": region,
                "type": "Region",
                "displayName": region,
                "regionalDisplayName": region,
                "metadata": {"regionType": "Physical"},
            }
            for region in sorted(found)
        )

    def groups(self, subscription: str, conditions: str) -> Response:
        requested = filters.parse(conditions, _GROUP_FILTERS)
        kind = self._kinds[RESOURCE_GROUP_TYPE.lower()]
        every = self._services.store.of_type(RESOURCE_GROUP_TYPE)
        groups = [each for each in every if each.id.subscription.lower() == subscription.lower()]
        return answers.listed(
            answers.document(kind, group, self._services) for group in groups if filters.has_tag(group.tags, requested)
        )

    def resources(self, resources: Iterable[Resource], conditions: str, expand: str) -> Response:
        """Resources of all types, without their properties. Groups, children and extensions aren't part of it, as in ARM."""
        requested = filters.parse(conditions, _RESOURCE_FILTERS)
        extra = {name.strip().lower() for name in expand.split(",")}
        return answers.listed(
            self._short(kind, resource, extra)
            for resource in resources
            if (kind := self._kinds[resource.id.type.lower()]).listed_as_resource and _wanted(resource, requested)
        )

    def providers(self) -> Response:
        return answers.listed(self._provider(namespace) for namespace in sorted(self._namespaces().values()))

    def provider(self, namespace: str) -> Response:
        known = self._namespaces()
        if namespace.lower() not in known:
            raise ArmError(404, "InvalidResourceNamespace", f"The resource namespace '{namespace}' is invalid.")
        return answers.respond(200, self._provider(known[namespace.lower()]))

    def _namespaces(self) -> dict[str, str]:
        """Those of the types that are served, and those that a stack may need though nothing of them is served, by lower case."""
        served = (kind.arm_type.split("/")[0] for kind in self._kinds.values())
        return {namespace.lower(): namespace for namespace in (*served, *providers.ALL)}

    def name_availability(self, namespace: str, request: Body, version: str) -> Response:
        """Whether a name may be taken, for the types whose names are unique in all of Azure: POST .../checkNameAvailability."""
        kind = self._kinds.get(str(request.get("type")).lower())
        if kind is None or kind.globally_unique is None or kind.arm_type.split("/")[0].lower() != namespace:
            raise not_implemented(f"checkNameAvailability for the type '{request.get('type')}'")
        checks.api_version(kind, version)
        name = str(request.get("name"))
        allowed = checks.wrong_name(kind.arm_type, name)
        if allowed:
            invalid = kind.invalid_name(name, allowed)
            return answers.respond(200, {"nameAvailable": False, "reason": invalid.code, "message": invalid.message})
        if self._services.store.named(kind.arm_type, name):
            taken = kind.globally_unique[2].format(name=name)
            return answers.respond(200, {"nameAvailable": False, "reason": "AlreadyExists", "message": taken})
        return answers.respond(200, {"nameAvailable": True})

    def _subscription(self, subscription: str) -> Body:
        return {
            "id": f"/subscriptions/{subscription}",
            "subscriptionId": subscription,
            "tenantId": self._services.settings.tenant_id,
            "displayName": NAME if subscription == SUBSCRIPTION else f"{NAME}, shared",
            "state": "Enabled",
            "authorizationSource": "RoleBased",
            "subscriptionPolicies": {
                "locationPlacementId": "Public_2014-09-01",
                "quotaId": "Internal_2014-09-01",
                "spendingLimit": "Off",
            },
        }

    def _short(self, kind: Kind, resource: Resource, extra: set[str]) -> Body:
        whole = answers.document(kind, resource, self._services)
        shown = {name: whole[name] for name in ("id", "name", "type", "location", "kind", "sku", "tags") if name in whole}
        dates = {"createdtime": ("createdTime", resource.created_at), "changedtime": ("changedTime", resource.changed_at)}
        shown |= {name: value for request, (name, value) in dates.items() if request in extra}
        if "provisioningstate" in extra:
            shown["provisioningState"] = resource.state
        return shown

    def _provider(self, namespace: str) -> Body:
        kinds = [kind for kind in self._kinds.values() if kind.arm_type.split("/")[0] == namespace]
        return {
            "id": f"/subscriptions/{SUBSCRIPTION}/providers/{namespace}",
            "namespace": namespace,
            "registrationState": registrations.state(namespace, self._services),
            "registrationPolicy": "RegistrationRequired",
            "resourceTypes": [_resource_type(kind) for kind in kinds],
        }


def _resource_type(kind: Kind) -> Body:
    versions = shapes.api_versions(kind.azure_type) | kind.extra_api_versions
    return {
        "resourceType": kind.arm_type.partition("/")[2],
        "locations": sorted(regions.known()) if kind.location == "required" else [],
        "apiVersions": sorted(versions, reverse=True),
        "defaultApiVersion": shapes.default_api_version(kind.azure_type),
        "capabilities": "SupportsTags, SupportsLocation" if kind.location == "required" else "None",
    }


def _wanted(resource: Resource, requested: Mapping[str, str]) -> bool:
    given = {
        "resourcetype": resource.id.type,
        "resourcegroup": resource.id.resource_group,
        "name": resource.id.name,
        "location": resource.location,
    }
    plain = all(given[name].lower() == value.lower() for name, value in requested.items() if name in given)
    return plain and filters.has_tag(resource.tags, requested)
