"""Kubeconfigs that ARM hands out: for an administrator, a user, and a monitoring user.

Kubeconfigs are answered in base64, as clients merge them. Who may ask is decided by ARM, whose one caller may; what a user may do
in the cluster is decided there.
"""

import base64

from localazure.arm.errors import refused
from localazure.arm.kind import Answer, Call, Kind, action
from localazure.arm.store import Resource
from localazure.kubernetes.clusters import Clusters
from localazure.services import Services
from localazure.weather import reach

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
            raise refused("aks: invalid", parameter="format", why=f"It is one of {', '.join(FORMATS)}")
        value = self._encoded(resource, who, form, call.services)
        return Answer(body={"kubeconfigs": [{"name": _NAMES[who], "value": value}]})

    def _encoded(self, resource: Resource, who: str, form: str, services: Services) -> str:
        properties = resource.properties
        if properties.get("disableLocalAccounts") and (who != "user" or not properties.get("aadProfile")):
            raise refused("aks: static credential")
        if not self._clusters.exists(resource.key):
            raise refused("aks: no control plane", name=resource.id.name)
        text = reach.kubeconfig(
            resource, self._clusters.kubeconfig(resource.key, who, form=form), self._clusters.server(resource.key), services
        )
        return base64.b64encode(text.encode("utf-8")).decode("ascii")
