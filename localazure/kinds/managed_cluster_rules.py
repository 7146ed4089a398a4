"""Rules of AKS for a whole cluster that depend on more than its body. The others: `localazure/evidence/refusals.tsv`.

Its pools are `managed_cluster_pools`'.
"""

from datetime import date

from localazure.arm import refusals
from localazure.arm.kind import Change
from localazure.arm.store import Body
from localazure.kinds import attached_identities, managed_cluster_node_group, managed_cluster_versions as versions


def check(change: Change, whole: Body, arm_type: str) -> None:
    """`whole`: the body with the service's defaults."""
    properties = whole["properties"]
    before = change.previous.body if change.previous else None
    refusals.judge(arm_type, whole, change.as_of, before=before)
    attached_identities.check(change)
    managed_cluster_node_group.check(properties["nodeResourceGroup"], change.id, change.services)
    managed_cluster_node_group.check_given(properties.get("identityProfile") or {}, change.services)


def check_version(requested: str, running: str, plan: str, as_of: date) -> None:
    """`running`: the version of the control plane with three numbers; empty for a new cluster."""
    versions.check_written(requested, "kubernetesVersion")
    if not running or not versions.same(running, requested, as_of):
        versions.check_supported(requested, as_of, plan)
    if running:
        versions.check_upgrade(running, requested, as_of)
