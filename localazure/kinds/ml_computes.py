"""Computes of a workspace: clusters that it makes itself (AmlCompute), and clusters and machines that are attached to it.

`JobRunner` runs a cluster's nodes and jobs; it has no node until a job comes, or its least number of nodes. An attached
machine is remembered with its account, whose secrets never come back. `listKeys` is not imitated.
"""

from collections.abc import Mapping

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.kind import Answer, Call, Change, action
from localazure.arm.store import Body, Resource
from localazure.kinds import ml_compute_rules, ml_quotas
from localazure.kinds.ml_compute_rules import AML_COMPUTE, DEFAULT_INSTANCE_TYPE, KUBERNETES, inner, kind_of
from localazure.kinds.ml_kind import MlKind
from localazure.machines.ml_jobs import JobRunner
from localazure.services import Services

_ACTION = "underlyingresourceaction"
# Microsoft Learn, machine-learning/how-to-manage-kubernetes-instance-types, "Default instance type"
_DEFAULT_TYPE: Body = {
    "nodeSelector": None,
    "resources": {"requests": {"cpu": "100m", "memory": "2Gi"}, "limits": {"cpu": "2", "memory": "2Gi", "nvidia.com/gpu": None}},
}


class MlComputes(MlKind):
    """Created in the background.

    Headers and what is shown of an attached machine: Azure Service Operator's session
    Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01).
    """

    azure_type = azure_types.ML_COMPUTE

    def __init__(self, jobs: JobRunner) -> None:
        self._jobs = jobs

    def check(self, change: Change) -> None:
        ml_compute_rules.check(change, self.judge)

    def begun(self, change: Change) -> Body:
        compute, services = change.stored, change.services
        now = services.clock.stamp()
        made = (compute.service.get("properties") or {}).get("createdOn") or now
        attached = kind_of(compute.body) != AML_COMPUTE
        return {"properties": {"createdOn": made, "modifiedOn": now, "isAttachedCompute": attached}}

    async def provision(self, change: Change) -> Body:
        compute, services = change.stored, change.services
        if kind_of(compute.body) == AML_COMPUTE:
            settings = inner(compute.body)
            least = int(settings["scaleSettings"].get("minNodeCount") or 0)
            low = settings["vmPriority"] == "LowPriority"
            short = ml_quotas.shortage(str(settings["vmSize"]), least, compute.location, services, low_priority=low)
            if short is not None:
                raise short
            self._jobs.clusters.apply(compute)
        return {"properties": {"modifiedOn": services.clock.stamp()}}

    def before_delete(self, resource_id: ArmId, query: Mapping[str, str], services: Services) -> None:
        compute = services.store.get(resource_id.key)
        refused = ml_compute_rules.refuse_deletion(kind_of(compute.body), query.get(_ACTION, "")) if compute else None
        if refused is not None:
            raise refused

    async def remove(self, resource: Resource, services: Services) -> None:  # noqa: ARG002
        if kind_of(resource.body) == AML_COMPUTE:
            await self._jobs.remove_compute(resource.key)

    def live(self, resource: Resource, services: Services) -> Body:
        live: Body = {}
        match kind_of(resource.body):
            case "AmlCompute":
                live = self._jobs.clusters.view(resource.key)
            case "Kubernetes":
                live = {"instanceTypes": instance_types(resource)}
            case _:
                live = ml_compute_rules.shown_machine(resource, services)
        return {"properties": {"provisioningState": resource.state, "provisioningErrors": None, "properties": live}}

    @action("listNodes")
    async def list_nodes(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        nodes = self._jobs.clusters.nodes(resource.key) if kind_of(resource.body) == AML_COMPUTE else []
        return Answer(body={"nodes": nodes})


def cluster_of(compute: Resource, services: Services) -> Resource | None:
    """The managed cluster that a Kubernetes compute is attached to; None where it has gone, or for another kind of compute."""
    if kind_of(compute.body) != KUBERNETES:
        return None
    return services.store.at(str(compute.properties.get("resourceId")), azure_types.MANAGED_CLUSTER)


def instance_types(compute: Resource) -> Body:
    """The instance types of a Kubernetes compute by name, each {nodeSelector, resources: {requests, limits}}; the default one is
    always among them."""
    given: Body = inner(compute.body).get("instanceTypes") or {}
    return {DEFAULT_INSTANCE_TYPE: _DEFAULT_TYPE, **given}
