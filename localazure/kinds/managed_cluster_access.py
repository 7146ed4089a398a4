"""Kubeconfigs that ARM hands out: for an administrator, a user, and a monitoring user.

Kubeconfigs are answered in base64, as clients merge them. Who may ask is decided by ARM, whose one caller may; what a user may do
in the cluster is decided there.
"""

import base64

from localazure.arm.kind import Answer, Call, Kind, action
from localazure.arm.store import Resource
from localazure.kinds.managed_cluster_refusals import bad_request, invalid
from localazure.kubernetes.clusters import Clusters
from localazure.services import Services
from localazure.weather import reach

# Sentence and code: Azure/caf-terraform-landingzones issue 416.
STATIC = "Getting static credential is not allowed because this cluster is set to disable local accounts."
FORMATS = ("azure", "exec")
_NAMES = {"admin": "clusterAdmin", "user": "clusterUser", "monitoring": "clusterMonitoringUser"}


class ClusterAccess(Kind):
    """What a cluster answers kubeconfigs at."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters

    @action("listClusterAdminCredential")
    async def admin(self, resource: Resource, call: Call) -> Answer:
        return self._answered(resource, "admin", call)

    @action("listClusterUserCredential")
    async def user(self, resource: Resource, call: Call) -> Answer:
        return self._answered(resource, "user", call)

    @action("listClusterMonitoringUserCredential")
    async def monitoring(self, resource: Resource, call: Call) -> Answer:
        return self._answered(resource, "monitoring", call)

    def _answered(self, resource: Resource, who: str, call: Call) -> Answer:
        form = next((value for key, value in call.query.items() if key.lower() == "format"), "").lower()
        if form and form not in FORMATS:
            raise invalid("format", f"it is one of {', '.join(FORMATS)}")
        value = self._encoded(resource, who, form, call.services)
        return Answer(body={"kubeconfigs": [{"name": _NAMES[who], "value": value}]})

    def _encoded(self, resource: Resource, who: str, form: str, services: Services) -> str:
        properties = resource.properties
        if properties.get("disableLocalAccounts") and (who != "user" or not properties.get("aadProfile")):
            raise bad_request(STATIC)
        if not self._clusters.exists(resource.key):
            raise bad_request(f"The cluster '{resource.id.name}' has no control plane: its creation failed or is under way.")
        text = reach.kubeconfig(
            resource, self._clusters.kubeconfig(resource.key, who, form=form), self._clusters.server(resource.key), services
        )
        return base64.b64encode(text.encode("utf-8")).decode("ascii")
