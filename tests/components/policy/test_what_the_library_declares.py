"""The policies over everything that the library declares: shipped stacks, examples and happy cases, as they are recorded."""

import re
from datetime import date
from typing import Any

from azure_gpu_policies.policies import ALL
from azure_gpu_policies.resources import Resource, Stack, canonical
from tests.components import recorded_bodies
from tests.components.settings_of import TODAY

DAY = date.fromisoformat(TODAY)
_EDGE = "a device of Azure Stack Edge shares GPUs by the Multi-Process Service, as its page does: pods see the host's memory"
# What is found, and why it is meant: by case, policy and resource.
MEANT = {
    ("stack.documents", "gpu-scale-to-zero", "ubuntu-nc6-pool"): "the page's pools have fixed numbers of nodes",
    ("stack.documents", "gpu-scale-to-zero", "aks-gpu-pool-nc6"): "the page's cluster has three nodes that stay",
    ("example.blue-green", "public-endpoint", "digits-endpoint"): "the example shows keys: callers need no sign-in",
    ("example.blue-green", "ml-endpoint-keys", "digits-endpoint"): "the example shows keys: callers need no sign-in",
    ("cluster.happy.everything", "gpu-scale-to-zero", "big-pool-spot"): "min_nodes is set",
    ("pool.happy.autoscale_scenarios", "gpu-scale-to-zero", "fixed-pool"): "a scenario with a fixed number",
    ("pool.happy.autoscale_scenarios", "gpu-scale-to-zero", "own-pool"): "a formula of its own that keeps a node",
    ("pool.happy.autoscale_scenarios", "gpu-scale-to-zero", "pending-pool"): "min_nodes is set",
    ("pool.happy.before_their_end", "gpu-scale-to-zero", "nc6-pool"): "dedicated_nodes is set",
    ("pool.happy.everything", "gpu-scale-to-zero", "Train_A-pool"): "dedicated_nodes is set",
    ("pool.happy.existing_account", "gpu-scale-to-zero", "train-pool"): "dedicated_nodes is set",
    ("container_group.happy.several_containers", "public-address", "web-group"): "a public address is asked for",
    ("container_group.happy.several_containers", "passwords", "web-group"): "a registry of somebody else's, by a password",
    ("ml_endpoint.happy.blue_and_green", "public-kubernetes-api", "shared-cluster"): "Azure ML's extension needs local accounts",
    ("ml_endpoint.happy.blue_and_green", "aks-local-accounts", "shared-cluster"): "Azure ML's extension needs local accounts",
    ("ml_workspace.happy.attached", "public-kubernetes-api", "shared-cluster"): "Azure ML's extension needs local accounts",
    ("ml_workspace.happy.attached", "aks-local-accounts", "shared-cluster"): "Azure ML's extension needs local accounts",
    ("edge.happy.everything", "kubernetes-privileged", "box-job-cuda-sample1"): _EDGE,
    ("edge.happy.everything", "kubernetes-privileged", "box-job-train"): _EDGE,
    ("edge.happy.mps", "kubernetes-privileged", "box-job-alone"): _EDGE,
    ("edge.happy.mps", "kubernetes-privileged", "box-job-count"): _EDGE,
    ("edge.happy.mps", "kubernetes-privileged", "box-job-detect"): _EDGE,
    ("edge.happy.everything", "kubernetes-gpu-limits", "box-job-cuda-sample1"): _EDGE,
    ("edge.happy.everything", "kubernetes-gpu-limits", "box-job-train"): _EDGE,
    ("edge.happy.mps", "kubernetes-gpu-limits", "box-job-alone"): _EDGE,
    ("edge.happy.mps", "kubernetes-gpu-limits", "box-job-count"): _EDGE,
    ("edge.happy.mps", "kubernetes-gpu-limits", "box-job-detect"): _EDGE,
    ("edge.happy.visible_devices", "kubernetes-gpu-limits", "box-job-count"): _EDGE,
    ("edge.happy.visible_devices", "kubernetes-gpu-limits", "box-job-detect"): _EDGE,
    ("edge.happy.visible_devices", "kubernetes-gpu-limits", "box-job-train"): _EDGE,
    ("edge.happy.visible_devices", "kubernetes-gpu-limits", "shared-job-detect"): _EDGE,
}


def test_only_what_is_meant_is_found_in_everything_that_the_library_declares() -> None:
    """Of variants, which are there to differ from the defaults, nothing is asked."""
    recorded = {name: case for name, case in recorded_bodies.recorded().items() if ".variants." not in name}
    found = {(name, policy, resource) for name, case in recorded.items() for policy, resource in _found(case)}
    assert found == set(MEANT)


def _found(case: dict[str, Any]) -> set[tuple[str, str]]:
    resources = [_resource(urn, each) for urn, each in case.get("resources", {}).items()]
    stack = Stack(resources)
    enabled = [each for each in ALL if each.level != "disabled"]
    of_one = {(each.name, one.name) for each in enabled for one in resources if each.judge(one, {}, DAY)}
    of_all = {(each.name, one.name if one is not None else "") for each in enabled for one, _ in each.judge_stack(stack, {}, DAY)}
    return of_one | of_all


def _resource(urn: str, recorded: dict[str, Any]) -> Resource:
    kind, name = re.split("::", urn)[-2:]
    depends = {key: tuple(urns) for key, urns in recorded.get("property_dependencies", {}).items()}
    return Resource(urn, canonical(kind.rpartition("$")[2]), name, recorded["wire"], depends=depends)
