"""Resources as pulumi-azure-native and pulumi-kubernetes declare them, for tests of policies."""

from datetime import date
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu_policies.policies import BY_NAME
from azure_gpu_policies.resources import Resource, Stack, canonical

TODAY = date(2026, 11, 26)
ENDS = {"expires-at": "2026-12-31T00:00:00Z"}


def resource(
    token: str, properties: dict[str, Any], name: str = "it", *, location: str = "", **depends: tuple[str, ...]
) -> Resource:
    return Resource(f"urn:pulumi:one::somebody::{token}::{name}", canonical(token), name, properties, location, depends)


def judged(policy: str, *resources: Resource, **configured: Any) -> list[Problem]:
    """What a policy finds: of one resource after the other, or of all as a stack."""
    found = BY_NAME[policy]
    if found.of_resource is not None:
        return [problem for each in resources for problem in found.judge(each, configured, TODAY)]
    return [problem for _, problem in found.judge_stack(Stack(resources), configured, TODAY)]


def paths(policy: str, *resources: Resource, **configured: Any) -> list[str]:
    """Of its problems, without the resource: `vmSize`."""
    return [each.path.partition(").")[2] or each.path for each in judged(policy, *resources, **configured)]


def vm(size: str, **more: Any) -> Resource:
    return resource("azure-native:compute:VirtualMachine", {"hardwareProfile": {"vmSize": size}, **more})


def batch_pool(size: str = "Standard_NC4as_T4_v3", **more: Any) -> Resource:
    return resource("azure-native:batch:Pool", {"vmSize": size, **more}, "train")


def scaled(formula: str) -> dict[str, Any]:
    return {"scaleSettings": {"autoScale": {"formula": formula}}}


def agent_pool(size: str = "Standard_NC4as_T4_v3", **more: Any) -> Resource:
    return resource("azure-native:containerservice:AgentPool", {"vmSize": size, **more}, "t4")


def cluster(**more: Any) -> Resource:
    return resource("azure-native:containerservice:ManagedCluster", more, "shared")


def ml_compute(**more: Any) -> Resource:
    inner = {"vmSize": "Standard_NC4as_T4_v3", **more}
    properties = {"properties": {"computeType": "AmlCompute", "properties": inner}}
    return resource("azure-native:machinelearningservices:Compute", properties)


def deployment(**more: Any) -> Resource:
    properties = {"endpointComputeType": "Managed", "instanceType": "Standard_NC4as_T4_v3", **more}
    return resource("azure-native:machinelearningservices:OnlineDeployment", {"properties": properties}, "blue")


def group(*containers: dict[str, Any], **more: Any) -> Resource:
    return resource("azure-native:containerinstance:ContainerGroup", {"containers": list(containers), **more}, "web")


def environment(*profiles: tuple[str, str], **more: Any) -> Resource:
    listed = [{"name": name, "workloadProfileType": kind} for name, kind in profiles]
    return resource("azure-native:app:ManagedEnvironment", {"workloadProfiles": listed, **more}, "environment")
